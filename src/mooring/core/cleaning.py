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
no      yes     yes                    remove

Our own tag is for people and their filters. What is ours is told by the mark, which was there from the first moment.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from mooring.model import names
from mooring.model.cloud import FloatingIp, Port, PortId

Ours = Port | FloatingIp


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


CleaningStep = Label | Doom | Rescue | Remove


def steps(
    ports: Iterable[Port],
    floating_ips: Iterable[FloatingIp],
    needed: frozenset[PortId],
    *,
    tagged_for: Mapping[str, float],
    wait: float,
) -> tuple[CleaningStep, ...]:
    """What to do now about each port and floating IP of ours. `tagged_for`: seconds since we first saw its tag."""
    found = [_step(port, tagged_for, needed=port.id in needed, wait=wait) for port in ports]
    found += [_step(each, tagged_for, needed=each.port_id in needed, wait=wait) for each in floating_ips]
    return tuple(sorted((step for step in found if step is not None), key=_order))


def _step(what: Ours, tagged_for: Mapping[str, float], *, needed: bool, wait: float) -> CleaningStep | None:
    tagged = names.DELETING_TAG in what.tags
    if needed:
        return Rescue(what) if tagged else None if names.TAG in what.tags else Label(what)
    if not tagged:
        return Doom(what)
    return Remove(what) if tagged_for.get(what.id, 0.0) >= wait else None


def _order(step: CleaningStep) -> tuple[bool, bool, str]:
    """Rescues first; a floating IP goes before the port that it is on."""
    return not isinstance(step, Rescue), isinstance(step.what, Port), step.what.id
