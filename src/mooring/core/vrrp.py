"""keepalived's configuration, from the addresses that a gateway is to hold. Same input, same bytes.

Only link-local addresses of our own are advertised, one per instance; all Service addresses are excluded from the
adverts, which could not hold them all. One that is behind lowers its priority by a file that keepalived follows. One
whose agent is gone cannot, so keepalived asks a script whether the agent lives; its answer counts as much.

mode    instances        priority                           so that
------  ---------------  ---------------------------------  -----------------------------------
single  one              the same on all gateways           nothing moves without need
spread  one per gateway  each gateway's own is its highest  each holds its share of the addresses

An address alone says which instance it belongs to, so all gateways agree without asking. Only addresses, numbers, paths
and names of interfaces get into the text, checked. In a keepalived of the host's there is no section of ours that holds
for all of it; what we need is said in each instance.
"""

import ipaddress
import re
import zlib
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from mooring.core import plain_address
from mooring.core.plain_address import Address
from mooring.model import config

Source = Literal["vip", "never", "masquerade"]
"""What backends see as the source: the Service's address, the client's own, or one of the gateway's."""

PRIORITY = 250
"""Near the highest there is, 255: the nearer, the sooner another one follows who ends by plan."""
GIVE_WAY = 50
"""By so much the priority is lowered of one that is behind, and of one whose agent is gone."""
AGAIN = 1
"""Seconds after which addresses are announced once more: by a new master, and by one who met a rival for a moment.

The rival's announcement may be believed last: OVN writes down what it hears with a delay of chance. keepalived's own
choice after a rival is 5 seconds, and for so long packets would go to the wrong gateway.
"""
LAST_ROUTER = 255
INTERFACE = re.compile(r"[A-Za-z0-9_.-]{1,15}")
PATH = re.compile(r"/[A-Za-z0-9_./-]{1,200}")
EXCLUDED = re.compile(r"^  virtual_ipaddress_excluded \{(.*?)(?:^  \}|\Z)", re.MULTILINE | re.DOTALL)
HELD = re.compile(r"^    ([0-9a-f.:]+)/\d+ dev ", re.MULTILINE)
RELEASED = re.compile(r"^    # ([0-9a-f.:]+)/\d+ is released", re.MULTILINE)


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
    fifo: str = ""
    """Where keepalived writes what it has become."""
    instances: int = 1
    instance: int = 0
    """The one that this gateway holds before others do."""
    peers: tuple[str, ...] = ()
    """The other gateways, where adverts are sent to each of them; without any, they are sent to all who listen."""
    source_address: str = ""
    hosted: bool = False
    """The text is a part of the configuration of the host's own keepalived."""


def settings(wanted: config.Vrrp, *, stale_file: str, reload_file: str, alive_script: str, fifo: str) -> Vrrp:
    """What an operator configured, with the files that we and keepalived share."""
    return Vrrp(
        interface=wanted.interface,
        router_id=wanted.router_id,
        interval=wanted.interval,
        own_address=wanted.address,
        stale_file=stale_file,
        others=tuple((address, where) for address, _, where in (each.partition(" dev ") for each in wanted.also)),
        reload_file=reload_file,
        alive_script=alive_script,
        fifo=fifo,
        instances=wanted.instances,
        instance=wanted.instance,
        peers=wanted.peers,
        source_address=wanted.source_address,
        hosted=wanted.daemon == "host",
    )


def problem(wanted: config.Vrrp, source: Source) -> str | None:
    """What is wrong with keys that are right one by one; None, if nothing is."""
    if wanted.mode == "single" and (wanted.instances, wanted.instance) != (1, 0):
        return 'vrrp.instances and vrrp.instance are for vrrp.mode = "spread" only: leave them out, or set the mode'
    spread = _problem_of_spread(wanted, source) if wanted.mode == "spread" else None
    return spread or _problem_of_address(wanted) or _problem_of_peers(wanted) or _problem_of_host(wanted)


def _problem_of_spread(wanted: config.Vrrp, source: Source) -> str | None:
    count = wanted.instances
    if count == 1:
        return 'vrrp.mode = "spread" needs vrrp.instances, the number of gateways, 2 at least'
    if wanted.instance >= count:
        return f"vrrp.instance = {wanted.instance} is refused: with vrrp.instances = {count} it is 0 to {count - 1}"
    if wanted.router_id + count - 1 > LAST_ROUTER:
        most = LAST_ROUTER - count + 1
        return f"vrrp.router_id = {wanted.router_id} is refused: with vrrp.instances = {count} it is {most} at most"
    if source == "never":
        return (
            'vrrp.mode = "spread" is refused where backends see the address of the client: their way back is one '
            'address, which only one gateway has. Use vrrp.mode = "single", or let the source be translated'
        )
    return None


def _problem_of_address(wanted: config.Vrrp) -> str | None:
    """Each instance has the next one. Behind the last address there is none, but that one is refused before."""
    first = ipaddress.IPv4Address(wanted.address)
    row = f"{wanted.instances} addresses in a row are needed, and " if wanted.instances > 1 else ""
    for number in range(wanted.instances):
        try:
            plain_address.of_a_host(str(first + number))
        except ValueError as error:
            return f'vrrp.address = "{wanted.address}" is refused: {row}{error}'
    return None


def _problem_of_peers(wanted: config.Vrrp) -> str | None:
    own = wanted.source_address
    if wanted.peers and not own:
        return "vrrp.peers needs vrrp.source_address, the address of this gateway that the peers know"
    if own and not wanted.peers:
        return "vrrp.source_address is for vrrp.peers only: leave it out, or name the other gateways"
    if own in wanted.peers:
        return f'vrrp.peers = "{own}" is refused: it is this gateway itself, vrrp.source_address'
    for each in (*wanted.peers, own) if own else ():
        try:
            plain_address.of_a_host(each)
        except ValueError as error:
            return f"vrrp.peers and vrrp.source_address are addresses of hosts: {error}"
    return None


def _problem_of_host(wanted: config.Vrrp) -> str | None:
    if wanted.daemon == "own":
        return None
    for key, path in (("file", wanted.file), ("main", wanted.main), ("pid_file", wanted.pid_file)):
        if not path.startswith("/"):
            return f'vrrp.{key} = "{path}" is refused: a path from the root is needed, it begins with /'
    if wanted.file == wanted.main:
        return (
            "vrrp.file is refused: it is vrrp.main too, and would be overwritten. Name a file that vrrp.main includes"
        )
    if not wanted.reload:
        return 'vrrp.reload is refused: it names no command; ["systemctl", "reload", "keepalived"] is the usual one'
    return None


def instance_of(address: str, instances: int) -> int:
    """The instance that an address belongs to."""
    return zlib.crc32(plain_address.parsed(address).packed) % instances


def advertised(vrrp: Vrrp) -> tuple[str, ...]:
    """The address that each instance advertises; who has it on the interface is master of that instance."""
    first = ipaddress.IPv4Address(vrrp.own_address)
    return tuple(str(first + number) for number in range(vrrp.instances))


def configuration(vrrp: Vrrp, addresses: Iterable[str], *, released: Iterable[str] = ()) -> str:
    """The text; who reads it later finds in it also the addresses that may still be held, and are to be released."""
    held, freed = _ordered(addresses), _ordered(released)
    instances = "".join(
        _instance(vrrp, number, held=_of(number, vrrp, held), released=_of(number, vrrp, freed))
        for number in range(vrrp.instances)
    )
    return f"{'' if vrrp.hosted else _global(vrrp)}{_followed(vrrp)}{instances}"


def addresses(text: str) -> frozenset[str]:
    """The addresses that are excluded from the adverts in a configuration of ours, whole or cut off."""
    return frozenset(address for excluded in EXCLUDED.findall(text) for address in HELD.findall(excluded))


def mentioned(text: str) -> frozenset[str]:
    """The same, with those that were released when it was written, and may still be held."""
    return addresses(text) | frozenset(RELEASED.findall(text))


def _global(vrrp: Vrrp) -> str:
    """Who sends adverts goes before others on a busy host, if it may. The user stands before the FIFO, which needs one.

    Not in real time: when keepalived 2.2.7 reads its configuration again, it sets its own limit for that to nothing,
    and without CAP_SYS_RESOURCE cannot take it back; the kernel then kills it. Nor is memory locked: where the limit
    for that is near, keepalived would end later, when it needs more.
    """
    reload = f"\n  reload_file {_checked(PATH, vrrp.reload_file)}" if vrrp.reload_file else ""
    fifo = f"\n  notify_fifo {_checked(PATH, vrrp.fifo)}" if vrrp.fifo else ""
    return f"""global_defs {{
  router_id mooring
  script_user root
  enable_script_security
  vrrp_priority -20{reload}{fifo}
}}
"""


def _followed(vrrp: Vrrp) -> str:
    """What lowers the priority. Two bad answers of the script in a row count, one by chance does not; one good does."""
    stale = f"""track_file mooring_stale {{
  file {_checked(PATH, vrrp.stale_file)}
  weight 1
}}
"""
    if not vrrp.alive_script:
        return stale
    return f"""{stale}vrrp_script mooring_alive {{
  script {_checked(PATH, vrrp.alive_script)}
  user root
  interval 1
  timeout 2
  fall 2
  rise 1
  weight -{GIVE_WAY}
}}
"""


def _instance(vrrp: Vrrp, number: int, *, held: list[Address], released: list[Address]) -> str:
    interface = _checked(INTERFACE, vrrp.interface)
    lines = [f"{_host(each)} dev {interface}" for each in held]
    if number == 0:
        lines += [f"{_host(plain_address.parsed(each))} dev {_checked(INTERFACE, at)}" for each, at in vrrp.others]
    lines += [f"# {_host(each)} is released" for each in released]
    excluded = "".join(f"\n    {each}" for each in lines)
    script = "\n  track_script {\n    mooring_alive\n  }" if vrrp.alive_script else ""
    return f"""vrrp_instance mooring{f"_{number}" if number else ""} {{
  state BACKUP
  version 3
  interface {interface}
  virtual_router_id {vrrp.router_id + number:d}
  priority {PRIORITY - (vrrp.instance - number) % vrrp.instances}
  advert_int {vrrp.interval:g}{_unicast(vrrp)}
  garp_master_delay {AGAIN}
  garp_master_repeat 5
  garp_master_refresh 60
  garp_master_refresh_repeat 1
  garp_lower_prio_delay {AGAIN}
  track_file {{
    mooring_stale
  }}{script}
  virtual_ipaddress {{
    {advertised(vrrp)[number]}/32 dev {interface}
  }}
  virtual_ipaddress_excluded {{{excluded}
  }}
}}
"""


def _unicast(vrrp: Vrrp) -> str:
    if not vrrp.peers:
        return ""
    peers = "".join(f"\n    {each}" for each in _ordered(vrrp.peers))
    return f"\n  unicast_src_ip {plain_address.parsed(vrrp.source_address)}\n  unicast_peer {{{peers}\n  }}"


def _of(number: int, vrrp: Vrrp, ordered: list[Address]) -> list[Address]:
    return [each for each in ordered if instance_of(str(each), vrrp.instances) == number]


def _ordered(texts: Iterable[str]) -> list[Address]:
    return sorted({plain_address.parsed(each) for each in texts}, key=lambda each: (each.version, int(each)))


def _host(address: Address) -> str:
    return f"{address}/{address.max_prefixlen}"


def _checked(pattern: re.Pattern[str], text: str) -> str:
    if not pattern.fullmatch(text):
        raise ValueError(f"{text!r} cannot stand in keepalived's configuration")
    return text
