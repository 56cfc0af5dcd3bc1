"""Which subnet, and which network of floating IPs, the owner of a Service chooses, of those that the operator lists.

annotation  the operator lists it  ->  addresses come from
----------  ---------------------      -------------------
none        -                          wherever it has one; a new one from where all come from
given       yes                        there, and nowhere else
given       no                         refused

No floating IP at all may always be chosen: it makes nothing public. The word of the OpenStack cloud provider for that
counts also on who has an address, and one that cannot be understood keeps everything from being made.

ours      theirs (`names.INTERNAL`)  ->  floating IP
--------  -------------------------      -----------
none      -                              no
another   -                              of that network
nothing   true                           no
nothing   false, or not there            as it has; a new address as all have
nothing   anything else                  refused
"""

from collections.abc import Mapping

from msgspec import Struct

from mooring.core import annotations, quoting
from mooring.core.wishes import IPV4, NO_FLOATING_IP, Refused, Wish
from mooring.model import names
from mooring.model.cloud import NetworkId, SubnetId
from mooring.model.kubernetes import Service
from mooring.model.reasons import Reason

NONE = "none"
"""What an owner writes in place of a network of floating IPs who wants no floating IP."""


class Choices(Struct, frozen=True):
    """What may be chosen, by every name that an owner may write for it."""

    subnets: Mapping[str, tuple[str, SubnetId]] = {}
    """With the family of their addresses."""
    floating_networks: Mapping[str, NetworkId] = {}


def chosen(service: Service, wish: Wish, choices: Choices) -> Wish:
    """The wish with what the owner chose for its family."""
    named = (choices.subnets[each] for each in _subnets(service) if each in choices.subnets)
    subnet = next((subnet for family, subnet in named if family == wish.family), None)
    network = _network(service, choices) if wish.family == IPV4 else None
    return Wish(wish.family, wish.address, subnet, network)


def internal(service: Service) -> bool:
    """Whether its owner wants no floating IP."""
    ours = _ours(service)
    return ours.lower() == NONE if ours else _theirs(service) == "true"


def _network(service: Service, choices: Choices) -> NetworkId | None:
    return NO_FLOATING_IP if internal(service) else choices.floating_networks.get(_floating_network(service))


def refused(service: Service, choices: Choices, *, floats: bool = True) -> Refused | None:
    """Why what the owner chose cannot be. `floats`: addresses have floating IPs here, if nobody chooses otherwise."""
    return (_unclear(service) if floats else None) or _not_listed(service, choices)


def _unclear(service: Service) -> Refused | None:
    if _ours(service) or _theirs(service) in {None, "true", "false"}:
        return None
    said = quoting.quoted(service.metadata.annotations[names.INTERNAL])
    fix = f'Write "true" or "false" there, or choose by {names.FLOATING_NETWORK}'
    return Refused(f"Its annotation {names.INTERNAL} says {said}", fix, Reason.BAD_ANNOTATION)


def _not_listed(service: Service, choices: Choices) -> Refused | None:
    network = "" if internal(service) else _floating_network(service)
    for annotation, named, known, key in (
        (
            annotations.spelled(service, names.SUBNET),
            _subnets(service),
            choices.subnets.keys(),
            "addresses.subnets_allowed",
        ),
        (
            annotations.spelled(service, names.FLOATING_NETWORK),
            (network,) if network else (),
            choices.floating_networks.keys(),
            "addresses.floating_networks_allowed",
        ),
    ):
        for each in named:
            if each not in known:
                fact = f"Its annotation {annotation} says {quoting.quoted(each)}, which is not in {key}"
                return Refused(fact, "Choose one that is there, or take the annotation away")
    families = [choices.subnets[each][0] for each in _subnets(service)]
    if len(set(families)) < len(families):
        fact = f"Its annotation {annotations.spelled(service, names.SUBNET)} names several subnets of one family"
        return Refused(fact, "Name one subnet for each family")
    return None


def _subnets(service: Service) -> tuple[str, ...]:
    named = annotations.said(service, names.SUBNET).split(",")
    return tuple(dict.fromkeys(each.strip() for each in named if each.strip()))


def _floating_network(service: Service) -> str:
    return annotations.said(service, names.FLOATING_NETWORK)


def _ours(service: Service) -> str:
    return service.metadata.annotations.get(names.FLOATING_NETWORK, "").strip()


def _theirs(service: Service) -> str | None:
    """What the cloud provider is told; None where it is told nothing."""
    return service.metadata.annotations.get(names.INTERNAL, "").strip().lower() or None
