"""What a gateway refuses: a document that nobody can carry out, or that is not the one that was sent.

What was held before is known to be good, and is not looked at again.
"""

import enum
from collections.abc import Iterator

from mooring.core import gateway_document, plain_address
from mooring.core.plain_address import Address
from mooring.core.ruleset import PROTOCOLS
from mooring.model.gateway import Document, Forward, Refusal

PORTS = range(1, 1 << 16)
SEEDS = range(1 << 32)
AGES = range(10**15)
"""Of epochs and generations. A Lease's epoch is read up to so many digits: nobody could ever follow a larger one."""
MOST_BACKENDS = 4096
"""Of one forward: nft has a chain for each number of them."""


class Reason(enum.Enum):
    """The value is what people see."""

    NOT_UNDERSTOOD = "NotUnderstood"
    TOO_LARGE = "TooLarge"
    OTHER_DIGEST = "OtherDigest"
    BAD_AGE = "BadAge"
    BAD_SEED = "BadSeed"
    BAD_ADDRESS = "BadAddress"
    BAD_PROTOCOL = "BadProtocol"
    BAD_PORT = "BadPort"
    OTHER_FAMILY = "OtherFamily"
    TOO_MANY_BACKENDS = "TooManyBackends"
    TWICE = "Twice"
    RULES_REFUSED = "RulesRefused"
    VRRP_REFUSED = "VrrpRefused"
    DISK_REFUSED = "DiskRefused"


def refusal(document: Document, held: Document) -> Refusal | None:
    """Why a document is refused, from the first thing that is wrong with it."""
    return next(_problems(document, held), None)


def _problems(document: Document, held: Document) -> Iterator[Refusal]:
    known = frozenset(held.forwards)
    seen: dict[tuple[str, str, int], Forward] = {}
    for name, number in (("epoch", document.epoch), ("generation", document.generation)):
        if number not in AGES:
            yield Refusal(Reason.BAD_AGE.value, f"the {name} {number} is not a number of up to 15 digits")
    if document.seed not in SEEDS:
        yield Refusal(Reason.BAD_SEED.value, f"the seed {document.seed} is not a number of 32 bits")
    for each in document.forwards:
        if each not in known:
            yield from _problems_of(each)
        key = (each.address, each.protocol, each.port)
        if key in seen:
            yield _about(each, Reason.TWICE, f"{_name(seen[key])} is also there, and only one can have it")
        seen[key] = each
    if document.digest != gateway_document.digest(document.forwards, document.seed):
        told = f"the digest {document.digest!r} is not that of the forwards and the seed that came with it"
        yield Refusal(Reason.OTHER_DIGEST.value, told)


def _problems_of(forward: Forward) -> Iterator[Refusal]:
    if forward.protocol not in PROTOCOLS:
        known = ", ".join(sorted(PROTOCOLS))
        yield _about(forward, Reason.BAD_PROTOCOL, f"{forward.protocol!r} is not one of {known}")
    if forward.port not in PORTS:
        yield _about(forward, Reason.BAD_PORT, f"{forward.port} is not a port")
    if len(forward.backends) > MOST_BACKENDS:
        many = f"{len(forward.backends)} backends are more than {MOST_BACKENDS}"
        yield _about(forward, Reason.TOO_MANY_BACKENDS, many)
    address = _address(forward.address)
    if isinstance(address, str):
        yield _about(forward, Reason.BAD_ADDRESS, address)
        return
    for backend in forward.backends:
        target = _address(backend.address)
        if isinstance(target, str):
            yield _about(forward, Reason.BAD_ADDRESS, f"of a backend: {target}")
        elif target.version != address.version:
            other = f"the backend {target} is of another family than {address}"
            yield _about(forward, Reason.OTHER_FAMILY, other)
        if backend.port not in PORTS:
            yield _about(forward, Reason.BAD_PORT, f"of a backend: {backend.port} is not a port")


def _address(text: str) -> Address | str:
    """An address, or what is wrong with it."""
    try:
        return plain_address.of_a_host(text)
    except ValueError as error:
        return str(error)


def _about(forward: Forward, reason: Reason, why: str) -> Refusal:
    return Refusal(reason.value, f"{_name(forward)}: {why}")


def _name(forward: Forward) -> str:
    return f"{forward.service} ({forward.address} {forward.protocol} {forward.port})"
