"""What happens to one Service next. Knows nothing of interfaces, of time, or of what was decided before.

has ours = it bears our managed mark, our finalizer, or the id of a port that is ours.
bound    = it bears both our managed mark and our finalizer: nobody can make it vanish without us.

can be managed  has ours  shows                port              ->  next step
--------------  --------  -------------------  ----------------      ---------
yes             no        somebody's address   -                     nothing: somebody else serves it
yes             -         -                    -, not bound          manage: mark and finalizers
yes             bound     somebody's address   none                  nothing: it is not ours to change
yes             bound     an address           none, or unfit        take the address back
yes             bound     nothing              none, or unfit        the first port that fits, else a new one; annotate
yes             bound     -                    fits, not served      push to the gateways
yes             bound     its address          fits, served          nothing
yes             bound     anything else        fits, served          publish the address
no              no        nothing of ours      -                     nothing
no              -         something of ours    -                     take it back: address and conditions
no              yes       -                    of ours               forget the port
no              yes       -                    -, still served       push to the gateways
no              yes       -                    -                     let go: mark and finalizers
"""

from msgspec import Struct

from mooring.model import names
from mooring.model.cloud import PortId
from mooring.model.gateway import Key
from mooring.model.kubernetes import Name, Service
from mooring.model.reasons import Reason
from mooring.model.steps import Annotate, Clear, Forget, LetGo, MakePort, Manage, Publish, Push, Rest, Step, Tell

IP_MODE = "Proxy"
"""The gateways translate: who is in the cluster has to go by them, like everybody."""


class Seen(Struct, frozen=True):
    """All that the decision about one Service depends on."""

    service: Service
    port_is_ours: bool = False
    """The port that it names is one of ours: anybody can write an annotation."""
    fits: bool = False
    """That port can be reached, and nobody before it has what it wants on it."""
    candidate: PortId | None = None
    """The first port of ours that is free for it."""
    shows_ours: bool = False
    """The address that it shows is one of ours, be it that of its port or not."""
    address: str = ""
    """The address at which its port is reached from outside."""
    inner: str = ""
    """The address of that port itself, which the gateways serve."""
    rival: Name | None = None
    """Who has what it wants on that port, where it does not fit."""
    served: bool = False
    """Every live gateway has acknowledged what this Service wants now, be it that it is gone."""
    live: bool = True
    """There is a gateway that answers."""
    holder: bool = True
    """A gateway that answers holds the addresses."""
    left_out: tuple[str, ...] = ()
    """Why some of its endpoints get no packets."""
    refused: tuple[str, str] | None = None
    """Why a live gateway does not serve it, and what to do."""
    endpoints: bool = True
    """Every port of it has an endpoint to send packets to."""


def keys(service: Service) -> tuple[Key, ...]:
    return tuple(sorted({Key(port.protocol, port.port) for port in service.spec.ports}))


def why_not(service: Service) -> Reason | None:
    """Why a Service cannot be managed; None if it can."""
    if service.deleting:
        return Reason.ENDING
    if service.spec.type != "LoadBalancer":
        return Reason.NOT_LOAD_BALANCER
    if of_another_class(service):
        return Reason.OTHER_CLASS
    if service.metadata.annotations.get(names.MANAGED, "").lower() == "false":
        return Reason.OPTED_OUT
    return Reason.NOT_SUPPORTED if unsupported(service) else None


def of_another_class(service: Service) -> bool:
    """Whether it is somebody else's to serve, going away or not."""
    return service.spec.type == "LoadBalancer" and service.spec.load_balancer_class != names.GATEWAY_CLASS


def can_be_managed(service: Service) -> bool:
    """Ours by its class, not going away, its owner has not opted out and wants nothing that we cannot do."""
    return why_not(service) is None


def addressed_to_us(service: Service) -> bool:
    """Whether its owner waits for an answer of ours, be it that we cannot do what it wants."""
    return why_not(service) in {None, Reason.NOT_SUPPORTED}


def unsupported(service: Service) -> tuple[str, ...]:
    """What a Service wants and no gateway does yet. A wish is granted or refused, but never ignored."""
    spec = service.spec
    wishes = {
        "spec.loadBalancerIP": bool(spec.load_balancer_ip),
        "spec.externalTrafficPolicy Local": spec.external_traffic_policy == "Local",
    }
    return tuple(wish for wish, wanted in wishes.items() if wanted)


def marked(service: Service) -> bool:
    """Whether it bears a mark of ours; what an owner who opted out wrote is not ours."""
    meta = service.metadata
    return meta.annotations.get(names.MANAGED) == "true" or names.FINALIZER in meta.finalizers


def bound(service: Service) -> bool:
    meta = service.metadata
    return meta.annotations.get(names.MANAGED) == "true" and names.FINALIZER in meta.finalizers


def port_of(service: Service) -> PortId | None:
    """The port that it names. What stands in a Service of another class, which we do not hold, says nothing to us."""
    port = service.metadata.annotations.get(names.PORT)
    return PortId(port) if port and not _strange(service) else None


def _strange(service: Service) -> bool:
    return of_another_class(service) and names.FINALIZER not in service.metadata.finalizers


def mapped(service: Service) -> bool:
    """Whether the gateways should serve it, given that its port fits."""
    return can_be_managed(service) and port_of(service) is not None


def precedence(service: Service) -> tuple[bool, str, Name]:
    """Of two Services that claim the same, the one that the world already knows keeps it, then the older one."""
    return not _shown(service), service.metadata.creation_timestamp or "", service.name


def next_step(seen: Seen) -> Step:
    service = seen.service
    if reason := why_not(service):
        return _leave(seen, reason)
    if foreign(seen) and not marked(service):
        return Rest(Reason.FOREIGN_ADDRESS)
    if not bound(service):
        return Manage()
    if not seen.fits:
        return _find_port(seen)
    if not seen.served:
        return Push()
    return Rest(Reason.PROGRAMMED) if _as_published(service, seen.address) else Publish(seen.address)


def _find_port(seen: Seen) -> Step:
    """A Service without a port that fits. What it shows is taken back first: it may get another address."""
    if _shown(seen.service):
        return Rest(Reason.FOREIGN_ADDRESS) if foreign(seen) else Clear()
    return MakePort() if seen.candidate is None else Annotate(seen.candidate)


def _leave(seen: Seen, reason: Reason) -> Step:
    """Unmap in the seed's order: nobody is sent to an address that the next step takes away."""
    service = seen.service
    if _strange(service):
        return Rest(reason)  # whatever was copied into it, it is somebody else's
    if _shown(service) and not foreign(seen):
        return Clear()
    if _conditions(service) and not service.deleting and not addressed_to_us(service):
        return Tell(())  # what it shows, if anything, is somebody else's
    if seen.port_is_ours or (port_of(service) is not None and marked(service)):
        return Forget()
    if not marked(service):
        return Rest(reason)
    return LetGo() if seen.served else Push()


def foreign(seen: Seen) -> bool:
    """Whether it shows an address that somebody else gave it, and that is theirs to change."""
    return bool(_shown(seen.service)) and not _shows_ours(seen)


def _shows_ours(seen: Seen) -> bool:
    """While it is of our class and has a port of ours, its status is ours, whatever it says."""
    ours = seen.port_is_ours and seen.service.spec.load_balancer_class == names.GATEWAY_CLASS
    return seen.shows_ours or ours


def _as_published(service: Service, address: str) -> bool:
    """Whether it shows what we wrote. An API server that does not know `ipMode` leaves it out."""
    shown = service.status.load_balancer.ingress
    return [each.ip for each in shown] == [address] and all(each.ip_mode in {"", IP_MODE} for each in shown)


def _shown(service: Service) -> list[str]:
    return [each.ip for each in service.status.load_balancer.ingress]


def _conditions(service: Service) -> bool:
    """Whether it bears conditions of ours."""
    return any(each.type in names.CONDITIONS for each in service.status.conditions)
