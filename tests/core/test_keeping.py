"""Which floating IPs stay, and for whom: every combination of tags."""

import pytest

from mooring.core import keeping
from mooring.model import names
from mooring.model.cloud import FloatingIp, FloatingIpId, NetworkId, ProjectId

KEEP, FOUND, SHOP, OTHER = names.KEEP_TAG, names.FOUND_TAG, f"{names.NAMESPACE_TAG}shop", f"{names.NAMESPACE_TAG}other"


@pytest.mark.parametrize(
    ("tags", "kept", "for_others", "not_yet", "for_nobody_else"),
    [
        ((), False, False, True, False),
        ((KEEP,), True, False, True, True),
        ((KEEP, SHOP), True, False, False, True),
        ((KEEP, OTHER), True, True, True, False),
        ((KEEP, OTHER, SHOP), True, False, False, False),
        ((OTHER,), False, False, True, False),
        ((KEEP, FOUND), True, False, True, False),
        ((KEEP, FOUND, SHOP), True, False, False, False),
    ],
)
def test_what_the_tags_say_to_a_service_of_a_shop(
    tags: tuple[str, ...], *, kept: bool, for_others: bool, not_yet: bool, for_nobody_else: bool
) -> None:
    found = FloatingIp(
        id=FloatingIpId("f"),
        project_id=ProjectId("p"),
        revision_number=1,
        floating_network_id=NetworkId("out"),
        floating_ip_address="203.0.113.5",
        tags=tags,
    )
    assert keeping.kept(found) is kept
    assert keeping.for_others(found, "shop") is for_others
    assert keeping.not_yet(found, "shop") is not_yet
    assert keeping.for_nobody_else(found, "shop") is for_nobody_else


def test_where_there_is_no_floating_ip_nothing_stays() -> None:
    assert not keeping.kept(None)
    assert not keeping.for_others(None, "shop")
    assert not keeping.not_yet(None, "shop")
    assert not keeping.for_nobody_else(None, "shop")
