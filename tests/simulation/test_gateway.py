"""The gateway in memory: it refuses what is old, and comes back whole from a death anywhere, on a disk that forgets."""

import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.core import gateway_document
from mooring.model.gateway import Document, Forward, Held
from mooring.wire.http import NotSent, Request, Response
from tests.simulation.disk import Disk
from tests.simulation.gateway import STEPS, GatewayTwin

WEB = Forward("10.0.0.5", "TCP", 80, "shop/web")
DNS = Forward("10.0.0.6", "UDP", 53, "shop/dns")


def put(gateway: GatewayTwin, document: Document) -> Response:
    return gateway.handle(Request("put document", "PUT", "/v1/document", body=msgspec.json.encode(document)))


def held(response: Response) -> Held:
    return msgspec.json.decode(response.body, type=Held)


def document(epoch: int, generation: int, *forwards: Forward) -> Document:
    return gateway_document.document(forwards, epoch=epoch, generation=generation)


def gateway(seed: int = 1) -> GatewayTwin:
    return GatewayTwin("g1", random.Random(seed))  # noqa: S311 - it has to be repeatable


def test_a_document_is_in_force_when_it_is_acknowledged() -> None:
    it = gateway()
    first = document(1, 1, WEB, DNS)
    assert held(put(it, first)) == first.held
    assert it.kernel == {WEB, DNS}
    assert it.addresses == {"10.0.0.5", "10.0.0.6"}
    assert it.consistent


@pytest.mark.parametrize("older", [(1, 9), (2, 4), (0, 99)])
def test_an_older_document_is_refused_with_what_it_holds(older: tuple[int, int]) -> None:
    it = gateway()
    newest = document(2, 5, WEB)
    put(it, newest)
    response = put(it, document(*older, DNS))
    assert response.status == 409
    assert held(response) == newest.held
    assert it.kernel == {WEB}


def test_older_documents_are_refused_after_a_restart_too() -> None:
    it = gateway()
    put(it, document(2, 5, WEB))
    it.start()
    assert put(it, document(2, 4, DNS)).status == 409


def test_a_gateway_that_was_never_told_anything() -> None:
    it = gateway()
    assert held(it.handle(Request("get state", "GET", "/v1/state"))) == Held()
    it.start()
    assert it.consistent


@pytest.mark.parametrize("seed", range(STEPS * 8))
def test_killed_anywhere_it_comes_back_wholly_old_or_wholly_new(seed: int) -> None:
    it = gateway(seed)
    old, new = document(1, 1, WEB), document(1, 2, DNS)
    put(it, old)
    it.dies_in_next_request()
    with pytest.raises(ConnectionResetError):
        put(it, new)
    with pytest.raises(NotSent):
        put(it, new)
    it.start()
    assert it.consistent
    assert it.document in (old, new)
    assert held(put(it, new)) == new.held


def test_what_was_not_synced_may_be_gone_or_cut() -> None:
    fates = set()
    for seed in range(50):
        disk = Disk()
        disk.write("file", b"whole")
        disk.crash(random.Random(seed))  # noqa: S311
        fates.add(disk.read("file"))
    assert None in fates
    assert b"whole" in fates
    assert any(fate not in {None, b"whole"} for fate in fates)


@given(st.integers(0, 10_000), st.binary(max_size=20), st.binary(max_size=20))
def test_what_was_synced_stays(seed: int, first: bytes, second: bytes) -> None:
    disk = Disk()
    disk.write("file", first)
    disk.sync("file")
    disk.write("other", second)
    disk.crash(random.Random(seed))  # noqa: S311
    assert disk.read("file") == first
