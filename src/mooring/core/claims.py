"""Whose a Service of type LoadBalancer is that has no class. Settled once, where Services come in; then all have one.

class    annotation      unclassed are claimed  we hold it  ->  class
-------  --------------  ---------------------  ----------      -----
any      -               -                      -               the same
none     none, gateway   yes                    -               ours
none     none, gateway   no                     yes             ours, until it is let go: no configuration takes an
                                                                address away
none     none, gateway   no                     no              none: somebody else's
none     another         -                      -               none: somebody else's

Who has opted out of ch-k8s-lbaas counts as not claimed, unless the annotation says gateway: it wanted no load balancer.

A word that is no back end at all is a slip on a Service that we hold: it stays ours, and is told so.
"""

import msgspec

from mooring.core import annotations, quoting
from mooring.core.wishes import Refused
from mooring.model import names
from mooring.model.config import Services
from mooring.model.kubernetes import Service
from mooring.model.reasons import Reason

BACKENDS = (names.GATEWAY_BACKEND, "octavia", "ovn")


def settled(service: Service, wanted: Services) -> Service:
    """The Service with the class that it counts as. What is written to it never has a class in it."""
    spec = service.spec
    if spec.type != "LoadBalancer" or spec.load_balancer_class or other_backend(service):
        return service
    claimed = wanted.claim_unclassed and not opted_out_elsewhere(service)
    if not claimed and not _held(service):
        return service
    return msgspec.structs.replace(service, spec=msgspec.structs.replace(spec, load_balancer_class=names.GATEWAY_CLASS))


def _held(service: Service) -> bool:
    """Whether we took it on, by what it says of itself: only controllers write a status, and nobody copies one."""
    return any(each.type in names.CONDITIONS for each in service.status.conditions)


def opted_out_elsewhere(service: Service) -> bool:
    """Whether its owner wanted no load balancer while there was another one, and has not asked for this one since."""
    return annotations.opted_out_of_cah(service) and not service.metadata.annotations.get(names.BACKEND)


def other_backend(service: Service) -> str:
    """The back end that its annotation asks for, if it is not this one."""
    backend = service.metadata.annotations.get(names.BACKEND, "")
    return "" if backend == names.GATEWAY_BACKEND or _slipped(service) else backend


def unclear(service: Service) -> Refused | None:
    """What cannot be understood of the back end that somebody asks for whom we serve."""
    if not _slipped(service):
        return None
    said = quoting.quoted(service.metadata.annotations[names.BACKEND])
    fix = f"Write one of {', '.join(BACKENDS)} there, or take the annotation away"
    return Refused(f"Its annotation {names.BACKEND} says {said}", fix, Reason.BAD_ANNOTATION)


def _slipped(service: Service) -> bool:
    known = {"", *BACKENDS}
    said = service.metadata.annotations.get(names.BACKEND, "")
    return said not in known and names.FINALIZER in service.metadata.finalizers
