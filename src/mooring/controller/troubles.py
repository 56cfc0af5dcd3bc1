"""What an error of Neutron's means for the Service that it befell: the one place where errors become reasons."""

from mooring.cloud import errors
from mooring.model.reasons import Reason, Trouble


class NotToBeHad(errors.Refused):
    """The address that a Service asks for is there, and is not for it."""


REASONS: tuple[tuple[type[errors.CloudError], Reason], ...] = (
    (NotToBeHad, Reason.WISH_REFUSED),
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
    told = (
        f"It asks for an address that cannot be had: {error}"
        if reason is Reason.WISH_REFUSED
        else f"OpenStack said: {error}"
    )
    return Trouble(reason, told)


HOPELESS = (errors.Refused, errors.Forbidden)
"""Asking again changes nothing before somebody has changed something: the next audit is early enough."""

PASSING = frozenset({Reason.CLOUD_UNREACHABLE})
