"""Our mark: how we know, from the call that makes it on, that something in OpenStack is of this cluster's Mooring.

It stands in the description, names the cluster by an identity that no other cluster has, and is all that a clean-up
goes by.
"""

PREFIX = "mooring cluster "


def dump(cluster: str) -> str:
    return f"{PREFIX}{cluster}"


def load(description: str) -> str | None:
    """The cluster that a description names; None: it is not our mark at all."""
    return description.removeprefix(PREFIX) if description.startswith(PREFIX) else None
