"""From facts to findings: each has a row for each of its outcomes."""

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.core import cloud_findings, doctoring
from mooring.core.addresses import Place
from mooring.core.cloud_findings import EXTENSIONS, InCloud
from mooring.core.doctoring import Clock, Facts, Right
from mooring.core.surveyed import Around, Asked, Leader, Owned, Sights, Survey
from mooring.model import names
from mooring.model.cloud import (
    AddressPair,
    FixedIp,
    Gateway,
    Network,
    NetworkId,
    Port,
    PortId,
    ProjectId,
    Quota,
    Router,
    RouterId,
    SecurityGroup,
    SecurityGroupId,
    SubnetId,
    Usage,
)
from mooring.model.config import Services
from mooring.model.gateway import Held, State, Vrrp
from mooring.model.kubernetes import (
    Ingress,
    LoadBalancerStatus,
    Meta,
    Service,
    ServicePort,
    ServiceSpec,
    ServiceStatus,
)
from mooring.model.reports import Finding

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = 86400
WELL = State(Held(3, 7, "x"), Vrrp.MASTER, version="1.0", certificate_ends=int(NOW.timestamp()) + 90 * DAY)
LEADER = Leader("c1", NOW, NOW, 15.0, 3)
PLACE = Place("c", NetworkId("n"), SubnetId("s"), NetworkId("out"), (PortId("p1"),))
ALL = frozenset(EXTENSIONS)


def port(name: str = "p1", pairs: int = 0, owner: str = "", **fields: object) -> Port:
    entries = tuple(AddressPair(f"10.0.0.{each}") for each in range(pairs))
    made = Port(
        id=PortId(name),
        project_id=ProjectId("p"),
        revision_number=0,
        network_id=NetworkId("n"),
        device_owner=owner,
        fixed_ips=(FixedIp(SubnetId("s"), "10.0.0.250"),),
        allowed_address_pairs=entries,
    )
    return msgspec.structs.replace(made, **fields)


def survey(
    *services: Service,
    state: State | None = WELL,
    leader: Leader = LEADER,
    owned: Owned | None = None,
    wanted: Services = Services(),  # noqa: B008 - it is frozen
) -> Survey:
    asked = (Asked("g1", state, "" if state else "its agent does not answer"),)
    return Survey(Sights(NOW, leader, services, (), asked, owned, wanted=wanted))


def finding(what: str, facts: Facts) -> Finding:
    [found] = [each for each in doctoring.findings(facts) if each.what == what]
    return found


def absent(what: str, facts: Facts) -> bool:
    return what not in {each.what for each in doctoring.findings(facts)}


def facts(found: Survey | None = None, cloud: InCloud | None = None, **fields: object) -> Facts:
    return msgspec.structs.replace(Facts(found or survey(), cloud or InCloud(ALL), release="1.0"), **fields)


def test_all_is_well_and_one_is_not() -> None:
    assert doctoring.report(facts()).well
    assert not doctoring.report(facts(unseen="no way")).well


@pytest.mark.parametrize(
    ("rights", "unseen", "well", "told"),
    [
        ((Right("get services", allowed=True),), "", True, "may do all 1 things"),
        ((Right("get services", allowed=False),), "", False, "may not get services"),
        (tuple(Right(f"v{each} x", allowed=False) for each in range(7)), "", False, "and 2 more"),
        ((), "no answer", False, "no answer"),
    ],
)
def test_rights(rights: tuple[Right, ...], unseen: str, well: bool, told: str) -> None:  # noqa: FBT001 - a column
    found = finding("rights in Kubernetes", facts(rights=rights, rights_unseen=unseen))
    assert (found.well, told in found.seen) == (well, True)


@pytest.mark.parametrize(
    ("leader", "well", "told"),
    [
        (LEADER, True, "c1, epoch 3"),
        (msgspec.structs.replace(LEADER, renewed=NOW.replace(year=2025)), False, "nobody; c1 led last"),
        (Leader(), False, "nobody, and nobody ever did"),
    ],
)
def test_who_leads(leader: Leader, well: bool, told: str) -> None:  # noqa: FBT001 - a column
    found = finding("who leads", facts(survey(leader=leader)))
    assert (found.well, found.seen) == (well, told)


@pytest.mark.parametrize(
    ("state", "well", "told"),
    [
        (WELL, True, "answers, VRRP master"),
        (msgspec.structs.replace(WELL, stale=True), False, "is stale"),
        (msgspec.structs.replace(WELL, trouble="keepalived is gone"), False, "keepalived is gone"),
        (None, False, "its agent does not answer"),
    ],
)
def test_agents(state: State | None, well: bool, told: str) -> None:  # noqa: FBT001 - a column
    found = finding("agent of g1", facts(survey(state=state)))
    assert (found.well, told in found.seen) == (well, True)


@pytest.mark.parametrize(
    ("days", "well", "told"),
    [(90, True, "90 days left"), (14, False, "14 days left"), (15, True, "15 days left"), (-1, False, "has expired")],
)
def test_certificates(days: int, well: bool, told: str) -> None:  # noqa: FBT001 - a column
    state = msgspec.structs.replace(WELL, certificate_ends=int(NOW.timestamp()) + days * DAY)
    found = finding("certificate of g1", facts(survey(state=state)))
    assert (found.well, found.seen) == (well, told)
    assert absent("certificate of g1", facts(survey(state=msgspec.structs.replace(WELL, certificate_ends=0))))


@pytest.mark.parametrize(("release", "well"), [("1.0", True), ("1.1", False)])
def test_versions(release: str, well: bool) -> None:  # noqa: FBT001 - a column
    assert finding("versions", facts(release=release)).well is well
    assert absent("versions", facts(survey(state=msgspec.structs.replace(WELL, version=""))))


@pytest.mark.parametrize(
    ("said", "apart"),
    [(100, 0.0), (99, 0.0), (101, 0.0), (98, -1.0), (97, -2.0), (102, 1.0), (103, 2.0), (104, 3.0), (90, -9.0)],
)
def test_how_far_a_clock_is_apart(said: int, apart: float) -> None:
    """The answer came between 100 and 101; a clock that says 99 in whole seconds may say 99.99."""
    assert Clock("x", said, 100.0, 101.0).apart == apart


@given(st.floats(0, 2**31), st.floats(0, 30), st.floats(0, 1))
def test_a_clock_that_is_right_is_never_said_to_be_wrong(begin: float, took: float, part: float) -> None:
    """Whatever the moment of the answer was, and though its fraction was cut off."""
    moment = begin + part * took
    assert abs(Clock("x", float(int(moment)), begin, begin + took).apart) < 0.001


@pytest.mark.parametrize(
    ("said", "well", "told"),
    [(100, True, "all 1 that were asked"), (110, False, "g1 10 s ahead"), (90, False, "g1 9 s behind")],
)
def test_clocks(said: int, well: bool, told: str) -> None:  # noqa: FBT001 - a column
    found = finding("clocks", facts(clocks=(Clock("g1", said, 100.0, 100.0),)))
    assert (found.well, told in found.seen) == (well, True)
    assert absent("clocks", facts())


def service(*, cls: str = names.GATEWAY_CLASS, shown: str = "", finalizers: tuple[str, ...] = ()) -> Service:
    ingress = (Ingress(shown),) if shown else ()
    return Service(
        Meta(name="web", namespace="shop", finalizers=finalizers),
        ServiceSpec("LoadBalancer", (ServicePort(80),), load_balancer_class=cls),
        ServiceStatus(LoadBalancerStatus(ingress)),
    )


CLAIMING = Services(claim_unclassed=True)
CCM = (names.CLEANUP_FINALIZER,)
OURS = (names.CLEANUP_FINALIZER, names.FINALIZER)


@pytest.mark.parametrize(
    ("one", "wanted", "address", "finalizer"),
    [
        (service(), Services(), False, False),
        (service(shown="198.51.100.9"), Services(), True, False),
        (service(cls="", shown="198.51.100.9"), Services(), False, False),  # not claimed
        (service(cls="", shown="198.51.100.9"), CLAIMING, True, False),
        (service(cls="", finalizers=CCM), CLAIMING, False, True),
        (service(cls="", finalizers=CCM), Services(), False, False),
        (service(cls="", finalizers=OURS), CLAIMING, False, False),
        (service(finalizers=CCM), CLAIMING, False, False),  # its class is ours: nobody else claims it by that
    ],
)
def test_another_controller(one: Service, wanted: Services, address: bool, finalizer: bool) -> None:  # noqa: FBT001 - columns
    there = facts(survey(one, owned=Owned(PLACE), wanted=wanted))
    assert finding("another controller", there).well is not address
    assert absent("cloud controller manager", there) is not finalizer


@pytest.mark.parametrize(
    ("one", "said", "claimed"),
    [
        (service(), "true", True),
        (service(), "false", False),
        (service(cls="example.org/other"), "true", False),
    ],
)
def test_what_ch_k8s_lbaas_claims_of_ours(one: Service, said: str, claimed: bool) -> None:  # noqa: FBT001 - a column
    one.metadata.annotations[names.MANAGED_BY_CAH] = said
    there = facts(survey(one, owned=Owned(PLACE)))
    assert absent("ch-k8s-lbaas", there) is not claimed
    assert not claimed or "claims shop/web" in finding("ch-k8s-lbaas", there).seen


@pytest.mark.parametrize("lacks", sorted(EXTENSIONS))
def test_every_extension_is_missed(lacks: str) -> None:
    found = finding("API extensions", facts(cloud=InCloud(ALL - {lacks})))
    assert not found.well
    assert f"no {lacks}: " in found.seen


def quota(**usages: Usage) -> Quota:
    free = Usage(-1, 0)
    return Quota(**dict.fromkeys(Quota.__struct_fields__, free) | usages)


@pytest.mark.parametrize(
    ("usages", "floating", "well", "told"),
    [
        ({}, True, True, "any number of more addresses fit"),
        ({"port": Usage(10, 4), "floatingip": Usage(5, 4)}, True, True, "floating IPs 4 of 5: 1 more address fit"),
        ({"port": Usage(10, 10)}, True, False, "ports 10 of 10, floating IPs 0 of any: no more addresses fit"),
        ({"floatingip": Usage(5, 4, 1)}, True, False, "no more addresses fit"),
        ({"floatingip": Usage(5, 5)}, False, True, "any number of"),
    ],
)
def test_quota(usages: dict[str, Usage], floating: bool, well: bool, told: str) -> None:  # noqa: FBT001 - columns
    place = PLACE if floating else msgspec.structs.replace(PLACE, floating_network=None)
    found = finding("quota", facts(survey(owned=Owned(place)), InCloud(ALL, (), (), (), quota(**usages))))
    assert (found.well, told in found.seen) == (well, True), found


@pytest.mark.parametrize(
    ("out", "owner", "well"),
    [
        ("out", "network:router_interface", True),
        ("out", "network:router_interface_distributed", True),
        ("elsewhere", "network:router_interface", False),
        ("", "network:router_interface", False),
        ("out", "compute:nova", False),
    ],
)
def test_the_router(out: str, owner: str, well: bool) -> None:  # noqa: FBT001 - a column
    around = Around((port("r1", owner=owner, device_id="router"),))
    router = Router(
        id=RouterId("router"),
        project_id=ProjectId("p"),
        revision_number=0,
        external_gateway_info=Gateway(NetworkId(out)) if out else None,
    )
    there = facts(survey(owned=Owned(PLACE, around=around)), InCloud(ALL, (), (router,), (), quota()))
    assert finding("router", there).well is well
    inner = msgspec.structs.replace(PLACE, floating_network=None)
    assert absent("router", facts(survey(owned=Owned(inner, around=around)), InCloud(ALL, (), (), (), quota())))


@pytest.mark.parametrize(
    ("mtu", "ipv6", "well"), [(1442, True, True), (1200, True, False), (1200, False, True), (0, True, None)]
)
def test_the_mtu(mtu: int, ipv6: bool, well: bool | None) -> None:  # noqa: FBT001 - columns
    network = Network(id=NetworkId("n"), project_id=ProjectId("p"), revision_number=0, mtu=mtu)
    place = msgspec.structs.replace(PLACE, subnet_ipv6=SubnetId("s6") if ipv6 else None)
    there = facts(survey(owned=Owned(place)), InCloud(ALL, (network,), (), (), quota()))
    if well is None:
        assert absent("MTU", there)
    else:
        assert finding("MTU", there).well is well


@pytest.mark.parametrize(
    ("used", "missing", "well"),
    [
        (0, 0, True),
        (7, 0, True),
        (7, 3, False),
        (7, 4, False),
        (8, 0, False),
        (10, 0, False),
        (11, 0, True),
        (51, 0, True),
        (51, 9, False),
    ],
)
def test_address_pairs(used: int, missing: int, well: bool) -> None:  # noqa: FBT001 - a column
    found = cloud_findings.pairs("g1", used, missing)
    assert found.well is well
    assert ("more are needed" in found.seen) is bool(missing)
    waits = bool(missing) and (used > 10 or used + missing <= 10)
    assert found.fix.startswith("wait for the controller") is (well or waits)


@pytest.mark.parametrize(
    ("used", "missing", "well", "seen"),
    [
        (0, 0, True, "0 entries, of 12: 12 more addresses fit"),
        (11, 0, True, "11 entries, of 12: 1 more address fit"),
        (11, 1, False, "11 entries, of 12: no more addresses fit; 1 more are needed"),
        (11, 2, False, "11 entries, of 12: no more addresses fit; 2 more are needed"),
        (12, 0, False, "12 entries, of 12: no more addresses fit"),
    ],
)
def test_address_pairs_of_which_the_limit_is_known(used: int, missing: int, well: bool, seen: str) -> None:  # noqa: FBT001 - a column
    found = cloud_findings.pairs("g1", used, missing, 12)
    assert (found.well, found.seen) == (well, seen)


def test_a_port_without_port_security() -> None:
    off = port(port_security_enabled=False)
    there = facts(survey(owned=Owned(PLACE, gateways=(off,))), InCloud(ALL, (), (), (), quota()))
    assert not finding("port of g1", there).well
    assert absent("security group of g1", there)  # none is in force
    on = facts(survey(owned=Owned(PLACE, gateways=(port(),))), InCloud(ALL, (), (), (), quota()))
    assert finding("port of g1", on).well
    bare = finding("security group of g1", on)
    assert (bare.well, bare.seen) == (False, "it has none")


@pytest.mark.parametrize(("protocol", "well"), [("112", True), ("tcp", False)])
def test_gateways_that_hear_each_other(protocol: str, well: bool) -> None:  # noqa: FBT001 - a column
    group = SecurityGroupId("g")
    common = {"project_id": "p", "revision_number": 0}
    rules = [
        {"id": way, "security_group_id": group, "direction": way, "protocol": protocol} | common
        for way in ("ingress", "egress")
    ]
    made = {"id": group, "stateful": False, "security_group_rules": rules} | common
    groups = (msgspec.convert(made, SecurityGroup),)
    place = msgspec.structs.replace(PLACE, gateways=(PortId("p1"), PortId("p2")))
    ports = (port("p1", security_groups=(group,)), port("p2", security_groups=(group,)))
    sights = survey(owned=Owned(place, gateways=ports)).sights
    both = Survey(msgspec.structs.replace(sights, agents=(Asked("g1", WELL), Asked("g2", WELL))))
    found = finding("VRRP (protocol 112)", facts(both, InCloud(ALL, (), (), groups, quota())))
    assert found.well is well
    assert ("g1 from g2, g2 from g1" in found.seen) is not well
