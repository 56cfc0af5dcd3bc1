"""All objects, file by file, and the text of each: a stream of YAML documents that `kubectl apply` takes."""

from collections.abc import Iterable

import msgspec

from mooring.controller import permissions
from mooring.manifests import access, controller
from mooring.manifests.objects import Object

RBAC = "rbac.yaml"
CONTROLLER = "controller.yaml"
HEAD = "# Made by `make manifests`: change it in an overlay, not here.\n"


def rbac() -> tuple[Object, ...]:
    """What a controller needs in the cluster wherever it runs itself."""
    return access.objects(permissions.CONTROLLER)


def everything(image: str = controller.IMAGE) -> dict[str, tuple[Object, ...]]:
    """The objects by the names of their files, in an order in which they can be applied."""
    return {RBAC: rbac(), CONTROLLER: controller.objects(image)}


def text(objects: Iterable[Object]) -> str:
    """A stream of YAML documents. Keys stay in their order; nothing is referred to, everything is written out."""
    return "---\n".join(msgspec.yaml.encode(each).decode() for each in objects)


def written() -> dict[str, str]:
    """The files of deploy/kubernetes."""
    return {name: HEAD + text(objects) for name, objects in everything().items()}
