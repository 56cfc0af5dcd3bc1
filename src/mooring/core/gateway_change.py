"""In which order a gateway gets from what is in force to what it was told.

addresses  ->  steps
---------      -----
the same       rules
others         rules that come or change, then the addresses, then the rules that go
unsure         the same; an address that may be held and that nobody knows more of serves nothing until it is gone

So an address is never held without its rules, and whatever is served is served by its old rule or by its new one.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from mooring.model.gateway import Backend, Forward, Place

Wanted = Mapping[Place, Forward | None]
"""By what can be served once: what it is to become. None: nothing."""


class Change(Struct, frozen=True):
    """What is wanted of some places, which addresses the host may hold, and which it is to hold.

    `bare`: of those that it may hold, those that nothing is known of.
    """

    wanted: Wanted
    held: frozenset[str]
    addresses: frozenset[str]
    bare: frozenset[str] = frozenset()


class SetRules(Struct, frozen=True):
    """Let these places be as told: one transaction."""

    wanted: Wanted


class SetAddresses(Struct, frozen=True):
    """Tell VRRP which addresses there are, and wait until the host has done what follows from that."""

    addresses: frozenset[str]


Step = SetRules | SetAddresses


class Flow(Struct, frozen=True, order=True):
    """What clients sent from an address to one backend."""

    address: str
    protocol: str
    port: int
    backend: Backend


def steps(change: Change, *, fits: bool, settled: bool) -> tuple[Step, ...]:
    """What is to be done, in order.

    `fits`: the rules are what we think, and for the same seed; else they are loaded anew. `settled`: VRRP has obeyed.
    """
    if settled and (change.held is change.addresses or change.held == change.addresses):
        return (SetRules(change.wanted),) if change.wanted or not fits else ()
    shut = {each.place: each for each in map(shut_off, sorted(change.bare))}
    come = {place: forward for place, forward in change.wanted.items() if forward is not None} | shut
    go = dict.fromkeys((place for place, forward in change.wanted.items() if forward is None)) | dict.fromkeys(shut)
    first = (SetRules(come),) if come or not fits else ()
    last = (SetRules(go),) if go else ()
    return (*first, SetAddresses(change.addresses), *last)


def shut_off(address: str) -> Forward:
    """An address that is ours and serves nothing. No Service has port 0."""
    return Forward(address, "TCP", 0, "")


def ended_flows(old: Iterable[Forward], wanted: Wanted, protocols: frozenset[str]) -> tuple[Flow, ...]:
    """What would go on to backends that are gone, of these protocols. Connections end by themselves, UDP does not."""
    found: set[Flow] = set()
    for each in old:
        new = wanted.get(each.place)
        if each.protocol in protocols:
            gone = frozenset(each.backends) - frozenset(new.backends if new else ())
            found |= {Flow(each.address, each.protocol, each.port, backend) for backend in gone}
    return tuple(sorted(found))
