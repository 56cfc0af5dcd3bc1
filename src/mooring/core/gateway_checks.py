"""What a gateway does not do: a document that cannot be meant is refused; what nobody can carry out is left out of it.

What is left out is told with the Service that it belongs to, why, and what to do. All the rest is served.
"""

import enum
import ipaddress
from collections.abc import Iterable, Iterator

import msgspec

from mooring.core import plain_address, quoting
from mooring.core.elements import PROTOCOLS
from mooring.core.plain_address import Address
from mooring.model.gateway import Backend, Delta, Document, Forward, LeftOut, Refusal

PORTS = range(1, 1 << 16)
SEEDS = range(1 << 32)
AGES = range(10**15)
"""Of epochs and generations. A Lease's epoch is read up to so many digits: nobody could ever follow a larger one."""
MOST_BACKENDS = 4096
"""Of one forward: nft has a chain for each number of them."""
LONGEST_AFFINITY = 86400
MOST_SOURCES = 1024


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
    UNFIT_ADDRESS = "UnfitAddress"
    BAD_AFFINITY = "BadAffinity"
    BAD_SOURCES = "BadSources"
    TOO_MANY_SOURCES = "TooManySources"
    SUPERSEDED = "Superseded"
    RULES_REFUSED = "RulesRefused"
    VRRP_REFUSED = "VrrpRefused"
    DISK_REFUSED = "DiskRefused"


ADVICE = {
    Reason.BAD_ADDRESS: "look at the Service's address and at its endpoints",
    Reason.UNFIT_ADDRESS: "give the Service another address, or the gateway what it lacks, and restart its agent",
    Reason.BAD_PROTOCOL: "use TCP, UDP or SCTP",
    Reason.BAD_PORT: "use a port from 1 to 65535",
    Reason.OTHER_FAMILY: "give the Service endpoints of its own IP family",
    Reason.TOO_MANY_BACKENDS: "give the Service fewer endpoints, or split it",
    Reason.BAD_AFFINITY: "set sessionAffinityConfig.clientIP.timeoutSeconds to 1 to 86400",
    Reason.BAD_SOURCES: "write loadBalancerSourceRanges as networks such as 192.0.2.0/24",
    Reason.TOO_MANY_SOURCES: f"list at most {MOST_SOURCES} networks of one family, or larger ones",
}


def refusal(new: Document | Delta) -> Refusal | None:
    """Why something is refused as a whole, from the first thing that is wrong with it."""
    return next(_refusals(new), None)


def servable(forward: Forward) -> tuple[Forward | None, tuple[LeftOut, ...]]:
    """What is served of a forward, and what is not. Without one of its backends it is still served."""
    whole = tuple(_problems(forward))
    if whole:
        return None, whole
    bad = {backend: why for backend in forward.backends if (why := _problem_of(forward, backend)) is not None}
    if not bad:
        return forward, ()
    kept = tuple(each for each in forward.backends if each not in bad)
    return msgspec.structs.replace(forward, backends=kept), tuple(bad.values())


def unfit(forward: Forward, why: str) -> LeftOut:
    """Of a forward whose address the host cannot hold."""
    return _about(forward, Reason.UNFIT_ADDRESS, why)


def _refusals(new: Document | Delta) -> Iterator[Refusal]:
    for name, number in (("epoch", new.epoch), ("generation", new.generation)):
        if number not in AGES:
            yield Refusal(Reason.BAD_AGE.value, f"the {name} {number} is not a number of up to 15 digits")
    if isinstance(new, Document) and new.seed not in SEEDS:
        yield Refusal(Reason.BAD_SEED.value, f"the seed {new.seed} is not a number of 32 bits")
    yield from _twice(new.forwards if isinstance(new, Document) else new.put)


def _twice(forwards: Iterable[Forward]) -> Iterator[Refusal]:
    seen: dict[tuple[str, str, int], Forward] = {}
    for each in forwards:
        if each.place in seen:
            told = f"{_name(each)}: {_name(seen[each.place])} is also there, and only one can have it"
            yield Refusal(Reason.TWICE.value, told)
        seen[each.place] = each


def _problems(forward: Forward) -> Iterator[LeftOut]:
    if forward.protocol not in PROTOCOLS:
        known = ", ".join(sorted(PROTOCOLS))
        yield _about(forward, Reason.BAD_PROTOCOL, f"{quoting.quoted(forward.protocol)} is not one of {known}")
    if forward.port not in PORTS:
        yield _about(forward, Reason.BAD_PORT, f"{forward.port} is not a port")
    if len(forward.backends) > MOST_BACKENDS:
        many = f"{len(forward.backends)} backends are more than {MOST_BACKENDS}"
        yield _about(forward, Reason.TOO_MANY_BACKENDS, many)
    if not 0 <= forward.affinity <= LONGEST_AFFINITY:
        yield _about(forward, Reason.BAD_AFFINITY, f"{forward.affinity} s are not 0 to {LONGEST_AFFINITY}")
    if len(set(forward.backends)) != len(forward.backends):
        yield _about(forward, Reason.TWICE, "a backend is there twice")
    address = _address(forward.address)
    if isinstance(address, str):
        yield _about(forward, Reason.BAD_ADDRESS, address)
    else:
        yield from _bad_sources(forward, address)


def _bad_sources(forward: Forward, address: Address) -> Iterator[LeftOut]:
    if len(forward.sources) > MOST_SOURCES:
        many = f"{len(forward.sources)} networks are more than {MOST_SOURCES}"
        yield _about(forward, Reason.TOO_MANY_SOURCES, many)
    for each in forward.sources:
        try:
            network = ipaddress.ip_network(each)
        except ValueError:
            yield _about(forward, Reason.BAD_SOURCES, f"{quoting.quoted(each)} is not a network")
            return
        if network.version != address.version or "%" in each:
            yield _about(forward, Reason.BAD_SOURCES, f"{quoting.quoted(each)} is not of the family of {address}")
            return


def _problem_of(forward: Forward, backend: Backend) -> LeftOut | None:
    if not plain_address.is_of_a_host(backend.address):
        return _about(forward, Reason.BAD_ADDRESS, f"of a backend: {_address(backend.address)}", backend)
    if (":" in backend.address) != (":" in forward.address):
        other = f"the backend {backend.address} is of another family than {forward.address}"
        return _about(forward, Reason.OTHER_FAMILY, other, backend)
    if backend.port not in PORTS:
        return _about(forward, Reason.BAD_PORT, f"of a backend: {backend.port} is not a port", backend)
    return None


def _address(text: str) -> Address | str:
    """An address, or what is wrong with it."""
    try:
        return plain_address.of_a_host(text)
    except ValueError as error:
        return str(error)


def _about(forward: Forward, reason: Reason, why: str, backend: Backend | None = None) -> LeftOut:
    where = "" if backend is None else f"{backend.address}:{backend.port}"
    told = f"{_name(forward)}: {why}"
    advice = ADVICE.get(reason, "")
    return LeftOut(forward.service, forward.address, forward.protocol, forward.port, reason.value, told, advice, where)


def _name(forward: Forward) -> str:
    return f"{forward.service} ({forward.address} {forward.protocol} {forward.port})"
