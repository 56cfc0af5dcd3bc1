"""A gateway whose agent is killed at chosen effects, while a client asks at everything that it serves.

What is seen of it is seen from outside: the journal in its file, the kernel's tables, keepalived's configuration and
the addresses of the interface, and who answers the client.
"""

import ctypes
import http.client
import json
import os
import random
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from mooring.agent.record import restored
from mooring.agent.rules import MAPS
from mooring.core import gateway_document, vrrp
from mooring.core.elements import InForce
from mooring.core.ruleset import FAMILIES, Mode
from mooring.core.told import NOTHING, Told
from mooring.host import addresses
from mooring.host.disk import Folder
from mooring.host.journal import Journal
from mooring.host.nftables import Nftables
from mooring.lab import waiting
from mooring.model.gateway import Backend, Delta, Document, Forward, Place, Refusal
from mooring.model.gateway import State as Answer
from mooring.model.rules import Element
from tests.lab.programs.doomed_agent import Plan
from tests.lab.two_gateways import LISTEN, MANY, PROGRAMS, PYTHON, WAYS_OUT, TwoGateways

PORT = 8080
SEED = 7
VIPS = {4: tuple(f"10.1.0.{number}" for number in range(101, 151)), 6: tuple(f"fd01::{n}" for n in range(101, 151))}
EVERYBODY = {4: ("10.1.0.0/25", "10.9.0.0/16"), 6: ("fd01::/64", "fd09::/64")}
NOBODY = {4: ("10.9.0.0/16",), 6: ("fd09::/64",)}
HOUR, DAY = 3600, 86400


class State(Struct, frozen=True):
    """What is in force, and what comes. By PATCH only what differs is told. `leads`: another leader tells it."""

    name: str
    old: tuple[Forward, ...]
    new: tuple[Forward, ...]
    patch: bool = False
    leads: bool = False
    seed: int = SEED

    def both(self) -> set[Place]:
        """What is served all the time, to whoever asks."""
        old, new = served(self.old), served(self.new)
        return {
            place
            for place, each in old.items()
            if place in new
            and all(one.backends and one.sources != NOBODY[_version(one)] for one in (each, new[place]))
            and each.protocol != "SCTP"
        }

    def some(self) -> set[Place]:
        return {*served(self.old), *served(self.new)}

    def ends_flows(self, place: Place) -> bool:
        """Whether datagrams may be on their way to a backend that goes, here or on the way back."""
        old, new = (served(each)[place] for each in (self.old, self.new))
        return place[1] == "UDP" and set(old.backends) != set(new.backends)

    def answers(self, place: Place) -> set[str]:
        """Who may answer."""
        documents = served(self.old), served(self.new)
        found = [forwards[place] for forwards in documents if place in forwards]
        return {
            each.address
            for forward in found
            if forward.sources != NOBODY[_version(forward)]
            for each in forward.backends
        }


def served(forwards: Iterable[Forward]) -> dict[Place, Forward]:
    """What a gateway does about them, by itself."""
    told = Told()
    told.follow(told.change(gateway_document.document(forwards, epoch=1, generation=1, seed=SEED)))
    return told.forwards


def between(old: Document, new: Document) -> Delta:
    before, after = (gateway_document.by_place(each.forwards) for each in (old, new))
    places = [place for place in {*before, *after} if before.get(place) != after.get(place)]
    return gateway_document.delta(old.held, new.held, places, after)


class Maker:
    """Makes the pairs. The same ones in every run."""

    def __init__(self) -> None:
        self._chance = random.Random(6)  # noqa: S311 - the same in every run

    def forward(self, version: int, protocol: str, *, at: int = 0, port: int = 80, count: int = 3) -> Forward:
        address = VIPS[version][at]
        backends = tuple(Backend(each, PORT) for each in self._chance.sample(MANY[version], count))
        return Forward(address, protocol, port, f"shop/{protocol.lower()}{version}-{at}", backends)

    def usual(self) -> tuple[Forward, ...]:
        """Both protocols of both families, at two addresses each."""
        kinds = ((4, "TCP", 0), (4, "UDP", 0), (6, "TCP", 0), (6, "UDP", 1), (4, "TCP", 1), (6, "TCP", 1))
        return tuple(self.forward(version, protocol, at=at) for version, protocol, at in kinds)

    def many(self, *places: int) -> tuple[Forward, ...]:
        return tuple(self.forward(version, "TCP", at=at, count=2) for version in (4, 6) for at in places)

    def fewer(self, forwards: tuple[Forward, ...]) -> tuple[Forward, ...]:
        return tuple(replace(each, backends=tuple(self._chance.sample(each.backends, 2))) for each in forwards)

    def more(self, forwards: tuple[Forward, ...]) -> tuple[Forward, ...]:
        return tuple(replace(each, backends=(*each.backends, *self._others(each, 2))) for each in forwards)

    def others(self, forwards: tuple[Forward, ...]) -> tuple[Forward, ...]:
        return tuple(replace(each, backends=self._others(each, 3)) for each in forwards)

    def _others(self, forward: Forward, count: int) -> tuple[Backend, ...]:
        taken = {each.address for each in forward.backends}
        free = [each for each in MANY[_version(forward)] if each not in taken]
        return tuple(Backend(each, PORT) for each in self._chance.sample(free, count))

    def states(self) -> tuple[State, ...]:
        return (*self._endpoints(), *self._addresses(), *self._choices(), *self._large(), *self._odd())

    def _endpoints(self) -> Iterable[State]:
        for patch in (True, False):
            how = "patch" if patch else "put"
            usual = self.usual()
            yield State(f"endpoints go, {how}", usual, self.fewer(usual), patch)
            usual = self.usual()
            yield State(f"endpoints come, {how}", usual, self.more(usual), patch)
            usual = self.usual()
            yield State(f"one has others, {how}", usual, (*self.others(usual[:1]), *usual[1:]), patch)

    def _addresses(self) -> Iterable[State]:
        for patch in (True, False):
            how = "patch" if patch else "put"
            usual, more = self.usual(), self.many(2, 3)
            yield State(f"addresses come, {how}", usual, (*usual, *more), patch)
            usual, more = self.usual(), self.many(2, 3)
            yield State(f"addresses go, {how}", (*usual, *more), usual, patch)
            usual, more, rest = self.usual(), self.many(2, 3), self.many(4, 5)
            yield State(f"addresses come and go, {how}", (*usual, *more), (*self.others(usual), *rest), patch)
        usual, more, rest = self.usual(), self.many(*range(2, 26)), self.many(*range(14, 38))
        yield State("many addresses come and go", (*usual, *more), (*usual, *rest))
        usual = self.usual()
        ports = tuple(self.forward(version, "TCP", port=443) for version in (4, 6))
        yield State("a port comes, another goes", (*usual, ports[0]), (*usual, ports[1]), patch=True)

    def _choices(self) -> Iterable[State]:
        usual = self.usual()
        limited = tuple(replace(each, sources=EVERYBODY[_version(each)]) for each in usual)
        shut = tuple(replace(each, sources=NOBODY[_version(each)]) for each in limited[3:])
        yield State("sources come", usual, (*limited[:3], *shut))
        yield State("sources change", (*limited[:3], *shut), (*usual[:2], *limited[2:]), patch=True)
        usual = self.usual()
        sticky = tuple(replace(each, affinity=HOUR) for each in usual)
        yield State("affinity comes", usual, sticky, patch=True)
        yield State("affinity goes", sticky, self.fewer(usual))
        yield State("sticky endpoints go", sticky, self.fewer(sticky), patch=True)
        longer = tuple(replace(each, affinity=DAY) for each in self.others(sticky))
        yield State("affinity changes", sticky, longer)

    def _large(self) -> Iterable[State]:
        usual = self.usual()
        large = tuple(self.forward(version, "TCP", count=70) for version in (4, 6))
        rest = tuple(each for each in usual if (each.address, each.port) not in {(one.address, 80) for one in large})
        yield State("more than 64 backends", usual, (*large, *rest))
        yield State("more than 64 backends no more", (*large, *rest), usual, patch=True)

    def _odd(self) -> Iterable[State]:
        usual, more = self.usual(), self.many(2)
        yield State("another seed", usual, usual, seed=SEED + 1)
        yield State("another seed and other addresses", (*usual, *more), (*usual, *self.many(3)), seed=SEED + 1)
        yield State("another leader", usual, self.others(usual), leads=True)
        yield State("another leader and other addresses", usual, (*usual, *more), leads=True)
        bad = (
            replace(more[0], protocol="ICMP"),
            replace(more[1], backends=(*more[1].backends, Backend("10.2.0.21", PORT))),
        )
        yield State("what cannot be served", (*usual, *more), (*self.fewer(usual), *bad))
        yield State("what can be served again", (*usual, *bad), (*usual, *more), patch=True)
        yield State("from nothing", (), usual)
        yield State("to nothing", usual, ())


def _version(forward: Forward) -> int:
    return 6 if ":" in forward.address else 4


STATES = Maker().states()

GATEWAY = "gw1"
LIBC = ctypes.CDLL(None, use_errno=True)
NETWORK = 0x40000000
OURS = frozenset((*VIPS[4], *VIPS[6]))
NOT_SERVED = 9
"""A port that no document serves."""
STRANGERS = ("10.1.0.199", "fd01::199")
"""Addresses that no document has."""


class Picture(Struct, frozen=True):
    """How a gateway is: what its journal says, which tables of ours there are, and which addresses it has."""

    document: Document
    tables: dict[str, bool]
    elements: frozenset[Element]
    configured: frozenset[str]
    held: frozenset[str]

    def differs(self, document: Document, *, dark: bool = False) -> str:
        """What is not of a document; empty, if it is wholly in force and nothing else is.

        `dark`: a table may be there that is not in force, until the next one is made.
        """
        wanted = served(document.forwards)
        in_force = InForce(Mode())
        in_force.follow(wanted)
        expected = frozenset(in_force.elements())
        hosts = frozenset(each.address for each in wanted.values())
        found = {
            "journal": self.document != document,
            "tables": list(self.tables.values()).count(True) != 1 or (len(self.tables) != 1 and not dark),
            "elements": self.elements != expected,
            "keepalived.conf": self.configured != hosts,
            "addresses": self.held != hosts,
        }
        return ", ".join(each for each, is_so in found.items() if is_so)


class Heard(Struct, frozen=True):
    """What the client heard: by place and answer, how often."""

    asked: int
    seconds: float
    heard: dict[str, dict[str, int]]
    bad: list[tuple[float, str, str]]
    waiting: int


@contextmanager
def inside(pid: int) -> Iterator[None]:
    """Be in the network namespace of a process: what this thread opens belongs to it, also later."""
    own, other = (os.open(file, os.O_RDONLY) for file in ("/proc/thread-self/ns/net", f"/proc/{pid}/ns/net"))
    try:
        assert LIBC.setns(other, NETWORK) == 0, os.strerror(ctypes.get_errno())
        try:
            yield
        finally:
            assert LIBC.setns(own, NETWORK) == 0, os.strerror(ctypes.get_errno())
    finally:
        os.close(own)
        os.close(other)


class Doomed:
    """One gateway of two, its agent, and a client that asks. `age`: epoch and generation of what was told last."""

    def __init__(self, folder: Path, *, room: str = "") -> None:
        """With `room`, its files are on a disk of that size, such as `512k`, that nobody else has."""
        self.world = TwoGateways(folder, backends=80)
        self._room = room
        self.agent = self.world.agents[0]
        self.folder = self.agent.folder
        self.age = (1, 0)
        self._plan = self.folder / "plan"
        self._plans = 0
        self._pid = 0
        self._forks: subprocess.Popen[str] | None = None
        self._client: subprocess.Popen[str] | None = None

    def create(self) -> None:
        self.world.create()
        for port in (80, NOT_SERVED):  # of the gateway itself: who gets there has found an address without rules
            self.world.serve(GATEWAY, "0.0.0.0", "::", port=port)  # noqa: S104 - in a network of its own
        words = [self.folder / "mooring.toml", self._plan, self.folder / "log"]
        command = [sys.executable, str(PROGRAMS / "doomed_agent.py"), *map(str, words)]
        if self._room:
            (self.folder / "state").mkdir()
            mounted = f'mount -t tmpfs -o size={self._room} tmpfs "{self.folder / "state"}" && exec "$@"'
            command = ["unshare", "--mount", "sh", "-c", mounted, "sh", *command]
        self._forks = self._spoken_to(GATEWAY, command)
        self._client = self._spoken_to("client", [PYTHON, "-u", "-c", PROBER])
        self.start()
        waiting.until(self._is_master, seconds=20, what="it to be master")

    def end(self) -> None:
        """Whatever state its agent is in, nothing is left."""
        try:
            self.kill()
        finally:
            for pid in self.keepalived():
                os.kill(pid, signal.SIGKILL)
            for each in (self._forks, self._client):
                if each is not None:
                    each.kill()
                    each.communicate()
            self.world.end()

    # its agent

    def plan(self, **planned: Any) -> Path:  # noqa: ANN401 - of a Plan
        """What happens to the agent from now on; gives where it will write down what it does."""
        self._plans += 1
        draft = self._plan.with_suffix(".new")
        draft.write_bytes(msgspec.json.encode(Plan(self._plans, **planned)))
        draft.rename(self._plan)
        return self._plan.with_name(f"trace-{self._plans}")

    def unplan(self) -> None:
        self._plan.unlink(missing_ok=True)

    def start(self, *, planned: bool = False) -> None:
        """Start it, without a plan if none is wanted for the start."""
        if not planned:
            self.unplan()
        self._pid = int(_asked(self._forks, "start"))
        waiting.until(
            lambda: self._status() is not None or self._answers(), seconds=30, what="the agent", interval=0.01
        )
        assert planned or self._pid, self.agent.log()[-3000:]

    def dies(self) -> None:
        """Who does not answer has been killed, or is about to feel it."""
        waiting.until(lambda: self._status() is not None, seconds=10, what="its death", interval=0.002)

    @property
    def alive(self) -> bool:
        return self._pid != 0

    def kill(self) -> None:
        if self._pid and self._status() is None:
            os.kill(self._pid, signal.SIGKILL)
            waiting.until(lambda: self._status() is not None, seconds=10, what="its end", interval=0.005)

    def put(self, document: Document, *, base: Document | None = None) -> tuple[int, Answer | Refusal] | None:
        """Status and answer; None, if there was none. With a base, only what differs from it is told."""
        self.age = max(self.age, (document.epoch, document.generation))
        told = document if base is None else between(base, document)
        found = self._call("PUT" if base is None else "PATCH", "/v1/document", msgspec.json.encode(told))
        if found is None:
            return None
        status, body = found
        kind: Any = Answer if b'"held"' in body else Refusal
        return status, msgspec.json.decode(body, type=kind)

    def state(self) -> Answer:
        found = self._call("GET", "/v1/state")
        assert found is not None
        return msgspec.json.decode(found[1], type=Answer)

    @property
    def files(self) -> Path:
        """The folder of its agent, as that one sees it."""
        return Path(f"/proc/{self._gateway()}/root{self.folder / 'state'}")

    def keepalived(self) -> list[int]:
        """The processes of its keepalived that there are: the one that sends adverts, and its parent."""
        found = []
        for name in ("keepalived.vrrp.pid", "keepalived.pid"):
            with suppress(OSError, ValueError):
                pid = int((self.files / name).read_text())
                if b"keepalived" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(pid)
        return found

    def picture(self) -> Picture:
        state = self.files
        lines = Journal(Folder(state)).read()
        configuration = (state / "keepalived.conf").read_text()
        with inside(self._gateway()):
            filter_ = Nftables()
            try:
                tables = {each: awake for each, awake in filter_.tables().items() if each[1].startswith("mooring")}
                names = {name for _, name in tables}
                found = frozenset(
                    each
                    for (family, table), awake in tables.items()
                    if awake
                    for name in MAPS
                    for each in filter_.elements(family, table, name)
                )
            finally:
                filter_.close()
            there = addresses.held("eth0")
        whole = {name: all(tables.get((family.name, name), False) for family in FAMILIES) for name in names}
        document = restored(lines).document if lines else NOTHING
        return Picture(document, whole, found, vrrp.addresses(configuration) - set(WAYS_OUT), there & OURS)

    # its documents

    def documents(self, state: State) -> tuple[Document, Document]:
        """The two of a state, newer than all that was told."""
        epoch, generation = self.age
        later = (epoch + 1, 1) if state.leads else (epoch, generation + 2)
        old = gateway_document.document(state.old, epoch=epoch, generation=generation + 1, seed=SEED)
        return old, gateway_document.document(state.new, epoch=later[0], generation=later[1], seed=state.seed)

    # its client

    def forget_connections(self) -> None:
        """What was asked in one state, and where, must not lead astray who asks in the next."""
        self.world.spaces.run(GATEWAY, ["conntrack", "-F"])

    def ask(self, state: State | None) -> None:
        """Let the client ask at what a state serves, and at what it does not; with no state, let it be silent."""
        places = [] if state is None else _places(state)
        assert self._client is not None
        assert self._client.stdin is not None
        print(json.dumps(places), file=self._client.stdin, flush=True)

    def heard(self) -> Heard:
        return msgspec.json.decode(_asked(self._client, "null"), type=Heard)

    # within

    def _gateway(self) -> int:
        return self._forks.pid if self._forks is not None else 0

    def _spoken_to(self, where: str, command: list[str]) -> "subprocess.Popen[str]":
        words = [*self.world.spaces.enter(where), *command]
        return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def _status(self) -> int | None:
        if not self._pid:
            return -signal.SIGKILL
        told = _asked(self._forks, "ended")
        if told == "running":
            return None
        self._pid = 0
        assert told == str(-signal.SIGKILL), f"it ended with {told}: {self.agent.log()[-3000:]}"
        return int(told)

    def _answers(self) -> bool:
        return self._call("GET", "/v1/state") is not None

    def _is_master(self) -> bool:
        return self._answers() and self.state().vrrp.value == "master"

    def _call(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes] | None:
        own = self.folder / "controller"
        context = ssl.create_default_context(cafile=str(own / "ca.crt"))
        context.load_cert_chain(own / "tls.crt", own / "tls.key")
        host, _, port = LISTEN.rpartition(":")
        connection = http.client.HTTPSConnection(host, int(port), context=context, timeout=30)
        try:
            with inside(self._gateway()):
                connection.connect()
            connection.request(method, path, body)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()


class Verdict(Struct, frozen=True):
    """What of the answers must not be, and how many questions had to be answered and were.

    `lost`: datagrams that were on their way to or from a backend that went, and went with it.
    """

    wrong: list[str]
    good: int
    lost: int


def judged(state: State, heard: Heard) -> Verdict:
    both = {_name(place): place for place in state.both()}
    some = {_name(place): place for place in state.some()}
    wrong: list[str] = []
    good = lost = 0
    for name, answers in heard.heard.items():
        right = state.answers(some[name]) if name in some else set()
        for answer, count in answers.items():
            if answer in right:
                good += count if name in both else 0
            elif name in both and answer == "silence" and state.ends_flows(both[name]):
                lost += count
            elif name in both or not _is_none(answer):
                wrong.append(f"{name}: {count} times {answer}")
    return Verdict(wrong, good, lost)


def _is_none(answer: str) -> bool:
    return answer in {"refused", "silence", "closed"} or answer.startswith("error ")


def _places(state: State) -> list[list[Any]]:
    """What has to be answered is asked at most of the time."""
    both = sorted(state.both())
    rest = sorted(state.some() - set(both))
    address = next((each[0] for each in both), "")
    never = [(each, "TCP", 80) for each in STRANGERS] + ([(address, "TCP", NOT_SERVED)] if address else [])
    often = both * (1 + 40 // max(len(both), 1))
    return [[protocol, address, port] for address, protocol, port in (*often, *rest, *never)]


def _name(place: tuple[str, str, int]) -> str:
    address, protocol, port = place
    return f"{protocol} {address} {port}"


def _asked(process: "subprocess.Popen[str] | None", words: str) -> str:
    assert process is not None
    assert process.stdin is not None
    assert process.stdout is not None
    print(words, file=process.stdin, flush=True)
    return process.stdout.readline().strip()


PROBER = r'''"""Asks `who` at many places all the time, each time from another port, and says who answered where.

    prober.py

Told by lines of JSON: a list of [protocol, address, port] is asked one after the other from then on, and an empty one
waits until all are answered; `null` prints what was heard since it was last asked. An answer that takes so long that a
lost packet may have been sent again is none: `silence`. Needs nothing but the standard library.
"""

import collections
import heapq
import itertools
import json
import os
import selectors
import socket
import struct
import sys
import time
from typing import Any

EACH = 1 / 320
"""Seconds between two questions."""
PATIENCE = 0.95
"""A packet that opens a connection is sent again after a second."""
ABRUPT = struct.pack("ii", 1, 0)
"""Ends a connection so that its port is free at once."""


class Prober:
    def __init__(self) -> None:
        self._ready = selectors.DefaultSelector()
        self._ready.register(sys.stdin, selectors.EVENT_READ)
        self._places: itertools.cycle[Any] | None = None
        self._waiting: dict[socket.socket, tuple[int, Any]] = {}
        self._ends: list[tuple[float, int, socket.socket]] = []
        self._numbers = itertools.count()
        self._asked = 0
        self._since = time.monotonic()
        self._heard: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
        self._bad: list[tuple[float, str, str]] = []
        self._rest = b""

    def run(self) -> None:
        following = time.monotonic()
        while True:
            now = time.monotonic()
            if self._places is not None and now >= following:
                self._ask(next(self._places))
                following = max(following + EACH, now - 0.1)
            for key, _ in self._ready.select(max(0.0, min(following - now, 0.05)) if self._places else 0.05):
                if key.fileobj is sys.stdin:
                    if not self._told():
                        return
                else:
                    self._goes_on(key.fileobj)
            while self._ends and self._ends[0][0] < time.monotonic():
                _, number, opened = heapq.heappop(self._ends)
                if self._waiting.get(opened, (-1,))[0] == number:
                    self._done(opened, "silence")

    def _told(self) -> bool:
        more = os.read(0, 1 << 20)
        if not more:
            return False
        *lines, self._rest = (self._rest + more).split(b"\n")
        for line in lines:
            told = json.loads(line)
            if told is None:
                self._report()
            else:
                self._places = itertools.cycle(told) if told else None
                self._asked, self._since = 0, time.monotonic()
        return True

    def _report(self) -> None:
        seconds, self._since = time.monotonic() - self._since, time.monotonic()
        report = {"asked": self._asked, "seconds": seconds, "heard": self._heard, "bad": self._bad[:20]}
        print(json.dumps(report | {"waiting": len(self._waiting)}), flush=True)  # noqa: T201 - this is how it answers
        self._asked = 0
        self._heard.clear()
        self._bad.clear()

    def _ask(self, place: Any) -> None:  # noqa: ANN401 - a list from JSON
        protocol, address, port = place
        kind = socket.SOCK_STREAM if protocol == "TCP" else socket.SOCK_DGRAM
        opened = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, kind | socket.SOCK_NONBLOCK)
        number = next(self._numbers)
        self._asked += 1
        self._waiting[opened] = (number, place)
        heapq.heappush(self._ends, (time.monotonic() + PATIENCE, number, opened))
        self._ready.register(opened, selectors.EVENT_WRITE)
        try:
            if kind == socket.SOCK_STREAM:
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABRUPT)
            opened.connect((address, port))
        except BlockingIOError:
            pass
        except OSError as error:
            self._done(opened, _word(error))

    def _goes_on(self, opened: Any) -> None:  # noqa: ANN401 - a selector gives anything
        if opened not in self._waiting:
            return
        try:
            error = opened.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if error:
                raise OSError(error, os.strerror(error))  # noqa: TRY301 - the kernel's own way of raising it
            if self._ready.get_key(opened).events == selectors.EVENT_WRITE:
                opened.send(b"who\n")
                self._ready.modify(opened, selectors.EVENT_READ)
            else:
                words = opened.recv(200).decode().split()
                self._done(opened, words[0] if words else "closed")
        except BlockingIOError:
            pass
        except OSError as error:
            self._done(opened, _word(error))

    def _done(self, opened: socket.socket, word: str) -> None:
        _, place = self._waiting.pop(opened)
        self._ready.unregister(opened)
        opened.close()
        name = " ".join(map(str, place))
        self._heard[name][word] += 1
        if word[0].isalpha() and ":" not in word:
            self._bad.append((time.monotonic(), name, word))


def _word(error: OSError) -> str:
    return "refused" if isinstance(error, ConnectionRefusedError) else f"error {error.strerror}"


Prober().run()
'''
"""The client, for the system's own Python."""
