"""Which object, collection or part a path of the API means."""

from collections.abc import Iterable
from http import HTTPStatus

from mooring.kube.twin.answers import Refusal, no_such_resource
from mooring.kube.twin.fitting import Place
from mooring.kube.twin.resources import Served

NAMESPACES = "namespaces"
MOST_REMEMBERED = 100_000


class Paths:
    """The paths of the kinds that are served. A path that was asked for once is remembered."""

    def __init__(self) -> None:
        self._served: dict[tuple[str, str, str], Served] = {}
        self._known: dict[str, Place] = {}

    def add(self, served: Served) -> None:
        resource = served.resource
        self._served[resource.group, resource.version, resource.plural] = served
        self._known.clear()

    def remove(self, served: Served) -> None:
        resource = served.resource
        del self._served[resource.group, resource.version, resource.plural]
        self._known.clear()

    def all(self) -> Iterable[Served]:
        return self._served.values()

    def find(self, plural: str, group: str) -> Served | None:
        """The kind of these names, whatever its version."""
        found = (each for (of, _, name), each in self._served.items() if (of, name) == (group, plural))
        return next(found, None)

    def place(self, path: str) -> Place:
        known = self._known.get(path)
        if known is None:
            if len(self._known) >= MOST_REMEMBERED:
                self._known.clear()
            known = self._known[path] = self._parsed(path)
        return known

    def _parsed(self, path: str) -> Place:
        match path.strip("/").split("/"):
            case ["api", version, *rest]:
                group = ""
            case ["apis", group, version, *rest]:
                pass
            case _:
                raise no_such_page()
        if not any(key[:2] == (group, version) for key in self._served):
            raise no_such_page()
        namespace = ""
        if rest[:1] == [NAMESPACES] and len(rest) > 2 and (group or rest[2] != "status"):  # noqa: PLR2004
            namespace, rest = rest[1], rest[2:]
        plural, name, part = [*rest, "", "", ""][:3]
        served = self._served.get((group, version, plural))
        if served is None or len(rest) > 3 or (namespace and not served.resource.namespaced):  # noqa: PLR2004
            raise no_such_resource()
        if served.resource.namespaced and name and not namespace:
            raise no_such_resource()
        if part and not (part == "status" and served.resource.has_status):
            raise served.speaker.not_found(name) if served.resource.custom else no_such_resource()
        return Place(served, namespace, name, part)


def no_such_page() -> Refusal:
    return Refusal(HTTPStatus.NOT_FOUND, "NotFound", "404 page not found")
