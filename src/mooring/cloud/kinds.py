"""The kinds of objects that we speak about, and where each of them lives in Neutron's API."""

from typing import Generic, TypeVar

from msgspec import Struct

from mooring.model import cloud
from mooring.model.cloud import Resource

T = TypeVar("T", bound=Resource)
Id = TypeVar("Id", bound=str)


class Kind(Struct, Generic[T, Id], frozen=True):
    """A kind of object: its place in the API, the struct that holds it, and the type of its ids."""

    type: type[T]
    singular: str
    plural: str
    collection: str
    taggable: bool = True
    deleted_by_revision: bool = True

    def path(self, *below: str) -> str:
        """The path of the collection, of an object, or of something that belongs to one."""
        return "/".join(("/v2.0", self.collection, *below))


NETWORKS: Kind[cloud.Network, cloud.NetworkId] = Kind(cloud.Network, "network", "networks", "networks")
SUBNETS: Kind[cloud.Subnet, cloud.SubnetId] = Kind(cloud.Subnet, "subnet", "subnets", "subnets")
PORTS: Kind[cloud.Port, cloud.PortId] = Kind(cloud.Port, "port", "ports", "ports")
ROUTERS: Kind[cloud.Router, cloud.RouterId] = Kind(
    cloud.Router, "router", "routers", "routers", deleted_by_revision=False
)
FLOATING_IPS: Kind[cloud.FloatingIp, cloud.FloatingIpId] = Kind(
    cloud.FloatingIp, "floatingip", "floatingips", "floatingips"
)
SECURITY_GROUPS: Kind[cloud.SecurityGroup, cloud.SecurityGroupId] = Kind(
    cloud.SecurityGroup, "security_group", "security_groups", "security-groups"
)
SECURITY_GROUP_RULES: Kind[cloud.SecurityGroupRule, cloud.SecurityGroupRuleId] = Kind(
    cloud.SecurityGroupRule,
    "security_group_rule",
    "security_group_rules",
    "security-group-rules",
    taggable=False,
)
