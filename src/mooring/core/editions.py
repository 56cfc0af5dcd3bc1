"""What the gateways are told, edition after edition.

An edition is made of the one before it and of what has changed, and costs as much as that: of ten thousand Services,
one has. What takes a look at all of them is made when somebody needs it.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TypeAlias

import msgspec

from mooring.core import gateway_document
from mooring.core.roster import Acknowledged, Places
from mooring.model.gateway import Document, Forward, Held, Place

Forwards: TypeAlias = tuple[Forward, ...]


class Edition:
    """What all gateways are to serve, by Service. Never changes."""

    def __init__(
        self,
        held: Held,
        wanted: Mapping[str, Forwards],
        seed: int,
        *,
        before: str = "",
        changes: Mapping[Place, Forward | None] | None = None,
    ) -> None:
        self.held = held
        self.wanted = wanted
        self.seed = seed
        self.before = before
        """The digest of the edition that it was made of; empty, if there was none."""
        self.changes = changes or {}
        """Where it differs from that one, and what is to be served there now."""

    def next(self, wanted: Mapping[str, Forwards], *, epoch: int) -> "Edition":
        """With what some Services want now, in the place of what they wanted before; `()` is for who wants nothing."""
        changed = {name: each for name, each in wanted.items() if each != self.wanted.get(name, ())}
        had = {each.place: each for name in changed for each in self.wanted.get(name, ())}
        have = {each.place: each for forwards in changed.values() for each in forwards}
        come = {place: each for place, each in have.items() if had.get(place) != each}
        gone = {place: each for place, each in had.items() if have.get(place) != each}
        digest = gateway_document.digest_after(self.held.digest, gone.values(), come.values())
        after = {**self.wanted, **changed}
        for name, each in changed.items():
            if not each:
                del after[name]
        held = Held(epoch, self.held.generation + 1, digest)
        return Edition(held, after, self.seed, before=self.held.digest, changes={**dict.fromkeys(gone), **come})

    @property
    def forwards(self) -> Iterator[Forward]:
        return itertools.chain.from_iterable(self.wanted.values())

    @cached_property
    def addresses(self) -> frozenset[str]:
        """All that are served."""
        return frozenset(each.address for each in self.forwards)

    @cached_property
    def acknowledged(self) -> Acknowledged:
        """What a gateway that holds it serves, by Service."""
        return _Serving(self.wanted)

    @cached_property
    def body(self) -> bytes:
        """As a gateway is told it that knows nothing."""
        return msgspec.json.encode(self.document)

    @property
    def document(self) -> Document:
        return Document(
            self.held.epoch, self.held.generation, self.held.digest, tuple(sorted(self.forwards)), self.seed
        )

    def understood(self, schemas: Iterable[int]) -> "Edition":
        """What of it can be told to a gateway that knows these versions of documents."""
        newest = max(schemas, default=gateway_document.SCHEMAS[0])
        if newest >= gateway_document.SCHEMAS[-1]:
            return self
        kept = [each for each in self.forwards if gateway_document.needs(each) <= newest]
        digest = gateway_document.digest(kept, self.seed)
        if digest == self.held.digest:
            return self
        return Edition(Held(self.held.epoch, self.held.generation, digest), by_service(kept), self.seed)


def none(seed: int) -> Edition:
    """Nothing is to be served, and nobody was told so."""
    return Edition(Held(digest=gateway_document.digest((), seed)), {}, seed)


def of(document: Document) -> Edition:
    return Edition(document.held, by_service(document.forwards), document.seed)


def by_service(forwards: Iterable[Forward]) -> dict[str, Forwards]:
    found: dict[str, list[Forward]] = {}
    for each in forwards:
        found.setdefault(each.service, []).append(each)
    return {service: tuple(each) for service, each in found.items()}


class _Serving(Mapping[str, Places]):
    """The places of each Service. Of ten thousand Services, one is asked for."""

    def __init__(self, wanted: Mapping[str, Forwards]) -> None:
        self._wanted = wanted

    def __getitem__(self, service: str) -> Places:
        return frozenset(each.place for each in self._wanted[service])

    def __iter__(self) -> Iterator[str]:
        return iter(self._wanted)

    def __len__(self) -> int:
        return len(self._wanted)
