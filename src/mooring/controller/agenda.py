"""What is to be done, by whom it is waited for, and what follows from a change that was seen."""

import enum
import random
from collections.abc import Callable

import msgspec
from msgspec import Struct

from mooring.controller.followed import Followed
from mooring.core import endpoints, having, nodes, probing, shares
from mooring.core.backends import Known
from mooring.core.picture import Picture
from mooring.kube.queue import WorkQueue
from mooring.model import names
from mooring.model.cloud import PortId
from mooring.model.gateway import Probes
from mooring.model.kubernetes import EndpointSlice, Name, NetworkPolicy, Node, Service
from mooring.model.reasons import Reason, Trouble
from mooring.model.steps import Step

LONGEST_PUSH_RETRY = 1.0


class Chore(enum.Enum):
    """What is to be done beside the Services."""

    BEGIN = "begin"
    PUSH = "push"
    HEARD = "hear the gateways"
    AUDIT = "audit"


Item = Name | Chore


class Times(Struct, frozen=True):
    """How long things take, in seconds."""

    audit: float = 60.0
    clean_up: float = 1.0
    heartbeat: float = 1.0
    before_deletion: float = 90.0
    """Longer than a lease and the longest request, signing in included: what was under way at the tagging has ended."""
    first_retry: float = 0.5
    longest_retry: float = 60.0


class Agenda:
    """Two queues: one of Services and audits, and one of what concerns the gateways."""

    def __init__(self, followed: Followed, picture: Picture, times: Times, chance: random.Random) -> None:
        self.queue: WorkQueue[Item] = WorkQueue(chance, first=times.first_retry, longest=times.longest_retry)
        self.pushes: WorkQueue[Item] = WorkQueue(chance, first=times.first_retry, longest=LONGEST_PUSH_RETRY)
        self.waiting: set[Name] = set()
        """For the gateways."""
        self.wishing: set[Name] = set()
        """For an address that cannot be had now."""
        self.troubles: dict[Name, Trouble] = {}
        self.given_up: dict[Name, Step] = {}
        """What was refused, and is not tried again before something has changed that it may be due to."""
        self._followed = followed
        self._picture = picture
        self._times = times
        self.probes = Probes()
        """The nodes that the gateways are to ask whether they answer."""
        self._silent: frozenset[str] = frozenset()
        self._nodes: tuple[nodes.Usable, ...] = ()

    @property
    def resting(self) -> bool:
        """Nothing is to be done but the next audit."""
        return self.queue.only(Chore.AUDIT) and self.pushes.only(Chore.AUDIT) and not self.waiting

    def begin(self) -> list[Callable[[], None]]:
        """From now on changes are noticed; what is returned ends that."""
        self._look_at_nodes()
        return [
            self._followed.services.listen(self._changed),
            self._followed.slices.listen(self._endpoints_changed),
            self._followed.nodes.listen(self._node_changed),
            self._followed.policies.listen(self._policy_changed),
        ]

    def look_at_all(self) -> None:
        """And try again what was given up."""
        self.given_up.clear()
        for service in self._followed.services.all():
            self.queue.add(service.name)

    def _try_again(self, name: Name) -> None:
        self.given_up.pop(name, None)
        self.queue.add(name)

    def audit_soon(self) -> None:
        self.queue.add_after(Chore.AUDIT, self._times.clean_up)

    def let_in(self, name: Name) -> bool:
        """A Service's packets come through. Whether it was said that they do not, which need not be said any more."""
        trouble = self.troubles.get(name)
        if trouble is None or trouble.reason is not Reason.NOT_LET_IN:
            return False
        del self.troubles[name]
        return True

    def tell_gateways(self) -> None:
        self.pushes.add(Chore.PUSH)

    def hear_gateways(self) -> None:
        self.pushes.add(Chore.HEARD)

    def known_of(self, service: Service) -> Known:
        """What stands behind a Service."""
        name = service.name
        return Known(self._followed.slices_of(name), self._nodes, self._followed.policies_of(name))

    def _ports_of(self, service: Service | None) -> tuple[PortId, ...]:
        return having.ports_of(service, self._picture.addresses) if service is not None else ()

    def _mapped(self, service: Service) -> bool:
        return having.mapped(service, self._picture.addresses)

    def _changed(self, before: Service | None, after: Service | None) -> None:
        """A Service is not as it was."""
        if after is not None:
            self._picture.holdings.claim(after)
            (self.queue.nudge if before is not None and _only_told(before, after) else self._try_again)(after.name)
            if before is not None and _wishes(before) != _wishes(after) and self._mapped(after):
                self.tell_gateways()  # such as of who may call it
        elif before is not None:
            self._picture.release(before.name)
            self.given_up.pop(before.name, None)
            self.troubles.pop(before.name, None)
            self.wishing.discard(before.name)
            if self._ports_of(before):
                self.tell_gateways()
        self._freed(before, after)

    def _freed(self, before: Service | None, after: Service | None) -> None:
        """What a Service had and has no more is there for those who wait for it; nobody may need it any more."""
        had, has = (frozenset(self._ports_of(each)) for each in (before, after))
        same = before is not None and after is not None and shares.keys(before) == shares.keys(after)
        if had.isdisjoint(self._picture.addresses.ports) or (same and had == has):
            return
        for name in sorted(self.wishing.union(self.troubles)):
            self._try_again(name)
        if had - has - self._picture.holdings.used():
            self.audit_soon()

    def _endpoints_changed(self, before: EndpointSlice | None, after: EndpointSlice | None) -> None:
        """Endpoints of a Service came or went."""
        for name in {endpoints.service_of(each) for each in (before, after) if each is not None}:
            service = self._followed.services.get(name) if name else None
            if service is not None and self._mapped(service):
                self._picture.holdings.changes.add((service.name,))
                self.tell_gateways()
                self.queue.add(service.name)

    def _node_changed(self, before: Node | None, after: Node | None) -> None:
        """A node came or went, or says that it lives, which it does every few seconds and which costs nothing."""
        if nodes.usable(before) != nodes.usable(after):
            self._nodes_changed()

    def nodes_answer(self, silent: frozenset[str]) -> None:
        """By what the gateways say, all but these do."""
        if silent != self._silent:
            self._silent = silent
            self._nodes_changed()

    def _look_at_nodes(self) -> None:
        usable = nodes.all_usable(self._followed.nodes.all())
        self.probes = probing.probes(usable, self._picture.addresses.place.probe_port)
        self._nodes = probing.answering(usable, self._silent)

    def _nodes_changed(self) -> None:
        self._look_at_nodes()
        concerned = [
            each for each in self._followed.services.all() if self._picture.layer(each) == "node" and self._mapped(each)
        ]
        self._picture.holdings.changes.add(each.name for each in concerned)
        for service in concerned:
            self.queue.add(service.name)
        if concerned:
            self.tell_gateways()

    def _policy_changed(self, before: NetworkPolicy | None, after: NetworkPolicy | None) -> None:
        """What is to be told about Services of its namespace may be something else."""
        if before is not None and after is not None and before.spec == after.spec:
            return
        namespace = (after or before or NetworkPolicy()).metadata.namespace
        for service in self._followed.services.all():
            if service.metadata.namespace == namespace and self._mapped(service):
                self.queue.add(service.name)


def _only_told(before: Service, after: Service) -> bool:
    """Nothing has changed but conditions, most of which we write: nothing that was in vain before is worth a try."""
    meta = msgspec.structs.replace(after.metadata, resource_version=before.metadata.resource_version)
    status = msgspec.structs.replace(after.status, conditions=before.status.conditions)
    return msgspec.structs.replace(after, metadata=meta, status=status) == before


def _wishes(service: Service) -> tuple[object, ...]:
    """What its owner wants of the gateways."""
    return service.spec, *(service.metadata.annotations.get(each) for each in (names.LAYER, names.SOURCE_RANGES))
