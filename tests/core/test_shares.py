"""What a Service was given of its addresses comes before what it added since, whoever is older."""

import msgspec
import pytest

from mooring.core import shares
from mooring.core.backends import Known
from mooring.core.shares import Share
from mooring.model import names
from mooring.model.gateway import Key
from mooring.model.kubernetes import Meta, Service, ServicePort, ServiceSpec
from tests.core.test_picture import painted
from tests.core.test_picture import service as shown

WEB, TLS, DNS = Key("TCP", 80), Key("TCP", 443), Key("UDP", 53)


def service(given: str | None, *ports: Key, key: str = "") -> Service:
    said = {names.GIVEN: given, names.SHARING_KEY: key or None}
    annotations = {name: text for name, text in said.items() if text is not None}
    spec = ServiceSpec("LoadBalancer", tuple(ServicePort(each.port, each.protocol) for each in ports))
    return Service(Meta(annotations=annotations), spec)


@pytest.mark.parametrize(
    ("one", "given", "told"),
    [
        (service(None, WEB, TLS), Share((WEB, TLS), ""), False),
        (service(None, WEB, key="a"), Share((WEB,), "a"), False),
        (service("80/TCP", WEB), Share((WEB,), ""), True),
        (service("80/TCP a", WEB, key="a"), Share((WEB,), "a"), True),
        (service("80/TCP a b", WEB, key="a b"), Share((WEB,), "a b"), True),
        (service("80/TCP,53/UDP", WEB, DNS), Share((WEB, DNS), ""), True),
        # what was added, what was given up, another company
        (service("80/TCP", WEB, TLS), Share((WEB,), ""), False),
        (service("80/TCP,443/TCP", WEB), Share((WEB,), ""), False),
        (service("80/TCP a", WEB, key="b"), Share((WEB,), "a"), False),
        (service("80/TCP", WEB, key="b"), Share((WEB,), ""), False),
        # what its owner wrote
        (service("", WEB), Share((), ""), False),
        (service("anything at all", WEB), Share((), "at all"), False),
    ],
)
def test_what_was_given(one: Service, given: Share, told: bool) -> None:  # noqa: FBT001 - a column
    assert shares.given(one) == given
    assert shares.told(one) is told


def test_what_is_told_is_read_back() -> None:
    for one in (service(None, WEB, TLS, DNS), service(None, DNS, key="a b")):
        annotations = one.metadata.annotations | {names.GIVEN: str(shares.wanted(one))}
        noted = msgspec.structs.replace(one, metadata=msgspec.structs.replace(one.metadata, annotations=annotations))
        assert shares.told(noted)
        assert shares.given(noted) == shares.wanted(one)


def since(one: Service, created: str, **said: str) -> Service:
    annotations = one.metadata.annotations | {getattr(names, name): text for name, text in said.items()}
    meta = msgspec.structs.replace(one.metadata, creation_timestamp=created, annotations=annotations)
    return msgspec.structs.replace(one, metadata=meta)


@pytest.mark.parametrize(
    "older",
    [
        since(shown("old", 80, 443, on="a", shown="10.0.0.5"), "2020-01-01T00:00:00Z", GIVEN="80/TCP"),
        since(shown("old", 80, on="a", shown="10.0.0.5"), "2020-01-01T00:00:00Z", GIVEN="80/TCP", SHARING_KEY="a"),
    ],
    ids=["a port", "a key"],
)
def test_who_changed_its_wishes_while_nobody_led_does_not_take_what_others_have(older: Service) -> None:
    younger = since(shown("young", 443, on="a", shown="10.0.0.5"), "2026-01-01T00:00:00Z", GIVEN="443/TCP")
    picture = painted()
    picture.claim_all([older, younger])
    assert [each.address for each in picture.forwards(younger, Known())] == ["10.0.0.5"]
    assert picture.forwards(older, Known()) == ()
