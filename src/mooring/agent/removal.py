"""Taking everything off a gateway's host that an agent has put there: addresses first, then rules, then files.

What was done is not done again: it can be interrupted anywhere, and goes on when it is started again.
"""

import time
from collections.abc import Callable
from pathlib import Path

from mooring.agent import main
from mooring.core import ruleset, vrrp
from mooring.host import disk, journal, locking
from mooring.host.errors import HostError
from mooring.host.keepalived import Keepalived
from mooring.host.nftables import Nftables
from mooring.model.config import Config
from mooring.model.errors import Hindered

OURS = (journal.NAME, journal.READY, journal.DAMAGED)
SECONDS = 15.0
INTERVAL = 0.05


def remove(config: Config, parts: main.Parts = main.REAL) -> tuple[str, ...]:
    """What was removed, in words. Refused while the agent runs."""
    folder = Path(config.agent.state).absolute()
    try:
        with main.alone(config):
            daemon = main.keepalived(config, parts)
            done = [*_addresses(daemon), *_rules(), *_files(folder, daemon)]
    except HostError as error:
        raise Hindered(str(error)) from error
    _take_folder(folder)
    return tuple(done)


def _addresses(daemon: Keepalived) -> list[str]:
    """One that was killed has left its addresses: started again, it can give them back."""
    text = daemon.configuration()
    if not text:
        return []
    ours = vrrp.mentioned(text)
    held = ours & daemon.there()
    if held and not daemon.running():
        daemon.start()
    daemon.leave()
    _until(lambda: not ours & daemon.there(), f"{', '.join(sorted(ours & daemon.there()))} stayed on the host")
    return [f"keepalived no longer holds addresses for Mooring ({len(held)} were held)"]


def _rules() -> list[str]:
    nft = Nftables()
    try:
        found = [each for each in nft.tables() if each[1] in ruleset.TABLES]
        for family, table in found:
            nft.run(f"delete table {family} {table}")
    finally:
        nft.close()
    return [f"nftables: table {family} {table}" for family, table in sorted(found)]


def _files(folder: Path, daemon: Keepalived) -> list[str]:
    paths = [*(folder / each for each in OURS), *daemon.files.every()]
    found = [each for each in paths if each.exists()]
    for each in found:
        try:
            each.unlink()
        except OSError as error:
            raise disk.DiskError(f"{each}: {error.strerror or error}") from error
    return [f"{folder}: {len(found)} files"] if found else []


def _take_folder(folder: Path) -> None:
    """With its lock, if nobody has put anything else there."""
    (folder / locking.NAME).unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()


def _until(condition: Callable[[], bool], failure: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise HostError(f"after {SECONDS:g} s {failure}; the system's log tells more, then try it again")
        time.sleep(INTERVAL)
