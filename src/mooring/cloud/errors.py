"""What can go wrong between us and Neutron, and what each of it means for whoever called.

CloudError
├── NotFound            the object is not there, or is not ours to see
├── Conflict            the state of other objects forbids it: taken, in use, not connected
│   └── NoMoreAddresses the subnets have no free address
├── RevisionMismatch    somebody wrote first: observe again
├── QuotaExceeded       the project may not have one more: tell the operator
├── Forbidden           policy denies it to us: tell the operator
├── Refused             Neutron will never take this: a defect of ours or of the object, do not repeat
├── Unauthorized        our credentials are not accepted (any more)
├── TooManyRequests     refused for now, not carried out; patience was spent already
├── ServerFault         Neutron failed: a write may have happened, and is over
├── Unreachable         not sent, or a read without answer: nothing happened
├── Unknown             sent, no readable answer of Neutron's: it may have happened, or happen yet
└── BadAnswer           a read was answered with something that is not what Neutron promises

Who writes treats Unknown and ServerFault alike: it looks again before it decides anything. `type` is Neutron's own name
of the error, for texts and for the rare case where the class is too coarse; empty where there was no answer.
"""


class CloudError(Exception):
    """Any failure of a call; the text names the call and the object."""

    def __init__(self, text: str, type: str = "") -> None:  # noqa: A002 - Neutron's word
        super().__init__(text)
        self.type = type


class NotFound(CloudError): ...


class Conflict(CloudError): ...


class NoMoreAddresses(Conflict): ...


class RevisionMismatch(CloudError): ...


class QuotaExceeded(CloudError): ...


class Forbidden(CloudError): ...


class Refused(CloudError): ...


class Unauthorized(CloudError): ...


class TooManyRequests(CloudError):
    def __init__(self, text: str, type: str = "", *, retry_after: float | None = None) -> None:  # noqa: A002 - as above
        super().__init__(text, type)
        self.retry_after = retry_after


class ServerFault(CloudError): ...


class Unreachable(CloudError): ...


class Unknown(CloudError): ...


class BadAnswer(CloudError): ...
