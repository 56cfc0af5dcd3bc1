"""What can go wrong between us and the Kubernetes API, and what each of it means for whoever called.

KubeError
├── NotFound          the object is not there
├── AlreadyExists     an object of that name is there
├── Conflict          somebody wrote first, or the object is another one by now: observe again
├── Gone              the version asked for is no longer kept: list again
├── Invalid           the API server will never take this: a defect of ours or of the object, do not repeat
├── Forbidden         our ServiceAccount lacks a right: tell the operator
├── Unauthorized      our credentials are not accepted (any more)
├── TooManyRequests   refused for now, not carried out; patience was spent already
├── ServerFault       the API server failed: for a write, it may have happened
├── Unreachable       not sent, or a read without answer: nothing happened
├── Unknown           sent, no readable answer: it may have happened
└── BadAnswer         a read was answered with something that is not what the API promises

Who writes treats Unknown and ServerFault alike: it looks again before it decides anything.
"""


class KubeError(Exception):
    """Any failure of a call; the text names the call and the object."""


class NotFound(KubeError): ...


class AlreadyExists(KubeError): ...


class Conflict(KubeError): ...


class Gone(KubeError): ...


class Invalid(KubeError): ...


class Forbidden(KubeError): ...


class Unauthorized(KubeError): ...


class TooManyRequests(KubeError):
    def __init__(self, text: str, retry_after: float | None) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class ServerFault(KubeError): ...


class Unreachable(KubeError): ...


class Unknown(KubeError): ...


class BadAnswer(KubeError): ...
