"""Nodes and NetworkPolicies: their fields, defaults and rules, as far as somebody who reads them sees a difference."""

from collections.abc import Iterator

from mooring.kube.twin.answers import Fault, Json, Mistyped, Tree, required, unsupported
from mooring.kube.twin.resources import Resource, Rules

OPERATORS = ("DoesNotExist", "Exists", "In", "NotIn")
WITH_VALUES = {"In", "NotIn"}


def _tree(value: Json) -> Json:
    if value is not None and not isinstance(value, dict):
        raise Mistyped(f"cannot unmarshal {type(value).__name__} into Go struct field")
    return value


NODES = Resource(
    group="",
    version="v1",
    kind="Node",
    plural="nodes",
    namespaced=False,
    fields={"spec": _tree, "status": _tree},
    blank={"spec": {}, "status": {}},
    rules=Rules(),
    has_status=True,
    made_with_status=True,
    status_path_writes_metadata=True,
)


class _NetworkPolicyRules(Rules):
    def completed(self, new: Tree, old: Tree | None) -> Tree:
        """Without a word on its types a policy says who may come in, and where it has rules for it, who may go out."""
        del old
        spec = {"podSelector": {}} | new["spec"]
        if not spec.get("policyTypes"):
            spec["policyTypes"] = ["Ingress", *(["Egress"] if spec.get("egress") else [])]
        return new | {"spec": spec}

    def faults(self, new: Tree, old: Tree | None) -> Iterator[Fault]:
        del old
        for number, each in enumerate(new["spec"]["podSelector"].get("matchExpressions", ())):
            path = f"spec.podSelector.matchExpressions[{number}]"
            if each.get("operator") not in OPERATORS:
                yield unsupported(f"{path}.operator", each.get("operator", ""), OPERATORS)
            elif each["operator"] in WITH_VALUES and not each.get("values"):
                yield required(f"{path}.values")
        for number, word in enumerate(new["spec"]["policyTypes"]):
            if word not in {"Ingress", "Egress"}:
                yield unsupported(f"spec.policyTypes[{number}]", word, ("Egress", "Ingress"))

    def generation(self, new: Tree, old: Tree | None) -> int | None:
        if old is None:
            return 1
        count: int = old["metadata"]["generation"]
        return count if new["spec"] == old["spec"] else count + 1


NETWORK_POLICIES = Resource(
    group="networking.k8s.io",
    version="v1",
    kind="NetworkPolicy",
    plural="networkpolicies",
    fields={"spec": _tree},
    blank={"spec": {}},
    rules=_NetworkPolicyRules(),
)


ALL = (NODES, NETWORK_POLICIES)
