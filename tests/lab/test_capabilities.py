"""The real agent with the capabilities of its unit and no others, on a disk of which it may write its own folder only.

It does its work, and starts no program for that.

That a process started none is read from the kernel: who waited for a child has that child's page faults in its own
account, and who did not wait still has the child.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from mooring.core import gateway_document
from mooring.core.ruleset import TABLES
from mooring.host.certificates import Authority
from mooring.host.journal import NAME
from mooring.lab import waiting
from mooring.model.gateway import Backend, Delta, Document, Forward, State, Vrrp
from tests.lab.two_gateways import BACKENDS, MOORING, SEED, VIPS, Agent, TwoGateways, document
from tests.source_copy import ROOT

pytestmark = pytest.mark.usefixtures("lab")  # which has installed nftables and keepalived

UNIT = ROOT / "deploy" / "systemd" / "mooring-agent.service"
NUMBERS = {"CAP_NET_ADMIN": 12, "CAP_NET_RAW": 13}
CHANGES = 50
ALIVE = "alive"
"""Where the agent writes once a second that it lives, whatever else it does."""
WEB = Forward(VIPS[4], "TCP", 80, "shop/web", tuple(Backend(address, 8080) for address in BACKENDS[4]))
SIX = Forward(VIPS[6], "UDP", 80, "shop/six", tuple(Backend(address, 8080) for address in BACKENDS[6]))


def setting(key: str) -> str:
    """What the unit says; it says it once."""
    [value] = [line.partition("=")[2] for line in UNIT.read_text().splitlines() if line.startswith(f"{key}=")]
    return value


CAPABILITIES = setting("CapabilityBoundingSet").split()
SEAL = """mount --bind "$1" "$1"
while read -r _ _ _ _ where _; do
  case $where in /proc*|/sys*|/dev*|"$1") ;; *) mount -o remount,bind,ro "$where" ;; esac
done < /proc/self/mountinfo
shift; exec "$@"
"""
"""What `ProtectSystem=strict` does: nothing can be written but the folder that is named."""


class Bounded(Agent):
    """An agent that is started as the unit would start it."""

    def start(self) -> None:
        state = self.folder / "state"
        state.mkdir(exist_ok=True)
        sealed = ["unshare", "--mount", "--", "sh", "-ec", SEAL, "seal", str(state)]
        kept = ",".join(["-all", *(f"+{each.removeprefix('CAP_').lower()}" for each in CAPABILITIES)])
        limits = ["setpriv", "--bounding-set", kept, "--inh-caps", "-all", "--no-new-privs", "--"]
        command = [str(MOORING), "agent", "--config", str(self.folder / "mooring.toml")]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._spaces.enter(self.name), *sealed, *limits, *command], stdout=log, stderr=log
            )
        waiting.until(lambda: self.state() is not None, seconds=20, what=f"{self.name} to answer: {self.log()}")

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def patch(self, delta: Delta) -> State:
        body = msgspec.json.encode(delta).decode()
        told = self._call("/v1/document", "--request", "PATCH", "--data-binary", "@-", stdin=body)
        return msgspec.json.decode(told, type=State)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[TwoGateways]:
    world = TwoGateways(tmp_path)
    try:
        world.create()
        (tmp_path / "bounded").mkdir()
        bounded = Bounded(world.spaces, "gw1", tmp_path / "bounded", Authority(tmp_path / "authority"))
        world.agents = [bounded]
        yield world
    finally:
        world.end()


@pytest.fixture
def agent(world: TwoGateways) -> Bounded:
    """The only gateway; it holds the addresses."""
    [first] = world.agents
    assert isinstance(first, Bounded)
    first.start()
    waiting.until(lambda: first.vrrp() is Vrrp.MASTER, seconds=10, what="it to be master")
    return first


def told(agent: Agent, wanted: Document) -> None:
    answer = agent.put(wanted)
    assert isinstance(answer, State), answer
    assert answer.held == wanted.held


def of_process(pid: int, key: str) -> str:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line.split()[1] for line in lines if line.startswith(f"{key}:"))


def writable(pid: int) -> list[str]:
    """Where a process sees a disk that it could write to."""
    mounts = [line.split() for line in Path(f"/proc/{pid}/mountinfo").read_text().splitlines()]
    return [
        each[4] for each in mounts if "rw" in each[5].split(",") and not each[4].startswith(("/proc", "/sys", "/dev"))
    ]


def served(world: TwoGateways) -> bool:
    four = world.asked("tcp", VIPS[4], 80, count=20)
    six = world.asked("udp", VIPS[6], 80, count=20)
    return set(four) == {f"{each} {VIPS[4]}" for each in BACKENDS[4]} and set(six) == {
        f"{each} {VIPS[6]}" for each in BACKENDS[6]
    }


def repaired(agent: Agent) -> bool:
    """Whether there is a table of ours for IPv4 again: of the other name than before."""
    return any(f"table ip {each}\n" in agent.nft("list", "tables") for each in TABLES)


def test_the_unit_lets_it_do_no_more_than_packets_need() -> None:
    assert sorted(CAPABILITIES) == sorted(NUMBERS)
    assert setting("NoNewPrivileges") == "yes"
    assert setting("ProtectSystem") == "strict"


def test_it_does_all_of_its_work(world: TwoGateways, agent: Bounded) -> None:
    told(agent, document(1, WEB, SIX))
    bits = sum(1 << NUMBERS[each] for each in CAPABILITIES)
    for pid in (agent.pid, agent.keepalived()):
        for key in ("CapBnd", "CapPrm", "CapEff"):
            assert int(of_process(pid, key), 16) == bits, key
        assert of_process(pid, "NoNewPrivs") == "1"
        assert writable(pid) == [str(agent.folder / "state")]
    assert set(VIPS.values()) <= agent.addresses()
    assert served(world)

    agent.nft("delete", "table", "ip", agent.table())
    waiting.until(lambda: repaired(agent), seconds=20, what="the table to be back")
    assert served(world)

    keepalived = agent.keepalived()
    agent.kill()
    assert served(world)
    agent.start()
    assert agent.keepalived() == keepalived
    assert served(world)
    told(agent, document(2, WEB))
    assert VIPS[6] not in agent.addresses()
    trouble = [line for line in agent.log().splitlines() if " error " in line]
    assert trouble == []


def test_endpoints_change_without_any_program_and_with_one_file(agent: Bounded) -> None:
    held = document(1, WEB, SIX)
    told(agent, held)
    state = agent.folder / "state"
    with agent.heartbeats(held):
        waiting.until(lambda: not agent.stale(), seconds=10, what="it to be fresh")
        processes, files = started(agent.pid), files_of(state)
        for number in range(CHANGES):
            backends = tuple(Backend(f"10.2.0.{21 + (number + each) % 20}", 8080) for each in range(1 + number % 5))
            web = msgspec.structs.replace(WEB, backends=backends)
            new = gateway_document.document([web, SIX], epoch=1, generation=2 + number, seed=SEED)
            answer = agent.patch(gateway_document.delta(held.held, new.held, [web.place], {web.place: web}))
            assert answer.held == new.held
            held = new
        assert started(agent.pid) == processes
        after = files_of(state)
    assert {name for name in files | after if files.get(name) != after.get(name)} - {ALIVE} == {NAME}
    assert {name for name in files | after if (name in files) != (name in after)} == set()
    assert files[NAME][0] == after[NAME][0], "it was added to, not written anew"
    print(f"ran {CHANGES} of {CHANGES} changes: 0 programs started, 1 file changed")  # noqa: T201


def started(pid: int) -> tuple[list[str], int]:
    """The children that a process has, and the page faults of those that it had. Any that it starts changes them."""
    tasks = Path(f"/proc/{pid}/task")
    children = [each for task in tasks.iterdir() for each in (task / "children").read_text().split()]
    figures = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sorted(children), int(figures[8])


def files_of(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Number, time and size of each."""
    found = {each.name: each.lstat() for each in folder.iterdir()}
    return {name: (stat.st_ino, stat.st_mtime_ns, stat.st_size) for name, stat in found.items()}


def test_a_program_would_be_noticed() -> None:
    script = "import subprocess; input(); subprocess.run(['true']); print(1, flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", script], stdin=-1, stdout=-1, text=True, bufsize=1) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        before = started(process.pid)
        print(file=process.stdin, flush=True)
        assert process.stdout.readline() == "1\n"
        assert started(process.pid) != before
        print(file=process.stdin, flush=True)
