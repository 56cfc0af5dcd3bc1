"""Which attributes a request may set, and what becomes of each value. Knows no object, so nothing of what is there.

Read-only ones, unknown ones and values of the wrong form are refused as Neutron refuses them.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from mooring.cloud.twin import forms
from mooring.cloud.twin.refusals import Refusal, bad_request

Convert = Callable[[str, Any], Any]


class Attribute(Struct, frozen=True):
    """`admin`: methods with which only an administrator may set it."""

    convert: Convert = forms.anything
    post: bool = True
    put: bool = True
    required: bool = False
    admin: frozenset[str] = frozenset()
    field: str = ""


ADMIN = frozenset({"POST", "PUT"})
FIXED = Attribute(post=False, put=False)
NAME = Attribute(forms.text)
SWITCH = Attribute(forms.boolean)
OWNER = Attribute(forms.text, put=False)

COMMON = {
    "id": FIXED,
    "tenant_id": OWNER,
    "project_id": OWNER,
    "description": NAME,
    "tags": FIXED,
    "revision_number": FIXED,
    "created_at": FIXED,
}
NETWORK = COMMON | {
    "name": NAME,
    "admin_state_up": SWITCH,
    "status": FIXED,
    "subnets": FIXED,
    "mtu": Attribute(forms.integer),
    "shared": Attribute(forms.boolean, admin=ADMIN),
    "router:external": Attribute(forms.boolean, admin=ADMIN, field="external"),
    "port_security_enabled": SWITCH,
}
SUBNET = COMMON | {
    "name": NAME,
    "network_id": Attribute(forms.uuid, put=False, required=True),
    "ip_version": Attribute(forms.one_of(4, 6), put=False, required=True),
    "cidr": Attribute(forms.text, put=False, required=True),
    "gateway_ip": Attribute(forms.optional(forms.address)),
    "enable_dhcp": SWITCH,
    "allocation_pools": Attribute(forms.pools, put=False),
    "ipv6_address_mode": Attribute(forms.text, put=False),
    "ipv6_ra_mode": Attribute(forms.text, put=False),
}
PORT = COMMON | {
    "name": NAME,
    "network_id": Attribute(forms.uuid, put=False, required=True),
    "admin_state_up": SWITCH,
    "status": FIXED,
    "mac_address": Attribute(forms.mac, admin=frozenset({"PUT"})),
    "device_owner": NAME,
    "device_id": NAME,
    "fixed_ips": Attribute(forms.fixed_ips),
    "allowed_address_pairs": Attribute(forms.address_pairs),
    "security_groups": Attribute(forms.optional(forms.uuids)),
    "port_security_enabled": SWITCH,
    "binding:host_id": Attribute(forms.text, admin=ADMIN, field="binding_host_id"),
    "binding:vnic_type": Attribute(forms.text, field="binding_vnic_type"),
    "binding:vif_type": FIXED,
    "tags": Attribute(forms.tags, put=False),
}
ROUTER = COMMON | {
    "name": NAME,
    "admin_state_up": SWITCH,
    "status": FIXED,
    "external_gateway_info": Attribute(forms.gateway),
}
FLOATING_IP = COMMON | {
    "floating_network_id": Attribute(forms.uuid, put=False, required=True),
    "floating_ip_address": Attribute(forms.address, put=False, admin=frozenset({"POST"})),
    "subnet_id": Attribute(forms.uuid, put=False),
    "port_id": Attribute(forms.optional(forms.uuid)),
    "fixed_ip_address": Attribute(forms.optional(forms.address)),
    "router_id": FIXED,
    "status": FIXED,
}
SECURITY_GROUP = COMMON | {"name": NAME, "stateful": SWITCH, "security_group_rules": FIXED}
SECURITY_GROUP_RULE = COMMON | {
    "security_group_id": Attribute(forms.uuid, put=False, required=True),
    "direction": Attribute(forms.one_of("ingress", "egress"), put=False, required=True),
    "ethertype": Attribute(forms.one_of("IPv4", "IPv6"), put=False),
    "protocol": Attribute(forms.protocol, put=False),
    "port_range_min": Attribute(forms.optional(forms.integer), put=False),
    "port_range_max": Attribute(forms.optional(forms.integer), put=False),
    "remote_ip_prefix": Attribute(forms.optional(forms.text), put=False),
    "remote_group_id": Attribute(forms.optional(forms.uuid), put=False),
}


def objects(body: bytes, singular: str, plural: str) -> tuple[list[Mapping[str, Any]], bool]:
    """What a request wants to make or change, and whether it came as a list."""
    found = decoded(body)
    if singular in found:
        return [_mapping(found[singular])], False
    if plural not in found:
        raise bad_request(f"Unable to find '{singular}' in request body")
    if not isinstance(found[plural], list):
        raise _malformed()
    if not found[plural]:
        raise bad_request("Resources required")
    return [_mapping(each) for each in found[plural]], True


def decoded(body: bytes) -> Mapping[str, Any]:
    """What stands in a request."""
    try:
        return _mapping(msgspec.json.decode(body) if body else {})
    except msgspec.DecodeError:
        raise _malformed() from None


def _mapping(value: Any) -> Mapping[str, Any]:  # noqa: ANN401 - whatever came
    if not isinstance(value, dict):
        raise _malformed()
    return value


def _malformed() -> Refusal:
    return bad_request("The server could not comply with the request since it is malformed.")


def read(known: Mapping[str, Attribute], given: Mapping[str, Any], *, method: str) -> dict[str, Any]:
    """The fields and values that a request sets."""
    values = {}
    for name, value in given.items():
        attribute = known.get(name)
        if attribute is None:
            raise bad_request(f"Unrecognized attribute(s) '{name}'")
        if method == "POST" and not attribute.post:
            raise bad_request(f"Attribute '{name}' not allowed in POST")
        if method == "PUT" and not attribute.put:
            raise bad_request(f"Cannot update read-only attribute {name}")
        try:
            values[attribute.field or name] = attribute.convert(name, value)
        except (AttributeError, KeyError, TypeError):
            raise forms.wrong(name, f"'{value}' has the wrong form.") from None
    if method == "POST":
        for name, attribute in known.items():
            if attribute.required and name not in given:
                raise bad_request(f"Failed to parse request. Required attribute '{name}' not specified")
    return values
