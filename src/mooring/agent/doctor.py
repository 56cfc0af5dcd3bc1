"""What a gateway's host needs, and whether it has it. Looks, and changes nothing.

Each finding says what was looked at, what was seen, and what to do where that is not well.
"""

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from mooring.agent.certificates import Certificates
from mooring.core import vrrp
from mooring.host import addresses, adverts, locking, settings
from mooring.host.errors import HostError
from mooring.host.keepalived import PROGRAM
from mooring.host.nftables import Nftables
from mooring.model.config import Config
from mooring.wire.serving import CannotServe

SOON = 14 * 86400
DAY = 86400


class Finding(Struct, frozen=True):
    """One thing that was looked at."""

    what: str
    well: bool
    seen: str
    fix: str = ""


def examine(config: Config, *, seconds: float) -> tuple[Finding, ...]:
    """Look at everything; for so many seconds, listen to the network."""
    looks: tuple[Callable[[Config], Iterator[Finding]], ...] = (_choices, _agent, _programs, _rules, _kernel, _tls)
    return tuple(each for look in looks for each in look(config)) + tuple(_network(config, seconds))


def _choices(config: Config) -> Iterator[Finding]:
    problem = vrrp.problem(config.vrrp, config.forwarding.snat)
    chosen = f"VRRP {config.vrrp.mode}, snat {config.forwarding.snat}"
    yield Finding("what was chosen", problem is None, problem or chosen, "change it in the configuration")


def _agent(config: Config) -> Iterator[Finding]:
    folder = Path(config.agent.state).absolute()
    if not folder.exists():
        yield Finding("agent", well=True, seen=f"never ran: there is no {folder}")
        return
    try:
        with locking.held(folder):
            yield Finding("agent", well=False, seen="does not run", fix="start it: systemctl start mooring-agent")
    except locking.Locked:
        yield Finding("agent", well=True, seen="runs")


def _programs(config: Config) -> Iterator[Finding]:
    found = shutil.which(PROGRAM)
    fix = "on Debian, install the package keepalived"
    yield Finding("keepalived", found is not None, found or "is not there", fix)
    interface = config.vrrp.interface
    held = addresses.held(interface)
    fix = "set vrrp.interface to the interface in the network of the addresses"
    yield Finding(f"interface {interface}", bool(held), ", ".join(sorted(held)) or "has no address", fix)


def _rules(_: Config) -> Iterator[Finding]:
    nft = Nftables()
    try:
        nft.run("list tables")
        names = sorted({name for (_, name), awake in nft.tables().items() if awake})
        yield Finding("nftables", well=True, seen=", ".join(names) or "no tables yet")
    except HostError as error:
        yield Finding("nftables", well=False, seen=str(error), fix="run as root; on Debian, install libnftables1")
    finally:
        nft.close()


def _kernel(config: Config) -> Iterator[Finding]:
    try:
        bad = settings.check(config.vrrp.interface)
    except HostError as error:
        bad = (str(error),)
    for each in bad:
        yield Finding("kernel", well=False, seen=each, fix='set it, or let the agent: agent.kernel = "set"')
    if not bad:
        yield Finding("kernel", well=True, seen="all settings are as they have to be")


def _tls(config: Config) -> Iterator[Finding]:
    fix = "make another one: mooring pki issue"
    try:
        left = Certificates(config).ends - time.time()
    except (CannotServe, OSError, ValueError) as error:
        yield Finding("certificate", well=False, seen=str(error), fix=fix)
        return
    told = f"{left / DAY:.0f} days left" if left > 0 else "has expired"
    yield Finding("certificate", left > SOON, told, fix)


def _network(config: Config, seconds: float) -> Iterator[Finding]:
    wanted = config.vrrp
    ours = range(wanted.router_id, wanted.router_id + (wanted.instances if wanted.mode == "spread" else 1))
    try:
        heard = adverts.heard(wanted.interface, seconds)
    except HostError as error:
        yield Finding("VRRP", well=False, seen=str(error), fix="run as root, on the gateway")
        return
    speakers = sorted({each.source for each in heard if each.router_id in ours})
    others = sorted({each.router_id for each in heard} - set(ours))
    seen = f"with our numbers speak: {', '.join(speakers) or 'nobody'}"
    told = f"{seen}; other numbers in use: {', '.join(map(str, others)) or 'none'}"
    well = len(speakers) <= len(ours)
    fix = "who of these is no gateway of yours? Set vrrp.router_id to a number that nobody uses"
    yield Finding("VRRP", well, told, fix)
