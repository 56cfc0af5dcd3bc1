"""Neutron's objects, with only the fields that we read or write. Everything else that Neutron sends is skipped.

Names are Neutron's own. A field without a default is one that every answer must have; `binding:*` are shown to
administrators only.
"""

from collections.abc import Mapping
from typing import Any, NewType

from msgspec import Struct, field

ProjectId = NewType("ProjectId", str)
NetworkId = NewType("NetworkId", str)
SubnetId = NewType("SubnetId", str)
PortId = NewType("PortId", str)
RouterId = NewType("RouterId", str)
FloatingIpId = NewType("FloatingIpId", str)
SecurityGroupId = NewType("SecurityGroupId", str)
SecurityGroupRuleId = NewType("SecurityGroupRuleId", str)

Attributes = Mapping[str, Any]
"""Attributes as they stand in a request: what to create, or what to change."""


class Resource(Struct, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """What everything in Neutron has. Every kind has ids of its own type."""

    id: str
    project_id: ProjectId
    revision_number: int
    description: str | None = ""
    tags: tuple[str, ...] = ()
    created_at: str = ""


class FixedIp(Struct, frozen=True, omit_defaults=True, gc=False):
    subnet_id: SubnetId
    ip_address: str


class AddressPair(Struct, frozen=True, omit_defaults=True, gc=False):
    """An address, or a prefix, that a port may use besides its own; kept by Neutron as it was written."""

    ip_address: str
    mac_address: str = ""


class Port(Resource, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    id: PortId
    network_id: NetworkId
    name: str = ""
    device_owner: str = ""
    device_id: str = ""
    mac_address: str = ""
    status: str = ""
    admin_state_up: bool = True
    fixed_ips: tuple[FixedIp, ...] = ()
    allowed_address_pairs: tuple[AddressPair, ...] = ()
    security_groups: tuple[SecurityGroupId, ...] = ()
    port_security_enabled: bool = True
    binding_host_id: str | None = field(default=None, name="binding:host_id")
    binding_vif_type: str | None = field(default=None, name="binding:vif_type")
    binding_vnic_type: str = field(default="normal", name="binding:vnic_type")


class Network(Resource, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    id: NetworkId
    name: str = ""
    status: str = ""
    admin_state_up: bool = True
    mtu: int = 0
    shared: bool = False
    external: bool = field(default=False, name="router:external")
    port_security_enabled: bool = True
    subnets: tuple[SubnetId, ...] = ()


class AddressRange(Struct, frozen=True, omit_defaults=True, gc=False):
    """From the first to the last address, both included."""

    start: str
    end: str


class Subnet(Resource, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    id: SubnetId
    network_id: NetworkId
    ip_version: int
    cidr: str
    name: str = ""
    gateway_ip: str | None = None
    enable_dhcp: bool = True
    allocation_pools: tuple[AddressRange, ...] = ()
    ipv6_address_mode: str | None = None
    ipv6_ra_mode: str | None = None


class Gateway(Struct, frozen=True, omit_defaults=True, gc=False):
    """A router's way out."""

    network_id: NetworkId
    enable_snat: bool = True
    external_fixed_ips: tuple[FixedIp, ...] = ()


class Router(Resource, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    id: RouterId
    name: str = ""
    status: str = ""
    admin_state_up: bool = True
    external_gateway_info: Gateway | None = None


class FloatingIp(Resource, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    id: FloatingIpId
    floating_network_id: NetworkId
    floating_ip_address: str
    port_id: PortId | None = None
    fixed_ip_address: str | None = None
    router_id: RouterId | None = None
    status: str = ""


class SecurityGroupRule(Resource, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """None stands for any."""

    id: SecurityGroupRuleId
    security_group_id: SecurityGroupId
    direction: str
    ethertype: str = "IPv4"
    protocol: str | None = None
    port_range_min: int | None = None
    port_range_max: int | None = None
    remote_ip_prefix: str | None = None
    remote_group_id: SecurityGroupId | None = None


class SecurityGroup(Resource, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    id: SecurityGroupId
    name: str = ""
    stateful: bool = True
    rules: tuple[SecurityGroupRule, ...] = field(default=(), name="security_group_rules")


class Usage(Struct, frozen=True, gc=False):
    """How much of something a project has. A limit of -1 is none."""

    limit: int
    used: int
    reserved: int = 0

    @property
    def free(self) -> int | None:
        """How many more may be made; None is without end."""
        return None if self.limit < 0 else max(self.limit - self.used - self.reserved, 0)


class Quota(Struct, frozen=True, gc=False):
    """What a project may have and has, by kind."""

    network: Usage
    subnet: Usage
    port: Usage
    router: Usage
    floatingip: Usage
    security_group: Usage
    security_group_rule: Usage


class Extension(Struct, frozen=True, gc=False):
    """Something that this Neutron offers beyond the least."""

    alias: str
    name: str = ""
