"""Whose a Service of type LoadBalancer is that has no class. Settled once, where Services come in; then all have one.

class    annotation      unclassed are claimed  ->  class
-------  --------------  ---------------------      -----
any      -               -                          the same
none     -               no                         none: somebody else's
none     none, gateway   yes                        ours
none     another         yes                        none: somebody else's
"""

import msgspec

from mooring.model import names
from mooring.model.config import Services
from mooring.model.kubernetes import Service


def settled(service: Service, wanted: Services) -> Service:
    """The Service with the class that it counts as. What is written to it never has a class in it."""
    spec = service.spec
    if not wanted.claim_unclassed or spec.type != "LoadBalancer" or spec.load_balancer_class or other_backend(service):
        return service
    return msgspec.structs.replace(service, spec=msgspec.structs.replace(spec, load_balancer_class=names.GATEWAY_CLASS))


def other_backend(service: Service) -> str:
    """The back end that its annotation asks for, if it is not this one."""
    backend = service.metadata.annotations.get(names.BACKEND, "")
    return "" if backend == names.GATEWAY_BACKEND else backend
