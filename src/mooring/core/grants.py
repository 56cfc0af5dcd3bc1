"""Whether a Service may have what it asks for, and why not. What the operator allows stands in the `Place`."""

from collections.abc import Callable, Iterable

from mooring.core import keeping, ranges
from mooring.core.addresses import Addresses
from mooring.core.wishes import Refused, Wish
from mooring.model.cloud import PortId
from mooring.model.kubernetes import Name
from mooring.model.reasons import Reason

BACK = "Wait: it is taken back within a minute"
ASK_FOR_NONE = "Ask for no address, or have the operator set addresses.wishes"
ASK_FOR_ANOTHER = "Ask for another address, or for none"
OTHER_PORTS = "Ask for another address, or for none, or give it other ports"
LIST_MORE = "List more addresses there, or delete Services that nobody needs"


def granted(known: Addresses, port: PortId, wish: Wish) -> bool:
    """Whether a port is what it asks for, and from where it chose. Who chose nothing has nothing to change."""
    origin = known.origin(port)
    return (
        (not wish.address or known.public(port) == wish.address)
        and wish.subnet in {None, origin.subnet}
        and (wish.floating_network is None or known.place.origin(wish).floating_network == origin.floating_network)
    )


def not_allowed(
    known: Addresses,
    name: Name,
    wish: Wish,
    owners: Callable[[PortId], Iterable[Name]],
    showing: Callable[[str], Iterable[Name]],
) -> Refused | None:
    """Why the operator does not let a Service have an address that it asks for.

    `owners`: of a port, who has it. `showing`: who shows an address, be it that it lost its port.
    """
    place = known.place
    if not wish.address:
        return None
    if place.wishes == "none":
        return Refused(f"It asks for {wish.address}, and nobody may ask for addresses here", ASK_FOR_NONE)
    if place.wished and not ranges.hold(place.wished, wish.address):
        told = ", ".join(map(str, place.wished))
        return Refused(f"It asks for {wish.address}, and only {told} may be asked for", ASK_FOR_ANOTHER)
    port = known.reached_at(wish.address)
    beside = (*(owners(port) if port else ()), *showing(wish.address)) if place.wishes == "own" else ()
    others = sorted(each for each in beside if each.namespace != name.namespace)
    if others:
        return Refused(f"It asks for {wish.address}, which carries {others[0]} of another namespace", ASK_FOR_ANOTHER)
    kept = port is not None and place.wishes == "own" and keeping.for_others(known.on(port), name.namespace)
    fact = f"It asks for {wish.address}, which is kept for Services of another namespace"
    return Refused(fact, ASK_FOR_ANOTHER) if kept else None


def taken(known: Addresses, port: PortId, rival: Name | None, *, offered: bool) -> Refused | None:
    """Why a Service cannot have a port of ours whose address it asks for. `rival`: who is in its way there."""
    address = known.public(port)
    if rival is not None:
        fact = f"It asks for {address}, which carries {rival}, with one of its ports or not to be shared"
        return Refused(fact, OTHER_PORTS)
    if offered:
        return None
    if known.retired(port):
        return Refused(f"It asks for {address}, which is no longer in addresses.static", ASK_FOR_ANOTHER)
    return Refused(f"It asks for {address}, which was given up", BACK)


def not_listed(known: Addresses, wish: Wish) -> Refused | None:
    """Why there is no port for a wish, where all that there can be are listed."""
    if not known.place.static:
        return None
    if wish.address:
        return Refused(f"It asks for {wish.address}, which is not in addresses.static", ASK_FOR_ANOTHER)
    fact = f"No address of {wish.family} in addresses.static is free for it"
    return Refused(fact, LIST_MORE, Reason.NO_MORE_ADDRESSES)
