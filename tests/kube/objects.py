"""Small objects for tests."""

from mooring.model.kubernetes import Meta, Name, Service


def service(name: str, version: int, *, uid: str = "", labels: dict[str, str] | None = None) -> Service:
    meta = Meta(name=name, namespace="shop", uid=uid or name, resource_version=str(version), labels=labels or {})
    return Service(metadata=meta)


def shop(name: str) -> Name:
    return Name("shop", name)
