"""Which backends a Service's port has: every rule about slices, families, names and readiness."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.core import endpoints
from mooring.model import names
from mooring.model.gateway import Backend
from mooring.model.kubernetes import Endpoint, EndpointConditions, EndpointPort, EndpointSlice, Meta, Name, ServicePort

HTTP = ServicePort(80, name="http")
ADDRESS = "10.20.0.5"


def endpoint(address: str, *, ready: bool | None = True, serving: bool = False, terminating: bool = False) -> Endpoint:
    return Endpoint((address,), EndpointConditions(ready, serving, terminating))


def found(*endpoints: Endpoint, family: str = "IPv4", ports: tuple[EndpointPort, ...] | None = None) -> EndpointSlice:
    meta = Meta(name="web-1", namespace="shop", labels={names.SERVICE_NAME: "web"})
    return EndpointSlice(meta, family, endpoints, (EndpointPort("http", 8080),) if ports is None else ports)


ONE = endpoint("10.244.1.5")
TWO = endpoint("10.244.2.5")


@pytest.mark.parametrize(
    ("slices", "expected"),
    [
        ([], []),
        ([found()], []),
        ([found(ONE)], ["10.244.1.5:8080"]),
        ([found(TWO, ONE)], ["10.244.1.5:8080", "10.244.2.5:8080"]),
        # all slices count, and what stands in two of them counts once
        ([found(TWO), found(ONE)], ["10.244.1.5:8080", "10.244.2.5:8080"]),
        ([found(ONE), found(ONE)], ["10.244.1.5:8080"]),
        # readiness: unknown is ready; one that ends is better than none
        ([found(endpoint("10.244.1.5", ready=None))], ["10.244.1.5:8080"]),
        ([found(endpoint("10.244.1.5", ready=False), TWO)], ["10.244.2.5:8080"]),
        ([found(endpoint("10.244.1.5", ready=False))], []),
        ([found(endpoint("10.244.1.5", ready=False, serving=True, terminating=True))], ["10.244.1.5:8080"]),
        ([found(endpoint("10.244.1.5", ready=False, serving=True, terminating=True)), found(TWO)], ["10.244.2.5:8080"]),
        ([found(endpoint("10.244.1.5", ready=False, terminating=True))], []),
        # with publishNotReadyAddresses Kubernetes says that who ends is ready all the same
        ([found(endpoint("10.244.1.5", ready=True, terminating=True), TWO)], ["10.244.1.5:8080", "10.244.2.5:8080"]),
        # families are not mixed
        ([found(endpoint("fd00::5"), family="IPv6")], []),
        ([found(endpoint("host.example.org"), family="FQDN")], []),
        # ports are known by name and protocol; pods of two slices may listen on different numbers
        ([found(ONE, ports=(EndpointPort("other", 8080),))], []),
        ([found(ONE, ports=(EndpointPort("http", 8080, "UDP"),))], []),
        ([found(ONE, ports=(EndpointPort("http", None),))], []),
        ([found(ONE, ports=())], []),
        ([found(ONE), found(TWO, ports=(EndpointPort("http", 9090),))], ["10.244.1.5:8080", "10.244.2.5:9090"]),
        # what no gateway would take harms nobody else
        ([found(endpoint("239.1.1.1"), ONE)], ["10.244.1.5:8080"]),
        ([found(endpoint("127.0.0.1"), endpoint("::"), endpoint("010.244.1.5"))], []),
        ([found(endpoint("10.244.1.5 } flush ruleset"), ONE)], ["10.244.1.5:8080"]),
        # what the API server leaves out
        ([EndpointSlice(Meta(), "IPv4", None, None)], []),
        ([found(Endpoint())], []),
    ],
)
def test_the_backends_of_a_port(slices: list[EndpointSlice], expected: list[str]) -> None:
    backends = endpoints.backends(HTTP, ADDRESS, slices)
    assert [f"{each.address}:{each.port}" for each in backends] == expected


def test_the_family_is_that_of_the_address() -> None:
    six = found(endpoint("fd00::5"), family="IPv6")
    assert endpoints.backends(HTTP, "2001:db8::5", [found(ONE), six]) == (Backend("fd00::5", 8080),)


@given(st.lists(st.integers(1, 250), min_size=1, max_size=12), st.randoms())
def test_the_order_of_slices_and_endpoints_does_not_matter(numbers: list[int], chance: st.DataObject) -> None:
    """All gateways number the slots in the same way, whatever order things came in."""
    every = [endpoint(f"10.244.1.{number}") for number in numbers]
    cut = len(every) // 2
    before = endpoints.backends(HTTP, ADDRESS, [found(*every[:cut]), found(*every[cut:])])
    chance.shuffle(every)  # type: ignore[attr-defined]
    assert endpoints.backends(HTTP, ADDRESS, [found(*every)]) == before
    assert len(before) == len(set(numbers))


def test_the_nodes_of_what_is_used() -> None:
    ready = Endpoint(("10.244.1.5",), EndpointConditions(ready=True), "n1")
    ending = Endpoint(("10.244.2.5",), EndpointConditions(ready=False, serving=True, terminating=True), "n2")
    assert endpoints.node_names(HTTP, ADDRESS, [found(ready, ending)]) == {"n1"}
    assert endpoints.node_names(HTTP, ADDRESS, [found(ending)]) == {"n2"}
    assert endpoints.node_names(HTTP, ADDRESS, [found(ready, ports=(EndpointPort("other", 8080),))]) == frozenset()


def test_whose_a_slice_is() -> None:
    assert endpoints.service_of(found()) == Name("shop", "web")
    assert endpoints.service_of(EndpointSlice(Meta(name="x", namespace="shop"))) is None


def test_why_endpoints_are_left_out() -> None:
    assert endpoints.left_out([found(ONE), found(TWO)]) == ()
    unready = endpoint("239.1.1.2", ready=False)
    told = endpoints.left_out([found(ONE, endpoint("239.1.1.1"), unready), found(endpoint("x.example"), family="FQDN")])
    named = "some are names, and gateways need addresses"
    assert told == ("239.1.1.1 is not an address of one host in a network", named)


def test_more_endpoints_than_a_gateway_can_have() -> None:
    many = found(*(endpoint(f"10.244.{number // 250}.{number % 250 + 1}") for number in range(endpoints.MOST + 1)))
    assert len(endpoints.backends(HTTP, ADDRESS, [many])) == endpoints.MOST
    assert endpoints.left_out([many]) == ("it has more than 4096 of them",)
