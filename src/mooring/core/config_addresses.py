"""What keys say together about where addresses come from: from OpenStack, or from a list of the operator's.

listed  network, subnets, floating network  port of a gateway  ->  answer
------  ----------------------------------  -----------------      ------
no      -                                   given                  as it is
no      -                                   missing                problem: it is missing
yes     none of them                        missing                as it is
yes     one of them, or                     given                  problem: OpenStack is not asked

What is listed is of Services alone: neither twice, nor of a gateway, nor too much.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from mooring.core import plain_address, ranges
from mooring.core.ranges import Range
from mooring.model.settings import FromDefault, FromEnvironment, FromFile, Problem, Setting, Value

MOST = 4096
STATIC = "addresses.static"
OF_OPENSTACK = (
    *("addresses.network", "addresses.subnet", "addresses.subnet_ipv6", "addresses.floating_network"),
    *("addresses.subnets_allowed", "addresses.floating_networks_allowed"),
    *("addresses.pairs_limit", "addresses.manage_security_group"),
)
OF_GATEWAYS = ("vrrp.address", "vrrp.also", "vrrp.peers", "vrrp.source_address")
"""Where gateways have addresses of their own, besides their agents'."""

Place = Callable[..., FromFile]
"""The origin of a table."""


def problems(settings: Iterable[Setting], table: Place, refused: Collection[str]) -> Iterator[Problem]:
    """`refused`: keys whose values are wrong by themselves, and so say nothing about others."""
    given = {f"{each.section}.{each.key}": each for each in settings}
    yield from _contradicting(given)
    static = given[STATIC]
    if STATIC in refused:
        return
    if not static.value:
        yield from _missing(given, table)
    elif not isinstance(static.origin, FromDefault):
        yield from _of_openstack(given)
        yield from _listed(_ranges(static.value), _hosts(given), static.origin)


def _contradicting(given: Mapping[str, Setting]) -> Iterator[Problem]:
    """What has no meaning beside, or without, something else."""
    for path, wrong, said in (
        (
            "addresses.floating_networks_allowed",
            not given["addresses.floating_network"].value,
            "refused without addresses.floating_network, which those come from who choose nothing",
        ),
        (
            "addresses.subnet_ipv6",
            given["addresses.subnet_ipv6"].value == given["addresses.subnet"].value,
            "refused: it is addresses.subnet, and no subnet has addresses of both families",
        ),
        (
            "addresses.wishes_allowed",
            given["addresses.wishes"].value == "none",
            'refused beside addresses.wishes = "none": nobody may ask for an address then',
        ),
    ):
        setting = given[path]
        if wrong and setting.value and isinstance(setting.origin, FromFile | FromEnvironment):
            yield Problem(setting.origin, path, said)


def _missing(given: Mapping[str, Setting], table: Place) -> Iterator[Problem]:
    for path, each in given.items():
        if _is_port(path) and each.value is None:
            where = table(*each.section.split("."))
            yield Problem(where, path, "missing, allowed: an id, or a name that only one has")


def _of_openstack(given: Mapping[str, Setting]) -> Iterator[Problem]:
    for path, each in given.items():
        if (path in OF_OPENSTACK or _is_port(path)) and isinstance(each.origin, FromFile | FromEnvironment):
            yield Problem(each.origin, path, f"refused beside {STATIC}: OpenStack is not asked for anything then")


def _listed(
    listed: tuple[Range, ...], hosts: Mapping[str, str], origin: FromFile | FromEnvironment
) -> Iterator[Problem]:
    for number, each in enumerate(listed):
        for other in listed[:number]:
            if each.meets(other):
                yield Problem(origin, STATIC, f"{each} and {other} have addresses in common")
    for address, path in hosts.items():
        if ranges.hold(listed, address):
            yield Problem(origin, STATIC, f"{address} is of a gateway, by {path}: no Service can have it")
    count = sum(each.count for each in listed)
    if count > MOST:
        yield Problem(origin, STATIC, f"{count:,} addresses are refused, allowed: at most {MOST:,}")


def _hosts(given: Mapping[str, Setting]) -> dict[str, str]:
    """The addresses that gateways have themselves, by what the configuration says, and where it says so."""
    found: dict[str, str] = {}
    for path, each in given.items():
        if path in OF_GATEWAYS or (path.startswith("gateways.") and each.key == "agent"):
            for text in _texts(each.value):
                host = text.partition(" ")[0]
                bare = host.rpartition(":")[0].strip("[]") if each.key == "agent" else host
                if plain_address.is_of_a_host(bare):
                    found.setdefault(bare, path)
    return found


def _ranges(value: Value) -> tuple[Range, ...]:
    return ranges.read_all(_texts(value))


def _texts(value: Value) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else (value,) if isinstance(value, str) else ()


def _is_port(path: str) -> bool:
    return path.startswith("gateways.") and path.endswith(".port")
