"""The gateways' rules as nft text, from what is to be forwarded. Same input, same bytes.

One table of our own for each family. What differs from Service to Service are elements of named maps and sets; the
rules are the same for all. So a change of one endpoint is a change of a few elements, whatever else there is.

map or set  key                                   value
----------  ------------------------------------  ------------------------------------------------
services    address . protocol . port             the chain for its number of backends
be          address . protocol . port . slot      backend's address . port
backends    backend's address . protocol . port
vips        address

A backend is chosen by a hash of the client's address and port with a seed that all gateways share: whichever gateway a
connection moves to, it chooses the same. Only addresses and numbers get into the text, and they are parsed on the way.
"""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from mooring.core import plain_address
from mooring.model.gateway import Backend, Forward

TABLE = "mooring"
FEWEST_CHAINS = 64
PROTOCOLS = frozenset({"TCP", "UDP", "SCTP"})

Elements = Mapping[str, Mapping[str, str]]
"""By map or set: keys and values. A set's values are empty."""


class Family(Struct, frozen=True):
    """How nft calls things of one IP version."""

    version: int
    name: str
    type: str


FAMILIES = (Family(4, "ip", "ipv4_addr"), Family(6, "ip6", "ipv6_addr"))
ORDER = ("services", "be", "backends", "vips")


def chains(forwards: Iterable[Forward]) -> int:
    """For how many backends a load must be prepared: nft takes chains for a map only together with the map."""
    most = max((len(each.backends) for each in forwards), default=0)
    return max(FEWEST_CHAINS, 1 << (most - 1).bit_length() if most else 0)


def load(forwards: Iterable[Forward], *, seed: int, chains: int) -> str:
    """Everything, in place of everything that was there. One transaction."""
    kept = tuple(forwards)
    parts = []
    for family in FAMILIES:
        parts.append(_skeleton(family, seed, chains))
        parts += _added(family, elements(kept, family))
    return "\n".join(parts) + "\n"


def change(old: Iterable[Forward], new: Iterable[Forward]) -> str:
    """What leads from one state to another; empty, if they are the same. One transaction.

    Looks closely only at what differs, and at what shares an address or a backend with it. To know that, addresses
    have to be in their one usual spelling.
    """
    before, after = by_key(old), by_key(new)
    gone = [each for key, each in before.items() if after.get(key) != each]
    come = [each for key, each in after.items() if before.get(key) != each]
    if not gone and not come:
        return ""
    shared = _sharing((each for key, each in after.items() if before.get(key) == each), gone, come)
    lines: list[str] = []
    for family in FAMILIES:
        had, wanted = elements((*gone, *shared), family), elements((*come, *shared), family)
        lines += _removed(family, had, wanted)
        lines += _added(family, {name: _new(had[name], wanted[name]) for name in ORDER})
    return "\n".join(lines) + "\n" if lines else ""


def by_key(forwards: Iterable[Forward]) -> dict[tuple[str, str, int], Forward]:
    """What is to be forwarded by what must not be there twice; of two, the later one."""
    return {(each.address, each.protocol, each.port): each for each in forwards}


def elements(forwards: Iterable[Forward], family: Family) -> Elements:
    """What the maps and sets of a family hold."""
    found: dict[str, dict[str, str]] = {name: {} for name in ORDER}
    for each in forwards:
        address = plain_address.parsed(each.address)
        if address.version != family.version:
            continue
        protocol = _protocol(each.protocol)
        key = f"{address} . {protocol} . {each.port:d}"
        found["vips"][str(address)] = ""
        if each.backends:
            found["services"][key] = f"goto n{len(each.backends):d}"
        for slot, backend in enumerate(each.backends):
            target = plain_address.parsed(backend.address)
            if target.version != family.version:
                raise ValueError(f"{each.service}: the backend {target} is not of the same family as {address}")
            found["be"][f"{key} . {slot:d}"] = f"{target} . {backend.port:d}"
            found["backends"][f"{target} . {protocol} . {backend.port:d}"] = ""
    return found


def _protocol(name: str) -> str:
    """A closed list: nothing else reaches the text."""
    if name not in PROTOCOLS:
        raise ValueError(f"{name!r} is not a protocol that can be forwarded")
    return name.lower()


def _sharing(others: Iterable[Forward], gone: list[Forward], come: list[Forward]) -> list[Forward]:
    """Of the others, those that have an address or a backend which appears or vanishes elsewhere: there it stays."""
    addresses = {each.address for each in gone} ^ {each.address for each in come}
    backends = {one for _, one in _targets(gone) ^ _targets(come)}
    if not addresses and not backends:
        return []
    return [each for each in others if each.address in addresses or not backends.isdisjoint(each.backends)]


def _targets(forwards: Iterable[Forward]) -> set[tuple[str, Backend]]:
    return {(each.protocol, one) for each in forwards for one in each.backends}


def _skeleton(family: Family, seed: int, chains: int) -> str:
    ip, kind = family.name, family.type
    key = f"{ip} daddr . meta l4proto . th dport"
    choices = "\n".join(
        f"  chain n{number} {{ dnat {ip} to {key} . jhash {ip} saddr . th sport mod {number} seed {seed:#x} map @be; }}"
        for number in range(1, chains + 1)
    )
    return f"""table {ip} {TABLE}
delete table {ip} {TABLE}
table {ip} {TABLE} {{
  map be {{ typeof {key} . numgen inc mod 65536 : {ip} daddr . th dport; }}
  map services {{ type {kind} . inet_proto . inet_service : verdict; }}
  set backends {{ type {kind} . inet_proto . inet_service; }}
  set vips {{ type {kind}; }}
{choices}
  chain pre {{ type nat hook prerouting priority dstnat; policy accept;
    {key} vmap @services
  }}
  chain post {{ type nat hook postrouting priority srcnat; policy accept;
    ct status dnat ct original {ip} daddr @vips snat {ip} to ct original {ip} daddr
  }}
  chain guard {{ type filter hook forward priority filter; policy accept;
    ct state new {ip} saddr . meta l4proto . th sport @backends drop
  }}
  chain in {{ type filter hook input priority filter; policy accept;
    ct status dnat ct original {ip} daddr @vips drop
    ct state new {ip} saddr @vips {ip} daddr != @vips drop
    {ip} daddr @vips {ip} saddr . meta l4proto . th sport @backends drop
    {ip} daddr @vips tcp flags & (syn | ack | rst | fin) == syn reject with tcp reset
    {ip} daddr @vips meta l4proto tcp drop
    {ip} daddr @vips meta l4proto udp reject
    {ip} daddr @vips meta l4proto sctp drop
  }}
}}"""


def _added(family: Family, wanted: Elements) -> Iterator[str]:
    for name in ORDER:
        if wanted[name]:
            items = ", ".join(f"{key} : {value}" if value else key for key, value in sorted(wanted[name].items()))
            yield f"add element {family.name} {TABLE} {name} {{ {items} }}"


def _removed(family: Family, had: Elements, wanted: Elements) -> Iterator[str]:
    """What is gone, and what has another value: a value is changed by taking the element away and adding it."""
    for name in ORDER:
        gone = sorted(key for key, value in had[name].items() if wanted[name].get(key) != value)
        if gone:
            yield f"delete element {family.name} {TABLE} {name} {{ {', '.join(gone)} }}"


def _new(had: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in wanted.items() if had.get(key) != value}
