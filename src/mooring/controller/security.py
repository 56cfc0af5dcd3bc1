"""The security group on the gateways' ports, where it is ours to keep: the calls, and what is known after each.

Everything is decided by `core.security_group`, one step after the other. What is on its way out needs no waiting as
ports do: Neutron itself refuses to delete a group that is on a port, and one that was deleted too early is made again.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator

import msgspec
from structlog.typing import FilteringBoundLogger

from mooring.cloud import errors
from mooring.cloud.api import Cloud
from mooring.cloud.kinds import SECURITY_GROUP_RULES, SECURITY_GROUPS
from mooring.controller import marked, troubles
from mooring.controller.ports import Ports
from mooring.controller.troubles import NotOpened
from mooring.core import group_rules, having, security_group, wording
from mooring.core.addresses import Addresses
from mooring.core.group_rules import Rule
from mooring.core.security_group import CloseRules, GroupStep, Guard, MakeGroup, OpenRules, RemoveGroup
from mooring.model.cloud import Attributes, Port, SecurityGroup, SecurityGroupId, SecurityGroupRule
from mooring.model.kubernetes import Service

REFUSED = (errors.QuotaExceeded, errors.Forbidden, errors.Refused)


class Security:
    """Owned by one task."""

    def __init__(self, cloud: Cloud, ports: Ports, known: Addresses, log: FilteringBoundLogger) -> None:
        self._cloud = cloud
        self._ports = ports
        self._addresses = known
        self._log = log
        self._groups: dict[SecurityGroupId, SecurityGroup] = {}
        self._known = False
        self._let_in: set[Rule] = set()
        self._refusal = ""  # what OpenStack last said, until the next audit

    async def audit(self, services: Iterable[Service]) -> None:
        """Put right what others changed; let in no more than these Services need. What fails is tried again next time.

        Also where the group is not ours to keep: one that was asked for before may come late, and has to go.
        """
        self._refusal = ""
        if self._addresses.place.static:
            return
        try:
            await self._look()
            await self._settle(self._clients(services))
        except errors.CloudError as error:
            self._log.warning("security group not kept", why=str(error), again="with the next audit")

    async def let_in(self, service: Service, services: Callable[[], Iterable[Service]]) -> bool:
        """See that a Service's packets come through. Ports that were opened for others cost nothing.

        Returns whether there were calls. What was refused is not asked for again before the next audit.
        """
        sent = self._clients([service])
        if not sent or (self._known and self._let_in.issuperset(sent)):
            return False
        called = not self._known
        if called:
            self._raise_refusal()
            await self._look()
        if not self._covers(sent):
            self._raise_refusal()
            called = True
            await self._settle(self._clients(services()))
        if self._covers(sent):  # who is there by now may want other ports than the one that is looked at
            self._let_in.update(sent)
        return called

    def know(self, groups: Iterable[SecurityGroup]) -> None:
        """What groups of ours there are."""
        self._groups = self._addresses.groups = {each.id: each for each in groups}

    @property
    def _kept(self) -> bool:
        return self._addresses.place.manage_security_group

    def _clients(self, services: Iterable[Service]) -> frozenset[Rule]:
        """What has to be let in; where the group is not ours to keep, nothing."""
        if not self._kept:
            return frozenset()
        mapped = (each for each in services if having.mapped(each, self._addresses))
        return group_rules.clients(mapped, self._addresses.place.subnets)

    def _needed(self, sent: frozenset[Rule]) -> frozenset[Rule]:
        return group_rules.needed(sent, self._addresses.place.subnets)

    def _covers(self, sent: frozenset[Rule]) -> bool:
        known, needs = self._addresses, self._needed(sent)
        return security_group.covered(self._groups.values(), known.gateways.values(), needs, released=known.released)

    async def _look(self) -> None:
        self._known = False
        try:
            with self._noting_refusal():
                found = await marked.every(self._cloud, SECURITY_GROUPS, self._addresses.place.mark)
        except errors.NotFound:  # this Neutron has no such thing
            found = ()
        self.know(found)
        self._let_in = set()
        self._known = True

    async def _settle(self, sent: frozenset[Rule]) -> None:
        """Step by step, until there is nothing to do. Before its outcome is known, nothing is."""
        while step := self._next_step(sent):
            self._known = self._ports.known = False
            try:
                with self._noting_refusal():
                    await self.carry_out(step)
            except NotOpened:
                self._known = self._ports.known = True  # nothing has happened
                raise
            self._known = self._ports.known = True
            self._log.info(wording.done(step), **wording.details(step))
        self._let_in = set(sent)

    @contextlib.contextmanager
    def _noting_refusal(self) -> Iterator[None]:
        try:
            yield
        except errors.CloudError as error:
            if not isinstance(error, REFUSED) and error.type != troubles.MIXED_GROUPS:
                raise
            self._refusal = str(error)
            raise NotOpened(self._refusal) from error

    def _raise_refusal(self) -> None:
        if self._refusal:
            raise NotOpened(self._refusal)

    def _next_step(self, sent: frozenset[Rule]) -> GroupStep | None:
        known = self._addresses
        rules = group_rules.few(self._needed(sent)) if self._kept else None
        return security_group.next_step(self._groups.values(), known.gateways.values(), rules, released=known.released)

    async def carry_out(self, step: GroupStep) -> None:
        match step:
            case MakeGroup():
                place = self._addresses.place
                wanted = {"name": f"mooring-{place.name}", "description": place.mark, "stateful": False}
                made = await self._cloud.create(SECURITY_GROUPS, wanted)
                self._groups[made.id] = made
            case OpenRules(group, rules):
                bodies = [security_group.body(each, group, self._addresses.place.mark) for each in rules]
                opened = await self._cloud.create_many(SECURITY_GROUP_RULES, bodies)
                self._put_rules(group, (*self._groups[group].rules, *opened))
            case CloseRules(group, unwanted):
                for gone in unwanted:
                    with contextlib.suppress(errors.NotFound):
                        await self._cloud.delete(SECURITY_GROUP_RULES, gone.id, revision=gone.revision_number)
                    self._put_rules(group, tuple(each for each in self._groups[group].rules if each != gone))
            case Guard(gateway, add, remove):
                await self._ports.change_gateway(gateway, lambda port: _groups(port, add, remove))
            case RemoveGroup(group):
                await self._remove(group)

    async def _remove(self, group: SecurityGroupId) -> None:
        """Somebody may have put it on a port that is no gateway's: then it stays, until that is undone."""
        try:
            await self._cloud.delete(SECURITY_GROUPS, group, revision=self._groups[group].revision_number)
        except errors.NotFound:
            pass
        except errors.Conflict as error:
            self._log.warning("security group of ours is in use elsewhere", group=group, why=str(error))
        del self._groups[group]

    def _put_rules(self, group: SecurityGroupId, rules: tuple[SecurityGroupRule, ...]) -> None:
        self._groups[group] = msgspec.structs.replace(self._groups[group], rules=rules)


def _groups(port: Port, add: Iterable[SecurityGroupId], remove: Iterable[SecurityGroupId]) -> Attributes | None:
    wanted = security_group.guarded(port.security_groups, add=add, remove=remove)
    return None if wanted is None else {"security_groups": list(wanted)}
