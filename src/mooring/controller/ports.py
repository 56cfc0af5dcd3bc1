"""The ports and floating IPs of ours, as last seen and as we changed them since.

Whenever the outcome of a change is not known, nothing is assumed: `refresh` has to be called before the next decision.
"""

import contextlib
from typing import Any

from msgspec import Struct

from mooring.cloud import errors
from mooring.cloud.api import Cloud
from mooring.cloud.kinds import FLOATING_IPS, PORTS, Kind
from mooring.core import mark
from mooring.core.cleaning import CleaningStep, Doom, Label, Ours, Remove, Rescue
from mooring.model import names
from mooring.model.cloud import FloatingIp, FloatingIpId, NetworkId, Port, PortId, SubnetId


class Place(Struct, frozen=True):
    """Where addresses come from, and the identity of the cluster that they are for."""

    cluster: str
    network: NetworkId
    subnet: SubnetId
    floating_network: NetworkId | None = None


class Ports:
    """Owned by one task."""

    def __init__(self, cloud: Cloud, place: Place) -> None:
        self._cloud = cloud
        self._place = place
        self._mark = mark.dump(place.cluster)
        self.ports: dict[PortId, Port] = {}
        self.floating_ips: dict[FloatingIpId, FloatingIp] = {}
        self._by_port: dict[PortId, FloatingIp] = {}
        self.known = False
        """Whether this is what Neutron has, as far as we can know."""

    async def refresh(self) -> None:
        """Everything that bears our mark, from two lists."""
        ports = await self._cloud.list(PORTS, description=self._mark)
        floating_ips = await self._cloud.list(FLOATING_IPS, description=self._mark)
        self.ports = {each.id: each for each in ports}
        self.floating_ips = {}
        self._by_port = {}
        for each in floating_ips:
            self._add(each)
        self.known = True

    def address(self, port: PortId) -> str | None:
        """The address that the gateways serve for a port."""
        found = self.ports.get(port)
        return found.fixed_ips[0].ip_address if found and found.fixed_ips else None

    def public_address(self, port: PortId) -> str | None:
        """The address at which a port is reached from outside; None while it is not yet."""
        if self._place.floating_network is None:
            return self.address(port)
        found = self._by_port.get(port)
        return found.floating_ip_address if found else None

    def public_addresses(self) -> frozenset[str]:
        """Every address of ours that somebody may be sent to."""
        if self._place.floating_network is None:
            return frozenset(each.ip_address for port in self.ports.values() for each in port.fixed_ips)
        return frozenset(each.floating_ip_address for each in self.floating_ips.values())

    def usable(self) -> list[PortId]:
        """Ports that may be given to somebody: reachable, and not going away. Oldest first."""
        ready = [each for each in self.ports.values() if self.public_address(each.id) and not _going(each)]
        return [each.id for each in sorted(ready, key=lambda each: (each.created_at, each.id))]

    def going(self) -> list[str]:
        """What bears the tag that says that it goes away."""
        everything: list[Ours] = [*self.ports.values(), *self.floating_ips.values()]
        return [each.id for each in everything if _going(each)]

    async def make(self) -> None:
        """Bring a new address into being, or complete one that was begun. Our mark is in each call that makes."""
        self.known = False
        begun = sorted(port.id for port in self.ports.values() if not self.public_address(port.id) and not _going(port))
        port = self.ports[begun[0]] if begun else await self._make_port()
        if self._place.floating_network is not None:
            await self._make_floating_ip(port.id, self._place.floating_network)
        self.known = True

    async def carry_out(self, step: CleaningStep) -> None:
        self.known = False
        kind: Kind[Any, Any] = PORTS if isinstance(step.what, Port) else FLOATING_IPS
        with contextlib.suppress(errors.NotFound):  # somebody was faster, and it is gone or without tag as we wanted
            match step:
                case Label(what):
                    await self._cloud.tag(kind, what.id, names.TAG)
                case Doom(what):
                    await self._cloud.tag(kind, what.id, names.DELETING_TAG)
                case Rescue(what):
                    await self._cloud.untag(kind, what.id, names.DELETING_TAG)
                case Remove(what):
                    await self._cloud.delete(kind, what.id, revision=what.revision_number)

    async def _make_port(self) -> Port:
        wanted = {
            "network_id": self._place.network,
            "fixed_ips": [{"subnet_id": self._place.subnet}],
            "name": "mooring",
            "description": self._mark,
        }
        port = await self._cloud.create(PORTS, wanted)
        self.ports[port.id] = port
        return port

    async def _make_floating_ip(self, port: PortId, network: NetworkId) -> None:
        wanted = {"floating_network_id": network, "port_id": port, "description": self._mark}
        self._add(await self._cloud.create(FLOATING_IPS, wanted))

    def _add(self, floating_ip: FloatingIp) -> None:
        self.floating_ips[floating_ip.id] = floating_ip
        if floating_ip.port_id is not None:
            self._by_port[floating_ip.port_id] = floating_ip


def _going(what: Ours) -> bool:
    return names.DELETING_TAG in what.tags
