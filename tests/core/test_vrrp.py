"""keepalived's configuration: addresses in order, nothing else that somebody wrote."""

import msgspec
import pytest

from mooring.core import vrrp
from mooring.core.vrrp import Vrrp

PLAIN = Vrrp("eth0", 51, 0.1, "169.254.77.1", "/run/mooring/stale")


def test_the_service_addresses_are_excluded_from_the_adverts_in_order() -> None:
    text = vrrp.configuration(PLAIN, ["fd00::5", "10.0.0.12", "10.0.0.5", "10.0.0.5"])
    advertised, excluded = text.split("virtual_ipaddress_excluded")
    assert "169.254.77.1/32 dev eth0" in advertised
    held = [line.strip() for line in excluded.splitlines() if "dev" in line]
    assert held == ["10.0.0.5/32 dev eth0", "10.0.0.12/32 dev eth0", "fd00::5/128 dev eth0"]


def test_other_addresses_move_with_them() -> None:
    nodes = msgspec.structs.replace(PLAIN, others=(("172.30.9.20", "eth1"),))
    assert "172.30.9.20/32 dev eth1" in vrrp.configuration(nodes, [])


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
    ],
)
def test_what_could_be_more_than_a_name_or_an_address_is_refused(field: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        vrrp.configuration(msgspec.structs.replace(PLAIN, **{field: text}), [])


def test_the_addresses_of_a_configuration_are_found_in_it_whole_or_cut_off() -> None:
    text = vrrp.configuration(PLAIN, ["fd00::5", "10.0.0.12"])
    assert vrrp.addresses(text) == {"fd00::5", "10.0.0.12"}
    assert vrrp.addresses(text[: text.index("fd00::5")]) == {"10.0.0.12"}
    assert vrrp.addresses("") == frozenset()


def test_what_is_released_is_mentioned_and_not_held() -> None:
    text = vrrp.configuration(PLAIN, ["10.0.0.12"], released=["fd00::5"])
    assert vrrp.addresses(text) == {"10.0.0.12"}
    assert vrrp.mentioned(text) == {"10.0.0.12", "fd00::5"}


def test_a_zone_behind_an_address_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing may stand behind it"):
        vrrp.configuration(PLAIN, ["fe80::1%x\n notify /bin/x"])


def test_the_whole_text() -> None:
    """Each line was found with a real keepalived (tests/lab/test_agent.py); nobody changes one by accident."""
    whole = Vrrp(
        "eth0",
        51,
        0.1,
        "169.254.77.1",
        "/run/mooring/stale",
        (("172.30.9.20", "eth1"),),
        "/run/mooring/reload",
        "/run/mooring/alive.sh",
    )
    assert (
        vrrp.configuration(whole, ["10.0.0.5", "fd00::5"], released=["10.0.0.6"])
        == """\
global_defs {
  router_id mooring
  vrrp_version 3
  vrrp_garp_master_delay 1
  reload_file /run/mooring/reload
  script_user root
  enable_script_security
}
track_file stale {
  file /run/mooring/stale
  weight 1
}
vrrp_script alive {
  script /run/mooring/alive.sh
  interval 1
  timeout 2
  fall 2
  rise 1
  weight -50
}
vrrp_instance mooring {
  state BACKUP
  interface eth0
  virtual_router_id 51
  priority 250
  advert_int 0.1
  track_file {
    stale
  }
  track_script {
    alive
  }
  virtual_ipaddress {
    169.254.77.1/32 dev eth0
  }
  virtual_ipaddress_excluded {
    10.0.0.5/32 dev eth0
    fd00::5/128 dev eth0
    172.30.9.20/32 dev eth1
    # 10.0.0.6/32 is released
  }
}
"""
    )
