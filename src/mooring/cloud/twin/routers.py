"""Routers of the twin: their way out and the subnets that they connect, both of them ports."""

from collections.abc import Mapping
from typing import Any

import msgspec

from mooring.cloud.twin import ports, refusals
from mooring.cloud.twin.forms import WishedGateway, WishedIp
from mooring.cloud.twin.ports import GATEWAY, INTERFACE
from mooring.cloud.twin.refusals import Refusal
from mooring.cloud.twin.state import Caller, State
from mooring.model.cloud import Gateway, Port, Router, Subnet

NOBODY = ""


def create(state: State, caller: Caller, project: str, values: dict[str, Any]) -> Router:
    wish: WishedGateway | None = values.pop("external_gateway_info", None)
    if wish is not None:
        _check_gateway(state, caller, wish, rule="create_router")
    router: Router = state.new(Router, project, status="ACTIVE", revision_number=1, **values)
    if wish is None:
        return state.routers.put(router)
    return state.routers.change(router, external_gateway_info=_open_gateway(state, router, wish))


def update(state: State, caller: Caller, router: Router, changes: dict[str, Any]) -> Router:
    if "external_gateway_info" in changes:
        wish: WishedGateway | None = changes["external_gateway_info"]
        if wish is not None:
            _check_gateway(state, caller, wish, rule="update_router")
        changes["external_gateway_info"] = _new_gateway(state, router, wish)
    return state.routers.change(router, **changes)


def check(state: State, _: Caller, router: Router) -> None:
    attached = [port.id for port in interfaces(state, router)]
    if attached:
        text = f"Router {router.id} has ports still attached: {', '.join(attached)}"
        raise Refusal(409, "RouterInUse", text)


def delete(state: State, router: Router) -> None:
    _close_gateway(state, router)
    state.routers.remove(router)


def before_delete(state: State, router: Router) -> Router:
    """What the real one does before it compares revisions: so no router is ever deleted with one, but loses its way."""
    _close_gateway(state, router)
    return state.routers.change(router, external_gateway_info=None)


def interfaces(state: State, router: Router, owner: str = INTERFACE) -> list[Port]:
    return [port for port in state.ports.in_order() if port.device_id == router.id and port.device_owner == owner]


def add_interface(state: State, caller: Caller, router: Router, given: Mapping[str, Any]) -> bytes:
    if "subnet_id" in given and "port_id" in given:
        raise refusals.bad("router", "Cannot specify both subnet-id and port-id.")
    if "port_id" in given:
        port = _port(state, caller, given["port_id"])
        subnet = state.subnets.get(port.fixed_ips[0].subnet_id)
        _check_subnet(state, router, subnet)
        port = state.ports.change(port, device_id=router.id, device_owner=INTERFACE, status="ACTIVE")
    else:
        subnet = _subnet(state, caller, given)
        _check_subnet(state, router, subnet)
        network = state.networks.get(subnet.network_id)
        wish = (WishedIp(subnet.id, subnet.gateway_ip or ""),)
        names = {"device_id": router.id, "device_owner": INTERFACE}
        port = ports.make(state, network, router.project_id, fixed_ips=wish, **names)
    state.routers.change(router)
    return _told(router, port, subnet)


def remove_interface(state: State, caller: Caller, router: Router, given: Mapping[str, Any]) -> bytes:
    port, subnet = _interface(state, caller, router, given)
    if any(
        floating.router_id == router.id and _behind(state, floating.port_id, subnet)
        for floating in state.floating_ips.rows.values()
    ):
        told = f"Router interface for subnet {subnet.id} on router {router.id} cannot be deleted"
        text = f"{told}, as it is required by one or more floating IPs."
        raise Refusal(409, "RouterInterfaceInUseByFloatingIP", text)
    ports.delete(state, port)
    state.routers.change(router)
    return _told(router, port, subnet)


def _told(router: Router, port: Port, subnet: Subnet) -> bytes:
    answer = {"id": router.id, "project_id": router.project_id, "port_id": port.id, "network_id": port.network_id}
    return msgspec.json.encode({**answer, "subnet_id": subnet.id, "subnet_ids": [subnet.id]})


def _port(state: State, caller: Caller, which: str) -> Port:
    port = state.ports.get(which)
    if not state.visible(caller, port):
        raise state.ports.not_found(which)
    return port


def _subnet(state: State, caller: Caller, given: Mapping[str, Any]) -> Subnet:
    if "subnet_id" not in given:
        raise refusals.bad("router", "Either subnet_id or port_id must be specified.")
    subnet = state.subnets.get(given["subnet_id"])
    if not state.visible(caller, subnet):
        raise state.subnets.not_found(subnet.id)
    return subnet


def _check_subnet(state: State, router: Router, subnet: Subnet) -> None:
    """A router connects no two subnets that overlap, and none twice."""
    if subnet.gateway_ip is None:
        raise refusals.bad("router", "Subnet for router interface must have a gateway IP.")
    cidr = state.books[subnet.id].network
    for port in interfaces(state, router):
        for fixed in port.fixed_ips:
            other = state.books[fixed.subnet_id].network
            if other.version == cidr.version and other.overlaps(cidr):
                text = f"Cidr {cidr} of subnet {subnet.id} overlaps with cidr {other} of subnet {fixed.subnet_id}."
                raise refusals.bad("router", text)


def _interface(state: State, caller: Caller, router: Router, given: Mapping[str, Any]) -> tuple[Port, Subnet]:
    if "port_id" in given:
        for port in interfaces(state, router):
            if port.id == given["port_id"]:
                return port, state.subnets.get(port.fixed_ips[0].subnet_id)
        text = f"Router {router.id} does not have an interface with id {given['port_id']}"
        raise Refusal(404, "RouterInterfaceNotFound", text)
    subnet = _subnet(state, caller, given)
    for port in interfaces(state, router):
        if any(fixed.subnet_id == subnet.id for fixed in port.fixed_ips):
            return port, subnet
    text = f"Router {router.id} has no interface on subnet {subnet.id}"
    raise Refusal(404, "RouterInterfaceNotFoundForSubnet", text)


def _behind(state: State, port: str | None, subnet: Subnet) -> bool:
    return port is not None and any(each.subnet_id == subnet.id for each in state.ports.get(port).fixed_ips)


def _check_gateway(state: State, caller: Caller, wish: WishedGateway, *, rule: str) -> None:
    if wish.more and not caller.admin:
        raise refusals.forbidden(rule, f"external_gateway_info:{wish.more[0]}")
    network = state.networks.get(wish.network_id)
    if not state.visible(caller, network):
        raise state.networks.not_found(network.id)
    if not network.external:
        raise refusals.bad("router", f"Network {network.id} is not an external network.")


def _new_gateway(state: State, router: Router, wish: WishedGateway | None) -> Gateway | None:
    now = router.external_gateway_info
    if now is not None and wish is not None and now.network_id == wish.network_id:
        return now
    if now is not None and any(floating.router_id == router.id for floating in state.floating_ips.rows.values()):
        text = (
            f"Gateway cannot be updated for router {router.id}, since a gateway to external network "
            f"{now.network_id} is required by one or more floating IPs."
        )
        raise Refusal(409, "RouterExternalGatewayInUseByFloatingIp", text)
    _close_gateway(state, router)
    return None if wish is None else _open_gateway(state, router, wish)


def _open_gateway(state: State, router: Router, wish: WishedGateway) -> Gateway:
    network = state.networks.get(wish.network_id)
    port = ports.make(state, network, NOBODY, device_id=router.id, device_owner=GATEWAY)
    return Gateway(network.id, external_fixed_ips=port.fixed_ips)


def _close_gateway(state: State, router: Router) -> None:
    for port in interfaces(state, router, owner=GATEWAY):
        ports.delete(state, port)
