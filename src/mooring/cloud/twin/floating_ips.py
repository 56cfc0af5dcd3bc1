"""Floating IPs of the twin: an address of an outside network, and the port behind it if there is one.

As with OVN, a floating IP is answered with the status that it had before, and gets its new one a moment later: that is
one revision more.
"""

from typing import Any

import msgspec

from mooring.cloud.twin import ports, refusals
from mooring.cloud.twin.forms import WishedIp
from mooring.cloud.twin.ports import FLOATING, INTERFACE
from mooring.cloud.twin.refusals import Refusal
from mooring.cloud.twin.routers import NOBODY
from mooring.cloud.twin.state import Caller, State
from mooring.model.cloud import FloatingIp, Network, Port


def create(state: State, caller: Caller, project: str, values: dict[str, Any]) -> FloatingIp:
    network = state.networks.get(values["floating_network_id"])
    if not state.visible(caller, network):
        raise state.networks.not_found(network.id)
    if not network.external:
        raise refusals.bad("floatingip", f"Network {network.id} is not a valid external network.")
    behind = _behind(state, caller, network.id, values)
    outside = _outside_port(state, network, values)
    address = next((fixed.ip_address for fixed in outside.fixed_ips if "." in fixed.ip_address), None)
    if address is None:
        ports.delete(state, outside)
        raise refusals.bad("floatingip", f"Network {network.id} does not contain any IPv4 subnet.")
    values |= {"floating_ip_address": address, "status": "DOWN", **behind}
    values.pop("subnet_id", None)
    floating: FloatingIp = state.new(FloatingIp, project, revision_number=0, **values)
    try:
        _check_free(state, floating)
    except Refusal:
        ports.delete(state, outside)
        raise
    state.ports.change(outside, device_id=floating.id)
    return _settled(state, state.floating_ips.put(floating))


def update(state: State, caller: Caller, floating: FloatingIp, changes: dict[str, Any]) -> FloatingIp:
    """No port and no other change means that the port is taken away: Neutron's oldest habit."""
    empty = not changes
    if empty or "port_id" in changes or "fixed_ip_address" in changes:
        changes |= _behind(state, caller, floating.floating_network_id, changes)
    _check_free(state, msgspec.structs.replace(floating, **changes))
    same = all(getattr(floating, name) == value for name, value in changes.items())
    if same and "description" not in changes and (empty or changes["port_id"] is not None):
        return floating
    return _settled(state, state.floating_ips.change(floating, **changes))


def delete(state: State, floating: FloatingIp) -> None:
    for port in list(state.ports.in_order()):
        if port.device_id == floating.id and port.device_owner == FLOATING:
            ports.delete(state, port)
    state.floating_ips.remove(floating)


def _settled(state: State, answered: FloatingIp) -> FloatingIp:
    """Store the status that follows, and give what is answered before it does."""
    status = "ACTIVE" if answered.port_id else "DOWN"
    if answered.status != status:
        state.floating_ips.change(answered, status=status)
    return answered


def _outside_port(state: State, network: Network, values: dict[str, Any]) -> Port:
    wish = None
    if "floating_ip_address" in values:
        wish = (WishedIp(ip_address=values["floating_ip_address"]),)
    elif "subnet_id" in values:
        wish = (WishedIp(values["subnet_id"]),)
    more = {} if wish is None else {"fixed_ips": wish}
    return ports.make(state, network, NOBODY, device_owner=FLOATING, status="N/A", **more)


def _behind(state: State, caller: Caller, network: str, values: dict[str, Any]) -> dict[str, Any]:
    """The port, address and router that a floating IP leads to."""
    port_id, address = values.get("port_id"), values.get("fixed_ip_address")
    if port_id is None:
        if address is not None:
            raise refusals.bad("floatingip", "fixed_ip_address cannot be specified without a port_id.")
        return {"port_id": None, "fixed_ip_address": None, "router_id": None}
    port = state.ports.get(port_id)
    if not state.visible(caller, port):
        raise state.ports.not_found(port_id)
    address = _address(port, address)
    subnet = next(fixed.subnet_id for fixed in port.fixed_ips if fixed.ip_address == address)
    return {"port_id": port_id, "fixed_ip_address": address, "router_id": _router(state, network, port, subnet)}


def _address(port: Port, wished: str | None) -> str:
    mine = [fixed.ip_address for fixed in port.fixed_ips]
    if wished is not None:
        if wished not in mine:
            raise refusals.bad("floatingip", f"Port {port.id} does not have fixed ip {wished}.")
        if ":" in wished:
            text = f"Cannot process floating IP association with {wished}, since that is not an IPv4 address."
            raise refusals.bad("floatingip", text)
        return wished
    v4 = [address for address in mine if "." in address]
    if not v4:
        text = f"Cannot add floating IP to port {port.id} that has no fixed IPv4 addresses."
        raise refusals.bad("floatingip", text)
    if len(v4) > 1:
        told = f"Port {port.id} has multiple fixed IPv4 addresses."
        raise refusals.bad("floatingip", f"{told}  Must provide a specific IPv4 address when assigning a floating IP.")
    return v4[0]


def _router(state: State, network: str, port: Port, subnet: str) -> str:
    """The router between a port's subnet and an outside network."""
    for each in state.ports.in_order():
        if each.device_owner == INTERFACE and any(fixed.subnet_id == subnet for fixed in each.fixed_ips):
            router = state.routers.get(each.device_id)
            gateway = router.external_gateway_info
            if gateway is not None and gateway.network_id == network:
                return router.id
    text = (
        f"External network {network} is not reachable from subnet {subnet}.  Therefore, cannot associate Port "
        f"{port.id} with a Floating IP."
    )
    raise Refusal(404, "ExternalGatewayForFloatingIPNotFound", text)


def _check_free(state: State, floating: FloatingIp) -> None:
    """One floating IP of a network per address inside."""
    if floating.port_id is None:
        return
    behind = (floating.port_id, floating.fixed_ip_address, floating.floating_network_id)
    for other in state.floating_ips.rows.values():
        taken = (other.port_id, other.fixed_ip_address, other.floating_network_id)
        if taken == behind and other.id != floating.id:
            text = (
                f"Cannot associate floating IP {floating.floating_ip_address} ({floating.id}) with port "
                f"{floating.port_id} using fixed IP {floating.fixed_ip_address}, as that fixed IP already has a "
                f"floating IP on external network {floating.floating_network_id}."
            )
            raise Refusal(409, "FloatingIPPortAlreadyAssociated", text)
