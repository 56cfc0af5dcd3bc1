"""What a Service was given of its addresses comes before what it added since, whoever is older."""

import msgspec
import pytest

from mooring.core import shares
from mooring.core.backends import Known
from mooring.core.shares import Share
from mooring.model import names
from mooring.model.gateway import Key
from mooring.model.kubernetes import (
    Condition,
    Ingress,
    LoadBalancerStatus,
    Meta,
    Service,
    ServicePort,
    ServiceSpec,
    ServiceStatus,
)
from tests.core.test_picture import painted, service

WEB, TLS, DNS = Key("TCP", 80), Key("TCP", 443), Key("UDP", 53)
OLD, YOUNG = "2020-01-01T00:00:00Z", "2026-01-01T00:00:00Z"


def one(*ports: Key, key: str = "", given: tuple[Key, ...] = (), shared: str = "") -> Service:
    spec = ServiceSpec("LoadBalancer", tuple(ServicePort(each.port, each.protocol) for each in ports))
    return told(Service(Meta(annotations={names.SHARING_KEY: key} if key else {}), spec), given, shared)


def told(on: Service, given: tuple[Key, ...], shared: str = "") -> Service:
    """With what its status says of its share."""
    shown = on.status.load_balancer.ingress or (Ingress("192.0.2.1"),)
    ingress = tuple(msgspec.structs.replace(each, ports=given) for each in shown)
    conditions = (Condition(names.SHARED, "True", "SharingKey", shared),) if shared else ()
    return msgspec.structs.replace(on, status=ServiceStatus(LoadBalancerStatus(ingress), conditions))


@pytest.mark.parametrize(
    ("who", "given", "as_wanted"),
    [
        (one(WEB, TLS), Share((TLS, WEB), ""), True),
        (one(WEB, key="a"), Share((WEB,), "a"), True),
        (one(WEB, given=(WEB,)), Share((WEB,), ""), True),
        (one(WEB, given=(WEB,), key="a", shared="a"), Share((WEB,), "a"), True),
        # what was added, what was given up, another company
        (one(WEB, TLS, given=(WEB,)), Share((WEB,), ""), False),
        (one(WEB, given=(TLS, WEB)), Share((WEB,), ""), False),
        (one(WEB, DNS, given=(TLS,)), Share((), ""), False),
        (one(WEB, given=(WEB,), key="b", shared="a"), Share((WEB,), "a"), True),
        (one(WEB, given=(WEB,), key="b"), Share((WEB,), ""), True),
    ],
)
def test_what_was_given(who: Service, given: Share, as_wanted: bool) -> None:  # noqa: FBT001 - a column
    assert shares.given(who) == msgspec.structs.replace(given, keys=tuple(sorted(given.keys)))
    assert shares.told(who) is as_wanted


def test_what_is_told_is_read_back() -> None:
    for who in (one(WEB, TLS, DNS), one(DNS, key="a b")):
        [*conditions] = shares.condition(who)
        noted = told(who, shares.keys(who), conditions[0].message if conditions else "")
        assert shares.told(noted)
        assert shares.given(noted) == shares.wanted(who)


def made(name: str, *numbers: int, since: str, key: str = "", on: str = "a", shown: str = "10.0.0.5") -> Service:
    """Who shows an address, and was given the first of its ports there."""
    there = service(name, *numbers, on=on, shown=shown)
    annotations = there.metadata.annotations | ({names.SHARING_KEY: key} if key else {})
    meta = msgspec.structs.replace(there.metadata, creation_timestamp=since, annotations=annotations)
    return told(msgspec.structs.replace(there, metadata=meta), (Key("TCP", numbers[0]),))


@pytest.mark.parametrize(
    "older", [made("old", 80, 443, since=OLD), made("old", 80, since=OLD, key="a")], ids=["a port", "a key"]
)
def test_who_changed_its_wishes_while_nobody_led_does_not_take_what_others_have(older: Service) -> None:
    younger = made("young", 443, since=YOUNG)
    picture = painted()
    picture.holdings.claim_all([older, younger])
    assert [each.address for each in picture.forwards(younger, Known())] == ["10.0.0.5"]
    assert picture.forwards(older, Known()) == ()


@pytest.mark.parametrize(
    ("numbers", "key", "shown"),
    [((443, 80), "", "10.0.0.5"), ((443,), "x", "10.0.0.5"), ((443,), "", "203.0.113.7")],
    ids=["a port", "a key", "its floating IP is gone"],
)
def test_who_only_names_a_port_does_not_get_it(numbers: tuple[int, ...], key: str, shown: str) -> None:
    """However old it is, and whatever its owner has changed, or lost, while nobody led."""
    victim = made("victim", *numbers, since=YOUNG, key=key, shown=shown)
    thief = made("thief", 80, 443, since=OLD, on="a", shown="10.0.0.6")
    picture = painted()
    picture.holdings.claim_all([thief, victim])
    assert {each.address for each in picture.forwards(victim, Known())} == {"10.0.0.5"}
    assert picture.forwards(thief, Known()) == ()
