"""What the owner of a Service has annotated, in our words or in those of another load balancer (`names.ALIKE`).

Words of others say where a new address is to come from; they never take away the one that a Service has.
"""

from mooring.model import names
from mooring.model.kubernetes import Service

PREFIX = "openstack.org/mooring-"
READ = frozenset(
    {
        *(names.MANAGED, names.PORT, names.ADDRESSES, names.SUBNET, names.FLOATING_NETWORK, names.SHARING_KEY),
        *(names.KEEP, names.BACKEND, names.LAYER),
    }
)
"""Those of ours that are read on a Service."""
ONCE = frozenset({names.ADDRESSES, names.SUBNET, names.FLOATING_NETWORK})


def unknown(service: Service) -> list[str]:
    """Annotations that look like ours, and that nobody reads."""
    return sorted(each for each in service.metadata.annotations if each.startswith(PREFIX) and each not in READ)


def not_done(service: Service) -> list[str]:
    """Annotations of other load balancers that ask for something that nobody does here."""
    there = service.metadata.annotations
    return sorted(each for each in names.NOT_DONE & there.keys() if there[each].strip().lower() not in {"", "false"})


def served_by_cah(service: Service) -> bool:
    """Whether ch-k8s-lbaas says that it serves it."""
    return _managed_by_cah(service) == "true"


def opted_out_of_cah(service: Service) -> bool:
    """Whether its owner wants it not to be served by ch-k8s-lbaas, which takes whatever it finds."""
    return _managed_by_cah(service) == "false"


def _managed_by_cah(service: Service) -> str:
    return service.metadata.annotations.get(names.MANAGED_BY_CAH, "").strip().lower()


def said(service: Service, name: str) -> str:
    """What it says, without the blanks around it; nothing, if it says nothing."""
    return service.metadata.annotations.get(spelled(service, name), "").strip()


def spelled(service: Service, name: str) -> str:
    """The name under which it says so; ours, if it says nothing."""
    there = service.metadata.annotations
    if name in there or (name in ONCE and names.PORT in there):
        return name
    return next((each for each in names.ALIKE.get(name, ()) if each in there), name)
