"""keepalived's configuration, from the addresses that a gateway is to hold. Same input, same bytes.

Only one link-local address of our own is advertised; all Service addresses are excluded from the adverts, which could
not hold them all. All gateways have the same priority, so that nothing moves without need; one that is behind lowers
its own by a file that keepalived follows. Only addresses, numbers and names of interfaces get into the text, checked.
"""

import ipaddress
import re
from collections.abc import Iterable

from msgspec import Struct

PRIORITY = 250
INTERFACE = re.compile(r"[A-Za-z0-9_.-]{1,15}")
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


def configuration(vrrp: Vrrp, addresses: Iterable[str]) -> str:
    interface = _checked(INTERFACE, vrrp.interface)
    excluded = sorted({_address(each) for each in addresses}, key=lambda each: (each.version, int(each)))
    held = [f"{_host(each)} dev {interface}" for each in excluded]
    held += [f"{_host(_address(each))} dev {_checked(INTERFACE, where)}" for each, where in vrrp.others]
    lines = "\n".join(f"    {each}" for each in held)
    return f"""global_defs {{
  router_id mooring
  vrrp_version 3
}}
track_file stale {{
  file {_checked(PATH, vrrp.stale_file)}
  weight 1
}}
vrrp_instance mooring {{
  state BACKUP
  interface {interface}
  virtual_router_id {vrrp.router_id:d}
  priority {PRIORITY}
  advert_int {vrrp.interval:g}
  track_file {{
    stale
  }}
  virtual_ipaddress {{
    {_host(_address(vrrp.own_address))} dev {interface}
  }}
  virtual_ipaddress_excluded {{
{lines}
  }}
}}
"""


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ipaddress.ip_address(text)


def _host(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    return f"{address}/{address.max_prefixlen}"


def _checked(pattern: re.Pattern[str], text: str) -> str:
    if not pattern.fullmatch(text):
        raise ValueError(f"{text!r} cannot stand in keepalived's configuration")
    return text
