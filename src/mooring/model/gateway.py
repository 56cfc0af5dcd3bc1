"""What the gateways are told: one document with everything that they serve, or what differs from one that they hold."""

import enum
from typing import TypeAlias

from msgspec import Struct


class Key(Struct, frozen=True, order=True, gc=False):
    """What two Services on one address must not share."""

    protocol: str
    port: int


class Backend(Struct, frozen=True, order=True, gc=False):
    """Where packets go in the end."""

    address: str
    port: int


Place: TypeAlias = tuple[str, str, int]
"""Address, protocol and port: what can be served once."""


class Forward(Struct, frozen=True, order=True, gc=False, omit_defaults=True):
    """One address, protocol and port, the Service behind it, and its backends in the order of their slots.

    `affinity`: for so many seconds a client comes back to the backend that it had; 0: each connection is for itself.
    `sources`: the networks whose clients are let in; without any, everybody is.
    """

    address: str
    protocol: str
    port: int
    service: str
    backends: tuple[Backend, ...] = ()
    affinity: int = 0
    sources: tuple[str, ...] = ()

    @property
    def place(self) -> Place:
        return self.address, self.protocol, self.port


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


class Delta(Struct, frozen=True, gc=False):
    """What differs from a document that a gateway was told before, however many there were in between."""

    base: Held
    epoch: int
    generation: int
    digest: str
    put: tuple[Forward, ...] = ()
    removed: tuple[Place, ...] = ()

    @property
    def held(self) -> Held:
        return Held(self.epoch, self.generation, self.digest)


class Heartbeat(Struct, frozen=True, gc=False, omit_defaults=True):
    """A leader is there, and this is the newest document that it has. `drained`: this gateway is to give way."""

    epoch: int
    generation: int
    drained: bool = False

    @property
    def age(self) -> tuple[int, int]:
        return self.epoch, self.generation


class Remembered(Struct, frozen=True, gc=False):
    """Clients of one forward that come back to one of its backends, each with how many seconds longer."""

    address: str
    protocol: str
    port: int
    backend: Backend
    clients: tuple[tuple[str, int], ...] = ()

    @property
    def place(self) -> Place:
        return self.address, self.protocol, self.port


class Clients(Struct, frozen=True, gc=False):
    """What one gateway remembers of clients that all others would send to another backend."""

    remembered: tuple[Remembered, ...] = ()


class Probes(Struct, frozen=True, gc=False):
    """Whom a gateway asks all the time whether they answer."""

    targets: tuple[Backend, ...] = ()


class Counted(Struct, frozen=True, gc=False, omit_defaults=True):
    """What a port of a Service was asked for at a gateway, since it has been there.

    Bytes are what clients sent and were sent; None, where they are not counted.
    """

    service: str
    address: str
    protocol: str
    port: int
    connections: int
    received_bytes: int | None = None
    sent_bytes: int | None = None


class Counters(Struct, frozen=True, gc=False):
    """What a gateway has counted."""

    counted: tuple[Counted, ...] = ()


class Vrrp(enum.Enum):
    """What a gateway is to the addresses."""

    UNKNOWN = "unknown"
    MASTER = "master"
    BACKUP = "backup"
    FAULT = "fault"
    STOPPED = "stopped"


class LeftOut(Struct, frozen=True, order=True, gc=False):
    """What a gateway does not serve of what it was told: a forward, or one of its backends. The rest is in force."""

    service: str
    address: str
    protocol: str
    port: int
    reason: str
    message: str
    advice: str = ""
    backend: str = ""


class State(Struct, frozen=True, gc=False):
    """What a gateway answers, whatever it was asked: what it holds and how it is.

    `held` is what is in force; its digest is that of the document minus what is `left_out`, `told` that of the whole.
    `stale`: it has not heard of a leader for too long, or is behind the newest document, and gives way to others.
    `drained`: it gives way because a leader told it to. `connections`: those that its kernel follows, if all is said.
    `certificate_ends`: when that of its agent does, in seconds since 1970; 0, if it does not say.
    `trouble`: why it could not do what it was told last, or why its host is not as the document says; empty, if all is
    well. `schemas`: the versions of the documents that it understands. `snat`: whom backends see, as it is configured;
    empty, where it does not say so. `remembers`: another number whenever there are clients that other gateways have to
    know of; 0: there are none. `probes`: a name of those that it asks whether they answer; `silent` are those that do
    not.
    """

    held: Held
    vrrp: Vrrp = Vrrp.UNKNOWN
    stale: bool = False
    version: str = ""
    trouble: str = ""
    told: str = ""
    left_out: tuple[LeftOut, ...] = ()
    schemas: tuple[int, ...] = (1,)
    snat: str = ""
    remembers: int = 0
    drained: bool = False
    connections: int = 0
    certificate_ends: int = 0
    probes: str = ""
    silent: tuple[Backend, ...] = ()


class Refusal(Struct, frozen=True, gc=False):
    """Why a gateway could not do what it was told; nothing has changed there."""

    reason: str
    message: str
