"""Where packets of a Service go by each layer, and what is told about it."""

import msgspec
import pytest

from mooring.core import backends, gateway_document, layers
from mooring.core.backends import Known
from mooring.core.layers import Layer
from mooring.core.nodes import Usable
from mooring.model import names
from mooring.model.gateway import Forward
from mooring.model.kubernetes import (
    Endpoint,
    EndpointConditions,
    EndpointPort,
    EndpointSlice,
    LabelSelector,
    Meta,
    NetworkPolicy,
    NetworkPolicySpec,
    Service,
    ServicePort,
    ServiceSpec,
)
from mooring.model.reasons import Reason

V4, V6 = "10.20.0.5", "2001:db8::5"
HTTP = ServicePort(80, name="http", node_port=30080)
BARE = ServicePort(80, name="http")
NODES = (Usable("n1", ("172.30.0.11", "fd00::11")), Usable("n2", ("172.30.0.12",)))


def service(
    port: ServicePort = HTTP, policy: str = "Cluster", layer: str | None = None, ranges: tuple[str, ...] = ()
) -> Service:
    spec = ServiceSpec(
        "LoadBalancer",
        (port,),
        {"app": "web"},
        cluster_ip="10.96.0.7",
        cluster_ips=("10.96.0.7", "fd00:96::7"),
        external_traffic_policy=policy,
        load_balancer_source_ranges=ranges,
    )
    return Service(Meta(name="web", namespace="shop", annotations={names.LAYER: layer} if layer else {}), spec)


def on(node: str, address: str = "10.244.1.5", *, ready: bool = True, serving: bool = False) -> Endpoint:
    return Endpoint((address,), EndpointConditions(ready, serving, serving), node)


def known(*found: Endpoint, nodes: tuple[Usable, ...] = NODES, family: str = "IPv4") -> Known:
    return Known((EndpointSlice(Meta(), family, found, (EndpointPort("http", 8080),)),), nodes)


LOCAL = service(policy="Local")
SHUT = service(ranges=("fd00::/8",))
TWO_NODES = ["172.30.0.11:30080", "172.30.0.12:30080"]


@pytest.mark.parametrize(
    ("layer", "given", "address", "behind", "expected"),
    [
        ("pod", service(), V4, known(on("n1")), ["10.244.1.5:8080"]),
        ("pod", LOCAL, V4, known(on("n9")), ["10.244.1.5:8080"]),
        ("pod", service(BARE), V4, known(on("n1")), ["10.244.1.5:8080"]),
        # every usable node, wherever the pods are
        ("node", service(), V4, known(on("n1")), TWO_NODES),
        ("node", service(), V4, known(), TWO_NODES),
        ("node", service(), V6, known(), ["fd00::11:30080"]),
        ("node", service(), V4, known(nodes=()), []),
        ("node", service(BARE), V4, known(on("n1")), []),
        ("node", service(), V4, known(nodes=(Usable("n1", ("127.0.0.1", "nonsense")),)), []),
        # Local: nodes with an endpoint that is ready; when none is, with one that ends and still serves
        ("node", LOCAL, V4, known(on("n1")), ["172.30.0.11:30080"]),
        ("node", LOCAL, V4, known(on("n2"), on("n1", "10.244.1.6", ready=False, serving=True)), ["172.30.0.12:30080"]),
        ("node", LOCAL, V4, known(on("n2", ready=False), on("n1", ready=False, serving=True)), ["172.30.0.11:30080"]),
        ("node", LOCAL, V4, known(on("n2", ready=False)), []),
        ("node", LOCAL, V4, known(on("n9")), []),
        ("node", LOCAL, V4, known(on("")), []),
        ("node", LOCAL, V4, known(on("n1", "fd00::5"), family="IPv6"), []),
        ("node", LOCAL, V6, known(on("n1", "fd00::5"), family="IPv6"), ["fd00::11:30080"]),
        # the cluster IP, whatever stands behind it
        ("cluster", service(), V4, known(), ["10.96.0.7:80"]),
        ("cluster", service(), V6, known(), ["fd00:96::7:80"]),
        ("cluster", LOCAL, V4, known(on("n1")), ["10.96.0.7:80"]),
        ("cluster", Service(spec=ServiceSpec(cluster_ip="None")), V4, known(), []),
        ("cluster", Service(spec=ServiceSpec(cluster_ip="10.96.0.8")), V4, known(), ["10.96.0.8:80"]),
    ],
)
def test_the_backends_of_a_port(layer: Layer, given: Service, address: str, behind: Known, expected: list[str]) -> None:
    port = given.spec.ports[0] if given.spec.ports else HTTP
    found = backends.of_port(given, port, address, behind, layer)
    assert [f"{each.address}:{each.port}" for each in found] == expected


@pytest.mark.parametrize(
    ("annotation", "layer", "refused"),
    [
        (None, "node", False),
        ("pod", "pod", False),
        ("cluster", "cluster", False),
        (" cluster\n", "cluster", False),
        ("Pod", "node", True),
        (" ", "node", True),
        ("", "node", True),
        ("nodes; flush ruleset", "node", True),
        ("x" * 5000, "node", True),
    ],
)
def test_who_chooses_the_layer(annotation: str | None, layer: str, *, refused: bool) -> None:
    meta = Meta(annotations={} if annotation is None else {names.LAYER: annotation})
    assert layers.of_service(Service(meta), "node") == layer
    why = layers.refused(Service(meta))
    assert (why is not None) is refused
    if why is not None:
        assert f"mooring-layer says '{(annotation or '').strip()[:20]}" in why.fact
        assert "pod, node, cluster" in why.fix
        assert len(why.fact) < 200


NEVER, VIP, NOBODY = frozenset({"never"}), frozenset({"never", "vip"}), frozenset[str]()
EVERY_POD = NetworkPolicy(Meta(name="deny", namespace="shop"))
SOME_PODS = NetworkPolicy(Meta(name="some", namespace="shop"), NetworkPolicySpec(LabelSelector({"tier": "front"})))


def guarded(*policies: NetworkPolicy) -> Known:
    return msgspec.structs.replace(known(on("n1")), policies=policies)


@pytest.mark.parametrize(
    ("layer", "given", "behind", "snat", "reasons"),
    [
        ("pod", service(), known(on("n1")), VIP, []),
        ("node", service(), known(on("n1")), VIP, []),
        ("cluster", service(), known(on("n1")), VIP, []),
        # no node, and no NodePort
        ("node", service(), known(on("n1"), nodes=()), VIP, [Reason.NO_NODES]),
        ("node", LOCAL, known(on("n9")), NEVER, [Reason.NO_NODES]),
        # nobody answers in the end
        ("node", LOCAL, known(on("n9", ready=False)), NEVER, [Reason.NO_ENDPOINTS]),
        ("node", service(), known(), NEVER, [Reason.NO_ENDPOINTS]),
        ("node", service(), known(nodes=()), NEVER, [Reason.NO_ENDPOINTS]),
        ("cluster", service(), known(on("n1", ready=False)), NEVER, [Reason.NO_ENDPOINTS]),
        ("pod", service(), known(), NEVER, []),  # the gateways have nowhere to send it, which they tell
        ("node", service(BARE), known(on("n1")), VIP, [Reason.NO_NODE_PORT]),
        ("pod", service(BARE), known(on("n1")), VIP, []),
        # the client's address
        ("pod", LOCAL, known(on("n1")), NEVER, []),
        ("pod", LOCAL, known(on("n1")), VIP, [Reason.CLIENT_HIDDEN]),
        ("pod", LOCAL, known(on("n1")), NOBODY, []),  # no gateway says anything of it
        ("node", LOCAL, known(on("n1")), NEVER, []),
        ("node", LOCAL, known(on("n1")), frozenset({"masquerade"}), [Reason.CLIENT_HIDDEN]),
        ("cluster", LOCAL, known(on("n1")), NEVER, [Reason.CLIENT_HIDDEN]),
        # who may call
        ("pod", service(ranges=("10.0.0.0/8",)), known(on("n1")), VIP, []),
        ("pod", service(ranges=("fd00::/8", "10.0.0.0/8")), known(on("n1")), VIP, []),
        ("pod", SHUT, known(on("n1")), VIP, [Reason.NOBODY_MAY_CALL]),
        ("node", SHUT, known(on("n1")), VIP, [Reason.NOBODY_MAY_CALL]),
        ("cluster", SHUT, guarded(EVERY_POD), VIP, [Reason.NOBODY_MAY_CALL, Reason.NETWORK_POLICY]),
        ("node", SHUT, known(), NEVER, [Reason.NO_ENDPOINTS]),
        # policies
        ("pod", service(), guarded(EVERY_POD), NEVER, [Reason.NETWORK_POLICY]),
        ("pod", LOCAL, guarded(EVERY_POD), VIP, [Reason.CLIENT_HIDDEN, Reason.NETWORK_POLICY]),
        ("node", service(), guarded(EVERY_POD), VIP, [Reason.NETWORK_POLICY]),
        ("node", LOCAL, guarded(EVERY_POD), NEVER, [Reason.NETWORK_POLICY]),
        ("cluster", service(), guarded(EVERY_POD), VIP, [Reason.NETWORK_POLICY]),
    ],
)
def test_what_is_told(layer: Layer, given: Service, behind: Known, snat: frozenset[str], reasons: list[Reason]) -> None:
    wanted = [
        Forward(V4, port.protocol, port.port, "shop/web", backends.of_port(given, port, V4, behind, layer))
        for port in given.spec.ports
    ]
    told = backends.remarks(given, wanted, behind, layer, snat)
    assert [each.reason for each in told] == reasons
    assert all(each.fix and each.fact[0].isupper() for each in told)
    assert [each.well for each in told] == [each not in {Reason.NO_NODES, Reason.NO_NODE_PORT} for each in reasons]


@pytest.mark.parametrize(
    ("ranges", "family", "everybody"), [("fd00::/8", "IPv4", "0.0.0.0/0"), ("10.0.0.0/8", "IPv6", "::/0")]
)
def test_the_family_that_nobody_may_call_by_is_told(ranges: str, family: str, everybody: str) -> None:
    wanted = [Forward(each, "TCP", 80, "shop/web") for each in (V4, V6)]
    [told] = backends.remarks(service(ranges=(ranges,)), wanted, known(on("n1")), "pod", VIP)
    assert f"nobody may call it by {family}:" in told.fact
    assert f"networks of {family} to its source ranges, such as {everybody};" in told.fix


def test_policies_that_may_select_are_told_as_such() -> None:
    [certain] = backends.remarks(service(), (), guarded(EVERY_POD), "pod", VIP)
    assert "NetworkPolicy deny selects its pods:" in certain.fact
    [both] = backends.remarks(service(), (), guarded(EVERY_POD, SOME_PODS), "pod", VIP)
    assert "NetworkPolicy deny selects its pods, and NetworkPolicy some may select its pods:" in both.fact
    many = [NetworkPolicy(Meta(name=f"p{number}", namespace="shop")) for number in range(9)]
    [told] = backends.remarks(service(), (), guarded(*many), "pod", VIP)
    assert "NetworkPolicy p0, p1, p2 and others selects its pods" in told.fact


@pytest.mark.parametrize("layer", ["pod", "node", "cluster"])
@pytest.mark.parametrize(
    ("addresses", "slices", "told"),
    [
        ((V4,), (("IPv4", "http"), ("IPv4", "dns")), None),
        ((V4,), (("IPv4", "http"),), "to 53/UDP are refused"),
        ((V4, V6), (("IPv4", "http"), ("IPv4", "dns"), ("IPv6", "dns")), "to 80/TCP of IPv6 are refused"),
        ((V4, V6), (("IPv4", "http"),), "to 53/UDP of IPv4, 53/UDP of IPv6, 80/TCP of IPv6 are refused"),
    ],
)
def test_which_ports_lead_nowhere(
    layer: Layer, addresses: tuple[str, ...], slices: tuple[tuple[str, str], ...], told: str | None
) -> None:
    ports = (HTTP, ServicePort(53, "UDP", "dns", node_port=30053))
    given = service()
    given = msgspec.structs.replace(given, spec=msgspec.structs.replace(given.spec, ports=ports))
    pods = {"IPv4": "10.244.1.5", "IPv6": "fd00:244::5"}
    behind = Known(
        tuple(
            EndpointSlice(Meta(), family, (on("n1", pods[family]),), (EndpointPort(name, 8080, protocol),))
            for family, name in slices
            for protocol in ("TCP" if name == "http" else "UDP",)
        ),
        NODES,
    )
    forwards = [each for address in addresses for each in gateway_document.forwards(given, address, behind, layer)]
    found = backends.remarks(given, forwards, behind, layer, NEVER)
    assert [each.reason for each in found] == ([Reason.PORT_WITHOUT_ENDPOINTS] if told else [])
    assert all(told and told in each.fact and each.well for each in found)
