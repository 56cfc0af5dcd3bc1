"""Whether there is room for new addresses: in the lists of the gateways' ports, and in the project's quota.

What is known to be refused is not asked for: it would leave something half made behind. What is not known is tried.
"""

from collections import Counter
from collections.abc import Sequence

from mooring.core import wishes
from mooring.core.addresses import Addresses
from mooring.core.wishes import Refused, Wish
from mooring.model.cloud import PortId
from mooring.model.reasons import Reason

Begun = Sequence[PortId | None]
"""For each wish a port that somebody began to make an address of, or none."""


def refused(known: Addresses, wanted: Sequence[Wish]) -> Refused | None:
    """Why new addresses for these wishes, all of them, cannot be made."""
    if not wanted or _lacks(known, wanted, [None] * len(wanted)) is None:
        return None  # who would have room for more needs not to look for what was begun, which takes its time
    return _lacks(known, wanted, [known.begun(known.place.origin(each), each.address) for each in wanted])


def _lacks(known: Addresses, wanted: Sequence[Wish], begun: Begun) -> Refused | None:
    return _pairs(known, begun) or _quota(known, wanted, begun)


def _pairs(known: Addresses, begun: Begun) -> Refused | None:
    limit = known.place.pairs_limit
    lacking = Counter(gateway for port in begun if port for gateway in known.unpaired(port))
    for gateway in sorted(known.gateways.keys() - known.released) if limit else ():
        more = lacking[gateway] + begun.count(None)
        if more and len(known.gateways[gateway].allowed_address_pairs) + more > limit:
            fact = f"It needs a new address, and the gateway's port {gateway} may have {limit} address pairs at most"
            return Refused(fact, wishes.MORE_PAIRS, Reason.PAIRS_LIMIT)
    return None


def _quota(known: Addresses, wanted: Sequence[Wish], begun: Begun) -> Refused | None:
    """An address that is asked for may be that of a floating IP which is there already."""
    if known.quota is None:
        return None
    floating = [
        each
        for each, port in zip(wanted, begun, strict=True)
        if known.place.origin(each).floating_network
        and not each.address
        and (port is None or known.public(port) is None)
    ]
    needs = (
        ("ports", known.quota.port, begun.count(None)),
        ("floating IPs", known.quota.floatingip, len(floating)),
    )
    for name, usage, more in needs:
        if usage.free is not None and more > usage.free:
            fact = f"It needs a new address, and the OpenStack project has {usage.free} left of {usage.limit} {name}"
            return Refused(fact, wishes.MORE_QUOTA, Reason.QUOTA_EXCEEDED)
    return None
