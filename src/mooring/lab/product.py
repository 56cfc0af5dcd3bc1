"""Mooring itself in the lab: an agent on each gateway, and controllers on the gateways or as pods in the cluster.

Installed as an operator would: certificates by an authority of their own, one configuration file per host, roles from
`mooring manifests`. While it is there, the agents' keepalived holds the nodes' way out too, because answers have to
come back by the gateway that holds the addresses.
"""

import datetime as dt
import signal
import sys
from contextlib import suppress
from functools import partial
from itertools import product
from pathlib import Path

from mooring.core import ruleset
from mooring.host.certificates import AlreadyThere, Authority, Role
from mooring.lab import cloud, gateways, nodes, processes, waiting
from mooring.lab.assets import product as image
from mooring.lab.errors import CommandError, LabError
from mooring.lab.kubernetes import MOORING_KUBECONFIG
from mooring.lab.lab import Lab
from mooring.lab.parts import Part
from mooring.lab.place import Place
from mooring.lab.spec import Spec
from mooring.lab.templates import text, write

LIFE = dt.timedelta(days=30)
AGENT_PORT = 9443
NAMESPACE = "mooring-system"


def parts(spec: Spec) -> list[Part]:
    """Nothing, unless the lab is to have Mooring."""
    if not spec.mooring:
        return []
    agents = [
        Part(
            f"agent-{gateway}",
            partial(start_agent, gateway=gateway),
            needs=(f"leg-{gateway}", "debian-packages", "mooring-certificates"),
            group="mooring",
            shared=True,  # keepalived outlives it
        )
        for gateway in spec.gateway_names
    ]
    names = tuple(agent.name for agent in agents)
    prepared = [
        Part("mooring-certificates", issue_certificates, needs=("cables",), group="mooring", process=False),
        Part("mooring-roles", grant_roles, needs=("accounts",), group="mooring", process=False),
        Part("gateways-agree", gateways.await_holder, needs=names, group="mooring", process=False),
    ]
    return [*prepared, *agents, *(_pods() if spec.mooring == "pod" else _processes(spec))]


def _processes(spec: Spec) -> list[Part]:
    return [
        Part(
            f"controller-{gateway}",
            partial(start_controller, gateway=gateway),
            needs=(f"leg-{gateway}", "mooring-certificates", "mooring-roles"),
            group="mooring",
        )
        for gateway in spec.gateway_names
    ]


def _pods() -> list[Part]:
    return [
        Part(
            "controller-pods",
            start_pods,
            needs=("mooring-certificates", "mooring-roles", "dns"),
            group="mooring",
            process=False,
        )
    ]


def configuration(place: Place) -> Path:
    """For people: what the controllers are configured with, read by `mooring status` and the like."""
    return place.etc / "mooring.toml"


def agent_configuration(place: Place, gateway: str) -> Path:
    return place.etc / f"agent-{gateway}.toml"


def issue_certificates(lab: Lab) -> None:
    """An authority of Mooring's own, a certificate for each agent and one for all controllers; then configurations."""
    folder = lab.place.pki / "mooring"
    authority = Authority(folder)
    authority.create("mooring", LIFE)
    daemons: list[tuple[Role, str, list[str]]] = [(Role.CONTROLLER, "controller", [])]
    daemons += [(Role.AGENT, gateway, [lab.spec.management(gateway)]) for gateway in lab.spec.gateway_names]
    for role, name, addresses in daemons:
        with suppress(AlreadyThere):
            authority.issue_to(folder / name, role, name, addresses=addresses, life=LIFE)
    _configure(lab, configuration(lab.place), "controller", listen="127.0.0.1")
    for gateway in lab.spec.gateway_names:
        _configure(lab, agent_configuration(lab.place, gateway), gateway, listen=lab.spec.management(gateway))


def grant_roles(lab: Lab) -> None:
    """What the controller may do in the cluster, and not more."""
    lab.kubectl("apply", "--filename=-", stdin=_mooring("manifests", "--only", "rbac"))


def start_agent(lab: Lab, *, gateway: str) -> None:
    part = f"agent-{gateway}"
    lab.spawn(part, [_program(), "agent", "--config", agent_configuration(lab.place, gateway)], host=gateway)
    ready = "http://127.0.0.1:9441/readyz"
    lab.wait(part, lambda: lab.answers_in(gateway, ready), seconds=30, what=f"the agent on {gateway} to be ready")


def start_controller(lab: Lab, *, gateway: str) -> None:
    part = f"controller-{gateway}"
    lab.spawn(part, [_program(), "controller", "--config", configuration(lab.place)], host=gateway)
    ready = "http://127.0.0.1:9440/readyz"
    lab.wait(part, lambda: lab.answers_in(gateway, ready), seconds=60, what=f"the controller on {gateway} to be ready")


def start_pods(lab: Lab) -> None:
    """The Deployment, from an image that no registry has."""
    load_image(lab)
    texts = pod_files(lab)
    tls = controller_certificates(lab.place)
    _provide(lab, "configmap", "mooring-config", f"--from-literal=mooring.toml={texts.pop('mooring.toml')}")
    _provide(lab, "secret", "mooring-clouds", *(f"--from-literal={name}={text}" for name, text in texts.items()))
    _provide(lab, "secret", "mooring-tls", *(f"--from-file={tls / file}" for file in ("ca.crt", "tls.crt", "tls.key")))
    lab.kubectl("apply", "--filename=-", stdin=_mooring("manifests", "--image", image.IMAGE))
    lab.kubectl(f"--namespace={NAMESPACE}", "rollout", "status", "deployment/mooring-controller", "--timeout=180s")


def load_image(lab: Lab, *names: str) -> None:
    """Give the nodes Mooring as it is now, also by other names."""
    archive = image.ensure()
    for node in lab.spec.node_names:
        nodes.load_images(lab, node, archive)
        for name in names:
            nodes.name_image(lab, node, image.IMAGE, name)


def pod_files(lab: Lab) -> dict[str, str]:
    """What a controller in a pod of this lab is to find in /etc/mooring, besides its certificates."""
    clouds = {"KEYSTONE": cloud.url(lab, "keystone"), "PASSWORD": cloud.PASSWORD}
    return {
        "mooring.toml": text("mooring/pod.toml", _values(lab)),
        "clouds.yaml": text("mooring/clouds.yaml", clouds),
        "cloud-ca.crt": lab.authority.certificate.read_text(),
    }


def controller_certificates(place: Place) -> Path:
    """The folder with the certificate that all controllers have."""
    return place.pki / "mooring/controller"


def _provide(lab: Lab, kind: str, name: str, *files: str) -> None:
    """What the Deployment finds by its name."""
    words = ["create", kind, *(["generic"] if kind == "secret" else []), name, f"--namespace={NAMESPACE}", *files]
    lab.kubectl("apply", "--filename=-", stdin=lab.kubectl(*words, "--dry-run=client", "--output=json"))


def remove(lab: Lab) -> None:
    """End all of it politely, so that keepalived gives its addresses back; then take rules and roles away."""
    if lab.spec.mooring == "pod":
        lab.kubectl(
            f"--namespace={NAMESPACE}", "delete", "deployment/mooring-controller", "--wait", "--ignore-not-found"
        )
    for part in (part for part in parts(lab.spec) if part.process):
        if lab.processes.alive(part.name):
            lab.processes.signal(part.name, signal.SIGTERM, whole_group=True)
        with suppress(LabError):  # it had its chance
            waiting.until(partial(_ended, lab, part.name), seconds=10, what=f"{part.name} to end")
        lab.processes.stop(part.name)
    for gateway in lab.spec.gateway_names:
        for family, table in product(ruleset.FAMILIES, ruleset.TABLES):
            with suppress(CommandError):
                lab.hosts.run(gateway, ["nft", "delete", "table", family.name, table])
    granted = "clusterrole,clusterrolebinding,role,rolebinding"
    lab.kubectl(f"--namespace={NAMESPACE}", "delete", granted, "--selector=app.kubernetes.io/name=mooring")


def _ended(lab: Lab, part: str) -> bool:
    return not lab.cage.pids(part)


def _configure(lab: Lab, file: Path, name: str, *, listen: str) -> None:
    values = _values(lab) | {
        "LISTEN": f"{listen}:{AGENT_PORT}",
        "STATE": lab.place.data / f"agent-{name}",
        "TLS": lab.place.pki / "mooring" / name,
    }
    write("mooring/host.toml", file, values)


def _values(lab: Lab) -> dict[str, object]:
    listed = "\n".join(
        f'[gateways.{gateway}]\nagent = "{lab.spec.management(gateway)}:{AGENT_PORT}"\nport = "{gateway}"\n'
        for gateway in lab.spec.gateway_names
    )
    return {
        "NAME": lab.spec.name,
        "KUBECONFIG": lab.place.etc / MOORING_KUBECONFIG,
        "CLOUDS": lab.place.clouds,
        "GATEWAYS": listed,
        "V4": lab.spec.gateway_address,
        "V6": lab.spec.gateway_address6,
        "FLOATING": 'floating_network = "public"' if lab.spec.floating else "# without floating IPs",
        "SETTINGS": lab.spec.settings,
    }


def _program() -> Path:
    return Path(sys.executable).parent / "mooring"


def _mooring(*words: str) -> str:
    return processes.run([_program(), *words])
