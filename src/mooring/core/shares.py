"""What a Service wants of the addresses that it shares with others, and what of it was its own already.

The annotation that tells what it was given is written together with its ports. Who wants more since then comes after
those who have what they were given: who adds something moves, whoever leads and whoever is older. It speaks against
nobody but the Service that bears it, so it does no harm that its owner could write it too.
"""

from msgspec import Struct

from mooring.core import wishes
from mooring.model import names
from mooring.model.gateway import Key
from mooring.model.kubernetes import Service


class Share(Struct, frozen=True):
    """Keys of an address, and the sharing key of those that it may be shared with."""

    keys: tuple[Key, ...]
    company: str

    def __str__(self) -> str:
        return f"{','.join(map(_text, self.keys))} {self.company}".rstrip()


def keys(service: Service) -> tuple[Key, ...]:
    return tuple(sorted({Key(port.protocol, port.port) for port in service.spec.ports}))


def wanted(service: Service) -> Share:
    return Share(keys(service), wishes.key(service))


def given(service: Service) -> Share:
    """Of what it wants, what it was given; all of it, where nothing is told."""
    told, want = service.metadata.annotations.get(names.GIVEN), wanted(service)
    if told is None:
        return want
    had, _, company = told.partition(" ")
    return Share(tuple(key for key in want.keys if _text(key) in had.split(",")), company)


def told(service: Service) -> bool:
    """Whether it says that it was given all that it wants, and nothing else."""
    return service.metadata.annotations.get(names.GIVEN) == str(wanted(service))


def _text(key: Key) -> str:
    return f"{key.port}/{key.protocol}"
