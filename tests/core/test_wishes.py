"""What Services wish of their addresses, row by row."""

import pytest

from mooring.core import wishes
from mooring.core.wishes import IPV4, IPV6, Wish
from mooring.model import names
from mooring.model.kubernetes import Meta, Service, ServiceSpec

BOTH = (IPV4, IPV6)


def service(families: tuple[str, ...] = (), *, policy: str = "", ip: str = "", asked: str = "") -> Service:
    annotations = {names.ADDRESSES: asked} if asked else {}
    return Service(
        Meta(annotations=annotations), ServiceSpec(ip_families=families, ip_family_policy=policy, load_balancer_ip=ip)
    )


@pytest.mark.parametrize(
    ("given", "offered", "expected"),
    [
        (service(), (IPV4,), (Wish(IPV4),)),
        (service((IPV6, IPV4)), BOTH, (Wish(IPV6), Wish(IPV4))),
        (service(BOTH, policy="PreferDualStack"), (IPV4,), (Wish(IPV4),)),
        (service(BOTH, policy="PreferDualStack"), (IPV6,), (Wish(IPV6),)),
        (service(BOTH, policy="RequireDualStack"), (IPV4,), (Wish(IPV4), Wish(IPV6))),
        (service((IPV6,)), (IPV4,), (Wish(IPV6),)),
        (service(ip="192.0.2.1"), (IPV4,), (Wish(IPV4, "192.0.2.1"),)),
        (service(BOTH, asked="fd00::1, 192.0.2.1"), BOTH, (Wish(IPV4, "192.0.2.1"), Wish(IPV6, "fd00::1"))),
        (service(ip="192.0.2.1", asked="192.0.2.1"), (IPV4,), (Wish(IPV4, "192.0.2.1"),)),
    ],
)
def test_what_it_is_to_have(given: Service, offered: tuple[str, ...], expected: tuple[Wish, ...]) -> None:
    assert wishes.wished(given, offered) == expected
    there = {each.family for each in expected} <= set(offered)
    assert (wishes.refused(given, offered) is None) is there


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (service(ip="somewhere"), "'somewhere', which is none"),
        (service(ip="192.0.2.01"), "'192.0.2.01'"),
        (service(ip="169.254.169.254"), "no Service can have"),
        (service(ip="255.255.255.255"), "no Service can have"),
        (service((IPV6,), ip="::ffff:c000:201"), "no Service can have"),
        (service((IPV6,), ip="2001:db8::1%eth0"), "'2001:db8::1%eth0'"),
        (service((IPV6,), asked="FD00::1"), "'FD00::1', which has to be written as fd00::1"),
        (service((IPV6,), ip="2001:db8:0::1"), "which has to be written as 2001:db8::1"),
        (service(ip="fd00::1"), "has no IPv6"),
        (service(ip="192.0.2.1", asked="192.0.2.2"), "several addresses of one family: 192.0.2.2, 192.0.2.1"),
        (service(asked="192.0.2.1\n"), ""),
        (service(asked=","), ""),
    ],
)
def test_what_cannot_be_granted_is_told(given: Service, told: str) -> None:
    refused = wishes.refused(given, BOTH)
    if told:
        assert refused is not None
        assert told in refused.fact
        assert refused.fix
    else:
        assert refused is None


@pytest.mark.parametrize(
    ("said", "clear"), [("true", True), ("False", True), ("", True), ("maybe", False), ("1", False)]
)
def test_whether_an_address_is_to_stay_is_said_clearly_or_not_at_all(said: str, clear: bool) -> None:  # noqa: FBT001 - a column
    refused = wishes.unclear(Service(Meta(annotations={names.KEEP: said})))
    assert (refused is None) is clear
    assert refused is None or (names.KEEP in refused.fact and said in refused.fact)
