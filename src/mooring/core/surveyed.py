"""Everything that there is, as it was seen at one time, and what follows from it.

It stands on the controller's own picture, so that people are told the controller's own decisions and nobody decides
twice. Knows nothing of how anything was asked for.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cached_property

import msgspec
from msgspec import Struct

from mooring.core import (
    claims,
    cleaning,
    endpoints,
    explaining,
    gateway_document,
    having,
    heard,
    mapping,
    nodes,
    probing,
)
from mooring.core.addresses import Addresses, Place
from mooring.core.backends import Known
from mooring.core.cleaning import CleaningStep, Doom, End, GiveBack, Remove
from mooring.core.heard import Gateways, Unheeding
from mooring.core.mapping import Seen
from mooring.core.picture import Picture
from mooring.core.roster import Acknowledged
from mooring.model import names
from mooring.model.cloud import FloatingIp, Port, PortId, Quota, SecurityGroup, Subnet
from mooring.model.config import Services
from mooring.model.gateway import Counted, Document, State, Vrrp
from mooring.model.kubernetes import Condition, EndpointSlice, Name, NetworkPolicy, Node, Service
from mooring.model.reasons import Reason, Trouble, Verdict
from mooring.model.reports import Missing
from mooring.model.steps import Annotate, Step

NEVER = float("inf")
BEHIND = {Reason.NO_NODES.value, Reason.NO_NODE_PORT.value}
"""What is told of a Service that the gateways serve as well as they can."""


class Leader(Struct, frozen=True):
    """Who leads by the Lease, or led last."""

    identity: str = ""
    since: datetime | None = None
    renewed: datetime | None = None
    seconds: float = 0.0
    epoch: int = 0
    drained: frozenset[str] = frozenset()
    """The gateways that a person told to give way."""

    def leads(self, now: datetime) -> bool:
        return bool(self.identity) and self.renewed is not None and (now - self.renewed).total_seconds() <= self.seconds


class Asked(Struct, frozen=True):
    """A gateway, and what its agent answered; None, if it did not, and why.

    `counted`: what Services were asked for there; None where nobody wanted to know, or it does not say.
    """

    name: str
    state: State | None = None
    failure: str = ""
    counted: tuple[Counted, ...] | None = None


class Around(Struct, frozen=True):
    """Whoever's it is: ports and subnets of the network of the addresses, and floating IPs that our user may see."""

    ports: tuple[Port, ...] = ()
    floating_ips: tuple[FloatingIp, ...] = ()
    subnets: tuple[Subnet, ...] = ()


class Owned(Struct, frozen=True):
    """What is ours in OpenStack, and the gateways' own ports. `around` is None where nobody asked for it."""

    place: Place
    ports: tuple[Port, ...] = ()
    floating_ips: tuple[FloatingIp, ...] = ()
    gateways: tuple[Port, ...] = ()
    around: Around | None = None
    quota: Quota | None = None
    """What the project may still have; None where nobody tells."""
    groups: tuple[SecurityGroup, ...] = ()
    """The security groups, where somebody asked for them."""
    borrowed: tuple[FloatingIp, ...] = ()
    """Floating IPs on ports of ours that do not bear our mark."""


class Sights(Struct, frozen=True):
    """What was seen of everything. `owned` is None where OpenStack could not be asked."""

    now: datetime
    leader: Leader
    services: tuple[Service, ...]
    slices: tuple[EndpointSlice, ...]
    agents: tuple[Asked, ...]
    owned: Owned | None
    missing: tuple[Missing, ...] = ()
    wanted: Services = Services()
    nodes: tuple[Node, ...] = ()
    policies: tuple[NetworkPolicy, ...] = ()
    acts: bool = True
    """A controller of this configuration does what it decides; else it only observes."""
    holders: int = 1
    """How many gateways hold addresses at once: each its share, where they are spread."""


class Survey:
    """What follows from what was seen; worked out when it is asked for, and once."""

    def __init__(self, sights: Sights) -> None:
        self.sights = sights
        settled = (claims.settled(each, sights.wanted) for each in sights.services)
        self.services = {each.name: each for each in sorted(settled, key=lambda each: each.name)}
        silent = probing.silent([state.silent for _, state in self.answering])
        self._nodes = probing.answering(nodes.all_usable(sights.nodes), silent)
        self._policies: dict[str, list[NetworkPolicy]] = {}
        for policy in sights.policies:
            self._policies.setdefault(policy.metadata.namespace, []).append(policy)
        self._slices: dict[Name, list[EndpointSlice]] = {}
        for each in sights.slices:
            if name := endpoints.service_of(each):
                self._slices.setdefault(name, []).append(each)

    @property
    def leads(self) -> bool:
        return self.sights.leader.leads(self.sights.now)

    @property
    def observes(self) -> bool:
        """Whether nothing is done because it is configured so. Who leads all the same was configured otherwise."""
        return not self.sights.acts and not self.leads

    @property
    def answering(self) -> tuple[tuple[str, State], ...]:
        """The gateways that answer; what counts for the controller as live."""
        return tuple((each.name, each.state) for each in self.sights.agents if each.state is not None)

    @cached_property
    def picture(self) -> Picture | None:
        """As a leader paints it when it begins; None where OpenStack could not be asked."""
        return painted(self.sights.owned, self.services.values()) if self.sights.owned else None

    @cached_property
    def document(self) -> Document | None:
        """What the gateways should hold. Epoch and generation are a leader's, and nobody else can tell them."""
        view, owned = self.picture, self.sights.owned
        if view is None or owned is None:
            return None
        wanted = [each for service in self.services.values() for each in view.forwards(service, self.known_of(service))]
        seed = gateway_document.seed(owned.place.cluster)
        return gateway_document.document(wanted, epoch=0, generation=0, seed=seed)

    def holds(self, state: State) -> bool | None:
        """Whether a gateway holds what it should; what two documents do alike, they have the same digest for."""
        return None if self.document is None else (state.told or state.held.digest) == self.document.digest

    @cached_property
    def lacking(self) -> tuple[str, ...]:
        """The gateways that answer and have to be told."""
        return tuple(name for name, state in self.answering if self.holds(state) is False)

    @cached_property
    def gateways(self) -> Gateways:
        if self.document is None:
            return Gateways(None, live=bool(self.answering), holder=self._holder)
        told = heard.acknowledged(self.document)
        unheeding = tuple(self._unheeding(told))
        spared = {each.gateway for each in unheeding if not each.counts}
        return Gateways(
            told if spared.issuperset(self.lacking) else self._known_to_be_served(told),
            live=bool(self.answering),
            holder=self._holder,
            left_out=gateway_document.left_out(self.answering, self.document.forwards),
            snat=frozenset(state.snat for _, state in self.answering) - {""},
            unheeding=unheeding,
        )

    @property
    def _holder(self) -> bool:
        return any(state.vrrp is Vrrp.MASTER for _, state in self.answering)

    def _known_to_be_served(self, told: Acknowledged) -> Acknowledged:
        """While a gateway lags behind, of whom nobody here can know: whom their leader found to be served."""
        served = {
            str(name)
            for name, each in self.services.items()
            if each.status.load_balancer.ingress
            and any(said.type == names.PROGRAMMED and said.status == "True" for said in each.status.conditions)
        }
        return {name: each for name, each in told.items() if name in served}

    def _unheeding(self, told: Acknowledged) -> Iterator[Unheeding]:
        """Who says that it cannot do what it was told. What it serves all the same, Services know by their leader."""
        behind = {
            str(each.name)
            for each in self.services.values()
            if any(said.reason == Reason.GATEWAY_REFUSES.value for said in each.status.conditions)
        }
        serves = {name: each for name, each in told.items() if name not in behind}
        for name, state in self.answering:
            if state.trouble and name in self.lacking:
                yield Unheeding(name, state.trouble, serves, counts=state.vrrp is Vrrp.MASTER)

    def known_of(self, service: Service) -> Known:
        """What there is behind a Service."""
        return Known(
            tuple(self._slices.get(service.name, ())),
            self._nodes,
            tuple(self._policies.get(service.metadata.namespace, ())),
        )

    def mapped(self, service: Service) -> bool:
        """Whether the gateways should serve it, given that its port fits; by what it names, where no more is known."""
        known = self.picture.addresses if self.picture else None
        return having.mapped(service, known) if known else bool(mapping.named_ports(service))

    def ours(self, service: Service) -> bool:
        """Whether its owner means us, or it has something of ours still."""
        ports: Mapping[PortId, Port] = self.picture.addresses.ports if self.picture else {}
        return (
            mapping.addressed_to_us(service)
            or mapping.marked(service)
            or not ports.keys().isdisjoint(mapping.named_ports(service))
        )

    def seen(self, service: Service, view: Picture | None = None) -> Seen:
        view = view or self.picture
        if view is None:
            return Seen(service, shows_ours=True)
        if self._by_hearsay and mapping.can_be_managed(service):
            return self._by_the_leader(service, view)
        return view.seen(service, self.known_of(service), self.gateways)

    @property
    def _by_hearsay(self) -> bool:
        """No gateway answers here, where the way or a certificate may be missing; who leads may be answered."""
        return not self.answering and self.leads

    def _by_the_leader(self, service: Service, view: Picture) -> Seen:
        """What a leader last wrote about the gateways, which it writes anew as soon as none is live."""
        said = next((each for each in service.status.conditions if each.type == names.PROGRAMMED), None)
        reason = "" if said is None else said.reason
        served = said is not None and (said.status == "True" or reason in BEHIND)
        hidden = frozenset({"vip"} if reason == Reason.CLIENT_HIDDEN.value else ())
        gateways = msgspec.structs.replace(self.gateways, snat=hidden)
        seen = view.seen(service, self.known_of(service), gateways)
        return msgspec.structs.replace(seen, served=served, live=reason != Reason.NO_GATEWAY.value, holder=True)

    def verdicts(self, service: Service) -> tuple[Verdict, ...]:
        """Why it is as it is. Where OpenStack could not be asked: as far as that can be told, else what it says."""
        seen = self.seen(service)
        if self.picture is None and mapping.can_be_managed(service):
            return _as_told(service)
        return explaining.verdicts(seen, _trouble(seen))

    def next_step(self, service: Service) -> Step | None:
        """What a controller does about it next; None, if nobody can tell."""
        if self.picture is None:
            return None
        seen = self.seen(service)
        return explaining.decide(seen, _trouble(seen))

    def next_steps(self) -> dict[Name, Step]:
        """What a controller does next about each of all Services: who comes first takes from who comes later."""
        if self.sights.owned is None:
            return {}
        view = painted(self.sights.owned, self.services.values())
        found = {}
        for service in sorted(self.services.values(), key=mapping.precedence):
            seen = self.seen(service, view)
            step = found[service.name] = explaining.decide(seen, _trouble(seen))
            if isinstance(step, Annotate):
                view.holdings.grant(service, step.ports)
        return found

    @property
    def gateway_ports(self) -> dict[str, Port]:
        """The ports of the gateways by their names; both come in the order of the names."""
        owned = self.sights.owned
        if owned is None:
            return {}
        ports = {each.id: each for each in owned.gateways}
        named = zip((each.name for each in self.sights.agents), owned.place.gateways, strict=False)
        return {name: ports[port] for name, port in named if port in ports}

    @property
    def without_port(self) -> tuple[str, ...]:
        """The gateways whose port is not there."""
        owned = self.sights.owned
        asked = () if owned is None or owned.place.static else self.sights.agents
        return tuple(each.name for each in asked if each.name not in self.gateway_ports)

    def clean_up(self) -> tuple[CleaningStep, ...]:
        """What a controller cleans up next. When it saw a tag first only itself can tell: nothing is deleted here."""
        planned = self._clean_up(wait=NEVER)
        return tuple(each for each in planned if each not in self.held_back)

    @cached_property
    def held_back(self) -> tuple[Doom, ...]:
        """What a controller does not clean up before a person says so."""
        owned = self.sights.owned
        ours = len(owned.ports) + len(owned.floating_ips) if owned else 0
        return cleaning.held_back(self._clean_up(wait=NEVER), ours)

    def waiting(self) -> tuple[End, ...]:
        """What becomes of what bears the tag that says that it goes, when that has been seen for long enough."""
        return tuple(each for each in self._clean_up(wait=0.0) if isinstance(each, Remove | GiveBack))

    def _clean_up(self, *, wait: float) -> tuple[CleaningStep, ...]:
        owned = self.sights.owned
        if owned is None or self.picture is None:
            return ()
        services = self.services.values()
        troubled = (each for each in services if mapping.can_be_managed(each) and _trouble(self.seen(each)))
        needed = self.picture.holdings.used() | self.picture.asked_for(services) | self.picture.begun_for(troubled)
        return cleaning.steps(
            owned.ports,
            owned.floating_ips,
            needed,
            gateways=owned.gateways,
            shown=mapping.all_shown(services),
            tagged_for={},
            wait=wait,
        )


def painted(owned: Owned, services: Iterable[Service]) -> Picture:
    """The picture from everything at once. What is owned is taken in first, by who the world already knows."""
    addresses = Addresses(owned.place)
    addresses.replace(owned.ports, owned.floating_ips, owned.gateways, owned.borrowed)
    addresses.quota = owned.quota
    view = Picture(addresses)
    view.holdings.offer()
    view.holdings.claim_all(services)
    return view


def _trouble(seen: Seen) -> Trouble | None:
    """What a controller said that went wrong, for as long as it matters."""
    trouble = explaining.last_trouble(seen.service)
    return None if seen.fits and trouble and trouble.reason is not Reason.NOT_LET_IN else trouble


REASONS: Mapping[str, Reason] = {each.value: each for each in Reason}


def _as_told(service: Service) -> tuple[Verdict, ...]:
    """The conditions that a controller wrote; what does not come from one of ours is left out."""
    said: dict[str, Condition] = {each.type: each for each in service.status.conditions}
    return tuple(
        Verdict(REASONS[each.reason], each.message.rstrip("."), well=each.status == "True")
        for each in (said.get(name) for name in names.CONDITIONS)
        if each is not None and each.reason in REASONS
    )
