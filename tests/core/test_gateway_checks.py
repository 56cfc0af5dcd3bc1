"""What a gateway refuses, and that it says which forward is meant."""

import msgspec
import pytest

from mooring.core import gateway_checks, gateway_document
from mooring.core.gateway_checks import MOST_BACKENDS, Reason
from mooring.model.gateway import Backend, Document, Forward

WEB = Forward("10.0.0.5", "TCP", 80, "shop/web", (Backend("10.1.0.7", 8080),))
SIX = Forward("fd00::5", "UDP", 53, "shop/six", (Backend("fd00:1::7", 53),))
EMPTY = Document(0, 0, "", ())


def document(*forwards: Forward, seed: int = 7) -> Document:
    return Document(1, 1, gateway_document.digest(forwards, seed), forwards, seed)


def test_what_is_good_is_not_refused() -> None:
    assert gateway_checks.refusal(document(WEB, SIX), EMPTY) is None
    assert gateway_checks.refusal(document(), EMPTY) is None


def changed(forward: Forward, **fields: object) -> Forward:
    return msgspec.structs.replace(forward, **fields)


@pytest.mark.parametrize(
    ("bad", "reason", "told"),
    [
        (changed(WEB, address="ten"), Reason.BAD_ADDRESS, "'ten' is not an address"),
        (changed(WEB, address="10.0.0.05"), Reason.BAD_ADDRESS, "is not an address"),
        (changed(WEB, address="10.0.0.5 } flush ruleset"), Reason.BAD_ADDRESS, "is not an address"),
        (changed(SIX, address="FD00::5"), Reason.BAD_ADDRESS, "has to be written fd00::5"),
        (changed(SIX, address="fe80::5%x } flush ruleset"), Reason.BAD_ADDRESS, "is not an address"),
        (changed(WEB, address="0.0.0.0"), Reason.BAD_ADDRESS, "of one host"),  # noqa: S104 - nobody listens
        (changed(WEB, address="127.0.0.1"), Reason.BAD_ADDRESS, "of one host"),
        (changed(WEB, address="224.0.0.18"), Reason.BAD_ADDRESS, "of one host"),
        (changed(WEB, protocol="ICMP"), Reason.BAD_PROTOCOL, "'ICMP'"),
        (changed(WEB, protocol="tcp"), Reason.BAD_PROTOCOL, "SCTP, TCP, UDP"),
        (changed(WEB, port=0), Reason.BAD_PORT, "0 is not a port"),
        (changed(WEB, port=65536), Reason.BAD_PORT, "65536"),
        (changed(WEB, backends=(Backend("localhost", 80),)), Reason.BAD_ADDRESS, "of a backend: 'localhost'"),
        (changed(WEB, backends=(Backend("10.1.0.7", -1),)), Reason.BAD_PORT, "of a backend: -1"),
        (changed(WEB, backends=(Backend("fd00::1", 80),)), Reason.OTHER_FAMILY, "fd00::1 is of another family"),
        (changed(WEB, backends=WEB.backends * (MOST_BACKENDS + 1)), Reason.TOO_MANY_BACKENDS, "4097 backends"),
    ],
)
def test_nonsense_is_refused_with_the_forward_and_why(bad: Forward, reason: Reason, told: str) -> None:
    refusal = gateway_checks.refusal(document(changed(WEB, port=81), bad), EMPTY)
    assert refusal is not None
    assert refusal.reason == reason.value
    assert refusal.message.startswith(bad.service)
    assert told in refusal.message


def test_two_forwards_of_one_address_protocol_and_port() -> None:
    refusal = gateway_checks.refusal(document(WEB, changed(WEB, service="shop/other")), EMPTY)
    assert refusal is not None
    assert refusal.reason == Reason.TWICE.value
    assert "shop/web" in refusal.message
    assert "shop/other" in refusal.message


@pytest.mark.parametrize("seed", [-1, 1 << 32])
def test_a_seed_that_the_kernel_has_no_room_for(seed: int) -> None:
    refusal = gateway_checks.refusal(document(WEB, seed=seed), EMPTY)
    assert refusal is not None
    assert refusal.reason == Reason.BAD_SEED.value


@pytest.mark.parametrize("field", ["epoch", "generation"])
@pytest.mark.parametrize(("number", "good"), [(10**15 - 1, True), (10**15, False), (-1, False)])
def test_an_epoch_or_a_generation_that_nobody_could_follow(field: str, number: int, good: bool) -> None:  # noqa: FBT001 - a table
    refusal = gateway_checks.refusal(msgspec.structs.replace(document(WEB), **{field: number}), EMPTY)
    assert (refusal is None) is good
    assert refusal is None or refusal.reason == Reason.BAD_AGE.value


@pytest.mark.parametrize("field", [{"digest": "0"}, {"seed": 8}, {"forwards": (SIX,)}])
def test_a_digest_that_does_not_fit(field: dict[str, object]) -> None:
    refusal = gateway_checks.refusal(msgspec.structs.replace(document(WEB), **field), EMPTY)
    assert refusal is not None
    assert refusal.reason == Reason.OTHER_DIGEST.value


def test_what_is_held_is_known_and_the_rest_is_still_looked_at() -> None:
    bad = changed(WEB, protocol="ICMP")
    held = document(WEB)
    assert gateway_checks.refusal(document(WEB, SIX), held) is None
    assert gateway_checks.refusal(document(WEB, bad), held) is not None
    assert gateway_checks.refusal(document(WEB, WEB), held) is not None
