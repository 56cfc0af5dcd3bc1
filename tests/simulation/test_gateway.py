"""The gateway in memory: it refuses what is old, and comes back whole from a death anywhere, on a disk that forgets."""

import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.core import gateway_document
from mooring.host.disk import Disk as AnyDisk
from mooring.host.journal import NAME, READY, Journal
from mooring.model.gateway import Backend, Document, Forward, Heartbeat, Held, State
from mooring.wire.http import NotSent, Request, Response
from tests.simulation.disk import Disk
from tests.simulation.gateway import GatewayTwin, elements

WEB = Forward("10.0.0.5", "TCP", 80, "shop/web", (Backend("10.1.0.7", 8080),))
DNS = Forward("10.0.0.6", "UDP", 53, "shop/dns", (Backend("10.1.0.8", 53),))


def put(gateway: GatewayTwin, document: Document) -> Response:
    return gateway.handle(Request("put document", "PUT", "/v1/document", body=msgspec.json.encode(document)))


def held(response: Response) -> Held:
    return msgspec.json.decode(response.body, type=State).held


def document(epoch: int, generation: int, *forwards: Forward) -> Document:
    return gateway_document.document(forwards, epoch=epoch, generation=generation, seed=7)


def gateway(seed: int = 1) -> GatewayTwin:
    return GatewayTwin("g1", chance(seed))


def chance(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - it has to be repeatable


def test_a_document_is_in_force_when_it_is_acknowledged() -> None:
    it = gateway()
    first = document(1, 1, WEB, DNS)
    assert held(put(it, first)) == first.held
    assert it.machine.kernel.in_force == elements(first)
    assert it.machine.daemon.addresses == {"10.0.0.5", "10.0.0.6"}
    assert it.consistent


@pytest.mark.parametrize("older", [(1, 9), (2, 4), (0, 99)])
def test_an_older_document_is_refused_with_what_it_holds(older: tuple[int, int]) -> None:
    it = gateway()
    newest = document(2, 5, WEB)
    put(it, newest)
    response = put(it, document(*older, DNS))
    assert response.status == 409
    assert held(response) == newest.held
    assert it.machine.kernel.in_force == elements(newest)


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


@pytest.mark.parametrize("beat", [(Heartbeat(1, 9), 409), (Heartbeat(2, 1), 200), (Heartbeat(3, 1), 200)])
def test_a_heartbeat_of_an_older_leader_is_refused(beat: tuple[Heartbeat, int]) -> None:
    it = gateway()
    put(it, document(2, 5, WEB))
    body = msgspec.json.encode(beat[0])
    assert it.handle(Request("heartbeat", "POST", "/v1/heartbeat", body=body)).status == beat[1]


@pytest.mark.parametrize("seed", range(80))
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


class NoFileSync(Journal):
    """Forgets to sync the file before it is renamed."""

    def __init__(self, disk: AnyDisk) -> None:
        super().__init__(disk)
        self._forgetful = disk

    def prepare(self, content: bytes) -> None:
        self._forgetful.write(READY, content)


class NoNameSync(NoFileSync):
    """Forgets to sync the directory after the rename."""

    def prepare(self, content: bytes) -> None:
        Journal.prepare(self, content)

    def commit(self) -> None:
        self._forgetful.rename(READY, NAME)


@pytest.mark.parametrize(("kind", "holds"), [(Journal, True), (NoFileSync, False), (NoNameSync, False)])
def test_a_journal_that_forgets_to_sync_is_found(kind: type[Journal], holds: bool) -> None:  # noqa: FBT001 - a table
    found = set()
    for seed in range(200):
        it = GatewayTwin("g1", chance(seed), kind)
        put(it, document(1, 1, WEB))
        it.dies_in_next_request()
        with pytest.raises(ConnectionResetError):
            put(it, document(1, 2, DNS))
        found.add(_comes_back(it))
    assert (found == {True}) is holds


def _comes_back(it: GatewayTwin) -> bool:
    it.start()
    return it.consistent


def test_a_gateway_also_dies_in_a_request_that_changes_nothing() -> None:
    it = gateway()
    put(it, document(1, 1, WEB))
    it.dies_in_next_request()
    with pytest.raises(ConnectionResetError):
        it.handle(Request("get state", "GET", "/v1/state"))
    it.start()
    assert it.consistent


def replaced(*, file: bool, names: bool) -> Disk:
    """A document that was there for sure, and a new one in its place; what is synced of the new one is asked for."""
    disk = Disk()
    disk.write("document", b"old")
    disk.sync("document")
    disk.sync_names()
    disk.write("new", b"whole")
    if file:
        disk.sync("new")
    disk.rename("new", "document")
    if names:
        disk.sync_names()
    return disk


def fates(*, file: bool, names: bool) -> set[bytes | None]:
    found = set()
    for seed in range(300):
        disk = replaced(file=file, names=names)
        disk.crash(chance(seed))
        found.add(disk.read("document"))
    return found


CUT = {b"whole"[:length] for length in range(6)}


@pytest.mark.parametrize(
    ("file", "names", "expected"),
    [
        (True, True, {b"whole"}),
        (True, False, {b"old", b"whole"}),
        (False, True, CUT),
        (False, False, CUT | {b"old"}),
    ],
)
def test_what_a_crash_leaves_of_a_file_that_was_replaced(
    file: bool,  # noqa: FBT001 - a table
    names: bool,  # noqa: FBT001
    expected: set[bytes | None],
) -> None:
    assert fates(file=file, names=names) == expected


def test_a_file_that_was_written_over_may_be_as_before_or_cut() -> None:
    found = set()
    for seed in range(300):
        disk = Disk()
        disk.write("file", b"old")
        disk.sync("file")
        disk.sync_names()
        disk.write("file", b"whole")
        disk.crash(chance(seed))
        found.add(disk.read("file"))
    assert found == CUT | {b"old"}


def test_names_change_in_their_order() -> None:
    found = set()
    for seed in range(100):
        disk = Disk()
        disk.write("a", b"")
        disk.rename("a", "b")
        disk.rename("b", "c")
        disk.crash(chance(seed))
        found.add("".join(name for name in "abc" if disk.read(name) is not None))
    assert found == {"", "a", "b", "c"}


@given(st.integers(0, 10_000), st.binary(max_size=20), st.binary(max_size=20))
def test_what_was_synced_stays(seed: int, first: bytes, second: bytes) -> None:
    disk = Disk()
    disk.write("file", first)
    disk.sync("file")
    disk.sync_names()
    disk.write("other", second)
    disk.rename("other", "another")
    disk.crash(chance(seed))
    assert disk.read("file") == first
    left = disk.read("another")
    disk.crash(chance(seed + 1))
    assert disk.read("another") == left
