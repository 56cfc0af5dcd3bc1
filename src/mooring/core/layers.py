"""At which layer of the cluster the packets of a Service enter it: at its pods, at the nodes, or at its cluster IP."""

from typing import Literal, TypeGuard, get_args

from mooring.core import annotations, quoting
from mooring.core.wishes import Refused
from mooring.model import names
from mooring.model.kubernetes import Service
from mooring.model.reasons import Reason

Layer = Literal["pod", "node", "cluster"]
LAYERS: tuple[Layer, ...] = get_args(Layer)


def of_service(service: Service, default: Layer) -> Layer:
    """What its owner chose, or what the operator did for all that do not choose."""
    chosen = annotations.said(service, names.LAYER)
    return chosen if _is_layer(chosen) else default


def refused(service: Service) -> Refused | None:
    """Why what its owner chose cannot be."""
    chosen = annotations.said(service, names.LAYER)
    if names.LAYER not in service.metadata.annotations or _is_layer(chosen):
        return None
    fact = f"Its annotation {names.LAYER} says {quoting.quoted(chosen)}, and there is no such layer"
    fix = f"Write one of {', '.join(LAYERS)} there, or take the annotation away"
    return Refused(fact, fix, Reason.BAD_ANNOTATION)


def _is_layer(text: str) -> TypeGuard[Layer]:
    return text in LAYERS
