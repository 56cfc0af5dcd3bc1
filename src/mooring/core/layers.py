"""At which layer of the cluster the packets of a Service enter it: at its pods, at the nodes, or at its cluster IP."""

from typing import Literal, TypeGuard, get_args

from mooring.model import names
from mooring.model.kubernetes import Service

Layer = Literal["pod", "node", "cluster"]
LAYERS: tuple[Layer, ...] = get_args(Layer)


def of_service(service: Service, default: Layer) -> Layer:
    """What its owner chose, or what the operator did for all that do not choose."""
    chosen = service.metadata.annotations.get(names.LAYER)
    return chosen if _is_layer(chosen) else default


def unknown(service: Service) -> str | None:
    """What its owner chose and is not there; None, if all is well."""
    chosen = service.metadata.annotations.get(names.LAYER)
    return None if chosen is None or _is_layer(chosen) else chosen


def _is_layer(text: str | None) -> TypeGuard[Layer]:
    return text in LAYERS
