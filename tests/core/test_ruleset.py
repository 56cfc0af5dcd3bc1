"""The rules as text: what a Service becomes, and that a change leads where a load does."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.core import ruleset
from mooring.core.ruleset import FAMILIES, ORDER
from mooring.model.gateway import Backend, Forward

V4, V6 = FAMILIES
WEB = Forward("10.0.0.5", "TCP", 80, "shop/web", (Backend("10.1.0.7", 8080), Backend("10.1.0.8", 8080)))
DNS = Forward("10.0.0.5", "UDP", 53, "shop/dns", (Backend("10.1.0.9", 5353),))
SIX = Forward("fd00::5", "TCP", 443, "shop/six", (Backend("fd00:1::7", 8443),))
NOBODY = Forward("10.0.0.6", "TCP", 25, "shop/mail")


def test_a_service_becomes_elements() -> None:
    found = ruleset.elements([WEB], V4)
    assert found == {
        "services": {"10.0.0.5 . tcp . 80": "goto n2"},
        "be": {"10.0.0.5 . tcp . 80 . 0": "10.1.0.7 . 8080", "10.0.0.5 . tcp . 80 . 1": "10.1.0.8 . 8080"},
        "backends": {"10.1.0.7 . tcp . 8080": "", "10.1.0.8 . tcp . 8080": ""},
        "vips": {"10.0.0.5": ""},
    }


def test_a_family_has_its_own_and_nothing_of_the_other() -> None:
    assert ruleset.elements([WEB, SIX], V6)["services"] == {"fd00::5 . tcp . 443": "goto n1"}
    assert ruleset.elements([SIX], V4) == {name: {} for name in ORDER}


def test_an_address_without_backends_is_ours_and_refuses() -> None:
    found = ruleset.elements([NOBODY], V4)
    assert found["vips"] == {"10.0.0.6": ""}
    assert found["services"] == {}


def test_a_load_replaces_both_tables_and_says_everything_once() -> None:
    text = ruleset.load([WEB, DNS, SIX], seed=0x5EED, chains=2)
    for family in FAMILIES:
        assert text.count(f"delete table {family.name} mooring") == 1
    assert "mod 2 seed 0x5eed" in text
    assert "chain n3" not in text
    assert "add element ip6 mooring services { fd00::5 . tcp . 443 : goto n1 }" in text


def test_one_endpoint_more_touches_only_its_elements() -> None:
    more = Forward("10.0.0.5", "TCP", 80, "shop/web", (*WEB.backends, Backend("10.1.0.10", 8080)))
    assert ruleset.change([WEB, DNS], [more, DNS]) == (
        "delete element ip mooring services { 10.0.0.5 . tcp . 80 }\n"
        "add element ip mooring services { 10.0.0.5 . tcp . 80 : goto n3 }\n"
        "add element ip mooring be { 10.0.0.5 . tcp . 80 . 2 : 10.1.0.10 . 8080 }\n"
        "add element ip mooring backends { 10.1.0.10 . tcp . 8080 }\n"
    )


def test_no_change_is_no_text() -> None:
    assert ruleset.change([WEB, DNS, SIX], [SIX, WEB, DNS]) == ""


@pytest.mark.parametrize(("most", "chains"), [(0, 64), (1, 64), (64, 64), (65, 128), (1000, 1024)])
def test_chains_for_what_there_is_and_some_more(most: int, chains: int) -> None:
    backends = tuple(Backend("10.1.0.7", 1 + number) for number in range(most))
    assert ruleset.chains([Forward("10.0.0.5", "TCP", 80, "s", backends)]) == chains
    assert ruleset.chains([]) == 64


@pytest.mark.parametrize(
    "bad",
    [
        Forward("10.0.0.5 } ; flush ruleset", "TCP", 80, "s"),
        Forward("fe80::1%x } ; flush ruleset", "TCP", 80, "s"),
        Forward("10.0.0.5", "TCP } accept", 80, "s"),
        Forward("10.0.0.5", "TCP", 80, "s", (Backend("fd00::1", 80),)),
        Forward("10.0.0.5", "TCP", 80, "s", (Backend("localhost", 80),)),
    ],
)
def test_what_is_not_an_address_a_protocol_or_a_fit_is_refused(bad: Forward) -> None:
    with pytest.raises(ValueError, match=r"."):
        ruleset.elements([bad], V4)


def test_the_name_of_a_service_never_reaches_the_text() -> None:
    assert "evil" not in ruleset.load([Forward("10.0.0.5", "TCP", 80, "evil; flush ruleset")], seed=1, chains=1)


FORWARDS = st.dictionaries(
    st.tuples(st.sampled_from(("10.0.0.5", "10.0.0.6", "fd00::5")), st.sampled_from(("TCP", "UDP")), st.integers(1, 3)),
    st.integers(0, 4),
    max_size=6,
).map(
    lambda found: [
        Forward(address, protocol, port, "s", tuple(Backend(_of(address, slot), 80) for slot in range(number)))
        for (address, protocol, port), number in found.items()
    ]
)


def _of(address: str, slot: int) -> str:
    return f"fd00:1::{slot + 1}" if ":" in address else f"10.1.0.{slot + 1}"


@given(FORWARDS, FORWARDS)
def test_a_change_leads_where_a_load_does(old: list[Forward], new: list[Forward]) -> None:
    held = {(family.name, name): dict(found[name]) for family, found in _both(old) for name in ORDER}
    for line in ruleset.change(old, new).splitlines():
        _obey(held, line)
    assert held == {(family.name, name): dict(found[name]) for family, found in _both(new) for name in ORDER}


def _both(forwards: list[Forward]) -> list[tuple[ruleset.Family, ruleset.Elements]]:
    return [(family, ruleset.elements(forwards, family)) for family in FAMILIES]


def _obey(held: dict[tuple[str, str], dict[str, str]], line: str) -> None:
    """Carry out a line as nft does: what is added must not be there with another value, what is deleted must be."""
    found = re.fullmatch(r"(add|delete) element (\w+) mooring (\w+) \{ (.*) \}", line)
    assert found is not None
    verb, family, name, items = found.groups()
    for item in items.split(", "):
        key, _, value = item.partition(" : ")
        if verb == "delete":
            del held[family, name][key]
        else:
            assert key not in held[family, name]
            held[family, name][key] = value


def skeleton(ip: str, kind: str) -> str:
    key = f"{ip} daddr . meta l4proto . th dport"
    return f"""table {ip} mooring
delete table {ip} mooring
table {ip} mooring {{
  map be {{ typeof {key} . numgen inc mod 65536 : {ip} daddr . th dport; }}
  map services {{ type {kind} . inet_proto . inet_service : verdict; }}
  set backends {{ type {kind} . inet_proto . inet_service; }}
  set vips {{ type {kind}; }}
  chain n1 {{ dnat {ip} to {key} . jhash {ip} saddr . th sport mod 1 seed 0x5eed map @be; }}
  chain n2 {{ dnat {ip} to {key} . jhash {ip} saddr . th sport mod 2 seed 0x5eed map @be; }}
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
}}
"""


def test_the_rules_that_are_the_same_for_all() -> None:
    """Each of them was found with real packets (tests/lab/test_agent.py); nobody changes one by accident."""
    text = ruleset.load([], seed=0x5EED, chains=2)
    assert text == skeleton("ip", "ipv4_addr") + skeleton("ip6", "ipv6_addr")
