"""The rules of a gateway as nft text: the same for all Services, which are elements of the maps and sets in it.

One table of our own for each family. What differs from Service to Service are elements (core.elements): so a change of
one endpoint is a change of a few elements, and a first packet is looked up as fast whatever else there is.

map or set  key                                       value
----------  ----------------------------------------  -----------------------------------------------------------
services    address . protocol . port                 the chain for its number of backends, or `sticky`
be          address . protocol . port . slot          backend's address . port
backends    backend's address . protocol . port
hosts       backend's address
vips        address
counted     address . protocol . port                 with a counter of connections
limited     address . protocol . port                 only those in `allowed` are let in
allowed     address . protocol . port . client
learning    address . protocol . port                 the chain that remembers clients for so long
affinity    client . address . protocol . port        backend's address . port; filled by packets
received    address . protocol . port                 with a counter of bytes, if those are counted; `sent` as well

A backend is chosen by a hash of the client's address and port with a seed that all gateways share: whichever gateway a
connection moves to, it chooses the same. Clients that are to come back to their backend are hashed by their address
alone, into slots of which most stay what they are when backends come and go; and they are remembered.

A table is made in the dark (`dormant`): filled in peace, and then it takes the place of another in one step. Only
numbers and names of ours get into the text.
"""

from typing import Literal

from msgspec import Struct

TABLES = ("mooring_a", "mooring_b")
"""One is in force, the other is where the next one is made."""
FEWEST_CHAINS = 64
SLOTS = 256
"""Of a Service whose clients come back to their backend."""
MOST_REMEMBERED = 65536
"""Clients that come back, of all Services together. Those that are one too many are hashed only."""

PROTOCOLS = ("tcp", "udp", "sctp")

Source = Literal["vip", "never", "masquerade"]


class Mode(Struct, frozen=True):
    """What the operator chose for all Services."""

    source: Source = "vip"
    denied: Literal["reject", "drop"] = "reject"
    counters: Literal["connections", "bytes", "endpoints"] = "connections"


class Skeleton(Struct, frozen=True):
    """What the text depends on: the seed, for how many backends it has chains, and what the operator chose."""

    seed: int = 0
    chains: int = 0
    mode: Mode = Mode()


class Family(Struct, frozen=True):
    """How nft calls things of one IP version."""

    version: int
    name: str
    type: str


FAMILIES = (Family(4, "ip", "ipv4_addr"), Family(6, "ip6", "ipv6_addr"))


def chains(most: int) -> int:
    """For how many backends a table is prepared: nft takes chains for a map only together with the map."""
    return max(FEWEST_CHAINS, 1 << (most - 1).bit_length() if most else 0)


def chain(backends: int) -> str:
    """The chain that chooses one of so many."""
    return f"n{backends:d}"


def memory(seconds: int) -> str:
    """The chain that remembers clients for so long.

    It is made when it is needed, and not by text: nft 1.0.6 breaks down over such a rule for IPv6.
    """
    return f"t{seconds:d}"


def table(name: str, skeleton: Skeleton) -> str:
    """Both families' tables of that name, empty and in the dark, whatever was there. One transaction."""
    return "\n".join(_table(_known(name), family, skeleton) for family in FAMILIES) + "\n"


def _table(name: str, family: Family, skeleton: Skeleton) -> str:
    ip, kind, mode = family.name, family.type, skeleton.mode
    key = f"{ip} daddr . meta l4proto . th dport"
    sought = f"{kind} . inet_proto . inet_service"
    counted = "\n".join(f"  set {each} {{ type {sought}; counter; }}" for each in counters(mode))
    choices = "\n".join(
        f"  chain {chain(number)} {{ dnat {ip} to {key} . "
        f"jhash {ip} saddr . th sport mod {number} seed {skeleton.seed:#x} map @be; }}"
        for number in range(1, skeleton.chains + 1)
    )
    each_counts = _if(mode.counters == "endpoints", " counter;")
    outside = "drop" if mode.denied == "drop" else "accept"  # then it is refused as if nothing were served
    return f"""table {ip} {name}
delete table {ip} {name}
table {ip} {name} {{
  flags dormant;
  map be {{ typeof {key} . numgen inc mod 65536 : {ip} daddr . th dport;{each_counts} }}
  map services {{ type {sought} : verdict; }}
  set backends {{ type {sought}; }}
  set hosts {{ type {kind}; }}
  set vips {{ type {kind}; }}
  set limited {{ type {sought}; }}
  set allowed {{ type {sought} . {kind}; flags interval; }}
  map learning {{ type {sought} : verdict; }}
  map affinity {{ type {kind} . {sought} : {kind} . inet_service; size {MOST_REMEMBERED}; flags dynamic,timeout; }}
{counted}
{choices}
  chain sticky {{
    dnat {ip} to {ip} saddr . {key} map @affinity
    dnat {ip} to {key} . jhash {ip} saddr mod {SLOTS} seed {skeleton.seed:#x} map @be
  }}
  chain pre {{ type nat hook prerouting priority dstnat; policy accept;
    {key} @limited {key} . {ip} saddr != @allowed {outside}
    {key} @counted
    {key} vmap @services
  }}
  chain post {{ type nat hook postrouting priority srcnat; policy accept;
    {_source(family, mode.source)}
  }}
  chain guard {{ type filter hook forward priority filter; policy accept;{_guard(family, mode.source)}
{_learning(family)}
  }}
  chain in {{ type filter hook input priority filter; policy accept;
    ct status dnat ct original {ip} daddr @vips drop
    ct state new {ip} saddr @vips {ip} daddr != @vips drop
    {ip} daddr @vips {ip} saddr . meta l4proto . th sport @backends drop
    {ip} daddr @vips tcp flags & (syn | ack | rst | fin) == syn reject with tcp reset
    {ip} daddr @vips meta l4proto tcp drop
    {ip} daddr @vips meta l4proto udp reject
    {ip} daddr @vips meta l4proto sctp drop
  }}{_if(mode.counters != "connections", _traffic(family))}
}}"""


def counters(mode: Mode) -> tuple[str, ...]:
    """The sets whose elements count."""
    return ("counted",) if mode.counters == "connections" else ("counted", "received", "sent")


def _service(family: Family) -> str:
    """What the client sent to, in a rule that knows the protocol."""
    return f"ct original {family.name} daddr . meta l4proto . ct original proto-dst"


def _source(family: Family, source: Source) -> str:
    """Whom backends see. One that calls its own Service has to see somebody else, or it answers itself."""
    ours = f"ct status dnat ct original {family.name} daddr @vips"
    as_address = f"snat {family.name} to ct original {family.name} daddr"
    match source:
        case "vip":
            return f"{ours} {as_address}"
        case "masquerade":
            return f"{ours} masquerade"
        case "never":
            return f"{ours} {family.name} saddr @hosts {as_address}"


def _guard(family: Family, source: Source) -> str:
    """Where backends see clients, an answer may reach a new gateway before its client does: it must open nothing there.

    A connection that backends open themselves begins as such and is let through; of UDP nobody can tell.
    """
    if source != "never":
        return ""  # what they answer goes to an address of ours, and stays here (chain `in`)
    answers = (
        "tcp flags & (fin | syn | rst | ack) != syn",
        "meta l4proto udp",
        "meta l4proto sctp sctp chunk init missing",
    )
    sender = f"{family.name} saddr . meta l4proto . th sport @backends"
    return "".join(f"\n    ct state new {each} {sender} drop" for each in answers)


def _learning(family: Family) -> str:
    """New connections to a Service whose clients come back are remembered. nft wants to know the protocol first."""
    return "\n".join(
        f"    ct state new ct status dnat meta l4proto {protocol} {_service(family)} vmap @learning"
        for protocol in PROTOCOLS
    )


def _traffic(family: Family) -> str:
    rules = "\n".join(
        f"    ct direction {direction} ct status dnat meta l4proto {protocol} {_service(family)} @{counted}"
        for direction, counted in (("original", "received"), ("reply", "sent"))
        for protocol in PROTOCOLS
    )
    return f"\n  chain traffic {{ type filter hook forward priority filter + 1; policy accept;\n{rules}\n  }}"


def _if(wanted: bool, text: str) -> str:  # noqa: FBT001 - it reads as a sentence
    return text if wanted else ""


def _known(name: str) -> str:
    if name not in TABLES:
        raise ValueError(f"{name!r} is not a table of ours")
    return name
