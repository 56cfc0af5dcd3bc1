"""The OpenStack objects that every lab begins with: an outside network, a router, two networks, groups, ports.

They belong to the project `mooring`, whose member `mooring` is an ordinary user; only what needs an administrator
(the outside network, binding a port to a host) is done by one.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from mooring.lab import spec as addresses
from mooring.lab.lab import Lab
from mooring.lab.spec import Spec


class NeutronPort(msgspec.Struct, frozen=True):
    """What one needs to know of a Neutron port to plug it."""

    id: str
    mac: str
    mtu: int
    addresses: tuple[str, ...]
    gateways: tuple[str, ...]

    @property
    def tap(self) -> str:
        """The name of its far end on the compute host."""
        return f"tap{self.id[:11]}"


class Topology(msgspec.Struct, frozen=True):
    """Ids of the lab's objects, by the names that people see."""

    project: str
    networks: dict[str, str]
    subnets: dict[str, str]
    router: str
    router_outside: list[str]
    groups: dict[str, str]
    ports: dict[str, NeutronPort]


def load(lab: Lab) -> Topology:
    """What was made when this lab, or the golden copy that it began with, was made."""
    return msgspec.json.decode(lab.place.topology.read_bytes(), type=Topology)


def connect(lab: Lab, cloud: str = "admin", **auth: str) -> Any:  # noqa: ANN401 - openstacksdk has no types
    """A client of the lab's OpenStack: one of the users in clouds.yaml, or somebody else by `auth`."""
    import openstack  # noqa: PLC0415 - takes longer than all the rest of `mooring lab`, and few commands need it

    config = openstack.config.OpenStackConfig(config_files=[str(lab.place.clouds)])
    return openstack.connection.Connection(config=config.get_one(cloud=cloud, auth=auth), app_name="mooring-lab")


def ensure(lab: Lab) -> None:
    """Make the objects, unless the golden copy brought them."""
    if not lab.place.topology.exists():
        lab.place.topology.write_bytes(msgspec.json.encode(_make(connect(lab), lab.spec)))


def _make(cloud: Any, spec: Spec) -> Topology:  # noqa: ANN401 - openstacksdk has no types
    network = cloud.network
    project = cloud.identity.find_project("mooring", ignore_missing=False).id
    outside = _outside_network(network)
    router = network.create_router(name="r1", project_id=project, external_gateway_info={"network_id": outside.id})
    networks, subnets = {"public": outside}, {subnet.name: subnet for subnet in network.subnets(network_id=outside.id)}
    for name, v4, v6 in (("lb", addresses.LB_V4, addresses.LB_V6), ("nodes", addresses.NODES_V4, addresses.NODES_V6)):
        networks[name] = network.create_network(name=name, project_id=project)
        for version, cidr in ((4, v4), (6, v6)):
            # named: Neutron's own choice in IPv6 is an address that every forwarding Linux host takes for its own
            subnet = network.create_subnet(
                network_id=networks[name].id,
                project_id=project,
                name=f"{name}{version}",
                ip_version=version,
                cidr=cidr,
                gateway_ip=addresses.first_host(cidr),
                enable_dhcp=False,
            )
            network.add_interface_to_router(router, subnet_id=subnet.id)
            subnets[subnet.name] = subnet
    groups = {"gateways": _gateways_group(network, project), "nodes": _nodes_group(network, project)}
    ports = {}
    for gateway in spec.gateway_names:
        ports[gateway] = _port(
            network, networks["lb"], groups["gateways"], name=gateway, chassis=spec.chassis_of(gateway), project=project
        )
    for node in spec.node_names:
        ports[node] = _port(network, networks["nodes"], groups["nodes"], name=node, chassis=node, project=project)
    by_id = {subnet.id: subnet for subnet in subnets.values()}
    router = network.get_router(router.id)
    return Topology(
        project=project,
        networks={name: each.id for name, each in networks.items()},
        subnets={name: each.id for name, each in subnets.items()},
        router=router.id,
        router_outside=[fixed["ip_address"] for fixed in router.external_gateway_info["external_fixed_ips"]],
        groups={name: each.id for name, each in groups.items()},
        ports={name: _described(port, networks, by_id) for name, port in ports.items()},
    )


def _outside_network(network: Any) -> Any:  # noqa: ANN401 - openstacksdk has no types
    outside = network.create_network(
        name="public", is_router_external=True, provider_network_type="flat", provider_physical_network="physnet1"
    )
    pool = [{"start": "203.0.113.100", "end": "203.0.113.199"}]
    common = {"network_id": outside.id, "enable_dhcp": False}
    network.create_subnet(
        name="public4",
        ip_version=4,
        cidr=addresses.PUBLIC_V4,
        gateway_ip=addresses.CLIENT_V4,
        allocation_pools=pool,
        **common,
    )
    network.create_subnet(
        name="public6", ip_version=6, cidr=addresses.PUBLIC_V6, gateway_ip=addresses.CLIENT_V6, **common
    )
    return outside


def _gateways_group(network: Any, project: str) -> Any:  # noqa: ANN401 - openstacksdk has no types
    """Stateless: OVN would else keep TCP windows of connections that moved, and break them when they come back."""
    group = network.create_security_group(name="gateways", project_id=project, stateful=False)
    for family, icmp in (("IPv4", "icmp"), ("IPv6", "ipv6-icmp")):
        for protocol in ("tcp", "udp", icmp, "112"):  # 112: VRRP
            _allow(network, group, ethertype=family, protocol=protocol)
    return group


def _nodes_group(network: Any, project: str) -> Any:  # noqa: ANN401 - openstacksdk has no types
    group = network.create_security_group(name="nodes", project_id=project)
    for family in ("IPv4", "IPv6"):
        _allow(network, group, ethertype=family)
    return group


def _allow(network: Any, group: Any, **rule: str) -> None:  # noqa: ANN401 - openstacksdk has no types
    network.create_security_group_rule(
        security_group_id=group.id, project_id=group.project_id, direction="ingress", **rule
    )


def _port(  # noqa: PLR0913 - one for each of its properties
    network: Any,  # noqa: ANN401 - openstacksdk has no types
    net: Any,  # noqa: ANN401 - the same
    group: Any,  # noqa: ANN401 - the same
    *,
    name: str,
    chassis: str,
    project: str,
) -> Any:  # noqa: ANN401 - the same
    return network.create_port(
        network_id=net.id,
        project_id=project,
        name=name,
        binding_host_id=chassis,
        device_owner="compute:nova",
        security_groups=[group.id],
    )


def _described(port: Any, networks: Mapping[str, Any], subnets: Mapping[str, Any]) -> NeutronPort:  # noqa: ANN401 - as above
    fixed = sorted(
        ((each["ip_address"], subnets[each["subnet_id"]]) for each in port.fixed_ips),
        key=lambda pair: pair[1].ip_version,
    )
    net = next(each for each in networks.values() if each.id == port.network_id)
    return NeutronPort(
        id=port.id,
        mac=port.mac_address,
        mtu=net.mtu,
        addresses=tuple(f"{address}/{subnet.cidr.partition('/')[2]}" for address, subnet in fixed),
        gateways=tuple(subnet.gateway_ip for _, subnet in fixed),
    )
