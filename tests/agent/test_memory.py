"""What an agent tells of its clients and takes from others, over a host in memory, and when it looks."""

import ipaddress
from collections.abc import Iterator

import msgspec
import pytest

from mooring.agent import answers
from mooring.agent.gateway import Choices, Gateway
from mooring.agent.memory import LATEST, SETTLED, SOONEST
from mooring.agent.rules import LOOK_EVERY
from mooring.core import affinity, elements, gateway_document
from mooring.core.vrrp import Vrrp as VrrpSettings
from mooring.host.nftables import NftError
from mooring.model.gateway import Backend, Clients, Forward, Refusal, Remembered, State, Vrrp
from mooring.model.rules import Element, Recalled
from tests.silent import SILENT
from tests.simulation.host import Kernel, Machine

SETTINGS = VrrpSettings("eth0", 51, 0.1, "169.254.77.1", "/run/mooring/stale")
SEED = 7
BACKENDS = tuple(Backend(f"10.2.0.{number}", 8080) for number in range(1, 9))
FEW = Forward("10.0.0.5", "TCP", 80, "shop/web", BACKENDS[:4], affinity=600)
MANY = msgspec.structs.replace(FEW, backends=BACKENDS)
PLAIN = msgspec.structs.replace(FEW, affinity=0)
CLIENTS = tuple(f"203.0.113.{number}" for number in range(1, 41))


class Looked(Kernel):
    """A packet filter that counts how often it was asked for clients or rules, and may refuse to say."""

    looks = 0
    compared = 0
    refuses = False

    def fingerprint(self, table: str) -> str:
        self.compared += 1
        return super().fingerprint(table)

    def remembered(self, family: str, table: str, name: str) -> Iterator[tuple[Element, float]]:
        self.looks += 1
        if self.refuses:
            raise NftError("another table has taken its place")
        yield from super().remembered(family, table, name)


class Bench:
    """A gateway that holds the addresses, and a clock."""

    def __init__(self) -> None:
        self.now = 100.0
        self.generation = 0
        self.machine = Machine(lambda _: None)
        self.machine.kernel = self.kernel = Looked(lambda _: None)
        self.restart()

    def restart(self) -> None:
        self.gateway = Gateway(self.machine.host, SETTINGS, Choices(version="1"), log=SILENT, clock=lambda: self.now)
        self.gateway.start()

    def tell(self, *forwards: Forward) -> None:
        self.generation += 1
        self.now += 0.1
        document = gateway_document.document(forwards, epoch=1, generation=self.generation, seed=SEED)
        self.gateway.put(document)
        self.gateway.tend()

    def come(self, forward: Forward, *clients: str) -> None:
        """Clients come, and packets have them remembered."""
        owners = elements.sticky_slots(forward.backends)
        for client in clients:
            packed = ipaddress.ip_address(client).packed
            to = owners[affinity.slot(packed, SEED)]
            self.kernel.remember(self.table, [Recalled(entry(forward, client, to), forward.affinity)])

    def looks(self) -> int:
        """Let it look as often as it wants at this time; returns how often that was."""
        before = self.kernel.looks
        while self.gateway.memory.due():
            self.gateway.memory.look()
        return self.kernel.looks - before

    def settle(self) -> None:
        """Let it see that there is nothing to tell."""
        self.looks()
        self.now += SETTLED
        self.looks()
        assert not self.gateway.memory.due()

    @property
    def table(self) -> str:
        return next(name for (_, name), awake in self.kernel.tables().items() if awake)

    @property
    def told(self) -> dict[str, tuple[str, int]]:
        body = msgspec.json.decode(answers.get_clients(self.gateway).body, type=Clients)
        return {client: (each.backend.address, left) for each in body.remembered for client, left in each.clients}

    def hear(self, told: Clients | bytes) -> int:
        """What another gateway told; the status of the answer."""
        body = told if isinstance(told, bytes) else msgspec.json.encode(told)
        heard = answers.heard_clients(self.gateway, body)
        answer = answers.put_clients(self.gateway, heard) if isinstance(heard, answers.Recall) else heard
        msgspec.json.decode(answer.response.body, type=State if answer.response.status == 200 else Refusal)
        return answer.response.status

    def remembered(self) -> set[Element]:
        return {each for each, _ in Kernel.remembered(self.kernel, "ip", self.table, "affinity")}


def entry(forward: Forward, client: str, backend: Backend) -> Element:
    (to,) = elements.slots(forward, (backend,))
    return Element(to.family, "affinity", ipaddress.ip_address(client).packed + elements.service_key(forward), to.value)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_without_affinity_nobody_ever_looks(bench: Bench) -> None:
    bench.tell(PLAIN)
    for count in range(1, 9):
        bench.tell(msgspec.structs.replace(PLAIN, backends=BACKENDS[:count]))
        bench.now += LATEST
        assert not bench.gateway.memory.due()
    assert (bench.kernel.looks, bench.gateway.state().remembers) == (0, 0)


def test_without_a_backend_that_comes_nobody_looks_again(bench: Bench) -> None:
    bench.tell(MANY)
    bench.come(MANY, *CLIENTS)
    bench.settle()
    bench.tell(FEW)
    bench.now += 10 * LATEST
    assert bench.looks() == 0
    assert bench.gateway.state().remembers == 0


def test_when_a_backend_comes_its_clients_are_told_at_once_and_again(bench: Bench) -> None:
    bench.tell(FEW)
    bench.come(FEW, *CLIENTS)
    bench.settle()
    had = {each.key[:4]: each.value for each in bench.remembered()}
    bench.tell(MANY)
    assert bench.looks() == 1
    owners = affinity.Slots(MANY)
    strays = {
        str(ipaddress.ip_address(client)): (owners.backends[value].address, 600)
        for client, value in had.items()
        if owners.owners[affinity.slot(client, SEED)] != value
    }
    assert 5 < len(strays) < 35
    assert bench.told == strays
    number = bench.gateway.state().remembers
    assert number
    bench.now += 2.5
    assert bench.told == {client: (backend, 597) for client, (backend, _) in strays.items()}
    assert bench.looks() == 0
    bench.now += LATEST
    assert bench.looks() == 1
    assert bench.gateway.state().remembers not in {0, number}


@pytest.mark.parametrize(("seconds", "pause"), [(1, SOONEST), (60, 3.0), (86400, LATEST)])
def test_how_often_it_looks_depends_on_for_how_long_clients_are_remembered(
    bench: Bench, seconds: int, pause: float
) -> None:
    few, many = (msgspec.structs.replace(each, affinity=seconds) for each in (FEW, MANY))
    bench.tell(few)
    bench.come(few, *CLIENTS)
    bench.settle()
    bench.tell(many)
    assert bench.looks() == 1
    bench.now += pause - 0.1
    assert bench.looks() == 0
    bench.now += 0.2
    assert bench.looks() == 1


def test_once_all_have_gone_nobody_looks_any_more(bench: Bench) -> None:
    bench.tell(FEW)
    bench.come(FEW, *CLIENTS)
    bench.tell(MANY)
    bench.looks()
    assert bench.gateway.state().remembers
    bench.kernel.forget("ip", bench.table, "affinity", lambda _: True)
    bench.now += LATEST
    assert bench.looks() == 1
    assert (bench.gateway.state().remembers, bench.told) == (0, {})
    bench.now += 10 * LATEST
    assert bench.looks() == 0


def test_who_does_not_hold_the_address_says_nothing_of_it(bench: Bench) -> None:
    bench.tell(FEW)
    bench.come(FEW, *CLIENTS)
    bench.tell(MANY)
    bench.looks()
    assert bench.told
    bench.machine.daemon.vrrp = Vrrp.BACKUP
    bench.gateway.tend()
    bench.now += LATEST
    assert (bench.looks(), bench.told) == (0, {})
    bench.machine.daemon.vrrp = Vrrp.MASTER
    bench.gateway.tend()
    assert bench.looks() == 1
    assert bench.told


def test_a_restart_forgets_nothing(bench: Bench) -> None:
    bench.tell(FEW)
    bench.come(FEW, *CLIENTS)
    bench.tell(MANY)
    bench.looks()
    told = bench.told
    bench.restart()
    bench.looks()
    assert bench.told == told


def test_what_the_kernel_does_not_say_is_asked_again(bench: Bench) -> None:
    bench.tell(FEW)
    bench.come(FEW, *CLIENTS)
    bench.tell(MANY)
    bench.kernel.refuses = True
    bench.looks()
    assert bench.hear(Clients((Remembered(*MANY.place, BACKENDS[0], (("203.0.113.99", 60),)),))) == 500
    bench.kernel.refuses = False
    bench.now += SETTLED
    bench.looks()
    assert bench.told


def test_one_gateway_takes_what_another_tells_and_tells_it_when_it_holds_the_address(bench: Bench) -> None:
    bench.tell(FEW)
    bench.come(FEW, *CLIENTS)
    bench.tell(MANY)
    bench.looks()
    other = Bench()
    other.tell(MANY)
    other.settle()
    other.machine.daemon.vrrp = Vrrp.BACKUP
    other.gateway.tend()
    generation, compared = other.kernel.generation(), other.kernel.compared
    assert other.hear(bench.gateway.memory.clients()) == 200
    assert other.kernel.generation() == generation + 1
    assert len(other.remembered()) == len(bench.told) > 5
    assert other.remembered() <= bench.remembered()
    assert other.hear(bench.gateway.memory.clients()) == 200
    assert other.kernel.generation() == generation + 1, "twice the same changes nothing"
    other.now += LOOK_EVERY
    other.gateway.tend()
    assert other.kernel.compared == compared, "it knows that it was itself who changed something"
    other.machine.daemon.vrrp = Vrrp.MASTER
    other.gateway.tend()
    other.looks()
    assert other.told == bench.told


def test_what_was_told_of_a_backend_that_goes_is_forgotten_with_it(bench: Bench) -> None:
    bench.tell(MANY)
    assert bench.hear(Clients((Remembered(*MANY.place, BACKENDS[7], (("203.0.113.99", 60),)),))) == 200
    assert len(bench.remembered()) == 1
    bench.tell(FEW)
    assert bench.remembered() == set()
    assert bench.hear(Clients((Remembered(*MANY.place, BACKENDS[7], (("203.0.113.99", 60),)),))) == 200
    assert bench.remembered() == set()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"[]", 422),
        (b'{"remembered": [{"address": 5}]}', 422),
        (b'{"remembered": ' + b"[" * 9_000, 422),
        (b'{"remembered": [{"address":"10.0.0.5","protocol":"TCP","port":80,"backend":{"address":"10.2.0.1"}}]}', 422),
        (b"{}", 200),
        (b'{"remembered": [], "of a later version": 1}', 200),
        (msgspec.json.encode(Clients((Remembered("10.9.9.9", "TCP", 80, BACKENDS[0], (("203.0.113.9", 9),)),))), 200),
        (msgspec.json.encode(Clients((Remembered(*MANY.place, BACKENDS[0], (("fd09::9", 9), ("\\0", 9))),))), 200),
        (msgspec.json.encode(Clients((Remembered(*MANY.place, BACKENDS[0], (("203.0.113.9", -(1 << 62)),)),))), 200),
    ],
)
def test_nonsense_is_answered_and_changes_nothing(bench: Bench, body: bytes, status: int) -> None:
    bench.tell(MANY)
    generation = bench.kernel.generation()
    assert bench.hear(body) == status
    assert (bench.remembered(), bench.kernel.generation()) == (set(), generation)


def test_of_thousands_as_many_are_taken_as_may_be_told(bench: Bench) -> None:
    bench.tell(MANY)
    first = ipaddress.ip_address("198.18.0.0")
    many = tuple((str(first + number), 60) for number in range(affinity.MOST + 500))
    assert bench.hear(Clients((Remembered(*MANY.place, BACKENDS[0], many),))) == 200
    assert len(bench.remembered()) == affinity.MOST
