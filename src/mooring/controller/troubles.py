"""What an error of Neutron's means for the Service that it befell: the one place where errors become reasons."""

from mooring.cloud import errors
from mooring.model.reasons import Reason, Trouble

REASONS: tuple[tuple[type[errors.CloudError], Reason], ...] = (
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
    return Trouble(reason, f"OpenStack said: {error}")


PASSING = frozenset({Reason.CLOUD_UNREACHABLE})
