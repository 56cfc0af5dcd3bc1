"""What of ours in OpenStack nobody needs any more, and what is to be done about it now.

Deletion takes two steps, so that a leader that has lost its lease, or a request that comes late, cannot take away what
its successor has just given to somebody: first a tag says that it goes, and nobody is given it any more; only after
everything that was under way must have ended, it is deleted, if it still bears the tag and is as it was seen.

needed  tagged  tag seen for long  ->  step
------  ------  -----------------      ----
yes     no      -                      label it, if it does not bear our tag yet; else nothing
yes     yes     -                      rescue: take the tag off
no      no      -                      doom: tag it
no      yes     no                     wait
no      yes     yes                    remove; or give back, where it is kept, or on a port that is not ours

Much at once is held back (`held_back`), until a person has tagged it.

Our own tag is for people and their filters. What is ours is told by the mark, which was there from the first moment.

The gateways may use the address of every port that is needed, also after somebody took it from their list; a port goes
only when no gateway may use its address any more, because afterwards nobody knows that the entry was ours. Where a
gateway's list has no room for all, as many as fit are in it, those that Services have before those begun. Of a port
that somebody else deleted, it is known for as long as a leader remembers it (`former`). A gateway that was let go may
use none of them (`released`).

What fails keeps nothing else from being done, but for what has to come after it (`possible`). Whether a request that
was not answered is carried out is known only later: nothing is done after it, and next time it comes last (`in_turn`).
"""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from mooring.core import addresses, keeping
from mooring.core.addresses import Ours
from mooring.model import names
from mooring.model.cloud import FloatingIp, Port, PortId


class Label(Struct, frozen=True):
    """Put our tag on it."""

    what: Ours


class Doom(Struct, frozen=True):
    """Tag it: it goes."""

    what: Ours


class Rescue(Struct, frozen=True):
    """Take the tag off again: somebody needs it."""

    what: Ours


class Remove(Struct, frozen=True):
    """Delete it, as it was seen."""

    what: Ours


class GiveBack(Struct, frozen=True):
    """Let it stay in the project without our mark: it was, or is, somebody else's. `on`: the port where it stays."""

    what: FloatingIp
    on: PortId | None = None


class Pair(Struct, frozen=True):
    """Let a gateway use addresses."""

    gateway: PortId
    addresses: tuple[str, ...]


class Unpair(Struct, frozen=True):
    """Let a gateway no longer use addresses."""

    gateway: PortId
    addresses: tuple[str, ...]


Fate = Label | Doom | Rescue | Remove | GiveBack
End = Remove | GiveBack
CleaningStep = Fate | Pair | Unpair

MOST = 5
SHARE = 0.2
"""To tag more objects than this, and more of ours than this, at once is hardly what somebody wanted."""


def steps(  # noqa: PLR0913 - all that there is, who needs it, and since when it goes
    ports: Iterable[Port],
    floating_ips: Iterable[FloatingIp],
    needed: frozenset[PortId],
    *,
    begun: frozenset[PortId] = frozenset(),
    gateways: Iterable[Port] = (),
    former: frozenset[str] = frozenset(),
    released: frozenset[PortId] = frozenset(),
    shown: frozenset[str] = frozenset(),
    tagged_for: Mapping[str, float],
    wait: float,
) -> tuple[CleaningStep, ...]:
    """What to do now about each port and floating IP of ours. `tagged_for`: seconds since we first saw its tag.

    `begun`: what is needed too, by those who have nothing yet: the gateways' room is for the others first.
    `shown`: the addresses that Services show. A floating IP that somebody took off its port is needed by who shows it.
    """
    every = tuple(ports)
    ids = frozenset(each.id for each in every)

    inner = frozenset(each.id for each in every if addresses.internal(each))

    def fate(what: Ours, *, stays: bool) -> Fate | None:
        return _step(what, end(what, ids, inner), needed=stays, due=tagged_for.get(what.id, 0.0) >= wait)

    staying = needed | begun
    outer = staying - inner
    found = [fate(each, stays=each.id in staying) for each in every]
    found += [fate(each, stays=_is_needed(each, outer, shown)) for each in floating_ips]
    kept = sorted((step for step in found if step is not None), key=_order)
    removed = [step.what for step in kept if isinstance(step, Remove) and isinstance(step.what, Port)]
    unwanted = former.union(each.ip_address for port in removed for each in port.fixed_ips)
    first = frozenset(each.ip_address for port in every if port.id in needed for each in port.fixed_ips)
    then = frozenset(each.ip_address for port in every if port.id in staying for each in port.fixed_ips) - first
    ours = former.union(each.ip_address for port in every for each in port.fixed_ips)
    ordered = sorted(gateways, key=lambda each: each.id)
    return (
        *_pairings([each for each in ordered if each.id not in released], first, unwanted),
        *_pairings([each for each in ordered if each.id in released], frozenset(), ours),
        *_pairings([each for each in ordered if each.id not in released], then, frozenset()),
        *kept,
    )


def held_back(
    planned: Iterable[CleaningStep], ours: int, *, let_go: frozenset[PortId] = frozenset()
) -> tuple[Doom, ...]:
    """What would be too much at once, of all that is ours: a person has to say that it is meant, by tagging it.

    Nobody needs it by what is seen now. Should that be wrong, such as in a cluster that was restored from an old
    backup, nothing is lost yet. Ports that Services were seen to let go (`let_go`) are meant.
    """
    dooms = tuple(each for each in planned if isinstance(each, Doom) and _port_of(each.what) not in let_go)
    return dooms if len(dooms) > MOST and len(dooms) > SHARE * ours else ()


def possible(step: CleaningStep, failed: Iterable[CleaningStep]) -> bool:
    """Whether a step may be taken though others were not: no gateway may use an address whose port goes."""
    if not isinstance(step, Remove) or not isinstance(step.what, Port):
        return True
    still_used = {address for each in failed if isinstance(each, Unpair) for address in each.addresses}
    return still_used.isdisjoint(each.ip_address for each in step.what.fixed_ips)


def in_turn(planned: Iterable[CleaningStep], unanswered: frozenset[str]) -> tuple[CleaningStep, ...]:
    """In which order, where requests that concern these were not answered last time: all else has its turn first."""
    every = tuple(planned)
    late = [each for each in every if concerns(each) in unanswered]
    last = [each for each in every if each not in late and not possible(each, late)]
    return (*(each for each in every if each not in late and each not in last), *late, *last)


def concerns(step: CleaningStep) -> str:
    """The object that a step changes."""
    return step.gateway if isinstance(step, Pair | Unpair) else step.what.id


def _is_needed(floating_ip: FloatingIp, needed: frozenset[PortId], shown: frozenset[str]) -> bool:
    if floating_ip.port_id is None:
        return floating_ip.floating_ip_address in shown
    return floating_ip.port_id in needed


def _port_of(what: Ours) -> PortId | None:
    return what.id if isinstance(what, Port) else what.port_id


def _pairings(gateways: Iterable[Port], wanted: frozenset[str], unwanted: frozenset[str]) -> Iterator[Pair | Unpair]:
    for gateway in gateways:
        has = {pair.ip_address for pair in gateway.allowed_address_pairs}
        if missing := wanted - has:
            yield Pair(gateway.id, tuple(sorted(missing)))
        if left := unwanted & has:
            yield Unpair(gateway.id, tuple(sorted(left)))


def end(what: Ours, ports: frozenset[PortId], inner: frozenset[PortId] = frozenset()) -> End:
    """What becomes of something that goes. `ports`: those of ours; what is on another one is in use there.

    `inner`: those of ours that are to have no floating IP. What somebody puts on one is taken off, and is theirs.
    """
    if isinstance(what, FloatingIp) and what.port_id is not None and what.port_id not in ports:
        return GiveBack(what, what.port_id)
    stays = isinstance(what, FloatingIp) and (keeping.kept(what) or what.port_id in inner)
    return GiveBack(what) if isinstance(what, FloatingIp) and stays else Remove(what)


def _step(what: Ours, at_last: End, *, needed: bool, due: bool) -> Fate | None:
    tagged = addresses.going(what)
    if needed:
        return Rescue(what) if tagged else None if names.TAG in what.tags else Label(what)
    if not tagged:
        return Doom(what)
    return at_last if due else None


def _order(step: Fate) -> tuple[bool, bool, str]:
    """Rescues first; a floating IP goes before the port that it is on."""
    return not isinstance(step, Rescue), isinstance(step.what, Port), step.what.id
