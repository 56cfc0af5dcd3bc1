"""What a lab consists of: addresses never collide, names fit, and wrong values are answered."""

import ipaddress
import string
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.lab import spec as ranges
from mooring.lab.hosts import BRIDGES
from mooring.lab.spec import MAX_OF_A_KIND, MAX_SLOTS, Cable, Spec, first_host

LONGEST_INTERFACE = 15  # what Linux has room for

counts = st.integers(1, MAX_OF_A_KIND)
few = settings(max_examples=40)
slots = st.integers(0, MAX_SLOTS - 1)
specs = st.builds(Spec, nodes=counts, gateways=counts, slot=slots, distributed_fips=st.booleans())


def managed_hosts(spec: Spec) -> list[str]:
    return ["control", *spec.chassis_names, *spec.gateway_names]


def all_different(addresses: list[str]) -> bool:
    return len({ipaddress.ip_address(address) for address in addresses}) == len(addresses)


@few
@given(specs)
def test_no_two_hosts_share_an_address(spec: Spec) -> None:
    v4 = [*map(spec.management, managed_hosts(spec)), spec.gateway_address, spec.machine_address]
    v6 = [*map(spec.management6, managed_hosts(spec)), spec.gateway_address6]
    tunnels = [spec.tunnel(chassis) for chassis in spec.chassis_names]
    assert all_different([*v4, *tunnels])
    assert all_different(v6)
    for addresses, network in ((v4, spec.management_network), (v6, spec.management_network6)):
        inside = ipaddress.ip_network(network)
        assert all(ipaddress.ip_address(address) in inside for address in addresses)
        assert str(inside[-1]) not in addresses


@few
@given(specs)
def test_pods_of_different_nodes_have_different_ranges(spec: Spec) -> None:
    by_node = [spec.pod_ranges(node) for node in spec.node_names]
    v4 = [ipaddress.IPv4Network(range4) for range4, _ in by_node]
    v6 = [ipaddress.IPv6Network(range6) for _, range6 in by_node]
    assert not any(one.overlaps(other) for one, other in combinations(v4, 2))
    assert not any(one.overlaps(other) for one, other in combinations(v6, 2))
    assert all(range4.subnet_of(ipaddress.IPv4Network(ranges.PODS_V4)) for range4 in v4)
    assert all(range6.subnet_of(ipaddress.IPv6Network(ranges.PODS_V6)) for range6 in v6)


def test_no_two_networks_overlap_not_even_those_of_different_labs() -> None:
    labs = [Spec(slot=slot) for slot in range(MAX_SLOTS)]
    v4 = [*(lab.management_network for lab in labs), "172.31.9.0/24", ranges.PUBLIC_V4, ranges.LB_V4, ranges.NODES_V4]
    v4 += [ranges.PODS_V4, ranges.SERVICES_V4]
    v6 = [*(lab.management_network6 for lab in labs), ranges.PUBLIC_V6, ranges.LB_V6, ranges.NODES_V6]
    v6 += [ranges.PODS_V6, ranges.SERVICES_V6]
    assert [pair for pair in combinations(map(ipaddress.IPv4Network, v4), 2) if pair[0].overlaps(pair[1])] == []
    assert [pair for pair in combinations(map(ipaddress.IPv6Network, v6), 2) if pair[0].overlaps(pair[1])] == []


@few
@given(specs)
def test_tunnels_share_one_network(spec: Spec) -> None:
    assert {ipaddress.ip_interface(f"{spec.tunnel(chassis)}/24").network for chassis in spec.chassis_names} == {
        ipaddress.ip_network("172.31.9.0/24")
    }


@pytest.mark.parametrize("host", ["wire", "client", "n3", "nonsense"])
def test_a_host_without_a_leg_in_the_management_network_has_no_address(host: str) -> None:
    with pytest.raises(KeyError, match=f"host {host} has no leg"):
        Spec(nodes=2).management(host)


@few
@given(specs)
def test_cables(spec: Spec) -> None:
    cables = list(spec.cables())
    far_ends = [cable.far_end for cable in cables]
    assert all(len(name) <= LONGEST_INTERFACE for name in far_ends)
    assert len(set(far_ends)) == len(far_ends)
    assert len({(cable.host, cable.interface) for cable in cables}) == len(cables)
    assert {cable.bridge for cable in cables} == set(BRIDGES)
    assert not set(BRIDGES) & set(far_ends)
    assert {cable.host for cable in cables if cable.bridge == "mgmt"} == set(managed_hosts(spec))
    assert {cable.host for cable in cables if cable.bridge == "tun"} == set(spec.chassis_names)
    assert {cable.host for cable in cables} == set(spec.hosts) - {"wire"}


def test_floating_ips_are_at_home_on_x1_or_on_every_chassis() -> None:
    def outside(spec: Spec) -> list[str]:
        return [cable.host for cable in spec.cables() if cable.interface == "ext0"]

    assert outside(Spec(nodes=2)) == ["x1"]
    assert outside(Spec(nodes=2, distributed_fips=True)) == ["x1", "n1", "n2"]
    assert Cable("x1", "ext0", "pub") in list(Spec().cables())


@few
@given(specs)
def test_gateways_are_spread_over_the_nodes(spec: Spec) -> None:
    chassis = [spec.chassis_of(gateway) for gateway in spec.gateway_names]
    assert set(chassis) <= set(spec.node_names)
    assert len(set(chassis)) == min(spec.nodes, spec.gateways)


@given(st.text(st.sampled_from("az09-A_. /\nä"), max_size=14))
def test_a_name_is_allowed_exactly_if_it_is_short_and_plain(name: str) -> None:
    plain = set(name) <= {*string.ascii_lowercase, *string.digits, "-"}
    allowed = 1 <= len(name) <= 12 and plain and name[0].isalpha() and not name.endswith("-")
    assert (list(Spec(name=name).problems()) == []) is allowed


def test_the_longest_name_fits_into_the_name_of_an_interface() -> None:
    longest = Spec(name="a" * 12)
    assert list(longest.problems()) == []
    assert len(longest.machine_interface) <= LONGEST_INTERFACE


NAMES = "1 to 12 small letters, digits and hyphens, beginning with a letter"


@pytest.mark.parametrize(
    ("spec", "what", "allowed"),
    [
        (Spec(name=""), "name ''", NAMES),
        (Spec(name="Lab"), "name 'Lab'", NAMES),
        (Spec(name="1st"), "name '1st'", NAMES),
        (Spec(name="a" * 13), "name 'aaaaaaaaaaaaa'", NAMES),
        (Spec(name="../x"), "name '../x'", NAMES),
        (Spec(name="lab\n"), "name 'lab\\n'", NAMES),
        (Spec(nodes=0), "nodes 0", "1 to 8"),
        (Spec(nodes=MAX_OF_A_KIND + 1), "nodes 9", "1 to 8"),
        (Spec(nodes=-1), "nodes -1", "1 to 8"),
        (Spec(gateways=0), "gateways 0", "1 to 8"),
        (Spec(gateways=MAX_OF_A_KIND + 1), "gateways 9", "1 to 8"),
    ],
)
def test_a_wrong_value_is_told_with_what_is_allowed(spec: Spec, what: str, allowed: str) -> None:
    [problem] = spec.problems()
    assert problem.startswith(f"{what}: {allowed}")
    assert problem.endswith("allowed")


def test_all_problems_are_told_at_once() -> None:
    assert len(list(Spec(name="", nodes=0, gateways=0).problems())) == 3


@few
@given(specs)
def test_a_spec_that_can_be_built_has_no_problem(spec: Spec) -> None:
    assert list(spec.problems()) == []


@pytest.mark.parametrize(
    ("network", "address"), [("10.20.0.0/24", "10.20.0.1"), ("2001:db8:20::/64", "2001:db8:20::1")]
)
def test_the_first_host_of_a_network(network: str, address: str) -> None:
    assert first_host(network) == address


def test_services_have_addresses_in_their_range() -> None:
    services = ipaddress.ip_network(ranges.SERVICES_V4)
    assert first_host(ranges.SERVICES_V4) == ranges.API_SERVICE  # Kubernetes gives it to itself, unasked
    assert ipaddress.ip_address(ranges.DNS_SERVICE) in services
