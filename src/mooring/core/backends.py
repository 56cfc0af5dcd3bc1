"""Where the packets of a Service go, by the layer at which they enter the cluster, and what is to be told about it.

layer    externalTrafficPolicy  backends of a port
-----    ---------------------  ------------------
pod      -                      its endpoints
node     Cluster                its NodePort on every usable node
node     Local                  its NodePort on every usable node that has an endpoint of it
cluster  -                      its cluster IP, whatever stands behind it

All of one family: that of the address that is translated.
"""

import ipaddress
from collections.abc import Iterable, Iterator

from msgspec import Struct

from mooring.core import endpoints, policies, sources, wishes
from mooring.core.layers import Layer
from mooring.core.nodes import Usable
from mooring.model import names
from mooring.model.gateway import Backend, Forward
from mooring.model.kubernetes import EndpointSlice, NetworkPolicy, Service, ServicePort
from mooring.model.reasons import Reason, Verdict

FEW = 3
EVERYBODY = {wishes.IPV4: "0.0.0.0/0", wishes.IPV6: "::/0"}
SEE_PODS = "See that its selector matches pods, that they are ready, and that targetPort is what they listen on"


class Known(Struct, frozen=True):
    """What there is behind a Service: its own slices, the nodes that can be sent to, the policies of its namespace."""

    slices: tuple[EndpointSlice, ...] = ()
    nodes: tuple[Usable, ...] = ()
    policies: tuple[NetworkPolicy, ...] = ()


def of_port(service: Service, port: ServicePort, address: str, known: Known, layer: Layer) -> tuple[Backend, ...]:
    """The backends of one port that an address of this family can be translated to, each once, in a fixed order."""
    match layer:
        case "pod":
            return endpoints.backends(port, address, known.slices)
        case "node":
            return _nodes(service, port, address, known)
        case "cluster":
            ours = service.spec.cluster_ips or (service.spec.cluster_ip,)
            return _usable((each, port.port) for each in ours if _same_family(each, address))


def has_endpoints(service: Service, forward: Forward, known: Known) -> bool:
    """Whether somebody answers what is sent to a Service's port in the end, by whatever way."""
    ports = [each for each in service.spec.ports if (each.protocol, each.port) == (forward.protocol, forward.port)]
    return any(endpoints.backends(each, forward.address, known.slices) for each in ports)


def keeps_clients(service: Service) -> bool:
    """Whether its owner wants its pods to see who calls."""
    return service.spec.external_traffic_policy == "Local"


def remarks(
    service: Service, wanted: Iterable[Forward], known: Known, layer: Layer, snat: frozenset[str]
) -> tuple[Verdict, ...]:
    """What is to be told of where its packets go, beside that the gateways have nowhere to send them.

    What is in the way stands alone. `snat` is what the gateways say of theirs.
    """
    forwards = tuple(wanted)
    pods = layer == "pod"
    answered = [each for each in forwards if (each.backends if pods else has_endpoints(service, each, known))]
    others = (
        *_idle(forwards, answered),
        *_shut(service, forwards),
        *_hidden(service, layer, snat),
        *_policies(service, known),
    )
    if pods:
        return others
    if layer == "node":
        lacking = sorted({f"{each.port}/{each.protocol}" for each in service.spec.ports if not each.node_port})
        if lacking:
            return (_no_node_port(lacking),)
        if not all(each.backends for each in answered):
            return (_no_nodes(service),)
    return others if answered or not forwards else (_no_endpoints(),)


def _nodes(service: Service, port: ServicePort, address: str, known: Known) -> tuple[Backend, ...]:
    if not port.node_port:
        return ()
    local = endpoints.node_names(port, address, known.slices) if keeps_clients(service) else None
    return _usable(
        (each, port.node_port)
        for node in known.nodes
        if local is None or node.name in local
        for each in node.addresses
        if _same_family(each, address)
    )


def _usable(found: Iterable[tuple[str, int]]) -> tuple[Backend, ...]:
    return tuple(sorted({Backend(*each) for each in found if not endpoints.problem(each[0])})[: endpoints.MOST])


def _same_family(one: str, other: str) -> bool:
    """Of texts that are addresses; `None`, where a Service has no cluster IP, is of no family."""
    try:
        return ipaddress.ip_address(one).version == ipaddress.ip_address(other).version
    except ValueError:
        return False


def _no_node_port(lacking: list[str]) -> Verdict:
    return Verdict(
        Reason.NO_NODE_PORT,
        f"Its packets are to go to the nodes, and {', '.join(lacking)} has no NodePort there",
        "Take spec.allocateLoadBalancerNodePorts out of it, or choose the layer pod",
        well=False,
    )


def _no_nodes(service: Service) -> Verdict:
    local = "has an endpoint of it, as externalTrafficPolicy Local asks for, and " if keeps_clients(service) else ""
    return Verdict(
        Reason.NO_NODES,
        f"There is no node to send its packets to: none {local}is ready, has an InternalIP of its family and lacks "
        f"the label {names.EXCLUDED}",
        "See `kubectl get nodes`, or choose the layer pod",
        well=False,
    )


def _no_endpoints() -> Verdict:
    fact = "All live gateways serve it, and the nodes refuse its connections, because no endpoint of it is ready"
    return Verdict(Reason.NO_ENDPOINTS, fact, SEE_PODS)


def _idle(forwards: Iterable[Forward], answered: Iterable[Forward]) -> Iterator[Verdict]:
    """Some of its ports, or one of its families, lead nowhere, and others do not."""
    refused, served = set(forwards).difference(answered), set(answered)
    if not refused or not served:
        return
    families = {wishes.family_of(each.address) for each in (*refused, *served)}
    ports = sorted({(each.port, each.protocol, wishes.family_of(each.address)) for each in refused})
    told = [f"{port}/{protocol}{f' of {family}' if len(families) > 1 else ''}" for port, protocol, family in ports]
    more = f" and {len(told) - FEW} more" if len(told) > FEW else ""
    yield Verdict(
        Reason.PORT_WITHOUT_ENDPOINTS,
        f"All live gateways serve it, but connections to {', '.join(told[:FEW])}{more} are refused, because it has no "
        "ready endpoint there",
        SEE_PODS,
    )


def _shut(service: Service, forwards: Iterable[Forward]) -> Iterator[Verdict]:
    """Who lists networks of one family may not know that all of the other one are kept out."""
    shut = {wishes.family_of(each.address) for each in forwards if sources.nobody(service, each.address)}
    for family in sorted(shut):
        yield Verdict(
            Reason.NOBODY_MAY_CALL,
            f"All live gateways serve it, but nobody may call it by {family}: its source ranges are all of the other "
            "family",
            f"Add networks of {family} to its source ranges, such as {EVERYBODY[family]}; if that is meant, let it be",
        )


def _hidden(service: Service, layer: Layer, snat: frozenset[str]) -> Iterator[Verdict]:
    if not keeps_clients(service):
        return
    fact = (
        "All live gateways serve it, but its pods do not see the clients that externalTrafficPolicy Local is to keep: "
    )
    if layer == "cluster":
        why, fix = "they are reached by way of its cluster IP", "Choose the layer pod or node for it"
    elif snat - {"never"}:
        why = "the gateways put another address in the place of theirs"
        fix = (
            "Set forwarding.snat to never on all gateways, where the nodes answer by way of them; "
            "or set externalTrafficPolicy to Cluster"
        )
    else:
        return
    yield Verdict(Reason.CLIENT_HIDDEN, f"{fact}{why}", fix)


def _policies(service: Service, known: Known) -> Iterator[Verdict]:
    bearing = policies.bearing_on(service, known.policies)
    told = [
        f"NetworkPolicy {', '.join(each[:FEW])}{' and others' if len(each) > FEW else ''} {verb} its pods"
        for each, verb in ((bearing.surely, "selects"), (bearing.perhaps, "may select"))
        if each
    ]
    if told:
        yield Verdict(
            Reason.NETWORK_POLICY,
            f"{', and '.join(told)}: what comes from the gateways may be kept out",
            "See that it lets in what forwarding.snat makes of the source: the Service's own address, the clients, or "
            "the gateways; by way of nodes or the cluster IP, what the nodes make of it",
        )
