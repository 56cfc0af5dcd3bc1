"""keepalived's configuration: addresses in order, each in its instance, nothing else that somebody wrote."""

import ipaddress
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.core import vrrp
from mooring.core.vrrp import GIVE_WAY, PRIORITY, Vrrp
from mooring.model import config

PLAIN = Vrrp("eth0", 51, 0.1, "169.254.77.1", "/run/mooring/stale")
SPREAD = msgspec.structs.replace(PLAIN, instances=3, instance=1, alive_script="/run/mooring/alive.sh")
HOSTED = config.Vrrp(daemon="host")
UNICAST = config.Vrrp(peers=("192.0.2.12", "192.0.2.13"), source_address="192.0.2.11")
TWO = config.Vrrp(mode="spread", instances=2, instance=1)

any_addresses = st.frozensets(st.ip_addresses().filter(lambda each: "%" not in str(each)).map(str), max_size=30)


def instances(text: str) -> list[str]:
    """The blocks of a text that are instances."""
    return re.findall(r"^vrrp_instance .*?^}", text, re.MULTILINE | re.DOTALL)


def priorities(settings: Vrrp) -> list[int]:
    return [int(each) for each in re.findall(r"^  priority (\d+)$", vrrp.configuration(settings, []), re.MULTILINE)]


def test_the_service_addresses_are_excluded_from_the_adverts_in_order() -> None:
    text = vrrp.configuration(PLAIN, ["fd00::5", "10.0.0.12", "10.0.0.5", "10.0.0.5"])
    advertised, excluded = text.split("virtual_ipaddress_excluded")
    assert "169.254.77.1/32 dev eth0" in advertised
    held = [line.strip() for line in excluded.splitlines() if "dev" in line]
    assert held == ["10.0.0.5/32 dev eth0", "10.0.0.12/32 dev eth0", "fd00::5/128 dev eth0"]


def test_other_addresses_move_with_those_of_the_first_instance() -> None:
    others = (("172.30.9.20", "eth1"),)
    assert "172.30.9.20/32 dev eth1" in vrrp.configuration(msgspec.structs.replace(PLAIN, others=others), [])
    spread = instances(vrrp.configuration(msgspec.structs.replace(SPREAD, others=others), []))
    assert ["172.30.9.20/32 dev eth1" in each for each in spread] == [True, False, False]


def test_the_same_addresses_give_the_same_bytes() -> None:
    assert vrrp.configuration(PLAIN, ["10.0.0.5", "10.0.0.6"]) == vrrp.configuration(PLAIN, ["10.0.0.6", "10.0.0.5"])


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("interface", "eth0 }"),
        ("interface", "eth0\nnotify /bin/x"),
        ("own_address", "169.254.77.1 }"),
        ("stale_file", "/run/x; y"),
        ("stale_file", "relative"),
        ("alive_script", "/run/x y"),
        ("reload_file", "/run/x y"),
        ("fifo", "/run/x root"),
        ("source_address", "192.0.2.11 }"),
        ("peers", ("192.0.2.12 }",)),
    ],
)
def test_what_could_be_more_than_a_name_or_an_address_is_refused(field: str, text: object) -> None:
    unicast = msgspec.structs.replace(PLAIN, peers=("192.0.2.12",), source_address="192.0.2.11")
    vrrp.configuration(unicast, [])
    with pytest.raises(ValueError, match=r"."):
        vrrp.configuration(msgspec.structs.replace(unicast, **{field: text}), [])


@pytest.mark.parametrize("settings", [PLAIN, SPREAD, msgspec.structs.replace(SPREAD, hosted=True)])
@given(held=any_addresses, released=any_addresses)
def test_the_addresses_of_a_configuration_are_found_in_it(
    settings: Vrrp, held: frozenset[str], released: frozenset[str]
) -> None:
    text = vrrp.configuration(settings, held, released=released)
    assert vrrp.addresses(text) == held
    assert vrrp.mentioned(text) == held | released


@given(held=any_addresses, share=st.floats(0, 1))
def test_what_is_found_in_half_a_text_is_in_the_whole(held: frozenset[str], share: float) -> None:
    text = vrrp.configuration(SPREAD, held)
    assert vrrp.addresses(text[: round(share * len(text))]) <= held


def test_the_addresses_of_a_text_that_is_cut_off_are_found() -> None:
    text = vrrp.configuration(PLAIN, ["fd00::5", "10.0.0.12"])
    assert vrrp.addresses(text[: text.index("fd00::5")]) == {"10.0.0.12"}
    assert vrrp.addresses("") == frozenset()


def test_what_is_released_is_mentioned_and_not_held() -> None:
    text = vrrp.configuration(PLAIN, ["10.0.0.12"], released=["fd00::5"])
    assert vrrp.addresses(text) == {"10.0.0.12"}
    assert vrrp.mentioned(text) == {"10.0.0.12", "fd00::5"}


def test_a_zone_behind_an_address_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing may stand behind it"):
        vrrp.configuration(PLAIN, ["fe80::1%x\n notify /bin/x"])


@given(address=st.ip_addresses().filter(lambda each: "%" not in str(each)), count=st.integers(1, 32))
def test_each_address_is_in_the_one_instance_that_it_belongs_to(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address, count: int
) -> None:
    spread = msgspec.structs.replace(PLAIN, instances=count)
    host = f"{address}/{address.max_prefixlen} dev eth0"
    found = [host in each for each in instances(vrrp.configuration(spread, [str(address)]))]
    assert found == [number == vrrp.instance_of(str(address), count) for number in range(count)]
    assert vrrp.instance_of(address.exploded, count) == vrrp.instance_of(str(address), count)


@pytest.mark.parametrize("count", [2, 3, 4, 5])
@pytest.mark.parametrize("network", ["10.20.0.0/24", "192.168.100.0/23", "fd00:1:2::/120"])
def test_the_addresses_of_a_network_are_spread_evenly(network: str, count: int) -> None:
    addresses = [str(each) for each in ipaddress.ip_network(network)]
    shares = [sum(vrrp.instance_of(each, count) == number for each in addresses) for number in range(count)]
    even = len(addresses) / count
    assert all(0.7 * even < share < 1.3 * even for share in shares), shares


@given(count=st.integers(2, 32))
def test_each_gateway_goes_first_in_its_own_instance_and_the_others_follow_in_turn(count: int) -> None:
    gateways = [priorities(msgspec.structs.replace(PLAIN, instances=count, instance=own)) for own in range(count)]
    for number in range(count):
        order = sorted(range(count), key=lambda gateway: -gateways[gateway][number])
        assert order == [(number + step) % count for step in range(count)]
    assert {each for row in gateways for each in row} == set(range(PRIORITY - count + 1, PRIORITY + 1))


def test_who_gives_way_comes_after_all_who_do_not() -> None:
    assert min(priorities(msgspec.structs.replace(PLAIN, instances=32))) > PRIORITY - GIVE_WAY
    assert min(priorities(msgspec.structs.replace(PLAIN, instances=32))) - 2 * GIVE_WAY >= 1


def test_in_single_all_have_the_same_priority() -> None:
    assert priorities(PLAIN) == [PRIORITY]


def test_what_the_instances_advertise() -> None:
    assert vrrp.advertised(PLAIN) == ("169.254.77.1",)
    assert vrrp.advertised(SPREAD) == ("169.254.77.1", "169.254.77.2", "169.254.77.3")


@pytest.mark.parametrize("source", ["vip", "masquerade"])
@pytest.mark.parametrize(
    "wanted",
    [
        config.Vrrp(),
        TWO,
        UNICAST,
        HOSTED,
        msgspec.structs.replace(TWO, router_id=254, address="255.255.255.253"),
        msgspec.structs.replace(TWO, also=("192.0.2.1 dev eth1",), peers=("192.0.2.12",), source_address="192.0.2.11"),
    ],
)
def test_no_problem(wanted: config.Vrrp, source: vrrp.Source) -> None:
    assert vrrp.problem(wanted, source) is None


def test_the_address_of_the_client_can_be_kept_in_single() -> None:
    assert vrrp.problem(config.Vrrp(), "never") is None
    assert "their way back is one address" in str(vrrp.problem(TWO, "never"))


@pytest.mark.parametrize(
    ("wanted", "changed", "told"),
    [
        (config.Vrrp(), {"instances": 2}, 'are for vrrp.mode = "spread" only'),
        (config.Vrrp(), {"instance": 1}, 'are for vrrp.mode = "spread" only'),
        (TWO, {"instances": 1}, 'vrrp.mode = "spread" needs vrrp.instances'),
        (TWO, {"instance": 2}, "vrrp.instance = 2 is refused: with vrrp.instances = 2 it is 0 to 1"),
        (TWO, {"router_id": 255}, "vrrp.router_id = 255 is refused: with vrrp.instances = 2 it is 254 at most"),
        (config.Vrrp(), {"address": "224.0.0.18"}, 'vrrp.address = "224.0.0.18" is refused: 224.0.0.18 is not'),
        (config.Vrrp(), {"address": "127.0.0.1"}, "127.0.0.1 is not an address of one host in a network"),
        (config.Vrrp(), {"address": "255.255.255.255"}, "255.255.255.255 is not an address of one host in a network"),
        (TWO, {"address": "255.255.255.255"}, "2 addresses in a row are needed, and 255.255.255.255 is not"),
        (TWO, {"address": "255.255.255.254"}, "2 addresses in a row are needed, and 255.255.255.255 is not"),
        (TWO, {"address": "223.255.255.255"}, "2 addresses in a row are needed, and 224.0.0.0 is not"),
        (UNICAST, {"source_address": ""}, "vrrp.peers needs vrrp.source_address"),
        (UNICAST, {"peers": ()}, "vrrp.source_address is for vrrp.peers only"),
        (UNICAST, {"peers": ("192.0.2.11",)}, 'vrrp.peers = "192.0.2.11" is refused: it is this gateway itself'),
        (UNICAST, {"peers": ("224.0.0.18",)}, "224.0.0.18 is not an address of one host in a network"),
        (UNICAST, {"source_address": "0.0.0.0"}, "0.0.0.0 is not an address of one host in a network"),  # noqa: S104
        (TWO, {"peers": ("192.0.2.12",)}, "vrrp.peers needs vrrp.source_address"),
        (HOSTED, {"file": "mooring.conf"}, 'vrrp.file = "mooring.conf" is refused: a path from the root'),
        (HOSTED, {"main": "k.conf"}, 'vrrp.main = "k.conf" is refused: a path from the root'),
        (HOSTED, {"pid_file": "k.pid"}, 'vrrp.pid_file = "k.pid" is refused: a path from the root'),
        (HOSTED, {"file": HOSTED.main}, "vrrp.file is refused: it is vrrp.main too"),
        (HOSTED, {"reload": ()}, "vrrp.reload is refused: it names no command"),
        (TWO, {"daemon": "host", "reload": ()}, "vrrp.reload is refused: it names no command"),
    ],
)
def test_each_problem_of_keys_that_do_not_go_together(
    wanted: config.Vrrp, changed: dict[str, object], told: str
) -> None:
    assert told in str(vrrp.problem(msgspec.structs.replace(wanted, **changed), "vip"))


def test_settings_are_what_was_configured() -> None:
    wanted = config.Vrrp(
        interface="ens3",
        router_id=7,
        interval=1.0,
        address="169.254.9.1",
        also=("172.30.9.20 dev eth1",),
        mode="spread",
        instances=3,
        instance=2,
        peers=("192.0.2.12",),
        source_address="192.0.2.11",
        daemon="host",
    )
    assert vrrp.settings(wanted, stale_file="/s", reload_file="/r", alive_script="/a", fifo="/f") == Vrrp(
        interface="ens3",
        router_id=7,
        interval=1.0,
        own_address="169.254.9.1",
        stale_file="/s",
        others=(("172.30.9.20", "eth1"),),
        reload_file="/r",
        alive_script="/a",
        fifo="/f",
        instances=3,
        instance=2,
        peers=("192.0.2.12",),
        source_address="192.0.2.11",
        hosted=True,
    )


GLOBAL = """\
global_defs {
  router_id mooring
  script_user root
  enable_script_security
  vrrp_priority -20
  reload_file /run/mooring/reload
  notify_fifo /run/mooring/fifo
}
"""
WHOLE = """\
track_file mooring_stale {
  file /run/mooring/stale
  weight 1
}
vrrp_script mooring_alive {
  script /run/mooring/alive.sh
  user root
  interval 1
  timeout 2
  fall 2
  rise 1
  weight -50
}
vrrp_instance mooring {
  state BACKUP
  version 3
  interface eth0
  virtual_router_id 51
  priority 249
  advert_int 0.1
  unicast_src_ip 192.0.2.11
  unicast_peer {
    192.0.2.12
    192.0.2.13
  }
  garp_master_delay 1
  garp_master_repeat 5
  garp_master_refresh 60
  garp_master_refresh_repeat 1
  garp_lower_prio_delay 1
  track_file {
    mooring_stale
  }
  track_script {
    mooring_alive
  }
  virtual_ipaddress {
    169.254.77.1/32 dev eth0
  }
  virtual_ipaddress_excluded {
    fd00::5/128 dev eth0
    172.30.9.20/32 dev eth1
  }
}
vrrp_instance mooring_1 {
  state BACKUP
  version 3
  interface eth0
  virtual_router_id 52
  priority 250
  advert_int 0.1
  unicast_src_ip 192.0.2.11
  unicast_peer {
    192.0.2.12
    192.0.2.13
  }
  garp_master_delay 1
  garp_master_repeat 5
  garp_master_refresh 60
  garp_master_refresh_repeat 1
  garp_lower_prio_delay 1
  track_file {
    mooring_stale
  }
  track_script {
    mooring_alive
  }
  virtual_ipaddress {
    169.254.77.2/32 dev eth0
  }
  virtual_ipaddress_excluded {
    10.0.0.5/32 dev eth0
    # 10.0.0.6/32 is released
  }
}
"""


def test_the_whole_text() -> None:
    """Each line was tried with a real keepalived (tests/lab/test_keepalived_real.py); none is changed by accident."""
    whole = Vrrp(
        "eth0",
        51,
        0.1,
        "169.254.77.1",
        "/run/mooring/stale",
        (("172.30.9.20", "eth1"),),
        "/run/mooring/reload",
        "/run/mooring/alive.sh",
        "/run/mooring/fifo",
        instances=2,
        instance=1,
        peers=("192.0.2.13", "192.0.2.12"),
        source_address="192.0.2.11",
    )
    held, released = ["10.0.0.5", "fd00::5"], ["10.0.0.6"]
    assert vrrp.configuration(whole, held, released=released) == GLOBAL + WHOLE
    hosted = msgspec.structs.replace(whole, hosted=True)
    assert vrrp.configuration(hosted, held, released=released) == WHOLE
