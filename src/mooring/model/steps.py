"""The closed list of things that may be done about one Service of the gateway back end."""

from msgspec import Struct

from mooring.model.cloud import PortId
from mooring.model.kubernetes import Condition
from mooring.model.reasons import Reason


class Rest(Struct, frozen=True):
    """Nothing is to be done, and why."""

    reason: Reason


class Manage(Struct, frozen=True):
    """Take the Service on: annotation and finalizers, in one write."""


class Annotate(Struct, frozen=True):
    """Give it a port."""

    port: PortId


class MakePort(Struct, frozen=True):
    """Make a port, with a floating IP where they are wanted, because none of ours is free for it."""


class Push(Struct, frozen=True):
    """The gateways have to be told first."""


class Publish(Struct, frozen=True):
    """Tell the world its address."""

    address: str
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


Step = Rest | Manage | Annotate | MakePort | Push | Publish | Clear | Tell | Forget | LetGo
