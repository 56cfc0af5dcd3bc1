"""Who the gateways are, which of them count, who gives way to others, and when one that leaves may be let go.

A gateway is live until it has not answered for `GRACE` seconds. What counts is what the gateways do that packets may
come to:

live  does what it is told      holds the addresses  ->  counts
----  ------------------------  -------------------      ------
no    -                         -                        no
yes   yes, or not for < GRACE   -                        yes, unless it leaves
yes   not for longer            no                       no: it gives way by itself
yes   not for longer            yes                      yes: packets go there

Those that were given the right to use addresses are written down before they are given it, so that a later leader, with
another configuration, knows whom to take it from. One that leaves is let go when it cannot come to hold the addresses
any more and one that stays holds them:

it is live  it holds them     it gives way  one that stays holds them  ->  let go
----------  ----------------  ------------  -------------------------      ------
-           -                 -             no                             no
yes         yes, or unknown   -             yes                            no
yes         no, as a backup   no            yes                            no: it is the next to hold them
yes         no, as a backup   yes           yes                            yes
yes         no, it is off     -             yes                            yes
no          -                 -             yes                            yes
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec
from msgspec import Struct

from mooring.model.cloud import PortId
from mooring.model.gateway import Vrrp

GRACE = 3.0
OFF = frozenset({Vrrp.FAULT, Vrrp.STOPPED})


class Member(Struct, frozen=True):
    """A gateway: where its agent listens (nowhere: nobody has to be told), and the port of its interface."""

    agent: str
    port: PortId


Roster: TypeAlias = Mapping[str, Member]
Places: TypeAlias = frozenset[tuple[str, str, int]]
Acknowledged: TypeAlias = Mapping[str, Places]

DISPUTED = frozenset({("", "", 0)})
"""What no Service wants: gateways differ in what they serve for it."""


class Conduct(Struct, frozen=True):
    """How a gateway behaves: since when it does not answer, since when it does not do what it is told.

    `drained`: it says that it gives way to others.
    """

    vrrp: Vrrp = Vrrp.UNKNOWN
    failing_since: float | None = None
    refusing_since: float | None = None
    leaves: bool = False
    drained: bool = False


def live(conduct: Conduct, *, now: float) -> bool:
    return _recent(conduct.failing_since, now)


def counts(conduct: Conduct, *, now: float) -> bool:
    if not live(conduct, now=now):
        return False
    return conduct.vrrp is Vrrp.MASTER or (not conduct.leaves and obeys(conduct, now=now))


def obeys(conduct: Conduct, *, now: float) -> bool:
    """It does what it is told, or has not failed to for longer than what is overlooked."""
    return _recent(conduct.refusing_since, now)


def let_go(conduct: Conduct, others: Iterable[Conduct], *, now: float) -> bool:
    """Whether one that leaves may be let go."""
    taken_over = any(each.vrrp is Vrrp.MASTER and not each.leaves and live(each, now=now) for each in others)
    away = conduct.vrrp in OFF or (conduct.vrrp is Vrrp.BACKUP and conduct.drained)
    return taken_over and (away or not live(conduct, now=now))


def _recent(since: float | None, now: float) -> bool:
    """Whether something has not gone on for longer than what is overlooked."""
    return since is None or now < since + GRACE


def agreed(held: Sequence[Acknowledged]) -> Acknowledged:
    """What gateways serve that may hold different documents."""
    first, *others = held
    return first if all(each is first for each in others) else Agreed(held)


class Agreed(Mapping[str, Places]):
    """By Service, what all of them do, or that they differ. Of ten thousand Services, one is asked for."""

    def __init__(self, held: Sequence[Acknowledged]) -> None:
        self._held = held

    def __getitem__(self, service: str) -> Places:
        found = [each.get(service) for each in self._held]
        if all(each is None for each in found):
            raise KeyError(service)
        first, *others = (each or frozenset() for each in found)
        return first if all(each == first for each in others) else DISPUTED

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(service for each in self._held for service in each))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def leaving(recorded: Roster, wanted: Roster) -> dict[str, Member]:
    """Who was a gateway and is not wanted any more, by a name that none of the others has.

    Where only the port is another one, the agent stays, and nobody has to be told.
    """
    agents = {each.agent for each in wanted.values()}
    ports = {each.port for each in wanted.values()}
    found = {}
    for name, member in sorted(recorded.items()):
        if member.port not in ports:
            told = Member("", member.port) if member.agent in agents else member
            found[f"{name} ({member.port})" if name in wanted else name] = told
    return found


def lacking(roster: Roster, allowed: Mapping[PortId, frozenset[str]], served: frozenset[str]) -> frozenset[str]:
    """Who may not use an address that the gateways serve. One whose port is gone may use none.

    Before any port has been seen nothing is said.
    """
    if not allowed:
        return frozenset()
    return frozenset(name for name, each in roster.items() if served - allowed.get(each.port, frozenset()))


def cannot_drain(
    name: str, *, known: Iterable[str], drained: frozenset[str], answering: Iterable[str], force: bool
) -> str | None:
    """Why a person may not drain a gateway, and what to do; None, if it may be."""
    every = sorted(known)
    if name not in every:
        return f"There is no gateway {name!r}. The configuration has {', '.join(every) or 'none'}."
    if force or name in drained or any(each in every and each not in drained | {name} for each in answering):
        return None
    return (
        f"Gateway {name} is the last one that could hold the addresses: no other answers and is not drained. "
        "Undrain or start another one first, or use --force."
    )


def renamed(drained: Iterable[str], recorded: Roster, wanted: Roster) -> frozenset[str]:
    """Whom a person has drained, by the names that they have now: a gateway is known by its port."""
    now = {each.port: name for name, each in wanted.items()}
    ports = {name: each.port for name, each in recorded.items()}
    return frozenset(now.get(ports[name], name) if name in ports else name for name in drained)


def dump(roster: Roster) -> str:
    return msgspec.json.encode(dict(roster), order="sorted").decode()


def load(text: str) -> dict[str, Member]:
    """What was written down; text of others in our place says nothing."""
    try:
        return msgspec.json.decode(text or "{}", type=dict[str, Member])
    except (msgspec.DecodeError, UnicodeError):
        return {}


def dump_names(names: Iterable[str]) -> str:
    return ",".join(sorted(names))


def load_names(text: str) -> frozenset[str]:
    """Names as a person writes them too: `gw1, gw2`."""
    return frozenset(filter(None, (each.strip() for each in text.split(","))))
