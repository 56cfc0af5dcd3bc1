"""What happens to one Service next. Knows nothing of interfaces, of time, or of what was decided before.

has ours = it bears our annotation, our finalizer or our port, however it came by them.

has ours  can be managed  has port       ->  next step
--------  --------------  -------------      ---------
no        no              -                  nothing
no        yes             -                  manage: annotation and finalizers
no        yes, but an address of others      nothing: it is not ours to change
yes       yes             none               the first port that fits, else a new one; annotate
yes       yes             fits, unserved     push to the gateways
yes       yes             fits, served       publish the address, if it is not there already
yes       yes             does not fit       take the address back; then as if it had none
yes       no              -                  take the address back; forget the port; push; let go
"""

from msgspec import Struct

from mooring.model import names
from mooring.model.cloud import PortId
from mooring.model.gateway import Key
from mooring.model.kubernetes import Service
from mooring.model.steps import Annotate, Clear, Forget, LetGo, MakePort, Manage, Publish, Push, Rest, Step


class Seen(Struct, frozen=True):
    """All that the decision about one Service depends on."""

    service: Service
    fits: bool = False
    """Its port is ours, there, and nobody before it has what it wants on it."""
    candidate: PortId | None = None
    """The first port of ours that is free for it."""
    address: str = ""
    """The address at which its port is reached from outside."""
    served: bool = False
    """Every live gateway has acknowledged what this Service wants now, be it that it is gone."""


def keys(service: Service) -> tuple[Key, ...]:
    return tuple(sorted({Key(port.protocol, port.port) for port in service.spec.ports}))


def can_be_managed(service: Service) -> bool:
    """Ours by its class, not going away, and its owner has not opted out."""
    return (
        service.spec.type == "LoadBalancer"
        and service.spec.load_balancer_class == names.GATEWAY_CLASS
        and not service.deleting
        and service.metadata.annotations.get(names.MANAGED) != "false"
    )


def has_ours(service: Service) -> bool:
    meta = service.metadata
    return (
        meta.annotations.get(names.MANAGED) == "true"
        or names.FINALIZER in meta.finalizers
        or port_of(service) is not None
    )


def port_of(service: Service) -> PortId | None:
    port = service.metadata.annotations.get(names.PORT)
    return PortId(port) if port else None


def mapped(service: Service) -> bool:
    """Whether the gateways should serve it, given that its port fits."""
    return has_ours(service) and can_be_managed(service) and port_of(service) is not None


def next_step(seen: Seen) -> Step:
    service = seen.service
    published = bool(service.status.load_balancer.ingress)
    if not can_be_managed(service):
        return _leave(seen, published=published) if has_ours(service) else Rest("NotOurs")
    if not has_ours(service):
        return Rest("ForeignAddress") if published else Manage()
    if port_of(service) is None or not seen.fits:
        if published:
            return Clear()
        return MakePort() if seen.candidate is None else Annotate(seen.candidate)
    if not seen.served:
        return Push()
    return Rest("Served") if _publishes(service, seen.address) else Publish(seen.address)


def _leave(seen: Seen, *, published: bool) -> Step:
    """Unmap in the seed's order: nobody is sent to an address that the next step takes away."""
    if published and port_of(seen.service) is not None:
        return Clear()
    if port_of(seen.service) is not None:
        return Forget()
    return LetGo() if seen.served else Push()


def _publishes(service: Service, address: str) -> bool:
    return [each.ip for each in service.status.load_balancer.ingress] == [address]
