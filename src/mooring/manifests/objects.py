"""What all our objects have in common: names, labels, and the order of their keys."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from mooring.controller.controller import LEASE

Object: TypeAlias = dict[str, Any]
"""An object as the API takes it. Kubernetes' own schema says what may stand in it."""

NAMESPACE = LEASE.namespace
NAME = "mooring"
LABELS = {"app.kubernetes.io/name": NAME}
NONE: Mapping[str, str] = {}


def made(
    version: str, kind: str, name: str, namespace: str = "", *, labels: Mapping[str, str] = NONE, **body: object
) -> Object:
    """An object with our labels; the keys stand in the order in which people write them."""
    metadata: Object = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    metadata["labels"] = LABELS | dict(labels)
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **body}
