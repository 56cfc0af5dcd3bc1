"""What a gateway's host needs, and whether it has it. Looks, and changes nothing.

Each finding says what was looked at, what was seen, and what to do where that is not well.
"""

import os
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path

from mooring.agent import removal
from mooring.agent.certificates import Certificates
from mooring.core import agent_choices, vrrp
from mooring.host import addresses, adverts, locking, settings
from mooring.host.adverts import Advert
from mooring.host.errors import HostError
from mooring.host.keepalived import PROGRAM
from mooring.host.keepalived_files import Files
from mooring.host.nftables import Nftables, NftMissing
from mooring.model.config import Config
from mooring.model.reports import Finding
from mooring.wire.serving import CannotServe

SOON = 14 * 86400
DAY = 86400
FOREIGN = (
    "set vrrp.router_id to a number that nobody uses; if it is a gateway of yours, give all of them the same "
    "vrrp.router_id and vrrp.address"
)
TOO_MANY = "who of these is no gateway of yours? Set vrrp.router_id to a number that nobody uses"


def examine(config: Config, *, seconds: float) -> tuple[Finding, ...]:
    """Look at everything; for so many seconds, listen to the network."""
    looks: tuple[Callable[[Config], Iterator[Finding]], ...] = (_choices, _agent, _programs, _rules, _kernel, _tls)
    return tuple(each for look in looks for each in look(config)) + tuple(_network(config, seconds))


def _choices(config: Config) -> Iterator[Finding]:
    problem = agent_choices.problem(config)
    chosen = f"VRRP {config.vrrp.mode}, snat {config.forwarding.snat}"
    yield Finding("what was chosen", problem is None, problem or chosen, "change it in the configuration")


def _agent(config: Config) -> Iterator[Finding]:
    """A folder says nothing by itself: systemd makes it, and one that was refused has left its lock there."""
    folder = Path(config.agent.state).absolute()
    start = "start it: systemctl start mooring-agent"
    try:
        runs = locking.is_held(folder)
    except locking.Locked as error:
        yield Finding("agent", well=False, seen=str(error), fix=_as_root(f"let root read {folder}"))
        return
    files = (*(folder / each for each in removal.OURS), *Files(folder).every())
    if runs:
        yield Finding("agent", well=True, seen="runs")
    elif any(each.exists() for each in files):
        yield Finding("agent", well=False, seen="does not run", fix=start)
    else:
        nothing = f"nothing of it is in {folder}" if folder.exists() else f"there is no {folder}"
        yield Finding("agent", well=True, seen=f"never ran: {nothing}")


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
    except NftMissing as error:
        yield Finding("nftables", well=False, seen=str(error), fix="on Debian, install libnftables1")
    except HostError as error:
        fix = _as_root("this root lacks CAP_NET_ADMIN, or its kernel has no nftables: run it on the gateway itself")
        yield Finding("nftables", well=False, seen=str(error), fix=fix)
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
    if agent_choices.problem(config) is not None:
        yield Finding("VRRP", well=False, seen="nobody was listened to", fix="change first what was chosen")
        return
    try:
        heard = adverts.heard(config.vrrp.interface, seconds)
    except HostError as error:
        fix = _as_root("set vrrp.interface to an interface of this host; if it is one, this root lacks CAP_NET_RAW")
        yield Finding("VRRP", well=False, seen=str(error), fix=fix)
        return
    yield judged(heard, advertised(config))


def _as_root(otherwise: str) -> str:
    """What to do about something that only root may look at; who is root already needs something else."""
    return otherwise if os.geteuid() == 0 else "run as root, on the gateway"


def advertised(config: Config) -> Mapping[int, str]:
    """Our numbers, and the address that a gateway of ours advertises with each."""
    ours = vrrp.settings(config.vrrp, stale_file="", reload_file="", alive_script="", fifo="")
    return dict(enumerate(vrrp.advertised(ours), ours.router_id))


def judged(heard: Collection[Advert], ours: Mapping[int, str]) -> Finding:
    """What the adverts say about our numbers.

    who speaks with one of ours        ->  well
    ---------------------------------      ----
    somebody with another address          no
    more than there are numbers            no
    nobody else                            yes
    """
    strangers = foreign(heard, ours)
    speakers = sorted({each.source for each in heard if each.router_id in ours})
    others = sorted({each.router_id for each in heard} - set(ours))
    told = [
        f"with our numbers speak: {', '.join(speakers) or 'nobody'}",
        f"other numbers in use: {', '.join(map(str, others)) or 'none'}",
        *(f"{source} has our number {number} for {address or 'no address'}" for source, number, address in strangers),
    ]
    well = not strangers and len(speakers) <= len(ours)
    return Finding("VRRP", well, "; ".join(told), FOREIGN if strangers else TOO_MANY)


def foreign(heard: Iterable[Advert], ours: Mapping[int, str]) -> tuple[tuple[str, int, str], ...]:
    """Who has one of our numbers for an address that is not ours, or for none: source, number and address of each."""
    found = {(each.source, each.router_id, each.address) for each in heard if each.router_id in ours}
    return tuple(sorted(each for each in found if each[2] != ours[each[1]]))
