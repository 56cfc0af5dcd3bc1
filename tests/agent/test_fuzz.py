"""Whatever is sent to an agent is refused, or done as it was meant: seeded mutations against an oracle of their own.

The agent is the real one, over a host in memory. Looked at after each request: the answer, the elements in the kernel,
the addresses, the text for keepalived line by line, the text of the rules, the names of chains, sets and files, and how
much was answered and logged.
"""

import io
import random
import re
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from mooring.agent import answers
from mooring.agent.gateway import MOST_LEFT_OUT, Choices, Gateway
from mooring.cli import logs
from mooring.core import gateway_document, ruleset
from mooring.core.ruleset import Skeleton
from mooring.core.vrrp import Vrrp
from mooring.host.journal import DAMAGED, NAME, READY
from mooring.model.config import Log
from mooring.model.gateway import Backend, Delta, Document, Forward, Held, Refusal, State
from tests.agent import mutations
from tests.agent.mutations import Case, Meant, Mutations
from tests.simulation.disk import Disk
from tests.simulation.host import Kernel, Machine

SETTINGS = Vrrp("eth0", 51, 0.1, "169.254.77.1", "/run/mooring/stale", alive_script="/run/mooring/alive")
HANDLERS = {"PUT": answers.put_document, "PATCH": answers.patch_document}
SLICE, LONGER, WHOLE = 2_000, 25_000, 1_000_000
REPLAYS, REORDERS = 3_000, 3_000
MOST_LOGGED, MOST_ANSWERED = 16 << 10, 64 << 10
"""Bytes about one request with a handful of forwards, whatever is in it."""
MOST_LINES = 40
MOST_GROWTH = 24 << 20

NUMBER = re.compile(r"0x[0-9a-f]+|\d+")
CHAINS = re.compile(r"n\d+|t\d+|sticky|pre|post|guard|in")
ADDRESS = r"[0-9a-f.:]+/\d+"
KEEPALIVED = re.compile(
    r"global_defs \{|track_file mooring_stale \{|vrrp_script mooring_alive \{|vrrp_instance mooring \{|\}"
    r"|  (router_id mooring|script_user root|enable_script_security|vrrp_priority -20)"
    r"|  (file /run/mooring/stale|script /run/mooring/alive|user root|state BACKUP|version 3|interface eth0)"
    r"|  (weight|interval|timeout|fall|rise|virtual_router_id|priority|advert_int|garp_\w+) -?[0-9.]+"
    r"|  (track_file|track_script|virtual_ipaddress|virtual_ipaddress_excluded) \{|  \}"
    rf"|    (mooring_stale|mooring_alive)|    {ADDRESS} dev eth0|    # {ADDRESS} is released"
)


class Listening(Kernel):
    """A packet filter that hears which text it is told: that of a table of ours, but for numbers."""

    SHAPE = frozenset(NUMBER.sub("0", ruleset.table(name, Skeleton(7, 64))) for name in ruleset.TABLES)
    LINES = frozenset(line for text in SHAPE for line in text.splitlines())

    def run(self, text: str) -> str:
        assert set(NUMBER.sub("0", text).splitlines()) <= self.LINES
        return super().run(text)


class Named(Disk):
    """A disk that knows which names there were."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def write(self, name: str, content: bytes) -> None:
        self.names.add(name)
        super().write(name, content)

    def rename(self, old: str, new: str) -> None:
        self.names.add(new)
        super().rename(old, new)


class Bench:
    """An agent that is sent one case after the other, and what it should hold."""

    def __init__(self) -> None:
        self.words = io.StringIO()
        self.machine = Machine(lambda _: None)
        self.machine.kernel = Listening(lambda _: self.machine.check())
        self.machine.disk = self.disk = Named()
        self.told = Meant()
        self._looked_at: tuple[object, ...] = ()
        self.restart()

    def restart(self) -> None:
        log = logs.make(Log(level="debug"), self.words)
        self.gateway = Gateway(self.machine.host, SETTINGS, Choices(version="1"), log=log, clock=lambda: 0.0)
        self.gateway.start()
        self._forget()

    def send(self, case: Case) -> str:
        """What became of it. Nothing but an answer may come out of the agent, whatever is sent."""
        answer = HANDLERS[case.method](self.gateway, case.body)
        after = mutations.meant(self.told, case)
        if after is None:
            assert answer.response.status in {409, 422} or answer.outcome == "unchanged", (case, answer)
        else:
            assert (answer.response.status, answer.outcome) == (200, "applied"), (case, answer)
            self.told = after
        self._check_answer(answer.response.body, answer.response.status)
        self._check_words()
        self.check()
        return answer.outcome

    def check(self) -> None:
        """Look at the host, unless it is what it was the last time: what its parts hold is replaced, never changed."""
        machine = self.machine
        looked_at = (self.told, machine.kernel.all, machine.daemon.text, machine.daemon.addresses)
        if all(one is other for one, other in zip(looked_at, self._looked_at or (None,) * 4, strict=True)):
            return
        self._looked_at = looked_at
        machine.check()
        assert machine.bare is None
        assert mutations.difference(self.told, machine.kernel.in_force) == ""
        assert machine.daemon.addresses == mutations.addresses(self.told)
        assert [line for line in machine.daemon.text.splitlines() if not KEEPALIVED.fullmatch(line)] == []
        assert {name for _, name in machine.kernel.all} <= set(ruleset.TABLES)
        for table in machine.kernel.all.values():
            assert all(CHAINS.fullmatch(each) for each in table.chains)
            assert all(each.isalpha() for each in table.maps)
        assert self.disk.names <= {NAME, READY, DAMAGED}
        assert self.gateway.state().told == self.told.digest

    def _check_answer(self, body: bytes, status: int) -> None:
        assert len(body) <= MOST_ANSWERED
        msgspec.json.decode(body, type=Refusal if status == 422 else State)
        body.decode()

    def _check_words(self) -> None:
        said = self.words.getvalue()
        assert said.replace("\n", "").isprintable()
        assert len(said.splitlines()) <= MOST_LINES
        assert len(said) <= MOST_LOGGED
        self._forget()

    def _forget(self) -> None:
        self.words.seek(0)
        self.words.truncate()
        self.machine.connections.ways.clear()


def run(count: int, seed: int) -> Counter[str]:
    """Send so many; a second agent takes its place now and then, from the journal. Memory does not grow meanwhile."""
    bench, cases = Bench(), Mutations(seed)
    seen: Counter[str] = Counter()
    small = 0
    for number in range(count):
        if number == count // 4:
            small = _resident()
        before = bench.told
        bench.send(cases.next(bench.gateway.document))
        if bench.told is before:
            seen["refused"] += 1
        else:
            seen["left out" if bench.told.left_out else "applied"] += 1
        if number % 500 == 499:
            bench.restart()
            bench.check()
    assert _resident() - small < MOST_GROWTH
    told = f"refused {seen['refused']}, left out {seen['left out']}, applied {seen['applied']}"
    print(f"ran {seen.total()} of {count}: {told}")  # noqa: T201 - it is what the run is for
    return seen


def test_mutations_are_refused_or_done_as_meant() -> None:
    seen = run(SLICE, seed=1)
    assert seen.total() == SLICE
    assert min(seen["refused"], seen["left out"], seen["applied"]) > SLICE // 20


@pytest.mark.long
def test_many_mutations_are_refused_or_done_as_meant(whole: bool) -> None:  # noqa: FBT001 - a fixture
    count = WHOLE if whole else LONGER
    assert run(count, seed=2).total() == count


def test_a_fault_of_ours_would_be_found() -> None:
    """The oracle judges: an agent that serves something else than it was told is told apart."""
    bench, cases = Bench(), Mutations(3)
    while not bench.told.served or not bench.machine.kernel.in_force:
        bench.send(cases.next(bench.gateway.document))
    there = bench.machine.kernel.in_force
    for each in there:
        assert mutations.difference(bench.told, there - {each})
    one = min(there)
    assert mutations.difference(bench.told, there | {one._replace(key=one.key[::-1])})


BEATS = [
    b'{"epoch":%b,"generation":%b}' % (epoch, generation)
    for epoch in (b"0", b"1", b"-1", b"1e3", b"true", b"null", b"1" * 30, b"1" * 4000, b'"1"', b"[]", b"[" * 2000)
    for generation in (b"0", b"-1", b"1" * 30, b"NaN", b"\xff")
] + [b"", b"\xff", b"{}", b'{"epoch":1,"epoch":2,"generation":1,"\\u0000":"\xff"}']


def test_nonsense_for_a_heartbeat_is_refused_and_short() -> None:
    bench = Bench()
    bench.send(sent(History(8, 1).documents[0]))
    for body in BEATS:
        answer = answers.post_heartbeat(bench.gateway, body)
        assert answer.response.status in {200, 409, 422}
        assert len(answer.response.body) < 1000
    assert answers.post_heartbeat(bench.gateway, b'{"epoch":1,"generation":1}').outcome == "heard"
    assert not bench.gateway.state().stale


def sent(new: Document | Delta) -> Case:
    return Case("PUT" if isinstance(new, Document) else "PATCH", msgspec.json.encode(new), 0)


class History:
    """What a controller says in the course of time: each document, and what differs from the one before."""

    def __init__(self, seed: int, count: int) -> None:
        chance = random.Random(seed)  # noqa: S311 - it has to be the same again
        self.documents = [_document(chance, 1, 1)]
        self.deltas: list[Delta] = []
        for _ in range(count):
            old = self.documents[-1]
            new = _document(chance, old.epoch + (chance.random() < 0.05), old.generation + 1)
            before, after = (gateway_document.by_place(each.forwards) for each in (old, new))
            self.documents.append(new)
            self.deltas.append(gateway_document.delta(old.held, new.held, {*before, *after}, after))


def _document(chance: random.Random, epoch: int, generation: int) -> Document:
    ports = chance.sample(range(1, 8), 3)
    backends = tuple(Backend(f"10.1.0.{number}", 80) for number in chance.sample(range(1, 9), 2))
    forwards = [Forward(f"10.0.0.{port}", "TCP", port, "shop/web", backends) for port in ports]
    return gateway_document.document(forwards, epoch=epoch, generation=generation, seed=7)


@pytest.mark.parametrize("restarts", [False, True])
def test_what_was_taken_once_is_never_taken_again(restarts: bool) -> None:  # noqa: FBT001 - a table
    """All gateways of a controller are told the same; that nobody else tells it is the business of TLS."""
    chance = random.Random(4)  # noqa: S311
    history, bench = History(5, 60), Bench()
    bench.send(sent(history.documents[0]))
    tried = 0
    for number, (new, delta) in enumerate(zip(history.documents[1:], history.deltas, strict=True), 1):
        assert bench.send(sent(new if chance.random() < 0.5 else delta)) == "applied"
        if restarts and number % 5 == 0:
            bench.restart()
        held = bench.gateway.state().held
        for _ in range(REPLAYS // len(history.deltas)):
            said: list[Document | Delta] = [*history.documents[:number], *history.deltas[: number - 1]]
            old = chance.choice(said)
            assert bench.send(sent(old)) in {"older", "base"}
            assert bench.gateway.state().held == held
            tried += 1
    print(f"ran {tried} of {REPLAYS}: 0 replays taken")  # noqa: T201
    assert tried == REPLAYS


@pytest.mark.parametrize("restarts", [False, True])
def test_in_whatever_order_things_come_the_age_only_grows(restarts: bool) -> None:  # noqa: FBT001 - a table
    tried = 0
    for seed in range(REORDERS // 60):
        chance, bench = random.Random(seed), Bench()  # noqa: S311
        history = History(seed, 19)
        mixed: list[Document | Delta] = [*history.documents, *history.deltas, *history.deltas, history.documents[0]]
        mixed += chance.choices(mixed, k=60 - len(mixed))
        chance.shuffle(mixed)
        newest = (0, 0)
        for new in mixed:
            outcome = bench.send(sent(new))
            held = bench.gateway.state().held
            assert (outcome == "applied") == (held.age > newest)
            assert held.age >= newest
            newest = held.age
            if restarts and chance.random() < 0.05:
                bench.restart()
                assert bench.gateway.state().held == held
            tried += 1
        assert newest == history.documents[-1].held.age
    print(f"ran {tried} of {REORDERS}: 0 older ones taken")  # noqa: T201
    assert tried == REORDERS


def test_what_differs_from_nothing_is_not_taken() -> None:
    """The journal begins with a document; without one, it would be lost at the next start."""
    bench, history = Bench(), History(7, 1)
    delta = msgspec.structs.replace(history.deltas[0], base=Held())
    web = msgspec.structs.replace(delta, digest=gateway_document.digest_after("0", (), delta.put), removed=())
    for each in (delta, web):
        assert bench.send(sent(each)) == "base"
    bench.restart()
    assert bench.send(sent(history.documents[0])) == "applied"


def test_a_changed_byte_of_something_newer_is_not_taken_for_it() -> None:
    """A digest is not a signature: it says that nothing got lost. Who may speak is the business of TLS."""
    bench, history = Bench(), History(6, 1)
    bench.send(sent(history.documents[0]))
    whole = msgspec.json.encode(history.documents[1])
    for at in range(whole.index(b'"forwards"'), len(whole)):
        bench.send(Case("PUT", whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :], 1))
        assert bench.told.digest == history.documents[0].digest


def test_texts_without_end_get_short_answers_and_short_logs() -> None:
    bench = Bench()
    for field in ("service", "address", "protocol"):
        for length in (512, 513, 64 << 10):
            forward = msgspec.structs.replace(Forward("10.0.0.5", "ICMP", 80, "x"), **{field: "x" * length})
            document = gateway_document.document([forward], epoch=1, generation=bench.told.age[1] + 1, seed=7)
            assert bench.send(sent(document)) == ("applied" if length == 512 else "NotUnderstood")


@pytest.mark.parametrize("address", ["1\uff127.0.0.1", "22\uff14.0.0.1", "10.1\u0663\uff11.0.1", "10.0.0.1\u0663"])
def test_digits_of_other_scripts_are_no_address(address: str) -> None:
    bench = Bench()
    forward = Forward("10.0.0.5", "TCP", 80, "shop/web", (Backend(address, 80),))
    bench.send(sent(gateway_document.document([forward], epoch=1, generation=1, seed=7)))


def test_what_is_not_served_is_said_once_and_not_endlessly() -> None:
    bench = Bench()
    bad = [Forward("10.0.0.5", "ICMP", port, "shop/web") for port in range(1, 1001)]
    good = Forward("10.0.0.6", "TCP", 80, "shop/web")
    for generation in (1, 2):
        whole = gateway_document.document([*bad, good][: 999 + generation], epoch=1, generation=generation, seed=7)
        answers.put_document(bench.gateway, msgspec.json.encode(whole))
        assert len(bench.words.getvalue().splitlines()) <= MOST_LEFT_OUT + 2
        bench.words.truncate(0)


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) << 12
