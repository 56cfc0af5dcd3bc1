"""Who is at an address: what `mooring who` tells, from a survey."""

import ipaddress
from collections.abc import Iterable, Iterator

from msgspec import Struct

from mooring.core import mark, reporting
from mooring.core.surveyed import Survey
from mooring.model.cloud import Port, PortId
from mooring.model.gateway import Counted, Vrrp
from mooring.model.reports import AddressReport, FoundService, ServiceReport, WhoReport

PORTS = range(1, 65536)
ID_LENGTHS = {32, 36}
ID_SIGNS = frozenset("0123456789abcdef-")
WELL = "served"


class Asked(Struct, frozen=True):
    """What somebody asks for: an address or the id of a port or floating IP; and a port of it, or all (None)."""

    what: str
    port: int | None = None

    def __str__(self) -> str:
        if self.port is None:
            return self.what
        return f"[{self.what}]:{self.port}" if ":" in self.what else f"{self.what}:{self.port}"


def read(text: str) -> Asked | None:
    """What a text asks for; None: nothing that could be asked for.

    203.0.113.7       2001:db8::7        an address
    203.0.113.7:80    [2001:db8::7]:80   a port of it
    5eed0000-...                         an id of Neutron's
    """
    whole = text.strip().lower()
    if address := _address(whole.removeprefix("[").removesuffix("]") if whole.endswith("]") else whole):
        return Asked(address)
    before, colon, port = whole.rpartition(":")
    if colon and port.isascii() and port.isdigit() and int(port) in PORTS:
        bare = before.startswith("[") and before.endswith("]")
        address = _address(before[1:-1] if bare else before)
        return Asked(address, int(port)) if address and (bare or "." in address) else None
    return Asked(whole) if len(whole) in ID_LENGTHS and ID_SIGNS.issuperset(whole) else None


def who(survey: Survey, asked: Asked) -> WhoReport:
    """Everything that is known of it. Without OpenStack, what Services show is all that there is."""
    status = reporting.status(survey)
    gateways = status.gateways
    floating = {each.port_id: each.id for each in survey.sights.owned.floating_ips} if survey.sights.owned else {}
    found = next(
        (each for each in reporting.addresses(survey) if _is(each, floating.get(PortId(each.port)), asked.what)), None
    )
    others = tuple(_others(survey, asked.what))
    if found is None:
        return WhoReport(str(asked), ours=False, well=False, gateways=gateways, others=others, missing=status.missing)
    told = {f"{each.namespace}/{each.name}": each for each in status.services}
    counted = [one for each in survey.sights.agents for one in each.counted or () if one.address == found.inner]
    services = tuple(
        _found(told[each.service], ports, [one for one in counted if one.service == each.service])
        for each in found.carries
        if (ports := tuple(port for port in each.ports if _at(port, asked.port)))
    )
    return WhoReport(
        str(asked),
        ours=True,
        well=bool(services) and all(each.state == WELL for each in services) and not status.missing,
        address=found,
        floating_ip=floating.get(PortId(found.port), ""),
        services=services,
        allowed=tuple(_allowed(survey, found.inner)),
        holders=tuple(name for name, state in survey.answering if state.vrrp is Vrrp.MASTER),
        gateways=gateways,
        others=others,
        missing=status.missing,
    )


def _found(told: ServiceReport, ports: tuple[str, ...], counted: list[Counted]) -> FoundService:
    there = [each for each in counted if f"{each.port}/{each.protocol}" in ports]
    return FoundService(
        f"{told.namespace}/{told.name}",
        ports,
        told.state,
        told.reason,
        connections=_sum(each.connections for each in there),
        received_bytes=_sum(each.received_bytes for each in there),
        sent_bytes=_sum(each.sent_bytes for each in there),
    )


def _sum(counted: Iterable[int | None]) -> int | None:
    """Of what is known."""
    known = [each for each in counted if each is not None]
    return sum(known) if known else None


def _address(text: str) -> str:
    """The address that a text is, in its usual form; else nothing."""
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return ""


def _is(found: AddressReport, floating_ip: str | None, what: str) -> bool:
    return what in {found.public, found.inner, found.port, floating_ip}


def _at(port: str, wanted: int | None) -> bool:
    return wanted is None or port.partition("/")[0] == str(wanted)


def _allowed(survey: Survey, address: str) -> Iterator[str]:
    """The gateways that may use it; of a static list its operator says that all may."""
    owned = survey.sights.owned
    if owned and owned.place.static:
        yield from (each.name for each in survey.sights.agents)
    yield from (name for name, port in survey.gateway_ports.items() if _may_use(port, address))


def _may_use(gateway: Port, address: str) -> bool:
    return any(pair.ip_address == address for pair in gateway.allowed_address_pairs)


def _others(survey: Survey, what: str) -> Iterator[str]:
    """Who else has it, as far as anybody says so."""
    gateways = {port.id: name for name, port in survey.gateway_ports.items()}
    owned = survey.sights.owned
    ours = {each.id for each in (*owned.ports, *owned.floating_ips)} if owned else set()
    around = owned.around if owned else None
    for port in around.ports if around else ():
        if port.id not in ours and what in {port.id, *(each.ip_address for each in port.fixed_ips)}:
            yield f"Port {port.id} has it: gateway {gateways[port.id]}" if port.id in gateways else _port(port)
    for each in around.floating_ips if around else ():
        if each.id not in ours and what in {each.id, each.floating_ip_address, each.fixed_ip_address}:
            at = f"on port {each.port_id}" if each.port_id else "on no port"
            yield f"It is floating IP {each.id} of project {each.project_id}, {at}{_marked(each.description)}"
    inner = {each.ip_address for port in owned.ports for each in port.fixed_ips} if owned else set()
    for name, gateway in survey.gateway_ports.items():
        if what not in inner and _may_use(gateway, what):
            yield f"Gateway {name} may use it, by an entry that is not Mooring's"
    yield from _in_kubernetes(survey, what)


def _port(port: Port) -> str:
    name = f" ({port.name})" if port.name else ""
    owner = f", for {port.device_owner} {port.device_id}".rstrip() if port.device_owner else ""
    return f"Port {port.id}{name} of project {port.project_id} has it{owner}{_marked(port.description)}"


def _marked(description: str | None) -> str:
    cluster = mark.load(description or "")
    return f"; it is of the Mooring of cluster {cluster}" if cluster is not None else ""


def _in_kubernetes(survey: Survey, what: str) -> Iterator[str]:
    for service in survey.services.values():
        if what in {each.ip for each in service.status.load_balancer.ingress} and not survey.mapped(service):
            yield f"Service {service.name} shows it, and is not served by Mooring"
        if what in {service.spec.cluster_ip, *service.spec.cluster_ips}:
            yield f"It is the cluster IP of Service {service.name}"
    for node in survey.sights.nodes:
        if what in {each.address for each in node.status.addresses}:
            yield f"Node {node.metadata.name} has it"
    for each in survey.sights.slices:
        if any(what in endpoint.addresses for endpoint in each.endpoints or ()):
            yield f"It is an endpoint of EndpointSlice {each.name}"
