"""Whether a gateway may be trusted to be up to date: it hears of a leader, and does not stay behind what that has."""

from msgspec import Struct

from mooring.model.gateway import Heartbeat, Held

GRACE = 3.0
"""Seconds without a heartbeat, or behind the newest document, after which a gateway gives way to others."""
HOLDING = 1.5
"""So much longer waits who holds the addresses. When the leader is gone, all others have given way by then, and nothing
moves; when only this one is cut off from it, another takes over.
"""
ALIVE = 2.5
"""Seconds for which an agent's word counts that it lives. It gives it every second; without it, VRRP gives way."""
ALIVE_HOLDING = 5.0
"""The same for who holds the addresses: enough for a restart. When all agents are gone at once, all others have given
way by then (VRRP asks every second, and wants two answers), and nothing moves.
"""


class Heard(Struct, frozen=True):
    """When a leader was heard last, the newest document that it told of, and since when that one is lacking.

    `drained`: it said that this gateway is to give way, however well it is.
    """

    at: float
    newest: tuple[int, int] = (0, 0)
    behind_since: float | None = None
    drained: bool = False


def never(now: float) -> Heard:
    """Of one that has just been started, and does not know what the others do: it gives way until it hears a leader."""
    return Heard(now - GRACE - HOLDING - 1)


def after(heard: Heard, beat: Heartbeat, held: Held, *, now: float) -> Heard:
    """What is known after a heartbeat.

    Who lacks today's document and got yesterday's is not behind since yesterday: a leader with much to tell makes
    nobody stale.
    """
    if beat.age <= held.age:
        return Heard(now, beat.age, drained=beat.drained)
    lacking = heard.behind_since is not None and held.age < heard.newest
    return Heard(now, beat.age, heard.behind_since if lacking else now, beat.drained)


def alive(*, holding: bool) -> float:
    """For how long the word of an agent counts."""
    return ALIVE_HOLDING if holding else ALIVE


def stale(heard: Heard, held: Held, *, now: float, holding: bool = False) -> bool:
    """Who was never told anything gives way to all others from the beginning."""
    grace = GRACE + HOLDING if holding else GRACE
    if held.epoch == 0 or now - heard.at > grace:
        return True
    return heard.behind_since is not None and held.age < heard.newest and now - heard.behind_since > grace
