"""The calls to Neutron about ports and floating IPs, and what is known after each.

Whenever the outcome of a change is not known, nothing is assumed: `refresh` has to be called before the next decision.
"""

import contextlib
from typing import Any

from mooring.cloud import errors
from mooring.cloud.api import Cloud
from mooring.cloud.kinds import FLOATING_IPS, PORTS, Kind
from mooring.core import addresses
from mooring.core.addresses import Addresses
from mooring.core.cleaning import CleaningStep, Doom, Fate, Label, Pair, Remove, Rescue, Unpair
from mooring.model import names
from mooring.model.cloud import AddressPair, NetworkId, Port, PortId

TRIES = 5
"""Neutron counts up a port's revision by itself, after binding it: a refused change is no sign of somebody else."""


class Ports:
    """Owned by one task."""

    def __init__(self, cloud: Cloud, known: Addresses) -> None:
        self._cloud = cloud
        self._place = known.place
        self._addresses = known
        self.known = False
        """Whether what is known is what Neutron has, as far as we can know."""

    async def refresh(self) -> None:
        """Everything that bears our mark, and the gateways' ports, from three lists."""
        ports = await self._cloud.list(PORTS, description=self._place.mark)
        floating_ips = await self._cloud.list(FLOATING_IPS, description=self._place.mark)
        gateways = await self._cloud.list(PORTS, id=self._place.gateways) if self._place.gateways else ()
        self._addresses.replace(ports, floating_ips, gateways)
        self.known = True

    async def make(self) -> None:
        """Bring a new address into being, or complete one that was begun. Our mark is in each call that makes.

        The floating IP comes last: who has one is served by gateways that may use the port's address.
        """
        self.known = False
        port = self._addresses.begun() or await self._make_port()
        for gateway in self._addresses.unpaired(port):
            await self._pair(gateway, add=self._address(port))
        if self._place.floating_network is not None and self._addresses.public(port) is None:
            await self._make_floating_ip(port, self._place.floating_network)
        self.known = True

    async def carry_out(self, step: CleaningStep) -> None:
        self.known = False
        match step:
            case Pair(gateway, wanted):
                await self._pair(gateway, add=frozenset(wanted))
            case Unpair(gateway, unwanted):
                await self._pair(gateway, remove=frozenset(unwanted))
            case _:
                with contextlib.suppress(
                    errors.NotFound
                ):  # somebody was faster: it is gone or without tag, as we wanted
                    await self._meet(step)

    async def _meet(self, fate: Fate) -> None:
        kind: Kind[Any, Any] = PORTS if isinstance(fate.what, Port) else FLOATING_IPS
        match fate:
            case Label(what):
                await self._cloud.tag(kind, what.id, names.TAG)
            case Doom(what):
                await self._cloud.tag(kind, what.id, names.DELETING_TAG)
            case Rescue(what):
                await self._cloud.untag(kind, what.id, names.DELETING_TAG)
            case Remove(what):
                await self._cloud.delete(kind, what.id, revision=what.revision_number)

    async def _make_port(self) -> PortId:
        wanted = {
            "network_id": self._place.network,
            "fixed_ips": [{"subnet_id": self._place.subnet}],
            "name": f"mooring-{self._place.name}",
            "description": self._place.mark,
            "security_groups": [],  # packets meet those of the gateways' own ports
        }
        port = await self._cloud.create(PORTS, wanted)
        self._addresses.put(port)
        return port.id

    async def _make_floating_ip(self, port: PortId, network: NetworkId) -> None:
        wanted = {"floating_network_id": network, "port_id": port, "description": self._place.mark}
        floating_ip = await self._cloud.create(FLOATING_IPS, wanted)
        self._addresses.put(floating_ip)

    async def _pair(
        self, gateway: PortId, *, add: frozenset[str] = frozenset(), remove: frozenset[str] = frozenset()
    ) -> None:
        """Let a gateway use addresses, or no longer. Its list is one value, written only if it is as it was read."""
        for last in (*[False] * (TRIES - 1), True):
            port = await self._cloud.get(PORTS, gateway)
            self._addresses.put_gateway(port)
            wanted = addresses.paired(port.allowed_address_pairs, add=add, remove=remove)
            if wanted is None:
                return
            change = {"allowed_address_pairs": [_pair_body(each) for each in wanted]}
            try:
                after = await self._cloud.update(PORTS, gateway, change, revision=port.revision_number)
            except errors.RevisionMismatch:
                if last:
                    raise
            else:
                self._addresses.put_gateway(after)
                return

    def _address(self, port: PortId) -> frozenset[str]:
        address = self._addresses.address(port)
        return frozenset() if address is None else frozenset({address})


def _pair_body(pair: AddressPair) -> dict[str, str]:
    """Without a hardware address Neutron enters the port's own."""
    body = {"ip_address": pair.ip_address}
    return body | {"mac_address": pair.mac_address} if pair.mac_address else body
