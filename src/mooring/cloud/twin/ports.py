"""Ports of the twin: addresses, groups, address pairs, and what policy denies to those who do not own the network."""

from typing import Any

import msgspec

from mooring.cloud.twin import allocation, refusals, security_groups
from mooring.cloud.twin.forms import WishedIp
from mooring.cloud.twin.refusals import Refusal
from mooring.cloud.twin.state import Caller, State
from mooring.model.cloud import AddressPair, Network, Port

INTERFACE = "network:router_interface"
GATEWAY = "network:router_gateway"
FLOATING = "network:floatingip"
SERVICE = frozenset({INTERFACE, GATEWAY, FLOATING})


def create(state: State, caller: Caller, project: str, values: dict[str, Any]) -> Port:
    network = state.networks.get(values.pop("network_id"))
    _check_policy(caller, network, values, rule="create_port")
    _check_groups(state, caller, values)
    return make(state, network, project, **values)


def make(state: State, network: Network, project: str, **values: Any) -> Port:  # noqa: ANN401 - values of any field
    """A new port, without asking whether somebody may."""
    wishes: tuple[WishedIp, ...] | None = values.pop("fixed_ips", None)
    owner = values.get("device_owner", "")
    secure = values.setdefault("port_security_enabled", network.port_security_enabled and not _trusted(owner))
    groups = values.pop("security_groups", None)
    if groups is None:
        groups = (security_groups.ensure_default(state, project),) if secure else ()
    mac = values.pop("mac_address", None) or state.new_mac(network.id)
    values |= {"security_groups": groups, "mac_address": mac}
    values["allowed_address_pairs"] = _pairs(values.get("allowed_address_pairs", ()), mac)
    _check_security(state, secure=secure, groups=groups, pairs=values["allowed_address_pairs"])
    if (network.id, mac) in state.macs:
        text = f"Unable to complete operation for network {network.id}. The mac address {mac} is in use."
        raise Refusal(409, "MacAddressInUse", text)
    values = _bound({"status": "DOWN", "binding_host_id": "", "binding_vif_type": "unbound"} | values)
    if wishes is None:
        taken = allocation.take_usual(state, network, mac)
    else:
        taken = allocation.take_wished(state, network, wishes, router=owner == INTERFACE)
    state.macs.add((network.id, mac))
    revision = 2 if values.get("tags") else 1
    port: Port = state.new(Port, project, network_id=network.id, fixed_ips=taken, revision_number=revision, **values)
    return state.ports.put(port)


def update(state: State, caller: Caller, port: Port, changes: dict[str, Any]) -> Port:
    network = state.networks.get(port.network_id)
    _check_policy(caller, network, changes, rule="update_port")
    _check_groups(state, caller, changes)
    pairs_given = "allowed_address_pairs" in changes
    if pairs_given:
        changes["allowed_address_pairs"] = _pairs(changes["allowed_address_pairs"], port.mac_address)
    if changes.get("security_groups", ()) is None:
        changes["security_groups"] = (security_groups.ensure_default(state, port.project_id),)
    secure = changes.get("port_security_enabled", port.port_security_enabled)
    groups = changes.get("security_groups", port.security_groups)
    if groups and not secure and "security_groups" not in changes:
        text = "Port has security group associated. Cannot disable port security or IP address until it is removed."
        raise Refusal(409, "PortSecurityPortHasSecurityGroup", text)
    pairs = changes.get("allowed_address_pairs", port.allowed_address_pairs)
    _check_security(state, secure=secure, groups=groups, pairs=pairs)
    if "fixed_ips" in changes:
        changes["fixed_ips"] = _moved(state, network, port, changes["fixed_ips"])
    if "mac_address" in changes:
        state.macs.discard((network.id, port.mac_address))
        state.macs.add((network.id, changes["mac_address"]))
    changed = {name: value for name, value in _bound(changes).items() if getattr(port, name) != value}
    # pairs are written anew whatever they were, and that counts
    return state.ports.change(port, **changed) if changed or pairs_given else port


def check(_: State, caller: Caller, port: Port) -> None:
    """Ports that serve something else, or that somebody's server is plugged into, are not deleted like others."""
    if port.device_owner in SERVICE:
        told = f"Port {port.id} cannot be deleted directly via the port API"
        raise Refusal(409, "ServicePortInUse", f"{told}: has device owner {port.device_owner}.")
    if port.device_owner.startswith("compute:") and port.binding_host_id and not caller.admin:
        raise refusals.forbidden("delete_port")


def delete(state: State, port: Port) -> None:
    """A port goes, whatever it is for; its floating IPs stay without one."""
    for floating in list(state.floating_ips.in_order()):
        if floating.port_id == port.id:
            state.floating_ips.change(floating, port_id=None, fixed_ip_address=None, router_id=None, status="DOWN")
    allocation.release(state, port.fixed_ips)
    state.macs.discard((port.network_id, port.mac_address))
    state.ports.remove(port)


def _trusted(owner: str) -> bool:
    return owner.startswith("network:")


def _check_policy(caller: Caller, network: Network, values: dict[str, Any], *, rule: str) -> None:
    if caller.admin or network.project_id == caller.project:
        return
    if rule == "create_port" and not network.shared:
        raise refusals.forbidden(rule)
    denied = {
        "device_owner": _trusted(values.get("device_owner", "")),
        "fixed_ips:ip_address": any(wish.ip_address for wish in values.get("fixed_ips") or ()),
        "mac_address": "mac_address" in values,
        "allowed_address_pairs": "allowed_address_pairs" in values,
        "port_security_enabled": "port_security_enabled" in values,
    }
    for attribute, is_denied in denied.items():
        if is_denied:
            raise refusals.forbidden(rule, attribute)


def _check_security(state: State, *, secure: bool, groups: tuple[str, ...], pairs: tuple[AddressPair, ...]) -> None:
    if len(pairs) > state.most_address_pairs:
        text = f"The number of allowed address pair exceeds the maximum {state.most_address_pairs}."
        raise Refusal(400, "AllowedAddressPairExhausted", text)
    if pairs and not secure:
        text = "Port Security must be enabled in order to have allowed address pairs on a port."
        raise Refusal(409, "AddressPairAndPortSecurityRequired", text)
    if groups and not secure:
        text = "Port security must be enabled and port must have an IP address in order to use security groups."
        raise Refusal(400, "PortSecurityAndIPRequiredForSecurityGroups", text)


def _check_groups(state: State, caller: Caller, values: dict[str, Any]) -> None:
    for which in values.get("security_groups") or ():
        group = state.groups.get(which)
        if not state.visible(caller, group):
            raise state.groups.not_found(which)
    if len({state.groups.get(which).stateful for which in values.get("security_groups") or ()}) > 1:
        told = "Cannot apply both stateful and stateless security groups on the same port at the same time"
        raise Refusal(409, "SecurityGroupConflict", f"Error {told} while attempting the operation.")


def _pairs(pairs: tuple[AddressPair, ...], mac: str) -> tuple[AddressPair, ...]:
    full = [pair if pair.mac_address else msgspec.structs.replace(pair, mac_address=mac) for pair in pairs]
    return tuple(sorted(full, key=lambda pair: (pair.mac_address, pair.ip_address)))


def _bound(values: dict[str, Any]) -> dict[str, Any]:
    if "binding_host_id" in values:
        values["binding_vif_type"] = "ovs" if values["binding_host_id"] else "unbound"
    return values


def _moved(state: State, network: Network, port: Port, wishes: tuple[WishedIp, ...]) -> tuple[Any, ...]:
    """A port's new addresses. What it keeps it keeps, in the order that it had."""
    kept = {each.ip_address: each for each in port.fixed_ips}
    if {wish.ip_address for wish in wishes} == set(kept):
        return port.fixed_ips
    allocation.release(state, port.fixed_ips)
    try:
        return allocation.take_wished(state, network, wishes, router=port.device_owner == INTERFACE)
    except Refusal:
        allocation.retake(state, port.fixed_ips)
        raise
