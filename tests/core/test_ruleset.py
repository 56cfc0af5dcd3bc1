"""The rules as text, which are the same for all Services."""

import pytest

from mooring.core import ruleset
from mooring.core.ruleset import Mode, Skeleton


@pytest.mark.parametrize(("most", "chains"), [(0, 64), (1, 64), (64, 64), (65, 128), (1000, 1024)])
def test_chains_for_what_there_is_and_some_more(most: int, chains: int) -> None:
    assert ruleset.chains(most) == chains


def test_only_tables_of_ours_are_made() -> None:
    with pytest.raises(ValueError, match="not a table of ours"):
        ruleset.table("filter; flush ruleset", Skeleton())


@pytest.mark.parametrize(
    ("mode", "has", "lacks"),
    [
        (Mode(), "daddr @vips snat ip to ct original ip daddr", "masquerade"),
        (Mode(source="masquerade"), "daddr @vips masquerade", "snat"),
        (Mode(source="never"), "daddr @vips ip saddr @hosts snat ip to", "masquerade"),
        (Mode(source="never"), "(fin | syn | rst | ack) != syn ip saddr . meta l4proto . th sport", "n2"),
        (Mode(source="never"), "ct state new meta l4proto udp ip saddr . meta l4proto . th sport @backends drop", "n2"),
        (Mode(source="never"), "sctp sctp chunk init missing ip saddr . meta l4proto . th sport @backends drop", "n2"),
        (Mode(), "vmap @learning", "ct state new tcp flags"),
        (Mode(denied="drop"), "!= @allowed drop", "!= @allowed accept"),
        (Mode(), "!= @allowed accept", "@received"),
        (Mode(counters="bytes"), "ct direction reply ct status dnat meta l4proto udp", "th dport; counter;"),
        (Mode(counters="endpoints"), "th dport; counter;", "masquerade"),
    ],
)
def test_what_the_operator_chose(mode: Mode, has: str, lacks: str) -> None:
    text = ruleset.table("mooring_a", Skeleton(1, 1, mode))
    assert has in text
    assert lacks not in text


def skeleton(ip: str, kind: str) -> str:
    key = f"{ip} daddr . meta l4proto . th dport"
    sought = f"{kind} . inet_proto . inet_service"
    service = f"ct original {ip} daddr . meta l4proto . ct original proto-dst"
    return f"""table {ip} mooring_b
delete table {ip} mooring_b
table {ip} mooring_b {{
  flags dormant;
  map be {{ typeof {key} . numgen inc mod 65536 : {ip} daddr . th dport; }}
  map services {{ type {sought} : verdict; }}
  set backends {{ type {sought}; }}
  set hosts {{ type {kind}; }}
  set vips {{ type {kind}; }}
  set limited {{ type {sought}; }}
  set allowed {{ type {sought} . {kind}; flags interval; }}
  map learning {{ type {sought} : verdict; }}
  map affinity {{ type {kind} . {sought} : {kind} . inet_service; size 65536; flags dynamic,timeout; }}
  set counted {{ type {sought}; counter; }}
  chain n1 {{ dnat {ip} to {key} . jhash {ip} saddr . th sport mod 1 seed 0x5eed map @be; }}
  chain n2 {{ dnat {ip} to {key} . jhash {ip} saddr . th sport mod 2 seed 0x5eed map @be; }}
  chain sticky {{
    dnat {ip} to {ip} saddr . {key} map @affinity
    dnat {ip} to {key} . jhash {ip} saddr mod 256 seed 0x5eed map @be
  }}
  chain pre {{ type nat hook prerouting priority dstnat; policy accept;
    {key} @limited {key} . {ip} saddr != @allowed accept
    {key} @counted
    {key} vmap @services
  }}
  chain post {{ type nat hook postrouting priority srcnat; policy accept;
    ct status dnat ct original {ip} daddr @vips snat {ip} to ct original {ip} daddr
  }}
  chain guard {{ type filter hook forward priority filter; policy accept;
    ct state new ct status dnat meta l4proto tcp {service} vmap @learning
    ct state new ct status dnat meta l4proto udp {service} vmap @learning
    ct state new ct status dnat meta l4proto sctp {service} vmap @learning
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
}}
"""


def test_the_rules_that_are_the_same_for_all() -> None:
    """Each of them was found with real packets (tests/lab/test_dataplane.py); nobody changes one by accident."""
    text = ruleset.table("mooring_b", Skeleton(0x5EED, 2))
    assert text == skeleton("ip", "ipv4_addr") + skeleton("ip6", "ipv6_addr")
