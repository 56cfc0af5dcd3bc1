"""What the gateways are told: one document with everything that they serve."""

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


class Document(Struct, frozen=True, gc=False):
    """The full state, from one leader (epoch), the newest of that leader's (generation). The digest is of forwards."""

    epoch: int
    generation: int
    digest: str
    forwards: tuple[Forward, ...]

    @property
    def held(self) -> Held:
        return Held(self.epoch, self.generation, self.digest)
