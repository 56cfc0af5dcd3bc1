"""The calls to Neutron about ports and floating IPs, and what is known after each.

Whenever the outcome of a change is not known, nothing is assumed: `refresh` has to be called before the next decision.
"""

import contextlib
from collections.abc import Callable
from typing import Any

from mooring.cloud import errors
from mooring.cloud.api import Cloud
from mooring.cloud.kinds import FLOATING_IPS, PORTS, Kind
from mooring.controller import marked, troubles
from mooring.controller.troubles import NotToBeHad
from mooring.core import addresses
from mooring.core.addresses import Addresses, Beside, Origin
from mooring.core.cleaning import CleaningStep, Doom, Fate, GiveBack, Label, Pair, Remove, Rescue, Unpair
from mooring.core.wishes import Wish
from mooring.model import names
from mooring.model.cloud import AddressPair, Attributes, FloatingIp, FloatingIpId, NetworkId, Port, PortId

FOUND = (names.FOUND_TAG, names.KEEP_TAG)
NOT_DONE = (errors.Refused, errors.Forbidden, errors.Conflict, errors.NotFound)
"""Neutron says so: nothing has changed."""
TRIES = 5
"""Neutron counts up a port's revision by itself, after binding it: a refused change is no sign of somebody else."""


class NoGatewayPort(errors.BadAnswer):
    """None of the gateways' ports is there."""


class Ports:
    """Owned by one task."""

    def __init__(self, cloud: Cloud, known: Addresses) -> None:
        self._cloud = cloud
        self._place = known.place
        self._addresses = known
        self.known = False
        """Whether what is known is what Neutron has, as far as we can know."""
        self.in_doubt: frozenset[str] = frozenset()
        """Gateways from which a change that was not answered may yet take addresses."""

    async def refresh(self) -> None:
        """The gateways' ports, and everything that bears our mark, from three lists. What an operator lists stays.

        A Neutron that has just begun may answer for a moment as if it had nothing. Who does not know the gateways does
        not know the addresses either, and is not believed.
        """
        if self._place.static:
            self.known = True
            return
        gateways = await self._cloud.list(PORTS, id=self._place.gateways) if self._place.gateways else ()
        if self._place.gateways and not gateways:
            raise NoGatewayPort(f"list ports: none of the gateways' is there ({', '.join(self._place.gateways)})")
        found = await marked.everything(self._cloud, self._place)
        self._addresses.replace(found.ports, found.floating_ips, gateways, found.borrowed)
        self.known = True

    async def count(self) -> None:
        """See how much more may be made. Who may not know that, or gets no answer, tries."""
        project = self._addresses.project
        try:
            self._addresses.quota = await self._cloud.quota(project) if project else None
        except errors.CloudError:
            self._addresses.quota = None

    async def make(self, wish: Wish, beside: Beside) -> None:
        """Bring a new address into being, or complete one that was begun. Our mark is in each call that makes.

        The floating IP comes last: who has one is served by gateways that may use the port's address. What a change
        that was not answered may yet take from a gateway is not given again before.
        """
        if self.in_doubt:
            told = ", ".join(sorted(self.in_doubt))
            raise errors.Unreachable(f"update ports: a change of {told} was not answered and may still come")
        self.known = False
        origin, address = self._place.origin(wish), wish.address
        network = origin.floating_network
        reserved = await self._reserved(address, origin, beside.namespace) if network and address else None
        begun = self._addresses.begun(origin, address, taken=beside.taken)
        port = begun or await self._make_port(origin, "" if network else address)
        for gateway in self._addresses.unpaired(port):
            await self._pair(gateway, add=self._address(port))
        if reserved is not None:
            await self._attach(reserved, port)
        elif network and self._addresses.origin(port).floating_network is None:
            await self._float(network, port, beside.shown)
        self.known = True

    async def put_back(self, port: PortId, floating_ip: FloatingIpId) -> None:
        """Have a port reached where it was reached before. What it is for, gateways may use it still."""
        self.known = False
        await self._move(self._addresses.floating_ips[floating_ip], port)
        self.known = True

    async def keep(self, floating_ip: FloatingIpId, namespace: str = "") -> None:
        """From now on it is given back and not deleted; a Service of the namespace may ask for it again."""
        self.known = False
        if namespace:
            await self._cloud.tag(FLOATING_IPS, floating_ip, f"{names.NAMESPACE_TAG}{namespace}")
        await self._cloud.tag(FLOATING_IPS, floating_ip, names.KEEP_TAG)

    async def do_not_keep(self, floating_ip: FloatingIpId) -> None:
        """From now on it is deleted with its port."""
        self.known = False
        with contextlib.suppress(errors.NotFound):
            await self._cloud.untag(FLOATING_IPS, floating_ip, names.KEEP_TAG)

    async def carry_out(self, step: CleaningStep) -> None:
        self.known = False
        match step:
            case Pair(gateway, wanted):
                await self._pair_what_fits(gateway, wanted)
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
            case GiveBack(what, on):
                await self._give_back(what, on)
            case Remove(what):
                await self._cloud.delete(kind, what.id, revision=what.revision_number)

    async def _give_back(self, what: FloatingIp, on: PortId | None) -> None:
        """It stays in the project, on no port of ours and without our mark. What was moved meanwhile is left alone."""
        with contextlib.suppress(errors.NotFound):  # who removes everything does not tag it first
            await self._cloud.untag(FLOATING_IPS, what.id, names.DELETING_TAG)
        now = await self._cloud.get(FLOATING_IPS, what.id)  # by itself a tag changes the revision
        if now.description == self._place.mark and now.port_id == what.port_id:
            change = {"port_id": on, "description": ""}  # without a port in it, a change takes it off
            await self._cloud.update(FLOATING_IPS, what.id, change, revision=now.revision_number)

    async def _make_port(self, origin: Origin, address: str) -> PortId:
        fixed = {"subnet_id": origin.subnet} | ({"ip_address": address} if address else {})
        wanted = {
            "network_id": self._place.network,
            "fixed_ips": [fixed],
            "name": f"mooring-{self._place.name}",
            "description": self._place.mark,
            "security_groups": [],  # packets meet those of the gateways' own ports
        } | ({"device_owner": names.INTERNAL_OWNER} if self._place.internal(origin) else {})
        try:
            port = await self._cloud.create(PORTS, wanted)
        except (errors.Refused, errors.Conflict) as error:
            if not address or isinstance(error, errors.NoMoreAddresses):
                raise
            raise NotToBeHad(f"{address}. OpenStack said: {error}", error.type) from None
        self._addresses.made(port)
        return port.id

    async def _make_floating_ip(self, network: NetworkId, **wanted: str) -> FloatingIp:
        ours = {"floating_network_id": network, "description": self._place.mark}
        made = await self._cloud.create(FLOATING_IPS, ours | wanted)
        self._addresses.made(made)
        return made

    async def _float(self, network: NetworkId, port: PortId, shown: frozenset[str]) -> None:
        """Have a port reached from outside: at an address that one of ours was reached at before, or at a new one."""
        spare = self._addresses.spare(network, shown)
        if spare is None:
            await self._make_floating_ip(network, port_id=port)
        else:
            await self._move(spare, port)

    async def _move(self, floating_ip: FloatingIp, port: PortId) -> None:
        change = {"port_id": port}
        after = await self._cloud.update(FLOATING_IPS, floating_ip.id, change, revision=floating_ip.revision_number)
        self._addresses.put(after)

    async def _reserved(self, address: str, origin: Origin, namespace: str) -> FloatingIp:
        """The floating IP that a Service asks for, on no port: one that is there already, or a new one.

        It comes before its port: a wish that cannot be granted leaves nothing behind.
        """
        projects = frozenset(each.project_id for each in self._addresses.gateways.values())
        for found in await self._cloud.list(FLOATING_IPS, floating_ip_address=address):
            if problem := addresses.not_to_be_had(found, origin, self._place, projects, namespace):
                raise NotToBeHad(problem)
            return found
        try:
            return await self._make_floating_ip(origin.floating_network or NetworkId(""), floating_ip_address=address)
        except errors.Forbidden as error:
            told = f"it asks for {address}, which this project does not have, and not everybody may choose: {error}"
            raise errors.Forbidden(told, error.type) from None

    async def _attach(self, floating_ip: FloatingIp, port: PortId) -> None:
        """What was there before us is to be kept, which is said first: it is not ours to delete."""
        if floating_ip.description != self._place.mark:
            for tag in FOUND:
                await self._cloud.tag(FLOATING_IPS, floating_ip.id, tag)
            floating_ip = await self._cloud.get(FLOATING_IPS, floating_ip.id)
        change = {"port_id": port, "description": self._place.mark}
        try:
            after = await self._cloud.update(FLOATING_IPS, floating_ip.id, change, revision=floating_ip.revision_number)
        except NOT_DONE:
            for tag in FOUND if floating_ip.description != self._place.mark else ():
                with contextlib.suppress(errors.NotFound):
                    await self._cloud.untag(FLOATING_IPS, floating_ip.id, tag)
            raise
        self._addresses.put(after)

    async def _pair_what_fits(self, gateway: PortId, wanted: tuple[str, ...]) -> None:
        """All of them, or where its list has no room for all, one after the other for as long as there is some."""
        try:
            await self._pair(gateway, add=frozenset(wanted))
        except errors.Refused as error:
            if error.type != troubles.PAIRS_EXHAUSTED or len(wanted) == 1:
                raise
            for each in wanted:
                await self._pair(gateway, add=frozenset({each}))

    async def _pair(
        self, gateway: PortId, *, add: frozenset[str] = frozenset(), remove: frozenset[str] = frozenset()
    ) -> None:
        """Let a gateway use addresses, or no longer."""

        def change(port: Port) -> Attributes | None:
            wanted = addresses.paired(port.allowed_address_pairs, add=add, remove=remove)
            return None if wanted is None else {"allowed_address_pairs": [_pair_body(each) for each in wanted]}

        await self.change_gateway(gateway, change)

    async def change_gateway(self, gateway: PortId, change: Callable[[Port], Attributes | None]) -> None:
        """Change a gateway's port. Its lists are one value each, written only if it is as we know it."""
        known = self._addresses.gateways.get(gateway)
        for last in (*[False] * (TRIES - 1), True):
            port = known or await self._cloud.get(PORTS, gateway)
            self._addresses.put_gateway(port)
            wanted = change(port)
            if wanted is None:
                return
            try:
                after = await self._cloud.update(PORTS, gateway, wanted, revision=port.revision_number)
            except errors.RevisionMismatch:
                known = None
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
