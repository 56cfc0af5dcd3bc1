"""What is really so, beside what any controller believes, for properties to judge."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from mooring.kube.api import WatchEvent
from mooring.kube.twin.server import KubeTwin
from mooring.kube.twin.watching import Subscription
from mooring.model import names
from mooring.model.cloud import (
    FixedIp,
    FloatingIp,
    FloatingIpId,
    NetworkId,
    Port,
    PortId,
    ProjectId,
    SecurityGroup,
    SecurityGroupId,
    SubnetId,
)
from mooring.model.kubernetes import EndpointSlice, Name, NetworkPolicy, Node, Resource, Service
from mooring.wire.http import Request, Response
from tests.simulation.gateway import GatewayTwin
from tests.simulation.process import Process

WATCH = (("watch", "1"), ("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan"))

_SERVICES: msgspec.json.Decoder[WatchEvent[Service]] = msgspec.json.Decoder(WatchEvent[Service])
_SLICES: msgspec.json.Decoder[WatchEvent[EndpointSlice]] = msgspec.json.Decoder(WatchEvent[EndpointSlice])
_NODES: msgspec.json.Decoder[WatchEvent[Node]] = msgspec.json.Decoder(WatchEvent[Node])
_POLICIES: msgspec.json.Decoder[WatchEvent[NetworkPolicy]] = msgspec.json.Decoder(WatchEvent[NetworkPolicy])

T = TypeVar("T", bound=Resource)


class Promise(Struct, frozen=True):
    """What a Service wants: (protocol, port), families of addresses, with whom, how often its owner changed wishes."""

    keys: frozenset[tuple[str, int]]
    families: tuple[str, ...]
    company: str
    turns: int


Changed = dict[Name, tuple[T | None, T | None]]


class Effect(Struct, frozen=True):
    """Something that was carried out, for whom, and what it changed. No process: a user did it."""

    process: Process | None
    server: str
    request: Request
    response: Response
    changed: Mapping[Name, tuple[Service | None, Service | None]] = {}

    @property
    def done(self) -> bool:
        return self.response.status < 300


class Truth:
    """Kept up to date after every effect."""

    def __init__(self, kube: KubeTwin, gateways: Mapping[str, GatewayTwin], cluster: str) -> None:  # noqa: PLR0915 - all there is
        self.services: dict[Name, Service] = {}
        self.sharing = "namespace"
        """Which Services may share an address, by the operator."""
        self.claim_unclassed = False
        """Whether Services without a class are ours; they stand here as if they had it."""
        self.gateways = gateways
        self.mark = f"mooring cluster {cluster}"
        self.ports: dict[PortId, Port] = {}
        self.floating_ips: dict[FloatingIpId, FloatingIp] = {}
        self.groups: dict[SecurityGroupId, SecurityGroup] = {}
        """All security groups, of whomever."""
        self.keeps_group = False
        """Whether the operator has the controllers keep one on the gateways' ports."""
        self.group_meddled = False
        """Whether somebody has changed our group, or taken it off a gateway's port."""
        self.published: dict[str, set[str]] = {}
        """The addresses that controllers have given to a Service, by its uid, ever."""
        self.promised: dict[str, Promise] = {}
        """What a Service wanted when a controller last gave it an address, by its uid."""
        self.had: dict[str, set[PortId]] = {}
        """The ports that a Service had when its address was promised: anybody can write an annotation."""
        self.turns: Counter[str] = Counter()
        """How often the owner of a Service, by its uid, changed its mind: what is told of that may come late."""
        self.served: dict[str, frozenset[str]] = {}
        """The Services that each gateway served by the last document that it took."""
        self.foreign: frozenset[str] = frozenset()
        """Ports and floating IPs of others, which are still there at the end."""
        self.now = 0.0
        self.decided = 0.0
        """When what has just happened was sent: what came to be known after that is no matter of it."""
        self.slices: dict[Name, EndpointSlice] = {}
        self._slices_of: dict[Name, dict[Name, EndpointSlice]] = {}
        self.nodes: dict[Name, Node] = {}
        self.policies: dict[Name, NetworkPolicy] = {}
        self.steady: set[tuple[object, ...]] = set()
        """What Services want that has had backends ever since it first had some."""
        self.unsteady: set[tuple[object, ...]] = set()
        """What had some, and was without or not wanted since."""
        self.backends_missed = False
        """Whether an event about nodes or endpoints was lost: what nobody heard of, nobody can follow."""
        self.reached: set[tuple[object, ...]] = set()
        """What gateways have sent to its true backends."""
        self.gateway_ports: dict[str, PortId] = {}
        """The Neutron ports of the gateways, whose lists of addresses hold something of others too."""
        self.members: frozenset[str] = frozenset()
        """The gateways that the operator wants."""
        self.joined: dict[str, float] = {}
        """When each of them was configured last; 0 for those that were there from the beginning."""
        self.drained: frozenset[str] = frozenset()
        """And those of them that are to give way."""
        self.uninstalled = ""
        """Whether an operator has everything of ours removed: `all`, or all but what is `kept`."""
        self.writers: dict[str, int] = {}
        """The epoch of the newest leader that has written something, by what it is."""
        self.epochs_lost = False
        """Whether the Lease was deleted, or is an older one: a new leader does not know of all before it."""
        self.pairs_taken = False
        """Whether somebody has taken addresses of ours from a gateway's list."""
        self.static: dict[PortId, Port] = {}
        """What an operator has ever listed, instead of what OpenStack has; each is its own port."""
        self.floats = True
        """Whether addresses of IPv4 are reached by floating IPs."""
        self.choices: Mapping[str, str] = {}
        """The subnet and the network of floating IPs that Services may choose, by their names."""
        self.listed: frozenset[str] = frozenset()
        """What is listed now."""
        self.lost: set[str] = set()
        """The addresses of ports of ours that an operator deleted: that they were ours, who was there then knows."""
        self.let_go: set[PortId] = set()
        """The ports of Services that their owners deleted: that these go is meant, whoever had them too."""
        self.restored = False
        """Whether somebody has put etcd back to what it was."""
        self.came_back: frozenset[str] = frozenset()
        """Services, by their uid, that were gone before that: whoever hears late of their end has heard of it truly."""
        self.forgotten: frozenset[str] = frozenset()
        """The ports and floating IPs that were in use when etcd was restored, and are of no Service that it knows."""
        self.follow(kube)

    def follow(self, kube: KubeTwin) -> None:
        """See what there is in Kubernetes from the beginning."""
        for known in (self.services, self.slices, self._slices_of, self.nodes, self.policies):
            known.clear()
        self._events = _watch(kube, "/api/v1/services")
        self._slice_events = _watch(kube, "/apis/discovery.k8s.io/v1/endpointslices")
        self._node_events = _watch(kube, "/api/v1/nodes")
        self._policy_events = _watch(kube, "/apis/networking.k8s.io/v1/networkpolicies")

    def list_addresses(self, addresses: Iterable[str]) -> None:
        self.listed = frozenset(addresses)
        for each in self.listed:
            self.static[PortId(each)] = Port(
                id=PortId(each),
                network_id=NetworkId(""),
                project_id=ProjectId(""),
                revision_number=0,
                fixed_ips=(FixedIp(SubnetId(""), each),),
            )
        self.foreign |= self.static.keys()  # nobody makes it, nobody takes it away

    def services_changed(self) -> Changed[Service]:
        """Take in what happened to Services and what is behind them since, and tell of the Services."""
        self._take_slices()
        _take(self._node_events, _NODES, self.nodes)
        _take(self._policy_events, _POLICIES, self.policies)
        changed = _take(self._events, _SERVICES, self.services, _claimed if self.claim_unclassed else lambda each: each)
        for before, after in changed.values():
            if before is not None and after is not None and _wish(before) != _wish(after):
                self.turns[after.metadata.uid] += 1
        return changed

    def ports_of_gateways(self) -> list[tuple[str, Port]]:
        """By the gateways' names, their ports; somebody may have deleted one."""
        return [(name, self.ports[port]) for name, port in self.gateway_ports.items() if port in self.ports]

    def slices_of(self, service: Name) -> Iterable[EndpointSlice]:
        return self._slices_of.get(service, {}).values()

    def _take_slices(self) -> None:
        for name, (before, after) in _take(self._slice_events, _SLICES, self.slices).items():
            if before is not None:
                del self._slices_of[_served_by(before)][name]
            if after is not None:
                self._slices_of.setdefault(_served_by(after), {})[name] = after


CHOICES = ("openstack.org/mooring-subnet", "openstack.org/mooring-floating-network")


def _wish(service: Service) -> tuple[object, ...]:
    annotations = service.metadata.annotations
    chosen = tuple(annotations.get(each, "") for each in (*CHOICES, names.INTERNAL))
    spec, opted_out = service.spec, annotations.get(names.MANAGED) == "false"
    keys = frozenset((each.protocol, each.port) for each in spec.ports)
    whose = spec.type, spec.load_balancer_class, opted_out
    return whose, keys, spec.ip_families, spec.load_balancer_ip, chosen, annotations.get(names.SHARING_KEY, "")


def _served_by(found: EndpointSlice) -> Name:
    return Name(found.metadata.namespace, found.metadata.labels.get("kubernetes.io/service-name", ""))


def _watch(kube: KubeTwin, path: str) -> Subscription:
    opened = kube.watch(Request("watch", "GET", path, WATCH))
    if not isinstance(opened, Subscription):
        raise TypeError(opened)
    return opened


def _claimed(service: Service) -> Service:
    """As the code that is judged should take it, read independently of it."""
    unclassed = service.spec.type == "LoadBalancer" and not service.spec.load_balancer_class
    if not unclassed or service.metadata.annotations.get(names.BACKEND, "gateway") != "gateway":
        return service
    spec = msgspec.structs.replace(service.spec, load_balancer_class=names.GATEWAY_CLASS)
    return msgspec.structs.replace(service, spec=spec)


def _take(
    events: Subscription,
    decoder: msgspec.json.Decoder[WatchEvent[T]],
    into: dict[Name, T],
    taken_as: Callable[[T], T] = lambda each: each,
) -> Changed[T]:
    changed: Changed[T] = {}
    for line in events.take().splitlines():
        event = decoder.decode(line)
        if event.type == "BOOKMARK":
            continue
        name = event.object.name
        before = into.pop(name, None)
        if event.type != "DELETED":
            into[name] = taken_as(event.object)
        changed[name] = (before, into.get(name))
    return changed


def body(request: Request) -> Any:  # noqa: ANN401 - JSON
    return msgspec.json.decode(request.body) if request.body else {}
