"""Documents and deltas that went wrong on their way, and what a gateway is to make of each.

`Mutations` makes them, the same ones from the same seed: a document as a controller would send it, of which single
values, fields or bytes are replaced by what should not be there. In most of them the digest is put right again, so that
they get past it.

`meant` says what is to become of one, from its bytes alone. It was written from the reference of the interface, and
uses nothing of what it judges: Python's own JSON and its `ipaddress`. So does `elements`, which says what the kernel
holds then.
"""

import copy
import ipaddress
import json
import random
import re
import struct
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple, TypeAlias

import msgspec

from mooring.core import gateway_document
from mooring.model import gateway
from mooring.model.gateway import Delta, Document

Json: TypeAlias = Any
Path = tuple[str | int, ...]
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

LONG = "x" * (64 << 10)
HOSTILE = (
    "",
    " ",
    "\n",
    "\r\n",
    "\x00",
    "\x1b[2J",
    "\x7f",
    '"',
    "'",
    "\\",
    "`id`",
    "$(id)",
    "{",
    "}",
    "};",
    "}; flush ruleset",
    "\n  }\n}\nflush ruleset\n",
    " drop; }",
    "}\nvrrp_instance evil {\n  notify /bin/sh\n",
    "#",
    "!",
    "; rm -rf /",
    "../../etc/passwd",
    "%n%s%x",
    "\u202e\u2028\u0085\u200b",
    "\U0001f4a5",
    "\u0663\uff11",
    "\ud800",
    "10.0.0.5",
    "10.0.0.05",
    "010.0.0.5",
    "10.0.0.5\n",
    " 10.0.0.5",
    "10.0.0.5/32",
    "10.0.0.5-10.0.0.9",
    "10.0.0.0/8",
    "10.0.0.1/8",
    "10.0.0.0/255.0.0.0",
    "0.0.0.0",  # noqa: S104 - an address as any other here
    "0.0.0.0/0",
    "::/0",
    "127.0.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "256.1.1.1",
    "1.2.3",
    "0x7f000001",
    "167772165",
    "fd00::5",
    "FD00::5",
    "fd00:0::5",
    "fd00:0:0:0:0:0:0:5",
    "fe80::1%x",
    "fe80::1%eth0; flush ruleset",
    "fe80::%x/64",
    "::ffff:10.0.0.5",
    "::1",
    "::",
    "ff02::1",
    "tcp",
    "ICMP",
    "TCP ",
    "UDP",
)
NUMBERS = (-1, 0, 1, 80, 255, 4097, 65535, 65536, 86400, 86401, -(2**31), 2**31, 2**32 - 1, 2**32, 2**63, 2**64, 10**15)
ODD: tuple[Json, ...] = (None, True, False, 1.0, 80.5, 1e300, -0.0, 10**30, "80", [], {}, [[]], [80], {"port": 80})
PLAIN = ("10.0.0.5", "10.0.0.6", "10.0.0.7", "fd00::5", "fd00::6")
SOURCES = {4: ("10.0.0.0/8", "10.1.0.0/16", "192.0.2.0/24", "192.0.2.7"), 6: ("fd01::/16", "2001:db8::/32", "fd01::1")}


HALF = re.compile(rb"\\ud800(?!\\ud[c-f])", re.IGNORECASE)
"""The only one that is made here."""


class Case(NamedTuple):
    """What is sent, and how."""

    method: str
    body: bytes
    mutated: int


class Backend(NamedTuple):
    address: str
    port: int


class Forward(NamedTuple):
    """One that was told. The names are those of the wire."""

    address: str
    protocol: str
    port: int
    service: str
    backends: tuple[Backend, ...] = ()
    affinity: int = 0
    sources: tuple[str, ...] = ()

    @property
    def place(self) -> tuple[str, str, int]:
        return self.address, self.protocol, self.port


class Meant(NamedTuple):
    """What a gateway was told last. `forwards`: as told, by place."""

    age: tuple[int, int] = (0, 0)
    digest: str = ""
    seed: int = 0
    forwards: tuple[Forward, ...] = ()

    @property
    def served(self) -> tuple[Forward, ...]:
        return tuple(each for each in map(servable, self.forwards) if each is not None)

    @property
    def left_out(self) -> int:
        """Forwards of which not all is served."""
        return sum(servable(each) != each for each in self.forwards)


class Mutations:
    """Cases for a gateway, one after the other."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)  # noqa: S311 - it has to be the same again
        self._generation = 0

    def next(self, held: Document) -> Case:
        """For a gateway that holds a document."""
        chance = self._chance
        self._generation += 1
        method = "PATCH" if chance.random() < 0.3 else "PUT"
        whole = self._document(held) if method == "PUT" else self._delta(held)
        count = chance.choice((0, 1, 1, 1, 2, 3))
        for _ in range(count):
            whole = self._mutated(whole)
        if chance.random() < 0.9:
            whole = _digest_put_right(whole, held)
        body = json.dumps(whole, separators=(",", ":"), ensure_ascii=chance.random() < 0.5).encode(
            errors="surrogatepass"
        )
        if chance.random() < 0.1:
            return Case(method, self._spoilt(body), count + 1)
        return Case(method, body, count)

    def _document(self, held: Document) -> Json:
        places = {(each["address"], each["port"]): each for each in (self._forward() for _ in range(self._few()))}
        return {
            "epoch": max(1, held.epoch),
            "generation": held.generation + 1,
            "digest": "",
            "forwards": list(places.values()),
            "seed": self._chance.choice((held.seed, held.seed, 7)),
        }

    def _delta(self, held: Document) -> Json:
        chance = self._chance
        there = [list(each.place) for each in held.forwards]
        put = {(each["address"], each["port"]): each for each in (self._forward() for _ in range(self._few()))}
        return {
            "base": {"epoch": held.epoch, "generation": held.generation, "digest": held.digest},
            "epoch": max(1, held.epoch),
            "generation": held.generation + 1,
            "digest": "",
            "put": list(put.values()),
            "removed": chance.sample(there, min(len(there), chance.randrange(3))),
        }

    def _forward(self) -> Json:
        chance = self._chance
        address = chance.choice(PLAIN)
        version = 6 if ":" in address else 4
        near = "fd00:1::" if version == 6 else "10.1.0."
        numbers = chance.sample(range(1, 9), self._few())
        forward: Json = {
            "address": address,
            "protocol": chance.choice(("TCP", "UDP", "SCTP")),
            "port": chance.choice((53, 80, 443)),
            "service": f"shop/s{chance.randrange(5)}",
            "backends": [{"address": f"{near}{number}", "port": 8080 + number % 2} for number in numbers],
        }
        if chance.random() < 0.15:
            forward["affinity"] = chance.choice((1, 60, 10800))
        if chance.random() < 0.3:
            forward["sources"] = chance.sample(SOURCES[version], chance.randrange(1, 4))
        return forward

    def _few(self) -> int:
        return self._chance.choice((0, 1, 1, 2, 3, 4))

    def _mutated(self, whole: Json) -> Json:
        """With one thing wrong. Fields are chosen by name first, so that those that are there once get their turn."""
        chance = self._chance
        whole = copy.deepcopy(whole)
        by_name: dict[str, list[Path]] = {}
        for path in _paths(whole):
            by_name.setdefault(".".join("_" if isinstance(each, int) else each for each in path), []).append(path)
        if not by_name:
            return whole
        path = chance.choice(by_name[chance.choice(sorted(by_name))])
        parent = whole
        for each in path[:-1]:
            parent = parent[each]
        self._spoil_at(parent, path[-1])
        return whole

    def _spoil_at(self, parent: Json, key: str | int) -> None:
        chance, value = self._chance, parent[key]
        way = chance.random()
        if way < 0.6 and isinstance(value, str):
            parent[key] = self._text(value)
        elif way < 0.6 and isinstance(value, int):
            parent[key] = chance.choice(NUMBERS)
        elif way < 0.7:
            parent[key] = chance.choice((*ODD, *HOSTILE))
        elif way < 0.78:
            del parent[key]
        elif way < 0.86 and isinstance(parent, list):
            parent.insert(chance.randrange(len(parent) + 1), copy.deepcopy(value))
        elif way < 0.92 and isinstance(parent, dict):
            parent[chance.choice([each for each in HOSTILE if each.isprintable()])] = chance.choice((*NUMBERS, "x", []))
        else:
            parent[key] = chance.choice(([value], {"address": value}, [value, value]))

    def _text(self, value: str) -> str:
        chance = self._chance
        hostile = LONG if chance.random() < 0.02 else chance.choice(HOSTILE)
        at = chance.randrange(len(value) + 1)
        return chance.choice((hostile, hostile, value + hostile, hostile + value, value[:at] + hostile + value[at:]))

    def _spoilt(self, body: bytes) -> bytes:
        chance = self._chance
        at = chance.randrange(len(body) + 1)
        ways: tuple[Callable[[], bytes], ...] = (
            lambda: body[:at],
            lambda: body + body,
            lambda: body[:at] + bytes([chance.randrange(256)]) + body[at + 1 :],
            lambda: body.replace(b'"shop/', b'"\xff\xfe', 1),
            lambda: body.replace(b'"port":', b'"port":1,"port":', 1),
            lambda: body.replace(b'"address":', b'"address":"::1","address":', 1),
            lambda: body.replace(b'"epoch":1', b'"epoch":' + b"1" * 5000, 1),
            lambda: body.replace(b"[", b"[" * chance.choice((10, 2000, 100_000)), 1),
            lambda: b"\xef\xbb\xbf" + body,
            lambda: body.decode(errors="replace").encode("utf-16"),
        )
        return chance.choice(ways)()


def meant(before: Meant, case: Case) -> Meant | None:
    """What a gateway is told then; None: this is not taken, and nothing changes."""
    try:
        whole = _parsed(case.body)
        told = _told_by_document(whole) if case.method == "PUT" else _told_by_delta(before, whole)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    if told is None or told.age <= before.age or any(not 0 <= each < 10**15 for each in told.age):
        return None
    if not 0 <= told.seed < 2**32:
        return None
    return told if len({each.place for each in told.forwards}) == len(told.forwards) else None


def servable(forward: Forward) -> Forward | None:
    """What can be served of one."""
    address = plain(forward.address)
    if (
        address is None
        or forward.protocol not in {"TCP", "UDP", "SCTP"}
        or not 1 <= forward.port <= 65535
        or not 0 <= forward.affinity <= 86400
        or len(forward.backends) > 4096
        or len(set(forward.backends)) != len(forward.backends)
        or len(forward.sources) > 1024
        or any(_network(each, address.version) is None for each in forward.sources)
    ):
        return None
    kept = [each for each in forward.backends if 1 <= each.port <= 65535]
    of_its_family = [each for each in kept if (found := plain(each.address)) and found.version == address.version]
    return forward._replace(backends=tuple(of_its_family))


def plain(text: str) -> Address | None:
    """An address that a host in a network can have, spelled as it is spelled."""
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    if "%" in text or str(found) != text or found.is_unspecified or found.is_loopback or found.is_multicast:
        return None
    nobody = found.version == 4 and (found.packed[0] == 0 or text == "255.255.255.255")
    return None if nobody else found


def addresses(told: Meant) -> set[str]:
    return {each.address for each in told.served}


Plain: TypeAlias = tuple[str, str, bytes, bytes | str, bytes]
"""Family, map or set, key, value, end of a range."""


def elements(told: Meant) -> tuple[set[Plain], set[tuple[str, bytes]]]:
    """What the kernel is to hold; and, by family and key, the Services whose slots are any of their backends."""
    found: set[Plain] = set()
    sticky: set[tuple[str, bytes]] = set()
    for each in told.served:
        address = ipaddress.ip_address(each.address)
        family = "ip" if address.version == 4 else "ip6"
        number = {"TCP": 6, "UDP": 17, "SCTP": 132}[each.protocol]
        key = address.packed + bytes([number, 0, 0, 0]) + struct.pack(">HH", each.port, 0)
        found.add((family, "vips", address.packed, b"", b""))
        targets = [ipaddress.ip_address(one.address).packed + struct.pack(">HH", one.port, 0) for one in each.backends]
        for one in targets:
            found.add((family, "backends", one[:-4] + bytes([number, 0, 0, 0]) + one[-4:], b"", b""))
        if not targets:
            continue
        found.add((family, "counted", key, b"", b""))
        if each.affinity:
            sticky.add((family, key))
            found.add((family, "services", key, "sticky", b""))
            found.add((family, "learning", key, f"t{each.affinity}", b""))
        else:
            found.add((family, "services", key, f"n{len(targets)}", b""))
            found |= {(family, "be", key + struct.pack("=I", slot), one, b"") for slot, one in enumerate(targets)}
        if each.sources:
            found.add((family, "limited", key, b"", b""))
            found |= {(family, "allowed", key + first, b"", key + last) for first, last in _ranges(each, address)}
    return found, sticky


def difference(told: Meant, there: AbstractSet[Plain]) -> str:
    """What the kernel holds and should not, or the other way round; empty, if it is as it should be."""
    wanted, sticky = elements(told)
    slots = {each for each in there if each[1] == "be" and (each[0], each[2][:-4]) in sticky}
    if wrong := (there - slots) ^ wanted:
        return f"{len(wrong)} elements differ, such as {min(map(str, wrong))}"
    for family, key in sticky:
        mine = {each[2][-4:]: each[3] for each in slots if (each[0], each[2][:-4]) == (family, key)}
        behind = {(each[2][:-8] + each[2][-4:]) for each in wanted if each[:2] == (family, "backends")}
        if set(mine) != {struct.pack("=I", slot) for slot in range(256)} or not set(mine.values()) <= behind:
            return f"the slots of {key!r} are {len(mine)}, or lead elsewhere"
    return ""


def _ranges(forward: Forward, address: Address) -> Iterator[tuple[bytes, bytes]]:
    """First and last of the networks, those that touch or overlap joined as far as they are a network again."""
    networks = [each for text in forward.sources if (each := _network(text, address.version)) is not None]
    for each in ipaddress.collapse_addresses(networks):
        yield each.network_address.packed, each.broadcast_address.packed


def _network(text: str, version: int) -> Any:  # noqa: ANN401 - of either family
    try:
        found = ipaddress.ip_network(text)
    except ValueError:
        return None
    return found if found.version == version and "%" not in text else None


def _parsed(body: bytes) -> Json:
    """Strict JSON. Bytes that are no text are looked at only where they count; half of a pair must be nowhere."""

    def refused(text: str) -> None:
        raise ValueError(text)

    if HALF.search(body):
        raise ValueError("half of a surrogate pair")
    return json.loads(body.decode(errors="surrogateescape"), parse_constant=refused)


def _told_by_document(whole: Json) -> Meant | None:
    forwards = tuple(map(_forward, _list(whole["forwards"])))
    seed = _number(whole.get("seed", 0))
    told = Meant((_number(whole["epoch"]), _number(whole["generation"])), _text(whole["digest"]), seed, forwards)
    return told if told.digest == gateway_document.digest(map(_of_the_model, forwards), seed) else None


def _told_by_delta(before: Meant, whole: Json) -> Meant | None:
    base = whole["base"]
    held = (_number(base.get("epoch", 0)), _number(base.get("generation", 0)))
    digest = _text(base.get("digest", ""))
    put = tuple(map(_forward, _list(whole.get("put", []))))
    removed = {_place(each) for each in _list(whole.get("removed", []))}
    age = (_number(whole["epoch"]), _number(whole["generation"]))
    if (held, digest) != (before.age, before.digest) or not digest or len({each.place for each in put}) < len(put):
        return None
    there = {each.place: each for each in before.forwards if each.place not in removed}
    after = tuple((there | {each.place: each for each in put}).values())
    told = Meant(age, _text(whole["digest"]), before.seed, after)
    return told if told.digest == gateway_document.digest(map(_of_the_model, after), before.seed) else None


def _forward(whole: Json) -> Forward:
    return Forward(
        _text(whole["address"]),
        _text(whole["protocol"]),
        _number(whole["port"]),
        _text(whole["service"]),
        tuple(Backend(_text(each["address"]), _number(each["port"])) for each in _list(whole.get("backends", []))),
        _number(whole.get("affinity", 0)),
        tuple(map(_text, _list(whole.get("sources", [])))),
    )


def _place(whole: Json) -> tuple[str, str, int]:
    address, protocol, port = _list(whole)
    return _text(address), _text(protocol), _number(port)


def _number(value: Json) -> int:
    if type(value) is not int:
        raise TypeError(type(value).__name__)
    return value


def _text(value: Json) -> str:
    if type(value) is not str:
        raise TypeError(type(value).__name__)
    value.encode()  # half of a surrogate pair is no text
    if len(value) > 512:
        raise ValueError(len(value))
    return value


def _list(value: Json) -> list[Json]:
    if type(value) is not list:
        raise TypeError(type(value).__name__)
    return value


def _of_the_model(forward: Forward) -> gateway.Forward:
    """For the digest, which is the controller's business and not judged here."""
    backends = tuple(gateway.Backend(*each) for each in forward.backends)
    return gateway.Forward(*forward.place, forward.service, backends, forward.affinity, forward.sources)


def _paths(whole: Json, at: Path = ()) -> Iterator[Path]:
    items = whole.items() if isinstance(whole, dict) else enumerate(whole) if isinstance(whole, list) else ()
    for key, value in items:
        yield (*at, key)
        yield from _paths(value, (*at, key))


def _digest_put_right(whole: Json, held: Document) -> Json:
    """What a controller that means this would write."""
    try:
        if "forwards" in whole:
            document = msgspec.convert(whole, Document)
            return whole | {"digest": gateway_document.digest(document.forwards, document.seed)}
        delta = msgspec.convert(whole, Delta)
    except (msgspec.ValidationError, TypeError, UnicodeEncodeError):
        return whole
    there = gateway_document.by_place(held.forwards)
    for place in delta.removed:
        there.pop(place, None)
    after = there | gateway_document.by_place(delta.put)
    try:
        return whole | {"digest": gateway_document.digest(after.values(), held.seed)}
    except UnicodeEncodeError:
        return whole
