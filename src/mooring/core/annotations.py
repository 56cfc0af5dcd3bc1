"""What the owner of a Service has annotated, in our words or in those of another load balancer (`names.ALIKE`)."""

from mooring.model import names
from mooring.model.kubernetes import Service


def said(service: Service, name: str) -> str:
    """What it says, without the blanks around it; nothing, if it says nothing."""
    return service.metadata.annotations.get(spelled(service, name), "").strip()


def spelled(service: Service, name: str) -> str:
    """The name under which it says so; ours, if it says nothing."""
    there = service.metadata.annotations
    if name in there:
        return name
    return next((each for each in names.ALIKE.get(name, ()) if each in there), name)
