"""What a gateway refuses and what it leaves out, and that it says which forward is meant."""

import msgspec
import pytest

from mooring.core import gateway_checks, gateway_document
from mooring.core.gateway_checks import MOST_BACKENDS, MOST_SOURCES, Reason
from mooring.model.gateway import Backend, Delta, Document, Forward, Held

WEB = Forward("10.0.0.5", "TCP", 80, "shop/web", (Backend("10.1.0.7", 8080),))
SIX = Forward("fd00::5", "UDP", 53, "shop/six", (Backend("fd00:1::7", 53),), 10800, ("fd00::/8",))


def document(*forwards: Forward, seed: int = 7) -> Document:
    return Document(1, 1, gateway_document.digest(forwards, seed), forwards, seed)


def test_what_is_good_is_served() -> None:
    assert gateway_checks.refusal(document(WEB, SIX)) is None
    assert gateway_checks.refusal(document()) is None
    for each in (WEB, SIX):
        assert gateway_checks.servable(each) == (each, ())


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
        (changed(WEB, backends=WEB.backends * (MOST_BACKENDS + 1)), Reason.TOO_MANY_BACKENDS, "4097 backends"),
        (changed(WEB, backends=WEB.backends * 2), Reason.TWICE, "a backend is there twice"),
        (changed(WEB, affinity=-1), Reason.BAD_AFFINITY, "-1 s"),
        (changed(WEB, affinity=86401), Reason.BAD_AFFINITY, "86401 s"),
        (changed(WEB, sources=("10.0.0.1/8",)), Reason.BAD_SOURCES, "'10.0.0.1/8' is not a network"),
        (changed(WEB, sources=("anybody",)), Reason.BAD_SOURCES, "'anybody' is not a network"),
        (changed(WEB, sources=("fd00::/8",)), Reason.BAD_SOURCES, "is not of the family of 10.0.0.5"),
        (changed(SIX, sources=("fe80::%x/64",)), Reason.BAD_SOURCES, "fe80"),
        (changed(WEB, sources=("10.0.0.0/8",) * (MOST_SOURCES + 1)), Reason.TOO_MANY_SOURCES, "1025 networks"),
    ],
)
def test_a_forward_that_nobody_can_carry_out_is_left_out(bad: Forward, reason: Reason, told: str) -> None:
    served, left_out = gateway_checks.servable(bad)
    assert served is None
    found = left_out[0]
    assert (found.service, found.address, found.protocol, found.port) == (bad.service, *bad.place)
    assert (found.reason, found.backend) == (reason.value, "")
    assert told in found.message
    assert found.advice or reason is Reason.TWICE


def test_who_lists_too_many_networks_is_told_how_many_there_may_be() -> None:
    _, [found] = gateway_checks.servable(changed(WEB, sources=("10.0.0.0/8",) * (MOST_SOURCES + 1)))
    assert "at most 1024 networks" in found.advice


@pytest.mark.parametrize(
    ("bad", "reason", "told"),
    [
        (Backend("localhost", 80), Reason.BAD_ADDRESS, "of a backend: 'localhost'"),
        (Backend("127.0.0.1", 80), Reason.BAD_ADDRESS, "of one host"),
        (Backend("10.1.0.7", -1), Reason.BAD_PORT, "of a backend: -1"),
        (Backend("fd00::1", 80), Reason.OTHER_FAMILY, "fd00::1 is of another family"),
    ],
)
def test_without_a_bad_backend_the_rest_is_served(bad: Backend, reason: Reason, told: str) -> None:
    served, left_out = gateway_checks.servable(changed(WEB, backends=(bad, *WEB.backends)))
    assert served == WEB
    (found,) = left_out
    assert (found.reason, found.backend) == (reason.value, f"{bad.address}:{bad.port}")
    assert told in found.message


def test_two_forwards_of_one_address_protocol_and_port() -> None:
    refusal = gateway_checks.refusal(document(WEB, changed(WEB, service="shop/other")))
    assert refusal is not None
    assert refusal.reason == Reason.TWICE.value
    assert "shop/web" in refusal.message
    assert "shop/other" in refusal.message


@pytest.mark.parametrize("seed", [-1, 1 << 32])
def test_a_seed_that_the_kernel_has_no_room_for(seed: int) -> None:
    refusal = gateway_checks.refusal(document(WEB, seed=seed))
    assert refusal is not None
    assert refusal.reason == Reason.BAD_SEED.value


@pytest.mark.parametrize("field", ["epoch", "generation"])
@pytest.mark.parametrize(("number", "good"), [(10**15 - 1, True), (10**15, False), (-1, False)])
def test_an_epoch_or_a_generation_that_nobody_could_follow(field: str, number: int, good: bool) -> None:  # noqa: FBT001 - a table
    refusal = gateway_checks.refusal(msgspec.structs.replace(document(WEB), **{field: number}))
    assert (refusal is None) is good
    assert refusal is None or refusal.reason == Reason.BAD_AGE.value


def test_a_delta_is_looked_at_too() -> None:
    twice = Delta(Held(1, 1, "x"), 1, 2, "y", (WEB, WEB))
    refusal = gateway_checks.refusal(twice)
    assert refusal is not None
    assert refusal.reason == Reason.TWICE.value
    assert gateway_checks.refusal(msgspec.structs.replace(twice, put=(WEB,))) is None
