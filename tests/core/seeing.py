"""What is seen of a Service that wants one address of IPv4, as most do."""

from typing import Any

from mooring.core import mapping
from mooring.core.mapping import Leg, Seen
from mooring.core.wishes import IPV4, Wish
from mooring.model.kubernetes import Service

OF_THE_LEG = {
    *("port", "fits", "holds", "candidate", "address", "inner", "rival", "denied"),
    *("to_keep", "not_to_keep", "taken_off", "lost"),
}


def seen(service: Service, **facts: Any) -> Seen:  # noqa: ANN401 - any fact of it
    leg = {name: fact for name, fact in facts.items() if name in OF_THE_LEG}
    named = next(iter(mapping.named_ports(service)), None) if facts.get("port_is_ours") else None
    others = {name: fact for name, fact in facts.items() if name not in OF_THE_LEG}
    return Seen(service, (Leg(Wish(IPV4), **{"port": named, **leg}),), **others)
