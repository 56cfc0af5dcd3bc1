"""Who the controller is in the cluster, and what it may do: an account, and roles made from the table of its rights."""

from collections.abc import Iterable, Sequence

from mooring.controller.permissions import Permission
from mooring.manifests.objects import NAME, NAMESPACE, Object, made

RBAC = "rbac.authorization.k8s.io"
RBAC_V1 = f"{RBAC}/v1"
# The strictest of Kubernetes' own levels; what runs here keeps to it.
POD_SECURITY = {"pod-security.kubernetes.io/enforce": "restricted"}


def objects(permissions: Sequence[Permission]) -> tuple[Object, ...]:
    """In an order in which they can be applied: whoever is named comes before who names it."""
    everywhere = [each for each in permissions if not each.namespace]
    namespaces = sorted({each.namespace for each in permissions if each.namespace})
    return (
        made("v1", "Namespace", NAMESPACE, labels=POD_SECURITY),
        made("v1", "ServiceAccount", NAME, NAMESPACE),
        *_granted("ClusterRole", everywhere),
        *(
            each
            for namespace in namespaces
            for each in _granted("Role", [row for row in permissions if row.namespace == namespace], namespace)
        ),
    )


def _granted(role: str, permissions: Iterable[Permission], namespace: str = "") -> tuple[Object, Object]:
    """A role and its binding to our account."""
    return (
        made(RBAC_V1, role, NAME, namespace, rules=[_rule(each) for each in permissions]),
        made(
            RBAC_V1,
            f"{role}Binding",
            NAME,
            namespace,
            roleRef={"apiGroup": RBAC, "kind": role, "name": NAME},
            subjects=[{"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}],
        ),
    )


def _rule(permission: Permission) -> Object:
    rule: Object = {"apiGroups": [permission.kind.group], "resources": [permission.resource]}
    if permission.names:
        rule["resourceNames"] = list(permission.names)
    return rule | {"verbs": list(permission.verbs)}
