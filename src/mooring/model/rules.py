"""What the kernel's packet filter is told beside the text of its rules: elements of maps and sets."""

from typing import NamedTuple

from msgspec import Struct


class Element(NamedTuple):
    """One element. `value`: data in bytes, or the name of a chain to go to; a set has none. `end`: of a range."""

    family: str
    set: str
    key: bytes
    value: bytes | str = b""
    end: bytes = b""


class Recalled(NamedTuple):
    """An element that lasts for so many seconds. `there`: one with its key is there already, and goes."""

    element: Element
    seconds: int
    there: bool = False


class Transaction(Struct, frozen=True):
    """What leads from one state to another, in one step. `times`: chains that remember clients for so many seconds."""

    removed: tuple[Element, ...] = ()
    added: tuple[Element, ...] = ()
    times: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.removed or self.added)
