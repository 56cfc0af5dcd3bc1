"""What an error of Neutron's means for the Service that it befell: the one place where errors become reasons."""

from mooring.cloud import errors
from mooring.model.reasons import Reason, Trouble


class NotToBeHad(errors.Refused):
    """The address that a Service asks for is there, and is not for it."""


class NotOpened(errors.CloudError):
    """The gateways' security group could not be opened for a Service."""


PAIRS_EXHAUSTED = "AllowedAddressPairExhausted"
"""What Neutron calls it when a port has as many address pairs as it may have."""
MIXED_GROUPS = "SecurityGroupConflict"
"""What Neutron calls it when a port would have both stateful and stateless groups."""

REASONS: tuple[tuple[type[errors.CloudError], Reason], ...] = (
    (NotToBeHad, Reason.WISH_REFUSED),
    (NotOpened, Reason.NOT_LET_IN),
    (errors.NoMoreAddresses, Reason.NO_MORE_ADDRESSES),
    (errors.QuotaExceeded, Reason.QUOTA_EXCEEDED),
    (errors.Forbidden, Reason.CLOUD_FORBIDS),
    (errors.Unauthorized, Reason.CLOUD_FORBIDS),
    (errors.Refused, Reason.CLOUD_REFUSES),
    (errors.NotFound, Reason.CLOUD_REFUSES),
    (errors.Conflict, Reason.CLOUD_REFUSES),
)
"""The first that fits. All others are of the kind that passes."""


def trouble(error: errors.CloudError) -> Trouble:
    reason = next((reason for kind, reason in REASONS if isinstance(error, kind)), Reason.CLOUD_UNREACHABLE)
    if error.type == PAIRS_EXHAUSTED:
        reason = Reason.PAIRS_LIMIT
    return Trouble(reason, f"{WORDS.get(reason, 'OpenStack said')}: {error}")


WORDS = {
    Reason.WISH_REFUSED: "It asks for an address that cannot be had",
    Reason.NOT_LET_IN: "The gateways' security group could not be opened for it. OpenStack said",
}


HOPELESS = (errors.Refused, errors.Forbidden, NotOpened)
"""Asking again changes nothing before somebody has changed something: the next audit is early enough."""

PASSING = frozenset({Reason.CLOUD_UNREACHABLE})
