"""Mooring in the lab as a test sees it: its Services, what it calls, what it leaves."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from openstack.exceptions import HttpException

from mooring.lab import faults, gateways, lifecycle, ovn, report, topology, waiting
from mooring.lab import product as deployed
from mooring.lab.errors import CommandError
from mooring.lab.lab import Lab
from mooring.lab.progress import PlainProgress
from mooring.model import names
from tests.lab.tenant import Tenant

CALLS = re.compile(
    r'^mooring_(?P<api>\w+)_calls_total\{call="(?P<call>[^"]+)",outcome="[^"]+"\} (?P<count>[\d.]+)$', re.MULTILINE
)
READS = ("get ", "list ", "watch ")
PULSE = ("create leases", "patch leases", "heartbeat")
MARK = "mooring cluster "
PROGRAM = Path(sys.executable).parent / "mooring"
QUIET = 3.0
"""Longer than from the making of an address to its label."""


class Moored:
    """A lab with Mooring in it."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    def calls(self) -> Counter[str]:
        """What all controllers together have called so far, as `neutron create ports`."""
        found: Counter[str] = Counter()
        for gateway in self.lab.spec.gateway_names:
            try:
                text = self.lab.hosts.run(gateway, ["curl", "--silent", "--fail", "http://127.0.0.1:9440/metrics"])
            except CommandError:
                continue
            for match in CALLS.finditer(text):
                found[f"{match['api']} {match['call']}"] += int(float(match["count"]))
        return found

    def writes(self, before: Counter[str]) -> dict[str, int]:
        """What was written since, signs of life apart."""
        since = self.calls() - before
        return {
            what: count
            for what, count in sorted(since.items())
            if not what.partition(" ")[2].startswith((*READS, *PULSE)) and not what.startswith("gateway ")
        }

    def after_writes(self, count: int, *, seconds: float) -> None:
        """Wait until the controllers have written so often; no longer than that, as they may have no more to write."""
        before, until = self.calls(), time.monotonic() + seconds
        waiting.until(
            lambda: sum(self.writes(before).values()) >= count or time.monotonic() > until,
            seconds=seconds + 30,
            what=f"{count} writes",
            interval=0.02,
        )

    def settled(self) -> None:
        """Wait until the controllers have nothing more to do: for a while they call nobody but for signs of life."""
        quiet = time.monotonic()
        seen = self._work()

        def nothing_happens() -> bool:
            nonlocal quiet, seen
            now = self._work()
            if now != seen:
                quiet, seen = time.monotonic(), now
            return time.monotonic() - quiet > QUIET

        waiting.until(nothing_happens, seconds=90, what="the controllers to rest", interval=0.5)

    def settled_on(self, addresses: int) -> None:
        """Wait until there are just so many addresses, each with its labels, and the controllers rest.

        What an earlier Service left in the cloud is deleted a while after it: that would be counted with what comes. It
        is taken away by hand, as an operator may, so that nobody waits for it here; then another one leads, who knows
        nothing of that.
        """
        network = topology.connect(self.lab).network
        taken = False

        def ours_alone() -> bool:
            nonlocal taken
            went = True
            with suppress(HttpException):  # somebody else was first: the next turn does the rest
                went = self._take_away_what_goes(network)
            taken |= went
            made = [each for each in (*network.ports(), *network.ips()) if (each.description or "").startswith(MARK)]
            return not went and len(made) == 2 * addresses and all(each.tags for each in made)

        waiting.until(ours_alone, seconds=120, what=f"{addresses} addresses, and no more", interval=1)
        if taken:
            self.lab.processes.stop(self.leader(), seconds=10)
            lifecycle.up(self.lab.spec, PlainProgress())
        self.settled()

    def _take_away_what_goes(self, network: Any) -> bool:  # noqa: ANN401 - openstacksdk has no types
        """What bears the tag that says so, and what gateways may use for its sake. Whether there was something."""
        public = [each for each in network.ips() if names.DELETING_TAG in each.tags]
        for floating_ip in public:
            network.delete_ip(floating_ip.id)
        gateways = [network.get_port(topology.load(self.lab).ports[name].id) for name in self.lab.spec.gateway_names]
        ours = [each for each in network.ports() if (each.description or "").startswith(MARK)]
        going = [each for each in ours if names.DELETING_TAG in each.tags]
        stay = {fixed["ip_address"] for each in ours if each not in going for fixed in each.fixed_ips}
        strays = False
        for gateway in gateways:
            kept = [each for each in gateway.allowed_address_pairs if each["ip_address"] in stay]
            if len(kept) < len(gateway.allowed_address_pairs):
                network.update_port(gateway, if_revision=gateway.revision_number, allowed_address_pairs=kept)
                strays = True
        for port in going:
            network.delete_port(port.id)
        return bool(public or going or strays)

    def _work(self) -> Counter[str]:
        return Counter({what: n for what, n in self.calls().items() if not what.partition(" ")[2].startswith(PULSE)})

    def holder(self) -> str:
        """The gateway that has the addresses."""
        found: list[str] = []

        def one() -> bool:
            found[:] = gateways.holders(self.lab)
            return len(found) == 1

        waiting.until(one, seconds=20, what="one gateway to hold the addresses")
        return found[0]

    def leader(self) -> str:
        """The part that leads."""
        words = ("--namespace=mooring-system", "get", "lease", "mooring-controller", "--ignore-not-found")
        holder = ""

        def somebody() -> bool:
            nonlocal holder
            holder = self.lab.kubectl(*words, "--output=jsonpath={.spec.holderIdentity}").partition("_")[0]
            return holder != ""

        waiting.until(somebody, seconds=30, what="somebody to lead")
        return f"controller-{holder}"

    def leftovers(self) -> dict[str, list[str]]:
        """What is still there of what Mooring makes for Services."""
        network = topology.connect(self.lab).network
        ports = [port.id for port in network.ports() if (port.description or "").startswith(MARK)]
        ips = [ip.id for ip in network.ips() if (ip.description or "").startswith(MARK)]
        pairs, rules, held = [], [], []
        for gateway in self.lab.spec.gateway_names:
            port = network.get_port(topology.load(self.lab).ports[gateway].id)
            pairs += [pair["ip_address"] for pair in port.allowed_address_pairs]
            listed = self.lab.hosts.run(gateway, ["nft", "list", "ruleset"])
            ours = re.findall(r"^table \w+ mooring_\w \{\n(.*?)^\}", listed, re.DOTALL | re.MULTILINE)
            rules += [each for text in ours for each in re.findall(r"elements = \{(.*?)\}", text, re.DOTALL)]
            addresses = self.lab.hosts.run(gateway, ["ip", "-4", "-oneline", "address", "show", "dev", "eth0"])
            held += re.findall(r"inet (10\.20\.0\.\d+)/32", addresses)
        found = {"ports": ports, "floating IPs": ips, "pairs": pairs, "rules": rules, "addresses": held}
        return {what: which for what, which in found.items() if which}

    @contextmanager
    def configured(self, changes: Mapping[str, str]) -> Iterator[None]:
        """One controller with another configuration, in place of all others."""
        part, host = "controller-other", self.lab.spec.gateway_names[0]
        text = deployed.configuration(self.lab.place).read_text()
        for old, new in changes.items():
            text = text.replace(old, new)
        file = self.lab.place.etc / "other.toml"
        file.write_text(text)
        for gateway in self.lab.spec.gateway_names:
            self.lab.processes.stop(f"controller-{gateway}", seconds=10)
        with self.lab.cage.inside():
            self.lab.spawn(part, [PROGRAM, "controller", "--config", file], host=host)
        try:
            yield
        finally:
            self.lab.processes.stop(part, seconds=10)
            lifecycle.up(self.lab.spec, PlainProgress())

    @contextmanager
    def without_controllers(self, number: int = signal.SIGTERM) -> Iterator[None]:
        """Nobody leads, until the block ends."""
        parts = [f"controller-{gateway}" for gateway in self.lab.spec.gateway_names]
        for part in parts:
            faults.kill(self.lab, part, number)
        waiting.until(lambda: not any(map(self.lab.processes.alive, parts)), seconds=20, what="them to end")
        try:
            yield
        finally:
            lifecycle.up(self.lab.spec, PlainProgress())

    def mooring(self, *words: str) -> tuple[int, str]:
        """Run our own command as an operator would: its exit code and what it prints."""
        environment = os.environ | report.environment(self.lab)
        done = subprocess.run([PROGRAM, *words], env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def can(self, verb: str, what: str) -> str:
        """Whether the controllers' account may do something in all namespaces."""
        us = "--as=system:serviceaccount:mooring-system:mooring"
        command = [str(self.lab.program("kubectl")), f"--kubeconfig={self.lab.place.kubeconfig}", "auth", "can-i"]
        words = [*command, verb, what, us, "--all-namespaces"]
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()

    def virtual_parent(self, port: str) -> str:
        """The gateway that OVN sends a port's packets to."""
        row = ovn.sbctl(self.lab, "--bare", "--columns=virtual_parent", "find", "Port_Binding", f"logical_port={port}")
        ports = topology.load(self.lab).ports
        return next((name for name, each in ports.items() if each.id == row.strip()), "")


def expose(
    tenant: Tenant,
    name: str,
    *,
    port: int = 80,
    app: str = "",
    annotations: Mapping[str, str] | None = None,
    **spec: object,
) -> None:
    """A Service of our class in front of a Deployment."""
    ours = {"type": "LoadBalancer", "loadBalancerClass": names.GATEWAY_CLASS, "selector": {"app": app or name}}
    _apply(tenant, name, ours | {"ipFamilies": ["IPv4"]} | spec, port, annotations)


def expose_with_endpoints(tenant: Tenant, name: str, *, port: int = 80) -> None:
    """The same, with its endpoints there before it is ours: one that waits for them is told so, which is a write."""
    _apply(tenant, name, {"type": "ClusterIP", "selector": {"app": name}}, port)

    def has_endpoints() -> bool:
        slices = tenant.get("endpointslices", f"--selector=kubernetes.io/service-name={name}")["items"]
        return any(each.get("endpoints") for each in slices)

    waiting.until(has_endpoints, seconds=30, what=f"endpoints of {name}")
    expose(tenant, name, port=port)


def _apply(
    tenant: Tenant, name: str, spec: Mapping[str, Any], port: int, annotations: Mapping[str, str] | None = None
) -> None:
    whole = {**spec, "ports": [{"port": port, "targetPort": 8080}]}
    meta = {"name": name, "annotations": annotations or {}}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": whole}
    tenant.kubectl("apply", "--filename=-", stdin=json.dumps(service))


def addresses(tenant: Tenant, name: str) -> list[str]:
    status = tenant.get("service", name)["status"]["loadBalancer"]
    return [each["ip"] for each in status.get("ingress", [])]


def address(tenant: Tenant, name: str, *, seconds: float = 60) -> str:
    """The address of a Service, as soon as it has one."""
    waiting.until(lambda: bool(addresses(tenant, name)), seconds=seconds, what=f"an address for {name}")
    return addresses(tenant, name)[0]


def reasons(tenant: Tenant, name: str) -> dict[str, str]:
    """The reason of each of our conditions."""
    conditions: list[dict[str, Any]] = tenant.get("service", name)["status"].get("conditions", [])
    return {each["type"].rpartition("/")[2]: each["reason"] for each in conditions}


def change(tenant: Tenant, name: str, spec: Mapping[str, object]) -> None:
    tenant.kubectl("patch", "service", name, "--patch", json.dumps({"spec": spec}))


def events(tenant: Tenant, name: str) -> list[str]:
    """The reasons of the events on a Service."""
    return [each["reason"] for each in _events(tenant, name)]


def notes(tenant: Tenant, name: str) -> list[str]:
    """What the events on a Service say."""
    return [each["message"] for each in _events(tenant, name)]


def _events(tenant: Tenant, name: str) -> list[dict[str, str]]:
    found = tenant.get("events", f"--field-selector=involvedObject.name={name}")["items"]
    return [each for each in found if each["reportingComponent"] == "openstack.org/mooring"]
