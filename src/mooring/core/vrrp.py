"""keepalived's configuration, from the addresses that a gateway is to hold. Same input, same bytes.

Only one link-local address of our own is advertised; all Service addresses are excluded from the adverts, which could
not hold them all. All gateways have the same priority, so that nothing moves without need; one that is behind lowers
its own by a file that keepalived follows. One whose agent is gone cannot, so keepalived asks a script whether the agent
lives; its answer counts as much. Only addresses, numbers and names of interfaces get into the text, checked.
"""

import re
from collections.abc import Iterable

from msgspec import Struct

from mooring.core import plain_address
from mooring.core.plain_address import Address

PRIORITY = 250
GIVE_WAY = 50
"""By so much the priority is lowered of one that is behind, and of one whose agent is gone."""
INTERFACE = re.compile(r"[A-Za-z0-9_.-]{1,15}")
HELD = re.compile(r"^    ([0-9a-f.:]+)/\d+ dev ", re.MULTILINE)
RELEASED = re.compile(r"^    # ([0-9a-f.:]+)/\d+ is released", re.MULTILINE)
PATH = re.compile(r"/[A-Za-z0-9_./-]{1,200}")


class Vrrp(Struct, frozen=True):
    """What does not change: where adverts go, and who takes part."""

    interface: str
    router_id: int
    interval: float
    own_address: str
    stale_file: str
    others: tuple[tuple[str, str], ...] = ()
    """Addresses that move with the Services', with the interface of each, such as the nodes' way out."""
    reload_file: str = ""
    """What keepalived removes when it has read its configuration again."""
    alive_script: str = ""
    """What succeeds while the agent lives."""


def configuration(vrrp: Vrrp, addresses: Iterable[str], *, released: Iterable[str] = ()) -> str:
    """The text; who reads it later finds in it also the addresses that may still be held, and are to be released."""
    interface = _checked(INTERFACE, vrrp.interface)
    held = [f"{_host(each)} dev {interface}" for each in _ordered(addresses)]
    held += [f"{_host(plain_address.parsed(each))} dev {_checked(INTERFACE, where)}" for each, where in vrrp.others]
    held += [f"# {_host(each)} is released" for each in _ordered(released)]
    lines = "".join(f"\n    {each}" for each in held)
    reload = f"\n  reload_file {_checked(PATH, vrrp.reload_file)}" if vrrp.reload_file else ""
    script = _script(vrrp.alive_script) if vrrp.alive_script else ""
    follows = "\n  track_script {\n    alive\n  }" if script else ""
    return f"""global_defs {{
  router_id mooring
  vrrp_version 3
  vrrp_garp_master_delay 1{reload}
  script_user root
  enable_script_security
}}
track_file stale {{
  file {_checked(PATH, vrrp.stale_file)}
  weight 1
}}{script}
vrrp_instance mooring {{
  state BACKUP
  interface {interface}
  virtual_router_id {vrrp.router_id:d}
  priority {PRIORITY}
  advert_int {vrrp.interval:g}
  track_file {{
    stale
  }}{follows}
  virtual_ipaddress {{
    {_host(plain_address.parsed(vrrp.own_address))} dev {interface}
  }}
  virtual_ipaddress_excluded {{{lines}
  }}
}}
"""


def _script(path: str) -> str:
    """Two bad answers in a row count, one by chance does not; a single good one takes the priority back at once."""
    return f"""
vrrp_script alive {{
  script {_checked(PATH, path)}
  interval 1
  timeout 2
  fall 2
  rise 1
  weight -{GIVE_WAY}
}}"""


def addresses(text: str) -> frozenset[str]:
    """The addresses that are excluded from the adverts in a configuration of ours, whole or cut off."""
    _, _, excluded = text.partition("virtual_ipaddress_excluded {")
    return frozenset(HELD.findall(excluded))


def mentioned(text: str) -> frozenset[str]:
    """The same, with those that were released when it was written, and may still be held."""
    return addresses(text) | frozenset(RELEASED.findall(text))


def _ordered(texts: Iterable[str]) -> list[Address]:
    return sorted({plain_address.parsed(each) for each in texts}, key=lambda each: (each.version, int(each)))


def _host(address: Address) -> str:
    return f"{address}/{address.max_prefixlen}"


def _checked(pattern: re.Pattern[str], text: str) -> str:
    if not pattern.fullmatch(text):
        raise ValueError(f"{text!r} cannot stand in keepalived's configuration")
    return text
