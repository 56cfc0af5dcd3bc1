"""How long Services do not answer when a gateway fails or ends, beside keepalived as it comes: an advert each second.

Two real agents with their keepalived, a client that asks 250 times a second. Then the same two gateways with the same
rules, without agents, and a keepalived with the usual configuration: priorities 150 and 100, `advert_int 1`.

A gap of a few milliseconds is none: it is the time between two requests.
"""

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from bench.measure import Goal, Measured
from mooring.lab import waiting
from mooring.model.gateway import Backend, Forward, Refusal
from tests.lab.two_gateways import BACKENDS, GATEWAYS, PYTHON, VIPS, WAYS_OUT, TwoGateways, document

TRIALS = 5
BEFORE, AFTER = 0.7, 0.7
"""Seconds that the client asks before something happens, and after it is over."""
PATIENCE = 20.0
ADDRESS = VIPS[4]
FORWARD = Forward(ADDRESS, "UDP", 80, "shop/web", tuple(Backend(each, 8080) for each in BACKENDS[4]))
WANTED = document(1, FORWARD)
MORE = Forward("10.1.0.101", "UDP", 80, "shop/more", FORWARD.backends)
PROBER = Path(__file__).parent / "clients" / "prober.py"
DOWN, ENDED, RELOADED = "interface down", "keepalived ended", "keepalived reloaded"
GOALS = (Goal(f"gap, {DOWN}", ratio=5.0), Goal(f"lost in all, {RELOADED}", most=0.0))
MILLI = 1e3


class Seen(msgspec.Struct, frozen=True):
    """What the client saw: how often it asked and was not answered, and for how many seconds it never was.

    `unheld`: for how many seconds nobody said to have the address.
    """

    asked: int
    lost: int
    gap: float
    unheld: float


class Ours:
    """Each gateway's keepalived is its agent's, who starts it again when it has ended."""

    quiet = 2.0
    """Seconds after which whoever is master stays it."""

    def __init__(self, world: TwoGateways) -> None:
        self._world = world
        self._generation = WANTED.generation

    def end(self, gateway: int) -> None:
        """As who plans to."""
        os.kill(self._world.agents[gateway].keepalived(), signal.SIGTERM)

    def start(self, gateway: int) -> None:
        agent = self._world.agents[gateway]
        waiting.until(lambda: bool(agent.keepalived()), seconds=PATIENCE, what="its keepalived")

    def reload(self) -> None:
        """One address more, and then one less."""
        self._generation += 1
        more = (MORE,) if self._generation % 2 == 0 else ()
        for agent in self._world.agents:
            answer = agent.put(document(self._generation, FORWARD, *more))
            if isinstance(answer, Refusal):
                raise TypeError(answer.message)


class Usual:
    """The keepalived of people who follow its manual."""

    quiet = 5.0

    def __init__(self, world: TwoGateways, folder: Path) -> None:
        self._world = world
        self._folder = folder
        self._more = False
        self._running: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, gateway: int) -> None:
        if gateway in self._running:
            return
        self._write(gateway)
        files = {"use-file": "conf", "pid": "pid", "vrrp_pid": "vrrp"}
        options = [f"--{option}={self._file(gateway, kind)}" for option, kind in files.items()]
        command = ["keepalived", "--dont-fork", "--vrrp", *options]
        with self._file(gateway, "log").open("ab") as log:
            entered = [*self._world.spaces.enter(GATEWAYS[gateway]), *command]
            self._running[gateway] = subprocess.Popen(entered, stdout=log, stderr=log)

    def end(self, gateway: int) -> None:
        process = self._running.pop(gateway)
        process.terminate()
        process.wait(PATIENCE)

    def end_all(self) -> None:
        for gateway in tuple(self._running):
            self.end(gateway)

    def reload(self) -> None:
        self._more = not self._more
        for gateway, process in self._running.items():
            self._write(gateway)
            process.send_signal(signal.SIGHUP)

    def _write(self, gateway: int) -> None:
        addresses = [ADDRESS, *([MORE.address] if self._more else [])]
        held = "\n".join(f"    {each}/32 dev eth0" for each in addresses)
        text = f"""vrrp_instance usual {{
  state {("MASTER", "BACKUP")[gateway]}
  interface eth0
  virtual_router_id 51
  priority {(150, 100)[gateway]}
  advert_int 1
  virtual_ipaddress {{
{held}
    {WAYS_OUT[0]}/32 dev eth1
  }}
}}
"""
        self._file(gateway, "conf").write_text(text)

    def _file(self, gateway: int, kind: str) -> Path:
        return self._folder / f"usual{gateway}.{kind}"


Pair = Ours | Usual


def measure() -> Iterator[Measured]:
    with tempfile.TemporaryDirectory() as name, _world(Path(name)) as world:
        with ExitStack() as led:
            for agent in world.agents:
                led.enter_context(agent.heartbeats(WANTED))
            waiting.until(lambda: not any(each.stale() for each in world.agents), seconds=PATIENCE, what="both fresh")
            ours = _trials(world, Ours(world))
        for agent in world.agents:
            agent.kill(signal.SIGTERM)
            os.kill(agent.keepalived(), signal.SIGTERM)
        waiting.until(lambda: _holders(world) == [], seconds=PATIENCE, what="ours to let go")
        usual = Usual(world, Path(name))
        try:
            for gateway in (0, 1):
                usual.start(gateway)
            theirs = _trials(world, usual)
        finally:
            usual.end_all()
    for what, seen in ours.items():
        for told, figure in (("gap", "gap"), ("unheld", "nobody has the address")):
            mine, other = (_middle(found, told) for found in (seen, theirs[what]))
            yield Measured(id=f"{figure}, {what}", size=len(GATEWAYS), ours=mine, peer=other, unit="ms")
        lost, also = (sum(each.lost for each in found) for found in (seen, theirs[what]))
        yield Measured(id=f"lost in all, {what}", size=len(GATEWAYS), ours=lost, peer=also, unit="requests")


def _middle(found: Sequence[Seen], figure: str) -> float:
    middle: float = statistics.median(getattr(each, figure) for each in found)
    return round(middle * MILLI, 1)


def _trials(world: TwoGateways, pair: Pair) -> Mapping[str, list[Seen]]:
    found: dict[str, list[Seen]] = {DOWN: [], ENDED: [], RELOADED: []}
    for _ in range(TRIALS):
        master = _settled(world, pair)
        with _probing(world, found[DOWN]):
            _set_link(world, master, "down")
            _moved(world, master)
        _set_link(world, master, "up")
        master = _settled(world, pair)
        with _probing(world, found[ENDED]):
            pair.end(master)
            _moved(world, master)
        pair.start(master)
        _settled(world, pair)
        with _probing(world, found[RELOADED]):
            pair.reload()
        sys.stderr.write(f"{type(pair).__name__}: {[(what, seen[-1]) for what, seen in found.items()]}\n")
    return found


@contextmanager
def _world(folder: Path) -> Iterator[TwoGateways]:
    """Both gateways serve the same."""
    world = TwoGateways(folder)
    try:
        world.create()
        for agent in world.agents:
            agent.start()
            answer = agent.put(WANTED)
            if isinstance(answer, Refusal):
                raise TypeError(answer.message)
        yield world
    finally:
        world.end()


@contextmanager
def _probing(world: TwoGateways, found: list[Seen]) -> Iterator[None]:
    """A client asks before, during and after the block."""
    command = [*world.spaces.enter("client"), PYTHON, str(PROBER), "eth0", ADDRESS, str(FORWARD.port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as prober:
        time.sleep(BEFORE)
        yield
        time.sleep(AFTER)
        output, _ = prober.communicate()
    found.append(msgspec.json.decode(output, type=Seen))


def _holders(world: TwoGateways) -> list[int]:
    return [number for number, agent in enumerate(world.agents) if ADDRESS in agent.addresses()]


def _moved(world: TwoGateways, master: int) -> None:
    other = 1 - master
    waiting.until(lambda: other in _holders(world), seconds=PATIENCE, what=f"{GATEWAYS[other]} to take over")


def _settled(world: TwoGateways, pair: Pair) -> int:
    """Who holds the addresses, alone and for some time."""
    deadline, since = time.monotonic() + PATIENCE, time.monotonic()
    last: list[int] = []
    while time.monotonic() < deadline:
        now = _holders(world)
        if now != last or len(now) != 1:
            since, last = time.monotonic(), now
        elif time.monotonic() - since > pair.quiet:
            return now[0]
        time.sleep(waiting.INTERVAL)
    raise RuntimeError(f"the addresses are held by {last} and do not come to rest")


def _set_link(world: TwoGateways, gateway: int, state: str) -> None:
    world.spaces.run(GATEWAYS[gateway], ["ip", "link", "set", "eth0", state])
