"""What a Service wants of the addresses that it shares with others, and what of it was its own already.

Its status tells what it was given: which ports of its addresses are its own (`ingress[].ports`), and with whom it
shares them (the condition `openstack.org/Shared`). Only controllers write a status. Who wants more since then comes
after those who have what they were given: who adds something moves, whoever leads and whoever is older.
"""

from msgspec import Struct

from mooring.core import wishes
from mooring.model import names
from mooring.model.gateway import Key
from mooring.model.kubernetes import Condition, Service
from mooring.model.reasons import Reason


class Share(Struct, frozen=True):
    """Keys of an address, and the sharing key of those that it may be shared with."""

    keys: tuple[Key, ...]
    company: str


def keys(service: Service) -> tuple[Key, ...]:
    return tuple(sorted({Key(port.protocol, port.port) for port in service.spec.ports}))


def wanted(service: Service) -> Share:
    return Share(keys(service), wishes.key(service))


def given(service: Service) -> Share:
    """Of what it wants, what it was given; all of it, where its status does not tell ports, as of an older version."""
    want = wanted(service)
    had = {key for each in service.status.load_balancer.ingress for key in each.ports}
    if not had:
        return want
    company = next((each.message for each in as_told(service)), "")
    return Share(tuple(key for key in want.keys if key in had), company)


def told(service: Service) -> bool:
    """Whether its status tells the ports that it wants, or none at all: not every server keeps them."""
    return all(each.ports in {(), keys(service)} for each in service.status.load_balancer.ingress)


def as_told(service: Service) -> tuple[Condition, ...]:
    """What it says by now of those with whom it shares."""
    return tuple(each for each in service.status.conditions if each.type == names.SHARED)


def condition(service: Service) -> tuple[Condition, ...]:
    """What it says of those with whom it shares its addresses; nothing, where it has no sharing key."""
    company = wishes.key(service)
    return (Condition(names.SHARED, "True", Reason.SHARING_KEY.value, company),) if company else ()
