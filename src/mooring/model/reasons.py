"""The closed list of reasons: why a Service is as it is. Each stands in conditions, events and `mooring why`.

Each is a heading of the reference, where a person finds what it means and what to do.
"""

import enum

from msgspec import Struct


class Reason(enum.Enum):
    """The value is what people see."""

    # whether it is ours
    ACCEPTED = "Accepted"
    NOT_LOAD_BALANCER = "NotLoadBalancer"
    OTHER_CLASS = "OtherClass"
    OPTED_OUT = "OptedOut"
    ENDING = "Ending"
    CLASS_DISAGREES = "ClassDisagrees"
    FOREIGN_ADDRESS = "ForeignAddress"
    PORTS_LOST = "PortsLost"
    CLAIMED_TWICE = "ClaimedTwice"
    ANNOTATION_IGNORED = "AnnotationIgnored"
    # whether it has an address
    ALLOCATED = "Allocated"
    SHARING_KEY = "SharingKey"
    ADDRESS_RETIRED = "AddressRetired"
    ADDRESS_UNMARKED = "AddressUnmarked"
    NO_ADDRESS_YET = "NoAddressYet"
    PORT_TAKEN = "PortTaken"
    WISH_REFUSED = "WishRefused"
    BAD_ANNOTATION = "BadAnnotation"
    PAIRS_LIMIT = "PairsLimit"
    QUOTA_EXCEEDED = "QuotaExceeded"
    NO_MORE_ADDRESSES = "NoMoreAddresses"
    CLOUD_FORBIDS = "CloudForbids"
    CLOUD_REFUSES = "CloudRefuses"
    CLOUD_UNREACHABLE = "CloudUnreachable"
    # whether packets reach it
    PROGRAMMED = "Programmed"
    NO_ENDPOINTS = "NoEndpoints"
    PORT_WITHOUT_ENDPOINTS = "PortWithoutEndpoints"
    NO_NODES = "NoNodes"
    NO_NODE_PORT = "NoNodePort"
    BAD_ENDPOINT = "BadEndpoint"
    NOBODY_MAY_CALL = "NobodyMayCall"
    CLIENT_HIDDEN = "ClientAddressNotKept"
    NETWORK_POLICY = "NetworkPolicyApplies"
    NOT_LET_IN = "NotLetIn"
    NO_GATEWAY = "NoGateway"
    NO_HOLDER = "NoHolder"
    GATEWAY_REFUSES = "GatewayRefuses"
    WAITING_FOR_GATEWAYS = "WaitingForGateways"
    WAITING_FOR_ADDRESS = "WaitingForAddress"


class Verdict(Struct, frozen=True):
    """One answer to `why`: is it well, the reason, the fact that tells it, and what to do where it is not well."""

    reason: Reason
    fact: str
    fix: str = ""
    well: bool = True

    @property
    def message(self) -> str:
        return f"{self.fact}. {self.fix}." if self.fix else f"{self.fact}."


class Trouble(Struct, frozen=True):
    """What went wrong at the last try, as the outside told it."""

    reason: Reason
    text: str
