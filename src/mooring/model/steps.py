"""The closed list of things that may be done about one Service of the gateway back end."""

from msgspec import Struct

from mooring.model.cloud import FloatingIpId, NetworkId, PortId, SubnetId
from mooring.model.kubernetes import Condition
from mooring.model.reasons import Reason


class Rest(Struct, frozen=True):
    """Nothing is to be done, and why."""

    reason: Reason


class Manage(Struct, frozen=True):
    """Take the Service on: annotation and finalizers, in one write."""


class Annotate(Struct, frozen=True):
    """Give it ports: one for each family of addresses."""

    ports: tuple[PortId, ...]


class MakePort(Struct, frozen=True):
    """Make a port, with a floating IP where they are wanted, because none of ours is free for it."""

    family: str
    address: str = ""
    """The one that it asked for."""
    subnet: SubnetId | None = None
    floating_network: NetworkId | None = None
    """Where its owner chose that it comes from."""


class PutBack(Struct, frozen=True):
    """Put the floating IP whose address it shows back on its port, which somebody took off."""

    port: PortId
    floating_ip: FloatingIpId


class Keep(Struct, frozen=True):
    """Let its floating IP stay when nobody needs it any more, for its namespace if there is one."""

    floating_ip: FloatingIpId
    namespace: str = ""


class DoNotKeep(Struct, frozen=True):
    """Its owner no longer wants its floating IP to stay."""

    floating_ip: FloatingIpId


class Push(Struct, frozen=True):
    """The gateways have to be told first."""


class Publish(Struct, frozen=True):
    """Tell the world its addresses."""

    addresses: tuple[str, ...]
    conditions: tuple[Condition, ...] = ()


class Clear(Struct, frozen=True):
    """Take the address back."""

    conditions: tuple[Condition, ...] = ()


class Tell(Struct, frozen=True):
    """Nothing but what its conditions say has changed."""

    conditions: tuple[Condition, ...]


class Forget(Struct, frozen=True):
    """Take its port from it."""


class LetGo(Struct, frozen=True):
    """Remove what is ours from it: annotation and finalizers, in one write."""


Step = Rest | Manage | Annotate | MakePort | PutBack | Keep | DoNotKeep | Push | Publish | Clear | Tell | Forget | LetGo
