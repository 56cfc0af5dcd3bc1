"""Whether there is room for new addresses, row by row."""

import msgspec
import pytest

from mooring.core import room
from mooring.core.addresses import Addresses
from mooring.core.wishes import IPV4, IPV6, Wish
from mooring.model.cloud import PortId, Quota, SubnetId, Usage
from mooring.model.reasons import Reason
from tests.core.test_addresses import floating_ip, gateway, known, port

ANY = Wish(IPV4)
SIX = Wish(IPV6)
NAMED = Wish(IPV4, "203.0.113.9")
GATEWAYS = (gateway("g1", "10.0.0.5"), gateway("g2", "10.0.0.5"))


def quota(*, ports: int = -1, floating_ips: int = -1) -> Quota:
    """With three of each in use."""
    endless = Usage(-1, 0)
    return Quota(endless, endless, Usage(ports, 3), endless, Usage(floating_ips, 3), endless, endless)


def there(*parts: str, limit: int = 0, has: Quota | None = None) -> Addresses:
    """Parts: `a`, whose address both gateways may use, and that only lacks a floating IP; `b`, that nobody may use."""
    every = {"a": port("a", "10.0.0.5"), "b": port("b", "10.0.0.6")}
    found = known(*(every[each] for each in parts), gateways=(*GATEWAYS, gateway("g0", *"1234")))
    found.place = msgspec.structs.replace(found.place, pairs_limit=limit, subnet_ipv6=SubnetId("s6"))
    found.released = frozenset({PortId("g0")})  # who was let go needs no room
    found.quota = has
    return found


@pytest.mark.parametrize(
    ("limit", "parts", "wanted", "full"),
    [
        (0, "", [ANY] * 9, False),
        (2, "", [], False),
        (2, "", [ANY], False),
        (2, "", [ANY, SIX], True),
        (1, "", [ANY], True),
        (1, "a", [ANY], False),
        (1, "b", [ANY], True),
        (2, "b", [ANY], False),
        (2, "b", [ANY, SIX], True),
    ],
)
def test_whether_the_gateways_ports_have_room(limit: int, parts: str, wanted: list[Wish], full: bool) -> None:  # noqa: FBT001 - a column
    found = room.refused(there(*parts, limit=limit), wanted)
    assert (found and found.reason) == (Reason.PAIRS_LIMIT if full else None)
    assert found is None or f"port g1 may have {limit}" in found.fact


@pytest.mark.parametrize(
    ("has", "parts", "wanted", "fact"),
    [
        (None, "", [ANY], ""),
        (quota(), "", [ANY], ""),
        (quota(ports=4, floating_ips=4), "", [ANY], ""),
        (quota(ports=4, floating_ips=4), "", [ANY, SIX], "has 1 left of 4 ports"),
        (quota(ports=5, floating_ips=4), "", [ANY, SIX], ""),
        (quota(ports=3), "", [ANY], "has 0 left of 3 ports"),
        (quota(ports=2), "", [ANY], "has 0 left of 2 ports"),
        (quota(ports=3), "", [], ""),
        (quota(ports=3), "a", [ANY], ""),
        (quota(floating_ips=3), "", [ANY], "has 0 left of 3 floating IPs"),
        (quota(floating_ips=3), "a", [ANY], "has 0 left of 3 floating IPs"),
        (quota(floating_ips=3), "", [SIX], ""),
        (quota(floating_ips=3), "", [NAMED], ""),  # it may be there already
    ],
)
def test_whether_the_project_has_room(has: Quota | None, parts: str, wanted: list[Wish], fact: str) -> None:
    found = room.refused(there(*parts, has=has), wanted)
    assert (found and found.reason) == (Reason.QUOTA_EXCEEDED if fact else None)
    assert found is None or fact in found.fact


def test_what_is_made_takes_room() -> None:
    found = there(has=quota(ports=4, floating_ips=4))
    found.made(port("c", "10.0.0.7"))
    assert room.refused(found, [SIX]) is not None
    assert room.refused(found, [ANY]) is None, "c may become that one"
    found.made(floating_ip(None))
    assert room.refused(found, [ANY]) is not None
