"""Objects that cases send."""

from typing import Any

from tests.contract.kube.world import GROUP, Tree

FINALIZER = "contract.mooring.test/hold"
OTHER_FINALIZER = "contract.mooring.test/other"


def service(name: str = "a", **spec: Any) -> Tree:  # noqa: ANN401 - fields of a spec
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}


def balanced(name: str = "a", **spec: Any) -> Tree:  # noqa: ANN401 - as above
    return service(name, **{"type": "LoadBalancer", **spec})


def lease(name: str = "a", **spec: Any) -> Tree:  # noqa: ANN401 - as above
    return {"metadata": {"name": name}, "spec": spec}


def labelled(body: Tree, **labels: str) -> Tree:
    return body | {"metadata": body["metadata"] | {"labels": labels}}


def held(body: Tree, *finalizers: str) -> Tree:
    return body | {"metadata": body["metadata"] | {"finalizers": list(finalizers or (FINALIZER,))}}


def event(namespace: str, **fields: Any) -> Tree:  # noqa: ANN401 - as above
    """An event; a field that is None is left out."""
    body: Tree = {
        "metadata": {"name": "a"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "openstack.org/mooring",
        "reportingInstance": "mooring-1",
        "action": "Map",
        "reason": "Mapped",
        "regarding": {"kind": "Service", "apiVersion": "v1", "namespace": namespace, "name": "a"},
        "note": "has its address",
        "type": "Normal",
    }
    return {name: value for name, value in (body | fields).items() if value is not None}


def endpoint_slice(name: str = "a", **fields: Any) -> Tree:  # noqa: ANN401 - as above
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/service-name": "nobody"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.1"]}],
        "ports": [{"name": "http", "port": 80}],
        **fields,
    }


def port(name: str, **spec: Any) -> Tree:  # noqa: ANN401 - as above
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ContractPort",
        "metadata": {"name": name},
        "spec": {"node": "n1", **spec},
    }


def plain(name: str, **spec: Any) -> Tree:  # noqa: ANN401 - as above
    return port(name, **spec) | {"kind": "ContractPlain"}


SCHEMA: Tree = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["node"],
            "properties": {
                "node": {"type": "string", "minLength": 1, "maxLength": 10, "pattern": "^[a-z0-9]+$"},
                "mode": {"type": "string", "enum": ["a", "b"], "default": "a"},
                "count": {"type": "integer", "minimum": 1, "maximum": 10},
                "share": {"type": "number", "minimum": 0, "exclusiveMinimum": True},
                "on": {"type": "boolean"},
                "maybe": {"type": "string", "nullable": True},
                "anything": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "target": {"x-kubernetes-int-or-string": True},
                "texts": {"type": "object", "additionalProperties": {"type": "string"}},
                "list": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": 2,
                    "items": {
                        "type": "object",
                        "required": ["key"],
                        "properties": {"key": {"type": "string"}, "value": {"type": "integer", "default": 3}},
                    },
                },
                "filled": {
                    "type": "object",
                    "default": {},
                    "properties": {"size": {"type": "integer", "default": 1}},
                },
                "inner": {"type": "object", "properties": {"size": {"type": "integer", "default": 1}}},
                "when": {"type": "string", "format": "date-time"},
            },
        },
        "status": {
            "type": "object",
            "properties": {"phase": {"type": "string", "enum": ["x", "y"]}, "seen": {"type": "integer"}},
        },
    },
}


def definition(plural: str, kind: str, *, scope: str, status: bool) -> Tree:
    version: Tree = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}
    if status:
        version["subresources"] = {"status": {}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {"group": GROUP, "scope": scope, "names": {"plural": plural, "kind": kind}, "versions": [version]},
    }


DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CONTRACT_KINDS = (
    definition("contractports", "ContractPort", scope="Cluster", status=True),
    definition("contractplains", "ContractPlain", scope="Namespaced", status=False),
)
