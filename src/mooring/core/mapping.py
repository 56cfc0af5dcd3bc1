"""What happens to one Service next. Knows nothing of interfaces, of time, or of what was decided before.

has ours = it bears our managed mark, our finalizer, or the id of a port that is ours.
bound    = it bears both our managed mark and our finalizer: nobody can make it vanish without us.

leg      = one address that it is to have: of a family, with the port that it has for it (`having.py`).

can be managed  has ours  shows                every leg's port  ->  next step
--------------  --------  -------------------  ----------------      ---------
yes             no        somebody's address   -                     nothing: somebody else serves it
yes             -         -                    -, not bound          manage: mark and finalizers
yes             bound     somebody's address   none                  nothing: it is not ours to change
yes             bound     its address          fit, not named        annotate: somebody took its annotation away
yes             bound     its address          its floating IP off   put the floating IP back
yes             bound     its address          gone, without it      a new port for the floating IP
yes             bound     its address          not as wished now     what is wished for is made first, if it has to be
yes             bound     what it cannot keep  none, or unfit        take the addresses back
yes             bound     nothing else         wish refused          nothing, and why
yes             bound     nothing else         none, or unfit        the first that fit, else new ones; annotate
yes             bound     -                    fit, not to be lost   keep the floating IP, or no longer
yes             bound     -                    fit, not served       push to the gateways
yes             bound     anything else        fit, served           publish the addresses
yes             bound     its addresses        fit, and others       annotate: no others
yes             bound     its addresses        fit, served           nothing
no              no        nothing of ours      -                     nothing
no              -         something of ours    -                     take it back: address and conditions
no              yes       -                    of ours               forget the port
no              yes       -                    -, still served       push to the gateways
no              yes       -                    -                     let go: mark and finalizers
"""

from collections.abc import Iterable

from msgspec import Struct, structs

from mooring.core import claims, shares
from mooring.core.wishes import IPV4, Refused, Wish
from mooring.model import names, steps
from mooring.model.cloud import FloatingIpId, PortId
from mooring.model.kubernetes import Name, Service
from mooring.model.reasons import Reason, Verdict


class Leg(Struct, frozen=True):
    """One address that a Service is to have, the port that it names for it, and what else there is."""

    wish: Wish
    port: PortId | None = None
    """The port of ours of this family that it names; where it names none, the one whose address it shows."""
    fits: bool = False
    """That port can be reached, is what it wished for, and nobody before it has what it wants on it."""
    holds: bool = False
    """It fits but for what its owner wishes by now, and shows its address: that stays until there is another."""
    candidate: PortId | None = None
    """The first port of ours that is free for it."""
    address: str = ""
    """The address at which its port is reached from outside."""
    inner: str = ""
    """The address of that port itself, which the gateways serve."""
    rival: Name | None = None
    """Who has what it wants on that port, where it does not fit."""
    denied: Refused | None = None
    """Why it cannot have what it wished for."""
    to_keep: FloatingIpId | None = None
    """The floating IP that is to stay when nobody needs it, and does not say so yet."""
    not_to_keep: FloatingIpId | None = None
    """The floating IP that says so, and is not to stay any more."""
    taken_off: FloatingIpId | None = None
    """The floating IP whose address it shows, and that somebody took off its port."""
    lost: Wish | None = None
    """For the address that it shows, and whose floating IP is there, though somebody deleted its port."""
    refused: Refused | None = None
    """Why it does not get what it asks for, and keeps what it has."""
    retired: bool = False
    """Its port is kept for those who have it, and given to nobody else."""
    unmarked: str = ""
    """The mark that the floating IP on its port lacks."""

    @property
    def awaits(self) -> bool:
        """It asks for an address that is not there, and may never be."""
        return bool(self.wish.address) and not self.fits and self.candidate is None

    def kept(self) -> "Leg":
        """As it is when it gets nothing else."""
        return structs.replace(self, fits=True, holds=False, candidate=None, refused=self.denied)


class Seen(Struct, frozen=True):
    """All that the decision about one Service depends on."""

    service: Service
    legs: tuple[Leg, ...] = (Leg(Wish(IPV4)),)
    """One for each family of addresses that it wants, in its order."""
    port_is_ours: bool = False
    """A port that it names is one of ours: anybody can write an annotation."""
    shows_ours: bool = False
    """An address that it shows is one of ours, be it that of its port or not, or was one that is lost."""
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
    """A port of it has an endpoint to send packets to."""
    remarks: tuple[Verdict, ...] = ()
    """What else is to be told of where its packets go."""
    many_lost: bool = False
    """Its port is gone, as are so many at once that it is rather something else that is seen."""
    ip_mode: str = "Proxy"
    """What its status is to say beside its address: where Proxy, who is in the cluster goes by the gateways too."""

    @property
    def fits(self) -> bool:
        """It has all that it wants."""
        return all(each.fits for each in self.legs)

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where it is reached, for each leg that has a port that fits."""
        return tuple(each.address for each in self.legs if each.fits)

    @property
    def denied(self) -> Refused | None:
        return next((each.denied for each in self.legs if each.denied and not each.fits), None)

    @property
    def new(self) -> list[Wish]:
        """The addresses that have to be made for it."""
        return [each.wish for each in self.legs if not each.fits and each.candidate is None]

    @property
    def held(self) -> bool:
        """What it shows, if anything, stays for now: nothing, or not before there is something in its place."""
        waits = bool(self.new) and self.denied is None
        stays = (each for each in self.legs if each.fits or (waits and each.holds))
        return {each.address for each in stays}.issuperset(_shown(self.service))

    @property
    def in_vain(self) -> bool:
        """It asks for what it cannot have, be it that it keeps something else: it has to hear when that is free."""
        return self.denied is not None or any(each.refused for each in self.legs)


def why_not(service: Service) -> Reason | None:
    """Why a Service cannot be managed; None if it can."""
    if service.deleting:
        return Reason.ENDING
    if service.spec.type != "LoadBalancer":
        return Reason.NOT_LOAD_BALANCER
    if of_another_class(service):
        return Reason.OTHER_CLASS
    managed = service.metadata.annotations.get(names.MANAGED, "").lower()
    if managed == "false":
        return Reason.OPTED_OUT
    if managed not in {"", "true"} and names.FINALIZER not in service.metadata.finalizers:
        return Reason.BAD_ANNOTATION  # who tried to opt out is not taken on
    return Reason.CLASS_DISAGREES if claims.other_backend(service) else None


def of_another_class(service: Service) -> bool:
    """Whether it is somebody else's to serve, going away or not."""
    return service.spec.type == "LoadBalancer" and service.spec.load_balancer_class != names.GATEWAY_CLASS


def can_be_managed(service: Service) -> bool:
    """Ours by its class, not going away, and its owner has not opted out."""
    return why_not(service) is None


def also_held_by_others(service: Service) -> bool:
    """Whether Kubernetes' own finalizer on it is another controller's, when we let go of it.

    One without a class that shows nothing any more was ours alone.
    """
    theirs = of_another_class(service) and bool(service.spec.load_balancer_class or _shown(service))
    return theirs or names.FINALIZER not in service.metadata.finalizers


def addressed_to_us(service: Service) -> bool:
    """Whether its owner waits for an answer of ours, be it that we cannot do what it wants."""
    return why_not(service) in {None, Reason.CLASS_DISAGREES, Reason.BAD_ANNOTATION}


def marked(service: Service) -> bool:
    """Whether it bears a mark of ours; what an owner who opted out wrote is not ours."""
    meta = service.metadata
    return meta.annotations.get(names.MANAGED) == "true" or names.FINALIZER in meta.finalizers


def bound(service: Service) -> bool:
    meta = service.metadata
    return meta.annotations.get(names.MANAGED) == "true" and names.FINALIZER in meta.finalizers


MOST_NAMED = 8
"""Ports. We write one for each family; what somebody writes behind that is not read."""


def named_ports(service: Service) -> tuple[PortId, ...]:
    """The ports that it names. What stands in a Service of another class, which we do not hold, says nothing to us."""
    named = service.metadata.annotations.get(names.PORT, "").split(",", MOST_NAMED)[:MOST_NAMED]
    return () if strange(service) else tuple(PortId(each.strip()) for each in named if each.strip())


def held(service: Service) -> frozenset[PortId]:
    """Of addresses that an operator lists: those that it names and shows. The status is for controllers to write."""
    return frozenset(named_ports(service)).intersection(_shown(service)) if bound(service) else frozenset()


def says_retired(service: Service) -> bool:
    """Whether it says that it shows what an operator listed once: it was ours, whoever leads now."""
    said = {(each.type, each.reason) for each in service.status.conditions}
    return bound(service) and (names.ALLOCATED, Reason.ADDRESS_RETIRED.value) in said


def strange(service: Service) -> bool:
    """Of another class, and not held by us, whatever was copied into it."""
    return of_another_class(service) and names.FINALIZER not in service.metadata.finalizers


def precedence(service: Service) -> tuple[bool, str, Name]:
    """Of two Services that claim the same, the one that the world already knows keeps it, then the older one."""
    return not _shown(service), service.metadata.creation_timestamp or "", service.name


def next_step(seen: Seen) -> steps.Step:
    service = seen.service
    if reason := why_not(service):
        return _leave(seen, reason)
    if foreign(seen) and not marked(service):
        return steps.Rest(Reason.FOREIGN_ADDRESS)
    if not bound(service):
        return steps.Manage()
    if lost := _lost_from_annotation(seen):
        return steps.Annotate(lost)
    return _publish(seen) if seen.fits else _find_ports(seen)


def _lost_from_annotation(seen: Seen) -> tuple[PortId, ...]:
    """What it has, if its annotation names nothing of it: whatever else it waits for, that is put right first."""
    has = tuple(each.port for each in seen.legs if each.port and (each.fits or each.holds))
    return has if set(has).isdisjoint(named_ports(seen.service)) else ()


def _publish(seen: Seen) -> steps.Step:
    """A Service that has all that it wants."""
    if kept := _to_keep(seen):
        return kept
    if not seen.served:
        return steps.Push()
    if not _as_published(seen):
        return steps.Publish(seen.addresses)
    ports = tuple(each.port for each in seen.legs if each.port)
    return steps.Rest(Reason.PROGRAMMED) if named_ports(seen.service) == ports else steps.Annotate(ports)


def _find_ports(seen: Seen) -> steps.Step:
    """A Service without ports that fit. What it cannot keep is taken back first: it may get another address."""
    for leg in seen.legs:
        if leg.port is not None and leg.taken_off is not None:
            return steps.PutBack(leg.port, leg.taken_off)
        if leg.lost:
            return steps.MakePort(leg.lost.family, leg.lost.address, leg.lost.subnet, leg.lost.floating_network)
    if not seen.held:
        return steps.Rest(Reason.FOREIGN_ADDRESS) if foreign(seen) else steps.Clear()
    if seen.denied is not None:
        return steps.Rest(seen.denied.reason)
    if new := seen.new:
        wish = min(new, key=lambda each: not each.address)  # what may be refused comes first: nothing is made in vain
        return steps.MakePort(wish.family, wish.address, wish.subnet, wish.floating_network)
    found = (each.port if each.fits else each.candidate for each in seen.legs)
    return steps.Annotate(tuple(each for each in found if each is not None))


def _to_keep(seen: Seen) -> steps.Keep | steps.DoNotKeep | None:
    for leg in seen.legs:
        if leg.to_keep:
            return steps.Keep(leg.to_keep, seen.service.metadata.namespace)
        if leg.not_to_keep:
            return steps.DoNotKeep(leg.not_to_keep)
    return None


def _leave(seen: Seen, reason: Reason) -> steps.Step:
    """Unmap in the seed's order: nobody is sent to an address that the next step takes away."""
    service = seen.service
    if strange(service):
        return steps.Rest(reason)  # whatever was copied into it, it is somebody else's
    if _shown(service) and not foreign(seen):
        return steps.Clear()
    if has_conditions(service) and not service.deleting and not addressed_to_us(service):
        return steps.Tell(())  # what it shows, if anything, is somebody else's
    if seen.port_is_ours or (named_ports(service) and marked(service)):
        return _to_keep(seen) or steps.Forget()
    if not marked(service):
        return steps.Rest(reason)
    return steps.LetGo() if seen.served else steps.Push()


def foreign(seen: Seen) -> bool:
    """Whether it shows an address that somebody else gave it, and that is theirs to change."""
    return bool(_shown(seen.service)) and not _shows_ours(seen)


def _shows_ours(seen: Seen) -> bool:
    """While it is of our class and has a port of ours, its status is ours, whatever it says."""
    ours = seen.port_is_ours and seen.service.spec.load_balancer_class == names.GATEWAY_CLASS
    return seen.shows_ours or ours


def _as_published(seen: Seen) -> bool:
    """Whether it shows what we wrote. An API server that does not know `ipMode` leaves it out."""
    shown = seen.service.status.load_balancer.ingress
    modes = {each.ip_mode for each in shown}
    return (
        tuple(each.ip for each in shown) == seen.addresses and modes <= {"", seen.ip_mode} and shares.told(seen.service)
    )


def _shown(service: Service) -> list[str]:
    return [each.ip for each in service.status.load_balancer.ingress]


def all_shown(services: Iterable[Service]) -> frozenset[str]:
    """The addresses that Services show which we hold."""
    return frozenset(address for each in services if bound(each) for address in _shown(each))


def has_conditions(service: Service) -> bool:
    """Whether it bears conditions of ours."""
    return any(each.type in names.CONDITIONS for each in service.status.conditions)
