"""Which subnet, and which network of floating IPs, the owner of a Service chooses, of those that the operator lists.

annotation  the operator lists it  ->  addresses come from
----------  ---------------------      -------------------
none        -                          wherever it has one; a new one from where all come from
given       yes                        there, and nowhere else
given       no                         refused
"""

from collections.abc import Mapping

from msgspec import Struct

from mooring.core import annotations, quoting
from mooring.core.wishes import IPV4, Refused, Wish
from mooring.model import names
from mooring.model.cloud import NetworkId, SubnetId
from mooring.model.kubernetes import Service


class Choices(Struct, frozen=True):
    """What may be chosen, by every name that an owner may write for it."""

    subnets: Mapping[str, tuple[str, SubnetId]] = {}
    """With the family of their addresses."""
    floating_networks: Mapping[str, NetworkId] = {}


def chosen(service: Service, wish: Wish, choices: Choices) -> Wish:
    """The wish with what the owner chose for its family."""
    named = (choices.subnets[each] for each in _subnets(service) if each in choices.subnets)
    subnet = next((subnet for family, subnet in named if family == wish.family), None)
    network = choices.floating_networks.get(_floating_network(service)) if wish.family == IPV4 else None
    return Wish(wish.family, wish.address, subnet, network)


def refused(service: Service, choices: Choices) -> Refused | None:
    """Why what the owner chose cannot be."""
    for annotation, named, known, key in (
        (
            annotations.spelled(service, names.SUBNET),
            _subnets(service),
            choices.subnets.keys(),
            "addresses.subnets_allowed",
        ),
        (
            annotations.spelled(service, names.FLOATING_NETWORK),
            (_floating_network(service),) if _floating_network(service) else (),
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
