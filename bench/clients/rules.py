"""One endpoint of one Service changes, with so many Services in the kernel: CPU seconds of our way and of the other.

    rules.py SERVICES     in a network namespace of its own; prints JSON

Ours changes the elements that differ. The other way, which is that of a daemon that writes a file and reloads it,
loads everything anew. Both go through libnftables in this process.
"""

import itertools
import json
import sys
import time

from mooring.core import ruleset
from mooring.host.nftables import Nftables
from mooring.model.gateway import Backend, Forward

ENDPOINTS = 10
PORTS_OF_AN_ADDRESS = 1000
ROUNDS = 5


def forwards(count: int, *, moved: int = 0) -> tuple[Forward, ...]:
    """Services with ten endpoints each; the first one's last endpoint has moved so many times."""
    found = []
    for number in range(count):
        address = f"10.20.{number // PORTS_OF_AN_ADDRESS}.1"
        addresses = [f"10.244.{number % 250}.{slot + 1}" for slot in range(ENDPOINTS)]
        if number == 0 and moved:
            addresses[-1] = f"10.245.0.{moved}"
        backends = tuple(Backend(each, 8080) for each in addresses)
        found.append(Forward(address, "TCP", 1 + number % PORTS_OF_AN_ADDRESS, f"shop/s{number}", backends))
    return tuple(found)


def main() -> None:
    count = int(sys.argv[1])
    nft = Nftables()
    states = [forwards(count, moved=moved) for moved in range(ROUNDS + 1)]
    nft.run(ruleset.load(states[0], seed=1, chains=64))
    changes, loads = [], []
    for before, after in itertools.pairwise(states):
        begin = time.process_time()
        nft.run(ruleset.change(before, after))
        changes.append(time.process_time() - begin)
    for after in states[1:]:
        begin = time.process_time()
        nft.run(ruleset.load(after, seed=1, chains=64))
        loads.append(time.process_time() - begin)
    print(json.dumps({"change": min(changes), "load": min(loads)}))  # noqa: T201 - this is how it answers


main()
