"""How a gateway gets from what is in force to a document: which rules, which addresses, in which order.

addresses  ->  steps
---------      -----
the same       rules of the new document
others         rules of old and new, then the addresses of the new one, then rules of the new document
unknown        the same; an address that may be held and that nobody knows more of serves nothing

So an address is never held without its rules, and whatever is served is served by its old rule or by its new one.
Where both have a rule for the same, the new one stands from the first step on.
"""

from collections.abc import Iterator

import msgspec
from msgspec import Struct

from mooring.core import ruleset
from mooring.model.gateway import Backend, Document, Forward


class Present(Struct, frozen=True):
    """What is in force.

    `forwards`: what the rules are made of, if they are `known`; else everything is loaded anew. `addresses`: those
    that the host may hold; if VRRP is not `settled`, it has still to be told of them, or may not have obeyed.
    """

    forwards: tuple[Forward, ...] = ()
    known: bool = False
    seed: int = 0
    chains: int = 0
    addresses: frozenset[str] = frozenset()
    settled: bool = False


class SetRules(Struct, frozen=True):
    """Carry out a text for nft: one transaction."""

    text: str
    whole: bool
    after: Present


class SetAddresses(Struct, frozen=True):
    """Tell VRRP which addresses there are, and wait until the host has done what follows from that."""

    addresses: frozenset[str]
    after: Present


Step = SetRules | SetAddresses


class Flow(Struct, frozen=True, order=True):
    """What clients sent from an address to one backend; without connections, nothing else ends it."""

    address: str
    protocol: str
    port: int
    backend: Backend


def steps(present: Present, document: Document) -> tuple[Step, ...]:
    """What is to be done, in order. Each step tells what is in force when it is done."""
    wanted = frozenset(each.address for each in document.forwards)
    if present.settled and present.addresses == wanted:
        return tuple(_rules(present, document.forwards, document.seed))
    first = tuple(_rules(present, union(present, document), document.seed))
    between = first[-1].after if first else present
    move = SetAddresses(wanted, msgspec.structs.replace(between, addresses=wanted, settled=True))
    return (*first, move, *_rules(move.after, document.forwards, document.seed))


def union(present: Present, document: Document) -> tuple[Forward, ...]:
    """The new forwards, the old ones that they do not replace, and addresses that serve nothing."""
    both = ruleset.by_key(present.forwards) | ruleset.by_key(document.forwards)
    served = {each.address for each in both.values()}
    return (*both.values(), *(shut(each) for each in sorted(present.addresses - served)))


def shut(address: str) -> Forward:
    """An address that is ours and serves nothing. No Service has port 0."""
    return Forward(address, "TCP", 0, "")


def ended_flows(present: Present, document: Document) -> tuple[Flow, ...]:
    """What would go on to backends that are gone. Connections end by themselves, flows of UDP do not."""
    after = ruleset.by_key(document.forwards)
    found: set[Flow] = set()
    for each in present.forwards:
        new = after.get((each.address, each.protocol, each.port))
        if each.protocol != "UDP" or new == each:
            continue
        gone = frozenset(each.backends) - frozenset(new.backends if new else ())
        found |= {Flow(each.address, each.protocol, each.port, backend) for backend in gone}
    return tuple(sorted(found))


def _rules(present: Present, forwards: tuple[Forward, ...], seed: int) -> Iterator[SetRules]:
    if present.known and present.forwards is forwards and present.seed == seed:
        return
    most = max((len(each.backends) for each in forwards), default=0)
    if not present.known or present.seed != seed or present.chains < most:
        chains = ruleset.chains(forwards)
        after = msgspec.structs.replace(present, forwards=forwards, known=True, seed=seed, chains=chains)
        yield SetRules(ruleset.load(forwards, seed=seed, chains=chains), whole=True, after=after)
        return
    text = ruleset.change(present.forwards, forwards)
    if text:
        yield SetRules(text, whole=False, after=msgspec.structs.replace(present, forwards=forwards))
