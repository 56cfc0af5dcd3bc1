"""The controller's image and manifests in a real cluster: pods of it run, with the rights of the Deployment's own."""

import json
from collections.abc import Mapping

import pytest

from mooring.lab import nodes
from mooring.lab.assets import product
from mooring.lab.lab import Lab
from mooring.manifests import controller
from tests.lab.tenant import Tenant
from tests.source_copy import ROOT

IMPORTS = "import mooring.controller.main, openstack, aiohttp, cryptography"
PROBE = f"""
{IMPORTS}, os, pathlib
print(os.getuid())
try:
    pathlib.Path("/tmp/x").touch()
except OSError as error:
    print(error.strerror)
"""


@pytest.fixture(scope="module")
def image(lab: Lab) -> str:
    for node in lab.spec.node_names:
        nodes.load_images(lab, node, product.ensure())
    return product.IMAGE


def output(tenant: Tenant, name: str, container: Mapping[str, object]) -> str:
    """What a pod with the Deployment's limits prints until its end."""
    [deployment, _] = controller.objects(product.IMAGE)
    pod = deployment["spec"]["template"]["spec"]
    [own] = pod["containers"]
    limits = {"imagePullPolicy": "Never", "securityContext": own["securityContext"], "resources": own["resources"]}
    spec = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "securityContext": pod["securityContext"],
        "containers": [{"name": name, "image": own["image"], **limits, **container}],
    }
    wanted = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
    tenant.kubectl("apply", "--filename=-", stdin=json.dumps(wanted))
    tenant.kubectl("wait", f"pod/{name}", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s")
    return tenant.kubectl("logs", name)


@pytest.mark.usefixtures("image")
def test_a_pod_runs_mooring_within_the_strictest_limits(lab: Lab, tenant: Tenant) -> None:
    lab.kubectl("label", "namespace", tenant.name, "pod-security.kubernetes.io/enforce=restricted")
    assert output(tenant, "version", {"args": ["--version"]}).startswith("mooring ")
    probe = {"command": ["/usr/bin/python3", "-c", PROBE]}
    assert output(tenant, "imports", probe) == f"{controller.USER}\nRead-only file system\n"


@pytest.mark.parametrize("folder", ["kubernetes", "example"])
def test_the_api_server_takes_what_is_in_deploy(lab: Lab, folder: str) -> None:
    told = lab.kubectl("apply", "--dry-run=server", f"--kustomize={ROOT / 'deploy' / folder}")
    assert "deployment.apps/mooring-controller" in told
    assert "Warning" not in told
