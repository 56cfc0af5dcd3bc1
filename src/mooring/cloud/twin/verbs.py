"""Which functions serve which kind of objects: the twin's table of contents."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from mooring.cloud.twin import attributes, floating_ips, networks, ports, routers, security_groups
from mooring.cloud.twin.attributes import Attribute
from mooring.cloud.twin.state import Caller, State
from mooring.cloud.twin.tables import Table


class Verbs(Struct, frozen=True):
    """What can be done with one kind of objects. `check` refuses a delete because of what else is there."""

    table: Table[Any]
    known: Mapping[str, Attribute]
    create: Callable[[State, Caller, str, dict[str, Any]], Any]
    update: Callable[[State, Caller, Any, dict[str, Any]], Any] | None
    check: Callable[[State, Caller, Any], None] | None
    delete: Callable[[State, Any], None]
    bulk: bool = True


def all_verbs(state: State) -> tuple[Verbs, ...]:
    return (
        Verbs(
            table=state.networks,
            known=attributes.NETWORK,
            create=networks.create_network,
            update=networks.update_network,
            check=networks.check_network,
            delete=networks.delete_network,
        ),
        Verbs(
            table=state.subnets,
            known=attributes.SUBNET,
            create=networks.create_subnet,
            update=networks.update_subnet,
            check=networks.check_subnet,
            delete=networks.delete_subnet,
        ),
        Verbs(
            table=state.ports,
            known=attributes.PORT,
            create=ports.create,
            update=ports.update,
            check=ports.check,
            delete=ports.delete,
        ),
        Verbs(
            table=state.routers,
            known=attributes.ROUTER,
            create=routers.create,
            update=routers.update,
            check=routers.check,
            delete=routers.delete,
            bulk=False,
        ),
        Verbs(
            table=state.floating_ips,
            known=attributes.FLOATING_IP,
            create=floating_ips.create,
            update=floating_ips.update,
            check=None,
            delete=floating_ips.delete,
            bulk=False,
        ),
        Verbs(
            table=state.groups,
            known=attributes.SECURITY_GROUP,
            create=security_groups.create,
            update=security_groups.update,
            check=security_groups.check,
            delete=security_groups.delete,
        ),
        Verbs(
            table=state.rules,
            known=attributes.SECURITY_GROUP_RULE,
            create=security_groups.create_rule,
            update=None,
            check=None,
            delete=security_groups.delete_rule,
        ),
    )
