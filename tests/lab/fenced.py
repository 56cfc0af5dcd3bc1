"""Services that come and go under two controllers of the lab, and what of them has to be true whoever leads."""

import json
import random
import re
from datetime import UTC, datetime

import msgspec

from mooring.core import gateway_document
from mooring.lab import topology, waiting
from mooring.lab.product import AGENT_PORT
from mooring.model import names
from tests.lab import audited, moored
from tests.lab.moored import MARK, Moored
from tests.lab.tenant import Tenant

MOST = 6
"""Services besides those that stay."""
HELD = re.compile(r"^mooring_agent_held_epoch (\S+)$", re.MULTILINE)
PATIENCE = 240.0
"""Seconds; a busy machine is not a failure."""


class Given(msgspec.Struct, frozen=True):
    """What a Service was given."""

    port: str
    addresses: tuple[str, ...]


class Changing:
    """Services of a tenant. Those that were given an address keep it, and nothing is made that none of them needs."""

    def __init__(self, tenant: Tenant, chance: random.Random) -> None:
        self._tenant = tenant
        self._chance = chance
        self._made = 0
        self._given: dict[str, Given] = {}
        self._let_go: set[str] = set()
        self._new: str | None = None
        self._gone: str | None = None

    def begin(self) -> str:
        """One Service that stays, on port 80; its address. What others left in the cloud is not ours to judge."""
        network = topology.connect(self._tenant.lab).network
        self._let_go = {each.id for each in network.ports() if (each.description or "").startswith(MARK)}
        self._tenant.deploy("web", replicas=2)
        moored.expose(self._tenant, "web")
        self._new = "web"
        self.done()
        return self._given["web"].addresses[0]

    def change(self) -> str:
        """Something that the leader has to act on; told what it is."""
        others = sorted(each for each in self._given if each != "web")
        kinds = ["pods", *(["shared", "own"] if len(others) < MOST else []), *(["deleted"] if others else [])]
        match kind := self._chance.choice(kinds):
            case "pods":
                self._tenant.kubectl("scale", "deployment/web", f"--replicas={self._chance.choice((1, 2, 3))}")
            case "deleted":
                self._gone = self._chance.choice(others)
                self._tenant.kubectl("delete", "service", self._gone, "--wait=false")
            case _:
                self._made += 1
                self._new = f"s{self._made}"
                port = 80 if kind == "own" else 8000 + self._made
                moored.expose(self._tenant, self._new, port=port, app="web")
        return kind

    def done(self) -> None:
        """Wait until what was changed is done."""
        if self._new is not None:
            moored.address(self._tenant, self._new, seconds=PATIENCE)
            self._given[self._new] = self._seen(self._new)
        if self._gone is not None:
            gone = self._gone
            waiting.until(lambda: gone not in self._there(), seconds=PATIENCE, what=f"{gone} to go")
            self._let_go.add(self._given.pop(gone).port)
        self._new = self._gone = None

    def wrong(self) -> list[str]:
        """What is not as it should be, a sentence each."""
        found = [
            f"{name}: was given {given}, and has {seen}"
            for name, given in self._given.items()
            if (seen := self._seen(name)) != given
        ]
        network = topology.connect(self._tenant.lab).network
        used = {each.port for each in self._given.values()}
        ports = {each.id for each in network.ports() if (each.description or "").startswith(MARK)}
        floating = [each.port_id for each in network.ips() if (each.description or "").startswith(MARK)]
        found += [f"port {each} is gone" for each in used - ports]
        found += [f"port {each} was made for nobody" for each in ports - used - self._let_go]
        found += [f"port {each} has {n} floating IPs" for each in used if (n := floating.count(each)) != 1]
        if len(floating) > len(ports):
            found.append(f"there are {len(floating)} floating IPs for {len(ports)} ports")
        return found

    def _seen(self, name: str) -> Given:
        annotations = self._tenant.get("service", name)["metadata"]["annotations"]
        return Given(annotations.get(names.PORT, ""), tuple(moored.addresses(self._tenant, name)))

    def _there(self) -> set[str]:
        return {each["metadata"]["name"] for each in self._tenant.get("services")["items"]}


class Deposed:
    """A controller that led, and is to change nothing any more."""

    def __init__(self, product: Moored) -> None:
        self.part = product.leader()
        self.epoch = epoch(product)
        self._product = product
        self._gateway = self.part.removeprefix("controller-")
        self._since = datetime.now(UTC)
        self._log = product.lab.place.log_of(self.part)
        self._read = self._log.stat().st_size

    def is_followed(self) -> None:
        """Another one leads, and has told the gateways: before that they cannot know."""
        waiting.until(
            lambda: self._product.leader() != self.part, seconds=PATIENCE, what=f"another one than {self.part}"
        )
        waiting.until(self._is_past, seconds=PATIENCE, what="a new epoch at all gateways", interval=0.5)

    def _is_past(self) -> bool:
        command = ["curl", "--silent", "--max-time", "10", "http://127.0.0.1:9441/metrics"]
        lab = self._product.lab
        held = [HELD.search(lab.hosts.run(gateway, command)) for gateway in lab.spec.gateway_names]
        return all(each is not None and float(each[1]) > self.epoch for each in held)

    def wakes(self) -> None:
        """From now on it is to write nothing."""
        self._since = datetime.now(UTC)

    def knows(self) -> None:
        """It says so itself."""
        waiting.until(self._says_so, seconds=PATIENCE, what=f"{self.part} to see that it leads no more")

    def _says_so(self) -> bool:
        return b"no longer leading" in self._log.read_bytes()[self._read :]

    def written(self) -> list[str]:
        """What it has written since it woke, and nobody refused."""
        found = audited.writes(self._product.lab, self._gateway, self._since)
        return [f"{each.at} {each.what}: {each.status}" for each in found if each.passed]

    def attempts(self) -> int:
        """How much of the same was refused."""
        found = audited.writes(self._product.lab, self._gateway, self._since)
        return sum(1 for each in found if not each.passed)

    def is_refused_by_agents(self) -> list[str]:
        """The agents that take something of its epoch: an empty document, as from one that knows nothing."""
        empty = gateway_document.document([], epoch=self.epoch, generation=10**6, seed=1)
        beat = {"epoch": self.epoch, "generation": 10**6}
        return [
            f"{gateway} answered {status} to {method} {path}"
            for gateway in self._product.lab.spec.gateway_names
            for method, path, body in (
                ("PUT", "/v1/document", msgspec.json.encode(empty).decode()),
                ("POST", "/v1/heartbeat", json.dumps(beat)),
            )
            if (status := self._tell(gateway, method, path, body)) != "409"
        ]

    def _tell(self, gateway: str, method: str, path: str, body: str) -> str:
        lab = self._product.lab
        tls = lab.place.pki / "mooring/controller"
        command = ["curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_code}", "--max-time", "10"]
        command += ["--cacert", str(tls / "ca.crt"), "--cert", str(tls / "tls.crt"), "--key", str(tls / "tls.key")]
        command += ["--request", method, "--header", "content-type: application/json", "--data", body]
        return lab.hosts.run(gateway, [*command, f"https://{lab.spec.management(gateway)}:{AGENT_PORT}{path}"])


def epoch(product: Moored) -> int:
    """That of the term under way."""
    lease = json.loads(
        product.lab.kubectl("--namespace=mooring-system", "get", "lease", "mooring-controller", "--output=json")
    )
    return int(lease["metadata"]["annotations"][names.EPOCH])
