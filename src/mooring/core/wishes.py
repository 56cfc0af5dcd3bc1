"""What a Service wishes of its addresses: of which families, which ones, with whom to share them, what to keep.

A wish is granted or refused with a reason; nobody gets something else in silence.
"""

import hashlib
from collections.abc import Iterable, Iterator

from msgspec import Struct

from mooring.core import annotations, plain_address, quoting, ranges
from mooring.model import names
from mooring.model.cloud import NetworkId, SubnetId
from mooring.model.kubernetes import Service
from mooring.model.reasons import Reason

IPV4, IPV6 = FAMILIES = ("IPv4", "IPv6")
MORE_PAIRS = (
    "Raise max_allowed_address_pair in Neutron, and addresses.pairs_limit with it; or let Services share addresses, or "
    "delete some"
)
NO_FLOATING_IP = NetworkId("none")
"""In place of a network: its address is to be that of its port. No network has such an id."""
LONGEST_KEY = 253
MORE_QUOTA = "Ask for a larger quota of the OpenStack project, or free what it has and does not need"


class Wish(Struct, frozen=True):
    """One address that a Service is to have: of a family, and this one, where it says which."""

    family: str
    address: str = ""
    subnet: SubnetId | None = None
    floating_network: NetworkId | None = None
    """Where it is to come from, if its owner chose; be it from nowhere (`NO_FLOATING_IP`)."""

    @property
    def internal(self) -> bool:
        """Whether it is to have no floating IP."""
        return self.floating_network == NO_FLOATING_IP


class Refused(Struct, frozen=True):
    """Why it gets no address, and what to do."""

    fact: str
    fix: str
    reason: Reason = Reason.WISH_REFUSED


def wished(service: Service, offered: Iterable[str]) -> tuple[Wish, ...]:
    """The addresses that it is to have, in the order in which it shows them. `offered`: families that there are."""
    wanted, there = families(service), frozenset(offered)
    if service.spec.ip_family_policy == "PreferDualStack":
        wanted = tuple(each for each in wanted if each in there) or wanted
    asked = {family_of(each): each for each in _asked_for(service) if not _wrong(each)}
    return tuple(Wish(each, asked.get(each, "")) for each in wanted)


def refused(service: Service, offered: Iterable[str]) -> Refused | None:
    """Why what it wishes can be granted nowhere."""
    wanted, there = [each.family for each in wished(service, offered)], frozenset(offered)
    for each in wanted:
        if each not in there:
            return Refused(f"It wants an address of {each}, and the controller has none", NO_SUBNET[each])
    asked = tuple(_asked_for(service))
    ask = ASK.format(annotations.spelled(service, names.ADDRESSES))
    for each in asked:
        if wrong := _wrong(each):
            return Refused(f"It asks for the address {quoting.quoted(each)}, which {wrong}", ask)
        if ranges.nobodys(each):
            return Refused(f"It asks for {each}, which no Service can have", ask)
        if family_of(each) not in wanted:
            return Refused(f"It asks for {each}, and its spec.ipFamilies has no {family_of(each)}", ask)
    if len({family_of(each) for each in asked}) < len(asked):
        return Refused(f"It asks for several addresses of one family: {', '.join(asked[:4])}", ask)
    return None


def unclear(service: Service) -> Refused | None:
    """What cannot be understood of whether its floating IP is to stay."""
    said = annotations.said(service, names.KEEP)
    if said.lower() in {"", "true", "false"}:
        return None
    fact = f"Its annotation {annotations.spelled(service, names.KEEP)} says {quoting.quoted(said)}"
    return Refused(fact, 'Write "true" or "false" there, or take the annotation away', Reason.BAD_ANNOTATION)


def families(service: Service) -> tuple[str, ...]:
    return service.spec.ip_families or (IPV4,)


def key(service: Service) -> str:
    """Services that share an address have the same, if they have one. Of a long one, its digest: it is told as this."""
    said = annotations.said(service, names.SHARING_KEY)
    return said if len(said) <= LONGEST_KEY else hashlib.sha256(said.encode()).hexdigest()


def keeps(service: Service) -> bool:
    """Whether its floating IP is to stay when nobody needs it any more."""
    return annotations.said(service, names.KEEP).lower() == "true"


def keeps_no_more(service: Service) -> bool:
    """Whether its owner says that it is not to stay. Who says nothing leaves it as it is."""
    return annotations.said(service, names.KEEP).lower() == "false"


def family_of(address: str) -> str:
    return IPV6 if ":" in address else IPV4


def _asked_for(service: Service) -> Iterator[str]:
    """By the annotation, or by the field that Kubernetes has for one address; who says it twice, says it once."""
    annotated = annotations.said(service, names.ADDRESSES).split(",")
    yield from dict.fromkeys(each.strip() for each in (*annotated, service.spec.load_balancer_ip) if each.strip())


def _wrong(text: str) -> str:
    """Why a text is no address as everybody writes it; nothing, if it is one. It is compared as text."""
    try:
        usual = str(plain_address.parsed(text))
    except ValueError:
        return "is none"
    return "" if usual == text else f"has to be written as {usual}"


ASK = "Put right spec.loadBalancerIP and annotation {}: one address for each family, in its usual form"
NO_SUBNET = {
    IPV4: "Give the controller addresses.subnet (or addresses.static), or take IPv4 out of spec.ipFamilies",
    IPV6: "Give the controller addresses.subnet_ipv6 (or addresses.static), or take IPv6 out of spec.ipFamilies",
}
