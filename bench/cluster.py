"""Services with ten endpoints each, as gateways are told of them; now and then an endpoint moves."""

import random
from collections.abc import Iterable

import msgspec

from mooring.model.gateway import Backend, Forward

ENDPOINTS = 10
PORT = 8080
FEW = 10
"""Addresses that all Services share, if they do."""
OF_A_BYTE = 250


class Cluster:
    """`addresses`: so many are shared by all Services."""

    def __init__(self, count: int, *, addresses: int) -> None:
        self.forwards = [_forward(number, addresses) for number in range(count)]
        self._random = random.Random(count)  # noqa: S311 - the same Services in each run, nothing secret
        self._moved = 0

    def move(self) -> tuple[Forward, Forward]:
        """One endpoint of one Service moves: what that Service was, and is."""
        number, slot = self._random.randrange(len(self.forwards)), self._random.randrange(ENDPOINTS)
        self._moved += 1
        old = self.forwards[number]
        backends = list(old.backends)
        backends[slot] = Backend(_address(180, self._moved), PORT)
        new = self.forwards[number] = msgspec.structs.replace(old, backends=tuple(backends))
        return old, new


def one_rule_each(forwards: Iterable[Forward]) -> str:
    """All that is loaded where one rule stands for one Service, with a map of its own for its endpoints."""
    rules = "\n".join(
        f"  ip daddr {each.address} tcp dport {each.port} dnat to numgen random mod {len(each.backends)} map {{ "
        + ", ".join(f"{slot} : {backend.address} . {backend.port}" for slot, backend in enumerate(each.backends))
        + " }"
        for each in forwards
    )
    return f"""table ip rules
delete table ip rules
table ip rules {{
 chain pre {{ type nat hook prerouting priority dstnat;
{rules}
 }}
 chain post {{ type nat hook postrouting priority srcnat;
  ct status dnat masquerade
 }}
}}
"""


def chains_each(forwards: Iterable[Forward]) -> str:
    """The same as kube-proxy has it: a chain for each Service, and one for each endpoint. Adds to what is there."""
    kept = tuple(forwards)
    chains = "\n".join(
        "\n".join(_endpoint_chain(each, backend) for backend in each.backends)
        + f"\n chain {_service(each)} {{\n  {_choice(each)}\n }}"
        for each in kept
    )
    elements = ", ".join(f"{each.address} . tcp . {each.port} : goto {_service(each)}" for each in kept)
    return f"""table ip chains {{
 chain mark-for-masquerade {{
 }}
{chains}
 map services {{
  type ipv4_addr . inet_proto . inet_service : verdict
  elements = {{ {elements} }}
 }}
 chain pre {{ type nat hook prerouting priority dstnat;
 }}
}}
"""


CHAINS_IN_FORCE = """add rule ip chains mark-for-masquerade mark set mark or 0x4000
add rule ip chains pre ip daddr . meta l4proto . th dport vmap @services
"""


def chains_moved(old: Forward, new: Forward) -> str:
    """What kube-proxy tells nft when endpoints come: their chains, and the Service's chain anew."""
    come = [each for each in new.backends if each not in old.backends]
    chains = "\n".join(_endpoint_chain(new, each) for each in come)
    return f"""table ip chains {{
{chains}
}}
flush chain ip chains {_service(new)}
add rule ip chains {_service(new)} {_choice(new)}
"""


def _endpoint_chain(forward: Forward, backend: Backend) -> str:
    to = f"{backend.address}:{backend.port}"
    return f""" chain {_endpoint(forward, backend)} {{
  ip saddr {backend.address} jump mark-for-masquerade
  meta l4proto tcp dnat to {to}
 }}"""


def _choice(forward: Forward) -> str:
    goto = ", ".join(f"{slot} : goto {_endpoint(forward, each)}" for slot, each in enumerate(forward.backends))
    return f"numgen random mod {len(forward.backends)} vmap {{ {goto} }}"


def _service(forward: Forward) -> str:
    return f"service-{forward.service}"


def _endpoint(forward: Forward, backend: Backend) -> str:
    return f"endpoint-{forward.service}/tcp__{backend.address}/{backend.port}"


def _forward(number: int, addresses: int) -> Forward:
    first = number * ENDPOINTS
    backends = tuple(Backend(_address(100, first + slot), PORT) for slot in range(ENDPOINTS))
    return Forward(_address(20, number % addresses), "TCP", 1 + number // addresses, f"shop/s{number}", backends)


def _address(network: int, number: int) -> str:
    return f"10.{network + number // OF_A_BYTE**2}.{number // OF_A_BYTE % OF_A_BYTE}.{number % OF_A_BYTE + 1}"
