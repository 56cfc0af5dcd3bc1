"""Variables of the environment that are called as if they were ours, and are not: most of them are misspelt.

They are told and not refused: the environment belongs to others too. Kubernetes itself puts names such as
MOORING_LOG_PORT into a pod beside a Service that is called mooring-log, and MOORING_LOG_SERVICE_HOST with each of them.
"""

import difflib
import re
from collections.abc import Iterator, Mapping

from mooring.core import config_keys

PREFIX = "MOORING_"
NO_KEYS = frozenset({"MOORING_CONFIG", "MOORING_LAB", "MOORING_STATE", "MOORING_CACHE", "MOORING_TEST_LAB"})
"""Known, and no part of the configuration."""
GATEWAYS = "MOORING_GATEWAYS_"
HOST = "_SERVICE_HOST"
LINK = re.compile(r"(?P<service>\w+?)(_SERVICE_HOST|_SERVICE_PORT(_\w+)?|_PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?)")


def strange(environment: Mapping[str, str]) -> tuple[str, ...]:
    """A line for each variable that counts for nothing: its name, and what may be meant."""
    known = [key.variable for section in config_keys.sections() for key in section.keys if key.variable is not None]
    links = frozenset(_links(environment))
    ours = {each for each in environment if each.startswith(PREFIX)} - NO_KEYS - links
    return tuple(f"environment variable {each}: {_told(each, known)}" for each in sorted(ours.difference(known)))


def _links(environment: Mapping[str, str]) -> Iterator[str]:
    """What Kubernetes sets for the Services of a pod's namespace."""
    for name in environment:
        link = LINK.fullmatch(name)
        if link is not None and f"{link['service']}{HOST}" in environment:
            yield name


def _told(name: str, known: list[str]) -> str:
    if name.startswith(GATEWAYS):
        return "counts for nothing: gateways stand in the file only"
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.8)
    return "counts for nothing: there is no such key" + (f", did you mean {near[0]}?" if near else "")
