"""The controller's rights are what it uses, told by the API server's audit log: no more, no less.

Given Mooring in the lab with the roles of `mooring manifests`, when a controller goes through all that happens in its
life, then it has asked for everything that the table grants, was never refused, and asked for nothing else.
"""

import asyncio
import json
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from mooring.controller import permissions
from mooring.controller.permissions import Permission
from mooring.kube.kinds import LEASES, NODES, SERVICES
from mooring.lab import faults, lifecycle, waiting
from mooring.lab.lab import Lab
from mooring.lab.progress import PlainProgress
from mooring.model.kubernetes import Name
from tests.lab import api_server, moored
from tests.lab.audited import USER, Asked, AuditLog, complaints
from tests.lab.following import ways
from tests.lab.moored import Moored
from tests.lab.tenant import Tenant

FOREIGN = {"status": {"loadBalancer": {"ingress": [{"ip": "198.51.100.1"}]}}}
POLICY = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": "closed"},
    "spec": {"podSelector": {}, "policyTypes": ["Ingress"]},
}
LEASE = ("--namespace=mooring-system", "lease", "mooring-controller")
BUILT_IN = "kubernetes.io/bootstrapping"
NEVER_VERBS = {"*", "escalate", "bind", "impersonate"}
NEVER_RESOURCES = {"*", "secrets", "pods/exec", "serviceaccounts/token"}


def test_the_controller_asks_for_all_that_it_is_granted_and_for_nothing_else(product: Moored, tenant: Tenant) -> None:
    log = AuditLog(product.lab)
    begins_at_a_server_without_watch_lists(product, log)
    serves_as_pods_come_and_policies_close(tenant)
    puts_right_what_others_write_again_and_again(tenant, log)
    asyncio.run(writes_what_others_change_meanwhile(product.lab, Name(tenant.name, "web"), log))
    asyncio.run(leads_while_others_write_on_the_lease(product.lab, log))
    makes_the_lease_again(product, log)
    hands_over_and_begins_again(product, tenant)
    asked = log.asked()
    told = complaints(permissions.CONTROLLER, list(asked))
    assert not told, "\n".join(told)
    granted = sum(len(each.verbs) for each in permissions.CONTROLLER)
    refused = sum(count for each, count in asked.items() if each.refused)
    print(f"rights: {granted} granted, {granted} used, {refused} of {asked.total()} requests refused")  # noqa: T201 - figures


def begins_at_a_server_without_watch_lists(product: Moored, log: AuditLog) -> None:
    """As Kubernetes was before them; then again at the lab's own server."""
    lab = product.lab
    controllers = [f"controller-{gateway}" for gateway in lab.spec.gateway_names]
    for part in controllers:
        lab.processes.stop(part, seconds=10)
    with api_server.without_watch_lists(lab):
        lifecycle.up(lab.spec, PlainProgress())
        waiting.until(lambda: log.has("list", "leases"), seconds=60, what="the Lease to be listed")
        for part in controllers:
            lab.processes.stop(part, seconds=10)
    lifecycle.up(lab.spec, PlainProgress())
    product.leader()


def serves_as_pods_come_and_policies_close(tenant: Tenant) -> None:
    tenant.deploy("web", replicas=1)
    moored.expose(tenant, "web")
    moored.address(tenant, "web")
    tenant.deploy("web", replicas=2)
    tenant.kubectl("apply", "--filename=-", stdin=json.dumps(POLICY))
    tenant.kubectl("patch", "service", "web", '--patch={"spec":{"sessionAffinity":"ClientIP"}}')
    waiting.until(lambda: moored.reasons(tenant, "web")["Programmed"] != "Programmed", seconds=30, what="the warning")
    tenant.kubectl("delete", "networkpolicy", "closed")
    waiting.until(lambda: moored.reasons(tenant, "web")["Programmed"] == "Programmed", seconds=30, what="all well")


def puts_right_what_others_write_again_and_again(tenant: Tenant, log: AuditLog) -> None:
    """The same event for the second time only counts."""
    given = moored.addresses(tenant, "web")
    for patch in (FOREIGN, FOREIGN, {"status": None}):
        words = ("--subresource=status", "--type=merge", f"--patch={json.dumps(patch)}")
        tenant.kubectl("patch", "service", "web", *words)
        waiting.until(lambda: moored.addresses(tenant, "web") == given, seconds=30, what="its own address again")
    waiting.until(lambda: log.has("patch", "events"), seconds=30, what="the event to be counted")


async def writes_what_others_change_meanwhile(lab: Lab, service: Name, log: AuditLog) -> None:
    """Somebody wipes the status and goes on to change labels, until a write of the controller's comes too late."""
    async with ways(lab) as way, asyncio.timeout(120):
        number = 0
        while not log.has("get", "services"):
            await way.direct.patch(SERVICES, service, {"status": None}, version=None, subresource="status")
            for _ in range(50):
                number += 1
                labels = {"metadata": {"labels": {"changed": str(number)}}}
                await way.direct.patch(SERVICES, service, labels, version=None)


async def leads_while_others_write_on_the_lease(lab: Lab, log: AuditLog) -> None:
    """Until one of them comes just before a renewal: then the leader looks whether it still leads."""
    async with ways(lab) as way, asyncio.timeout(120):
        number = 0
        while not log.has("get", "leases"):
            for _ in range(50):
                number += 1
                seen = {"metadata": {"annotations": {"example.org/seen": str(number)}}}
                await way.direct.patch(LEASES, Name("mooring-system", "mooring-controller"), seen, version=None)


def makes_the_lease_again(product: Moored, log: AuditLog) -> None:
    product.lab.kubectl("delete", *LEASE)
    waiting.until(lambda: log.has("create", "leases"), seconds=30, what="the Lease to be made again")
    product.leader()


def hands_over_and_begins_again(product: Moored, tenant: Tenant) -> None:
    first = product.leader()
    faults.kill(product.lab, first, signal.SIGTERM)
    waiting.until(lambda: product.leader() != first, seconds=30, what="another one to lead")
    tenant.kubectl("delete", "service", "web", "--wait=true", "--timeout=60s")
    lifecycle.up(product.lab.spec, PlainProgress())


def test_the_roles_in_force_are_the_table_and_nobody_grants_more(product: Moored) -> None:
    granted = in_force(product.lab)
    assert granted == {each for row in permissions.CONTROLLER for each in rights(row)}
    assert not NEVER_VERBS.intersection(verb for verb, *_ in granted)
    assert not NEVER_RESOURCES.intersection(resource for _, _, resource, *_ in granted)


Right = tuple[str, str, str, str, str]
"""A verb, a group, a resource, and where it is restricted a namespace and a name."""


def rights(row: Permission) -> Iterator[Right]:
    for verb in row.verbs:
        for name in row.names or ("",):
            yield verb, row.kind.group, row.resource, row.namespace, name


def in_force(lab: Lab) -> set[Right]:
    """What all roles together grant that name the controllers' account, Kubernetes' own for every account apart."""
    found: set[Right] = set()
    for binding in listed(lab, "clusterrolebindings", "rolebindings"):
        built_in = BUILT_IN in binding["metadata"].get("labels", {})
        if not built_in and any(_names_us(each) for each in binding.get("subjects", ())):
            role, where = binding["roleRef"], binding["metadata"].get("namespace", "")
            here = [f"--namespace={where}"] if where else []
            rules = json.loads(lab.kubectl("get", role["kind"], role["name"], *here, "--output=json"))["rules"]
            found |= {each for rule in rules for each in _granted(rule, where)}
    return found


def listed(lab: Lab, *kinds: str) -> list[Any]:
    return [
        each
        for kind in kinds
        for each in json.loads(lab.kubectl("get", kind, "--all-namespaces", "--output=json"))["items"]
    ]


def _names_us(subject: dict[str, str]) -> bool:
    account = f"system:serviceaccount:{subject.get('namespace', '')}:{subject['name']}"
    return (subject["kind"], account) == ("ServiceAccount", USER) or subject["name"].startswith(
        "system:serviceaccounts"
    )


def _granted(rule: dict[str, list[str]], namespace: str) -> Iterator[Right]:
    for verb in rule["verbs"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for name in rule.get("resourceNames", [""]):
                    yield verb, group, resource, namespace, name


ROW = Permission(NODES, ("get", "list"), names=("n1",))
GET, LIST = (Asked(verb, "", "nodes", "", "n1") for verb in ("get", "list"))


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ([GET, LIST], []),
        ([GET], ["never asked for: list nodes n1; take it out of permissions.py"]),
        (
            [GET, LIST, Asked("delete", "", "nodes", "", "n1", refused=True)],
            ["refused: delete nodes n1; grant it in permissions.py, or do not ask for it"],
        ),
        (
            [GET, LIST, Asked("get", "apps", "deployments", "ns", "web")],
            ["not in the table: get deployments.apps web in ns; somebody else has granted it"],
        ),
        (
            [GET, LIST, Asked("get", "", "", "", "/version")],
            ["not in the table: get /version; somebody else has granted it"],
        ),
    ],
    ids=["just right", "too much", "too little", "elsewhere", "no resource"],
)
def test_what_is_too_much_or_too_little_is_told(asked: list[Asked], told: list[str]) -> None:
    assert complaints((ROW,), asked) == told
