"""Real keepalived in network namespaces, without agents: who holds what, whatever happens to a gateway.

client .2 --- 10.1.0.0/24 --- gw1 .11, gw2 .12
"""

import ctypes
import os
import select
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar

import msgspec
import pytest

from mooring.core import vrrp
from mooring.host import addresses, adverts
from mooring.host.adverts import Advert
from mooring.host.hosted_keepalived import Hosted, HostedKeepalived
from mooring.host.keepalived import Instances, Keepalived, KeepalivedError
from mooring.lab import waiting
from mooring.lab.assets import debian
from mooring.model import config
from mooring.model.gateway import Vrrp
from tests.lab import steadily
from tests.lab.two_gateways import GATEWAYS, Namespaces

P = ParamSpec("P")
T = TypeVar("T")

NETWORK_NAMESPACE = 0x40000000
FIRST = frozenset({"10.1.0.100", "10.1.0.101", "10.1.0.102", "10.1.0.103", "fd01::100", "fd01::101"})
MORE = FIRST | {"10.1.0.104"}
NOBODY = frozenset[str]()


class Gateway:
    """One keepalived and all that the agent's part of the host knows of it, in a namespace of its own."""

    def __init__(self, spaces: Namespaces, name: str, folder: Path, wanted: config.Vrrp) -> None:
        self.name = name
        self.folder = folder
        self.wanted = wanted
        self.program = "keepalived"
        self._spaces = spaces
        holder = spaces.enter(name)[2]
        self._inside = ThreadPoolExecutor(1, initializer=partial(_enter, Path(f"/proc/{holder}/ns/net")))
        self.daemon = self.again()

    def again(self) -> Keepalived:
        """As an agent that is started again would have it."""
        settings = self.settings
        address, *further = vrrp.advertised(settings)
        instances = Instances(
            settings.interface, address, tuple(further), lambda each: vrrp.instance_of(each, settings.instances)
        )
        self.daemon = Keepalived(self.folder, instances, program=self.program)
        return self.daemon

    @property
    def settings(self) -> vrrp.Vrrp:
        return vrrp.settings(
            self.wanted,
            stale_file=f"{self.folder}/stale",
            reload_file=f"{self.folder}/keepalived.reload",
            alive_script=f"{self.folder}/alive.sh",
            fifo=f"{self.folder}/keepalived.fifo",
        )

    def do(self, what: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Inside the namespace, as are the processes that come of it."""
        return self._inside.submit(what, *args, **kwargs).result()

    def run(self, *argv: str) -> str:
        return self._spaces.run(self.name, argv)

    def configure(self, held: frozenset[str], *, released: frozenset[str] = NOBODY) -> None:
        self.daemon.mark_alive(60)
        text = vrrp.configuration(self.settings, held, released=released)
        self.do(self.daemon.configure, text, held=held, released=released)

    def state(self) -> Vrrp:
        return self.do(self.daemon.state)

    def holding(self) -> frozenset[int]:
        return self.do(self.daemon.holding)

    def addresses(self) -> frozenset[str]:
        return self.do(addresses.held, "eth0")

    def becomes(self, state: Vrrp) -> None:
        waiting.until(lambda: self.state() is state, seconds=15, what=f"{self.name} to be {state.value}")

    def pid(self, file: str = "keepalived.pid") -> int:
        return int((self.folder / file).read_text())

    def end(self) -> None:
        for file in ("keepalived.pid", "keepalived.vrrp.pid"):  # who starts the other again goes first
            with suppress(OSError, ValueError):
                os.kill(self.pid(file), signal.SIGKILL)
        self._inside.shutdown()


class Wire:
    def __init__(self, folder: Path) -> None:
        self.spaces = Namespaces()
        self._folder = folder
        self._gateways: list[Gateway] = []

    def create(self) -> None:
        for name in ("wire", "client", *GATEWAYS):
            self.spaces.add(name)
        self.spaces.run("wire", ["ip", "link", "add", "front", "type", "bridge"])
        self.spaces.run("wire", ["ip", "link", "set", "front", "up"])
        for number, name in ((2, "client"), *enumerate(GATEWAYS, 11)):
            self.spaces.plug(name, "eth0", "front", f"10.1.0.{number}/24", f"fd01::{number}/64")

    def gateways(self, *wanted: config.Vrrp) -> list[Gateway]:
        made = [
            Gateway(self.spaces, name, self._folder / name, each) for name, each in zip(GATEWAYS, wanted, strict=False)
        ]
        self._gateways += made
        return made

    def end(self) -> None:
        for each in self._gateways:
            each.end()
        self.spaces.end()


@pytest.fixture(scope="module", autouse=True)
def _installed() -> None:
    debian.install()


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[Wire]:
    wire = Wire(tmp_path)
    try:
        wire.create()
        yield wire
    finally:
        wire.end()


@pytest.fixture
def alone(wire: Wire) -> Gateway:
    """The only gateway, which holds the addresses."""
    [gateway] = wire.gateways(config.Vrrp())
    gateway.configure(FIRST)
    gateway.becomes(Vrrp.MASTER)
    return gateway


def shares(gateways: Sequence[Gateway], *expected: frozenset[int]) -> Callable[[], bool]:
    """Each gateway is master of these instances, and has the addresses that belong to them and no others of these."""

    def so() -> bool:
        return all(
            gateway.holding() == share
            and gateway.addresses() & FIRST == {each for each in FIRST if vrrp.instance_of(each, 2) in share}
            for gateway, share in zip(gateways, expected, strict=True)
        )

    return so


def test_in_spread_each_gateway_holds_its_share_and_the_others_where_it_has_to(wire: Wire) -> None:
    spread = config.Vrrp(mode="spread", instances=2)
    gateways = wire.gateways(spread, msgspec.structs.replace(spread, instance=1))
    first, _ = gateways
    for each in gateways:
        each.configure(FIRST)
    own, none, all_of_them = (frozenset({0}), frozenset({1})), frozenset[int](), frozenset({0, 1})
    waiting.until(shares(gateways, *own), seconds=15, what="each to hold its own")
    first.run("ip", "link", "set", "eth0", "down")
    waiting.until(shares(gateways, none, all_of_them), seconds=15, what="the second to hold both")
    first.becomes(Vrrp.FAULT)
    first.run("ip", "link", "set", "eth0", "up")
    waiting.until(shares(gateways, *own), seconds=15, what="each to hold its own again")
    gateways[1].daemon.lower(vrrp.GIVE_WAY)
    waiting.until(shares(gateways, all_of_them, none), seconds=15, what="the first to hold those of one that is behind")


@pytest.mark.parametrize(("unicast", "masters"), [(False, 2), (True, 1)])
def test_adverts_to_peers_need_no_multicast(wire: Wire, unicast: bool, masters: int) -> None:  # noqa: FBT001 - a column
    """Without it, each of those that send adverts to all takes itself for the only one."""
    rules = "table bridge t { chain c { type filter hook forward priority 0; ip daddr 224.0.0.0/4 drop; }; }"
    wire.spaces.run("wire", ["nft", "-f", "-"], stdin=rules)
    known = ("10.1.0.11", "10.1.0.12")
    gateways = wire.gateways(
        *(
            config.Vrrp(peers=(known[1 - own],), source_address=known[own]) if unicast else config.Vrrp()
            for own in (0, 1)
        )
    )
    for each in gateways:
        each.configure(FIRST)

    def so_many() -> bool:
        return sum(each.state() is Vrrp.MASTER for each in gateways) == masters

    waiting.until(so_many, seconds=15, what=f"{masters} masters")
    steadily.throughout(so_many, seconds=1, what=f"there are {masters} masters")


def test_what_it_becomes_is_heard(alone: Gateway) -> None:
    changes = alone.daemon.changes()
    assert changes is not None
    waiting.until(lambda: alone.daemon.heard() == {"mooring": Vrrp.MASTER}, seconds=5, what="that it is master")
    alone.run("ip", "link", "set", "eth0", "down")
    assert select.select([changes], [], [], 10)[0]
    waiting.until(lambda: alone.daemon.heard() == {"mooring": Vrrp.FAULT}, seconds=5, what="that it is in fault")
    alone.configure(MORE)
    alone.run("ip", "link", "set", "eth0", "up")
    alone.becomes(Vrrp.MASTER)
    assert alone.daemon.heard() == {"mooring": Vrrp.MASTER}, "after it has read its configuration too"


def test_without_a_cable_it_is_in_fault(wire: Wire, alone: Gateway) -> None:
    wire.spaces.run("wire", ["ip", "link", "set", "gw1-eth0", "down"])
    alone.becomes(Vrrp.FAULT)
    alone.again()
    assert alone.state() is Vrrp.FAULT, "also to an agent that is new"
    wire.spaces.run("wire", ["ip", "link", "set", "gw1-eth0", "up"])
    alone.becomes(Vrrp.MASTER)
    alone.again()
    assert alone.state() is Vrrp.MASTER


def fill(fifo: int) -> None:
    with suppress(BlockingIOError):
        while True:
            os.write(fifo, b"x" * 16)


def test_a_reader_that_does_not_read_hurts_nobody(alone: Gateway) -> None:
    changes = alone.daemon.changes()
    assert changes is not None
    fill(changes)
    alone.run("ip", "link", "set", "eth0", "down")
    waiting.until(lambda: not alone.holding(), seconds=10, what="it to let go")
    alone.run("ip", "link", "set", "eth0", "up")
    waiting.until(lambda: alone.holding() == {0}, seconds=10, what="it to be master again")
    alone.configure(MORE)
    assert alone.addresses() >= MORE


def test_one_that_hangs_follows_the_old_configuration_when_it_wakes(alone: Gateway) -> None:
    before = alone.daemon.configuration()
    os.kill(alone.pid(), signal.SIGSTOP)
    with pytest.raises(KeepalivedError, match=f"read its configuration again; if it hangs, end process {alone.pid()}"):
        alone.configure(MORE)
    assert alone.daemon.configuration() == before
    os.kill(alone.pid(), signal.SIGCONT)
    read_again = alone.folder / "keepalived.reload"
    waiting.until(lambda: not read_again.exists(), seconds=10, what="it to read its configuration")
    assert alone.addresses() & MORE == FIRST
    alone.configure(MORE)
    assert alone.addresses() >= MORE


def test_what_it_refuses_changes_nothing(alone: Gateway) -> None:
    before = alone.daemon.configuration()
    for text in ("vrrp_instance mooring {\n", before.replace("eth0", "eth7"), ""):
        with pytest.raises(KeepalivedError, match=r"refuses its configuration|missing or empty"):
            alone.do(alone.daemon.configure, text, held=FIRST, released=NOBODY)
    assert alone.daemon.configuration() == before
    assert alone.state() is Vrrp.MASTER
    assert alone.addresses() >= FIRST


def test_it_goes_before_others_on_a_busy_host_where_it_may(alone: Gateway) -> None:
    alone.configure(MORE)
    pid = alone.pid("keepalived.vrrp.pid")
    waiting.until(lambda: os.getpriority(os.PRIO_PROCESS, pid) == -20, seconds=5, what="it to go before others")


def test_however_often_it_is_told_it_lives_and_obeys(alone: Gateway) -> None:
    """The last of each two is told as to a backup, which gives no sign by its addresses."""
    before = alone.pid("keepalived.vrrp.pid")
    for number in range(1, 101):
        alone.configure(FIRST | {f"10.1.1.{number}"}, released=frozenset({f"10.1.1.{number - 1}"}))
        alone.do(alone.daemon.configure, vrrp.configuration(alone.settings, FIRST), held=NOBODY, released=NOBODY)
    waiting.until(lambda: not any(each.startswith("10.1.1.") for each in alone.addresses()), seconds=5, what="the end")
    assert alone.addresses() >= FIRST
    assert alone.pid("keepalived.vrrp.pid") == before


def test_it_does_its_work_also_where_it_may_not(wire: Wire, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\nexec setpriv --bounding-set=-sys_nice --inh-caps=-sys_nice keepalived "$@"\n')
    program.chmod(0o700)
    [gateway] = wire.gateways(config.Vrrp())
    gateway.program = str(program)
    gateway.again()
    gateway.configure(FIRST)
    gateway.becomes(Vrrp.MASTER)
    gateway.configure(MORE)
    assert gateway.addresses() >= MORE
    assert os.getpriority(os.PRIO_PROCESS, gateway.pid("keepalived.vrrp.pid")) == 0


def test_one_that_ends_by_plan_is_hardly_missed(wire: Wire) -> None:
    first, second = wire.gateways(config.Vrrp(), config.Vrrp())
    first.configure(FIRST)
    first.becomes(Vrrp.MASTER)
    second.configure(FIRST)
    asking = [*wire.spaces.enter("client"), "ping", "-n", "-i", "0.01", "-W", "1", "-c", "300", "10.1.0.100"]
    with subprocess.Popen(asking, stdout=subprocess.PIPE, text=True) as ping:
        assert ping.stdout is not None
        answers = [ping.stdout.readline() for _ in range(50)]
        assert "bytes from" in answers[-1]
        os.kill(first.pid(), signal.SIGTERM)
        told = ping.communicate()[0]
    second.becomes(Vrrp.MASTER)
    received = int(told.split(" received")[0].split()[-1])
    assert received >= 290, told[-300:]


def test_the_adverts_of_others_are_heard(wire: Wire, alone: Gateway) -> None:
    [_, other] = wire.gateways(config.Vrrp(), config.Vrrp())
    assert alone.state() is Vrrp.MASTER
    assert other.do(adverts.heard, "eth0", 1.0) == [Advert("10.1.0.11", 51, 250, "169.254.77.1")]


class Host:
    """A host that runs its own keepalived, with an instance of its own."""

    def __init__(self, gateway: Gateway, folder: Path) -> None:
        self.file = folder / "conf.d" / "mooring.conf"
        self.file.parent.mkdir(parents=True)
        self.main = folder / "keepalived.conf"
        self.main.write_text(
            f"global_defs {{\n  enable_script_security\n}}\ninclude {self.file.parent}/*.conf\n"
            "vrrp_instance host {\n  interface eth0\n  virtual_router_id 7\n  advert_int 1\n"
            "  virtual_ipaddress {\n    10.1.0.77/24\n  }\n}\n"
        )
        reload = ("sh", "-c", f"kill -HUP $(cat {gateway.folder}/keepalived.pid)")
        self.hosted = Hosted(self.file, self.main, gateway.folder / "keepalived.pid", reload)
        gateway.folder.mkdir()
        self._start = [
            "keepalived",
            "--vrrp",
            f"--use-file={self.main}",
            f"--pid={gateway.folder}/keepalived.pid",
            f"--vrrp_pid={gateway.folder}/keepalived.vrrp.pid",
        ]
        self.gateway = gateway
        self.daemon = HostedKeepalived(gateway.folder, Instances("eth0", "169.254.77.1"), self.hosted)

    def start(self) -> None:
        self.gateway.run(*self._start)
        waiting.until(self.daemon.running, seconds=10, what="the host's keepalived to run")

    def configure(self, held: frozenset[str], released: frozenset[str] = NOBODY) -> None:
        self.daemon.mark_alive(60)
        text = vrrp.configuration(self.gateway.settings, held, released=released)
        self.gateway.do(self.daemon.configure, text, held=held, released=released)

    def state(self) -> Vrrp:
        return self.gateway.do(self.daemon.state)


def test_the_keepalived_of_the_host_holds_our_addresses_beside_its_own(wire: Wire, tmp_path: Path) -> None:
    [gateway] = wire.gateways(config.Vrrp(daemon="host"))
    host = Host(gateway, tmp_path / "host")
    with pytest.raises(KeepalivedError, match="it is the host's to start it"):
        host.configure(FIRST)
    host.start()
    host.configure(FIRST)
    waiting.until(lambda: host.state() is Vrrp.MASTER, seconds=15, what="it to be master")
    waiting.until(lambda: gateway.addresses() >= FIRST | {"10.1.0.77"}, seconds=15, what="all addresses")
    host.configure(MORE - {"10.1.0.100"}, frozenset({"10.1.0.100"}))
    assert gateway.addresses() & MORE == MORE - {"10.1.0.100"}
    before = host.daemon.configuration()
    gateway.wanted = msgspec.structs.replace(gateway.wanted, router_id=7)
    with pytest.raises(KeepalivedError, match="both use VRID 7"):
        host.configure(FIRST)
    assert host.daemon.configuration() == before
    gateway.run("ip", "link", "set", "eth0", "down")
    waiting.until(lambda: host.state() is Vrrp.FAULT, seconds=15, what="it to be in fault")


def _enter(namespace: Path) -> None:
    """Take the thread there, and no other."""
    with namespace.open() as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), NETWORK_NAMESPACE):
            raise OSError(ctypes.get_errno(), f"cannot enter {namespace}")
