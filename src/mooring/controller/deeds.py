"""Doing the steps of one Service: each is one call, or a few, and then it is told."""

from collections.abc import Iterable

from structlog.typing import FilteringBoundLogger

from mooring.controller.ports import Ports
from mooring.controller.service_writes import ServiceWrites
from mooring.core import telling, wording
from mooring.core.picture import Picture
from mooring.core.telling import News
from mooring.core.wishes import Wish
from mooring.kube.recorder import Recorder, Told
from mooring.model import steps
from mooring.model.kubernetes import ObjectReference, Service

IN_CLOUD = (steps.MakePort, steps.PutBack, steps.Keep, steps.DoNotKeep)
"""What is done in OpenStack, and only by who knows what there is."""


class Deeds:
    """Owned by one task."""

    def __init__(
        self, picture: Picture, ports: Ports, writes: ServiceWrites, recorder: Recorder, log: FilteringBoundLogger
    ) -> None:
        self._picture = picture
        self._ports = ports
        self._writes = writes
        self._recorder = recorder
        self._log = log

    async def do(self, service: Service, step: steps.Step) -> None:
        match step:
            case steps.Manage():
                await self._writes.manage(service)
            case steps.Annotate(ports):
                # Claimed first: if the answer is lost, the claim stands until the Service is seen at a newer version.
                had = self._picture.holdings.ports_of(service)
                self._picture.holdings.grant(service, ports)
                await self._writes.annotate(service, ports)
                public = self._picture.addresses.public
                self._record(service, telling.moved(map(public, had), map(public, ports)))
            case steps.MakePort() | steps.PutBack() | steps.Keep() | steps.DoNotKeep():
                await self._do_in_cloud(service, step)
            case steps.Publish(addresses, conditions):
                await self._writes.publish(service, addresses, conditions)
            case steps.Clear(conditions):
                await self._writes.clear(service, conditions)
            case steps.Tell(conditions):
                await self._writes.tell(service, conditions)
            case steps.Forget():
                await self._writes.forget(service)
            case steps.LetGo():
                await self._writes.let_go(service)
        self._tell(service, step)

    async def _do_in_cloud(
        self, service: Service, step: steps.MakePort | steps.PutBack | steps.Keep | steps.DoNotKeep
    ) -> None:
        match step:
            case steps.MakePort(family, address, subnet, floating_network):
                wish = Wish(family, address, subnet, floating_network)
                await self._ports.make(wish, self._picture.beside(service))
                self._picture.holdings.offer()
            case steps.PutBack(port, floating_ip):
                await self._ports.put_back(port, floating_ip)
                self._picture.holdings.offer()
            case steps.Keep(floating_ip, namespace):
                await self._ports.keep(floating_ip, namespace)
            case steps.DoNotKeep(floating_ip):
                await self._ports.do_not_keep(floating_ip)

    def tell_winner(self, winner: Service, address: str, loser: Service) -> None:
        """One Service keeps what another one claimed, too."""
        self._record(winner, [telling.kept(address, loser.name)])

    def _tell(self, service: Service, step: steps.Step) -> None:
        """One line for the log, and events where they are worth it."""
        self._log.info(wording.done(step), service=str(service.name), **wording.details(step))
        self._record(service, telling.news(service, step))

    def _record(self, service: Service, news: Iterable[News]) -> None:
        regarding = ObjectReference("v1", "Service", service.name.namespace, service.name.name, service.metadata.uid)
        for each in news:
            self._recorder.tell(Told(regarding, each.type, each.reason, each.action, each.note))
