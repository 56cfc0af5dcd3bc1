"""Networks and subnets of the twin."""

from typing import Any

from mooring.cloud.twin import addresses, refusals, security_groups
from mooring.cloud.twin.addresses import AddressBook
from mooring.cloud.twin.refusals import Refusal
from mooring.cloud.twin.state import Caller, State
from mooring.model.cloud import Network, Subnet

MTU = 1442
STATELESS = frozenset({"slaac", "dhcpv6-stateless"})


def create_network(state: State, _: Caller, project: str, values: dict[str, Any]) -> Network:
    security_groups.ensure_default(state, project)
    values = {"mtu": MTU, "status": "ACTIVE"} | values
    return state.networks.put(state.new(Network, project, revision_number=1, **values))


def update_network(state: State, _: Caller, network: Network, changes: dict[str, Any]) -> Network:
    return state.networks.change(network, **changes)


def check_network(state: State, _: Caller, network: Network) -> None:
    """Ports stand in the way of their network's end."""
    ports = [port.id for port in state.ports.in_order() if port.network_id == network.id]
    if ports:
        text = (
            f"Unable to complete operation on network {network.id}. There are one or more ports still in use on the "
            f"network, id for these ports is: {','.join(ports)}."
        )
        raise Refusal(409, "NetworkInUse", text)


def delete_network(state: State, network: Network) -> None:
    """Subnets go with their network."""
    for subnet in network.subnets:
        state.subnets.remove(state.subnets.get(subnet))
        del state.books[subnet]
    state.networks.remove(network)


def create_subnet(state: State, caller: Caller, project: str, values: dict[str, Any]) -> Subnet:
    network = state.networks.get(values["network_id"])
    if not caller.admin and network.project_id != caller.project:
        raise refusals.forbidden("create_subnet")
    cidr = addresses.parsed(values["cidr"])
    version = values["ip_version"]
    if cidr.version != version:
        raise refusals.bad_input(f"cidr '{cidr}' does not match the ip_version '{version}'.")
    _check_overlap(state, network, cidr)
    gateway = values["gateway_ip"] if "gateway_ip" in values else addresses.usual_gateway(cidr)
    pools = values.get("allocation_pools") or addresses.usual_pools(cidr, gateway)
    addresses.check_pools(cidr, pools, gateway)
    values |= {"cidr": str(cidr), "gateway_ip": gateway, "allocation_pools": pools}
    subnet = state.subnets.put(state.new(Subnet, project, revision_number=0, **values))
    state.books[subnet.id] = AddressBook(subnet)
    state.networks.change(network, subnets=tuple(sorted((*network.subnets, subnet.id))))
    return subnet


def _check_overlap(state: State, network: Network, cidr: addresses.Network) -> None:
    for subnet in network.subnets:
        other = state.books[subnet].network
        if other.version == cidr.version and other.overlaps(cidr):
            text = f"Requested subnet with cidr: {cidr} for network: {network.id} overlaps with another subnet."
            raise refusals.bad_input(text)


def update_subnet(state: State, _: Caller, subnet: Subnet, changes: dict[str, Any]) -> Subnet:
    if "gateway_ip" in changes:
        addresses.check_pools(state.books[subnet.id].network, subnet.allocation_pools, changes["gateway_ip"])
    state.networks.change(state.networks.get(subnet.network_id))
    return state.subnets.change(subnet, **changes)


def check_subnet(state: State, _: Caller, subnet: Subnet) -> None:
    if state.books[subnet.id].in_use:
        told = f"Unable to complete operation on subnet {subnet.id}"
        raise Refusal(409, "SubnetInUse", f"{told}: One or more ports have an IP allocation from this subnet.")


def delete_subnet(state: State, subnet: Subnet) -> None:
    network = state.networks.get(subnet.network_id)
    state.networks.change(network, subnets=tuple(each for each in network.subnets if each != subnet.id))
    state.subnets.remove(subnet)
    del state.books[subnet.id]
