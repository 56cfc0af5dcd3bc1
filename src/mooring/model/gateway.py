"""What the gateways are told: one document with everything that they serve."""

import enum

from msgspec import Struct


class Key(Struct, frozen=True, order=True, gc=False):
    """What two Services on one address must not share."""

    protocol: str
    port: int


class Backend(Struct, frozen=True, order=True, gc=False):
    """Where packets go in the end."""

    address: str
    port: int


class Forward(Struct, frozen=True, order=True, gc=False):
    """One address, protocol and port, the Service behind it, and its backends in the order of their slots."""

    address: str
    protocol: str
    port: int
    service: str
    backends: tuple[Backend, ...] = ()


class Held(Struct, frozen=True, gc=False):
    """What a gateway holds. A gateway that was never told anything holds epoch 0."""

    epoch: int = 0
    generation: int = 0
    digest: str = ""

    @property
    def age(self) -> tuple[int, int]:
        """What is refused where something newer is held."""
        return self.epoch, self.generation


class Document(Struct, frozen=True, gc=False):
    """The full state, from one leader (epoch), the newest of that leader's (generation).

    The seed chooses backends, the same ones on all gateways. The digest is of all that a gateway does about it.
    """

    epoch: int
    generation: int
    digest: str
    forwards: tuple[Forward, ...]
    seed: int = 0

    @property
    def held(self) -> Held:
        return Held(self.epoch, self.generation, self.digest)


class Heartbeat(Struct, frozen=True, gc=False):
    """A leader is there, and this is the newest document that it has."""

    epoch: int
    generation: int

    @property
    def age(self) -> tuple[int, int]:
        return self.epoch, self.generation


class Vrrp(enum.Enum):
    """What a gateway is to the addresses."""

    UNKNOWN = "unknown"
    MASTER = "master"
    BACKUP = "backup"
    FAULT = "fault"
    STOPPED = "stopped"


class State(Struct, frozen=True, gc=False):
    """What a gateway answers, whatever it was asked: what it holds and how it is.

    `stale`: it has not heard of a leader for too long, or is behind the newest document, and gives way to others.
    `trouble`: why it could not do what it was told last, or why its host is not as the document says; empty, if all is
    well.
    """

    held: Held
    vrrp: Vrrp = Vrrp.UNKNOWN
    stale: bool = False
    version: str = ""
    trouble: str = ""


class Refusal(Struct, frozen=True, gc=False):
    """Why a gateway could not do what it was told; nothing has changed there."""

    reason: str
    message: str
