"""From the names in the configuration to the objects that they mean, at the start and whenever it is read anew.

What is not there, or is there twice, ends the start with a sentence; what cannot be asked for is asked for again.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from structlog.typing import FilteringBoundLogger

from mooring.cloud.api import Cloud
from mooring.cloud.errors import CloudError
from mooring.cloud.kinds import NETWORKS, PORTS, SUBNETS, Kind
from mooring.core import ranges, wishes
from mooring.core.addresses import Place
from mooring.core.choices import Choices
from mooring.core.roster import Member
from mooring.kube.api import Api
from mooring.kube.errors import KubeError
from mooring.kube.kinds import NAMESPACES
from mooring.model.cloud import NetworkId, PortId, Resource, SubnetId
from mooring.model.config import Config
from mooring.model.errors import StartRefused
from mooring.model.kubernetes import Name

T = TypeVar("T", bound=Resource)
Id = TypeVar("Id", bound=str)

PAUSE = 5.0
IPV4, IPV6 = 4, 6


async def place_patiently(
    config: Config, api: Api, cloud: Cloud, log: FilteringBoundLogger, *, lenient: bool = False
) -> Place:
    """The same as `place`, for as long as it takes until the outside answers.

    `lenient`: who starts goes on with those gateways that are there.
    """
    while True:
        try:
            return await place(config, api, cloud, missing=telling(log) if lenient else None)
        except (KubeError, CloudError) as error:
            log.warning("not started yet", why=str(error), again_in=PAUSE)
            await asyncio.sleep(PAUSE)


def telling(log: FilteringBoundLogger) -> Callable[[StartRefused], None]:
    return lambda error: log.error("gateway without its port", why=str(error))


async def place(
    config: Config, api: Api, cloud: Cloud, *, missing: Callable[[StartRefused], None] | None = None
) -> Place:
    """Where addresses come from, and the identity of the cluster: the uid of its oldest namespace.

    `missing` hears of gateways whose port is not there; without it, and where none is there, that is refused.
    """
    wanted = config.addresses
    cluster = await api.get(NAMESPACES, Name("", "kube-system"))
    if wanted.static:
        return _listed(config, cluster.metadata.uid)
    network = await _one(cloud, NETWORKS, wanted.network or "", "addresses.network")
    floating = wanted.floating_network
    ports = await _gateways(config, cloud, NetworkId(network.id), missing)
    return Place(
        cluster.metadata.uid,
        NetworkId(network.id),
        await _subnet(config, cloud, NetworkId(network.id)),
        NetworkId((await _one(cloud, NETWORKS, floating, "addresses.floating_network")).id) if floating else None,
        ports,
        config.cluster.name,
        wanted.sharing,
        config.services,
        await _subnet_ipv6(config, cloud, NetworkId(network.id)),
        config.backends.layer,
        config.backends.probe_port,
        wanted.manage_security_group,
        wanted.pairs_limit,
        wanted.wishes,
        ranges.read_all(wanted.wishes_allowed),
        await _choices(config, cloud, NetworkId(network.id)),
    )


def refuse_another_source(before: Place, config: Config) -> None:
    """A list may change while a controller runs. To go from OpenStack to a list, or back, would take all addresses."""
    if bool(config.addresses.static) is not bool(before.static):
        raise StartRefused(
            "addresses.static: from OpenStack to a list, or back, is a way for a cluster in which no Service has an "
            "address. Delete such Services, or let them opt out, and start the controllers anew"
        )


def _listed(config: Config, cluster: str) -> Place:
    """Nothing is asked for: the addresses are a list, and a gateway is known by where its agent listens."""
    return Place(
        cluster,
        NetworkId(""),
        None,
        gateways=tuple(PortId(gateway.agent) for _, gateway in sorted(config.gateways.items())),
        name=config.cluster.name,
        sharing=config.addresses.sharing,
        services=config.services,
        layer=config.backends.layer,
        wishes=config.addresses.wishes,
        wished=ranges.read_all(config.addresses.wishes_allowed),
        static=ranges.read_all(config.addresses.static),
    )


def gateways(config: Config, found: Place) -> dict[str, Member]:
    """The gateways by their names, from the ports that were found for them."""
    named = sorted(config.gateways.items())
    return {name: Member(each.agent, port) for (name, each), port in zip(named, found.gateways, strict=True)}


async def _gateways(
    config: Config, cloud: Cloud, network: NetworkId, missing: Callable[[StartRefused], None] | None
) -> tuple[PortId, ...]:
    """The ports of the gateways, by their names. One that is not there is known by what it is called."""
    found: list[PortId] = []
    refusals: list[StartRefused] = []
    for name, gateway in sorted(config.gateways.items()):
        called = gateway.port or ""
        try:
            port = await _one(cloud, PORTS, called, f"gateways.{name}.port")
        except StartRefused as error:
            refusals.append(error)
            found.append(PortId(called))
            continue
        if port.network_id != network:
            raise StartRefused(
                f"gateways.{name}.port: port {port.id} is in network {port.network_id}, and addresses.network is "
                f"{network}: a gateway can only hold addresses of the network that its port is in"
            )
        found.append(port.id)
    if refusals and (missing is None or len(refusals) == len(found)):
        raise refusals[0]
    if missing is not None:
        for each in refusals:
            missing(each)
    return tuple(found)


async def _choices(config: Config, cloud: Cloud, network: NetworkId) -> Choices:
    """What owners of Services may choose: what is listed, and what is taken without a choice, by id or as written."""
    wanted = config.addresses
    subnets: dict[str, tuple[str, SubnetId]] = {}
    for key, texts in (
        ("addresses.subnets_allowed", wanted.subnets_allowed),
        ("addresses.subnet", (wanted.subnet,) if wanted.subnet else ()),
        ("addresses.subnet_ipv6", (wanted.subnet_ipv6,) if wanted.subnet_ipv6 else ()),
    ):
        for each in texts:
            found = await _one(cloud, SUBNETS, each, key)
            if found.network_id != network:
                raise StartRefused(f"{key}: {each} is not a subnet of addresses.network")
            family = wishes.IPV6 if found.ip_version == IPV6 else wishes.IPV4
            if family == wishes.IPV6 and not wanted.subnet_ipv6:
                raise StartRefused(f"{key}: {each} is of IPv6; name one in addresses.subnet_ipv6 first")
            subnets[each] = subnets[found.id] = (family, found.id)
    networks: dict[str, NetworkId] = {}
    for each in (*wanted.floating_networks_allowed, *([wanted.floating_network] if wanted.floating_network else ())):
        key = "addresses.floating_networks_allowed"
        floating = await _one(cloud, NETWORKS, each, key)
        networks[each] = networks[floating.id] = floating.id
    return Choices(subnets, networks)


async def _subnet(config: Config, cloud: Cloud, network: NetworkId) -> SubnetId | None:
    """Where there is one of IPv6 only, none of IPv4 is needed."""
    wanted = config.addresses.subnet
    if wanted is not None:
        return await _named_subnet(cloud, network, wanted, "addresses.subnet", IPV4)
    subnets = [each for each in await cloud.list(SUBNETS, network_id=network) if each.ip_version == IPV4]
    if not subnets and config.addresses.subnet_ipv6 is not None:
        return None
    if len(subnets) != 1:
        raise StartRefused(
            f"addresses.network has {len(subnets)} subnets of IPv4: say with addresses.subnet which one to use"
        )
    return subnets[0].id


async def _subnet_ipv6(config: Config, cloud: Cloud, network: NetworkId) -> SubnetId | None:
    wanted = config.addresses.subnet_ipv6
    return None if wanted is None else await _named_subnet(cloud, network, wanted, "addresses.subnet_ipv6", IPV6)


async def _named_subnet(cloud: Cloud, network: NetworkId, wanted: str, key: str, version: int) -> SubnetId:
    found = await _one(cloud, SUBNETS, wanted, key)
    if found.network_id != network:
        raise StartRefused(f"{key}: {wanted} is not a subnet of addresses.network")
    if found.ip_version != version:
        raise StartRefused(f"{key}: {wanted} is a subnet of IPv{found.ip_version}, and has to be one of IPv{version}")
    return found.id


async def _one(cloud: Cloud, kind: Kind[T, Id], called: str, key: str) -> T:
    """The one object of this id or name."""
    found = await cloud.list(kind, id=called) or await cloud.list(kind, name=called)
    if len(found) == 1:
        return found[0]
    if not found:
        raise StartRefused(
            f"{key}: there is no {kind.singular} with the id or name {called!r} that the OpenStack user may see"
        )
    ids = ", ".join(sorted(each.id for each in found))
    raise StartRefused(f"{key}: {len(found)} {kind.plural} are called {called!r} ({ids}): give the id instead")
