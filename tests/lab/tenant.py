"""A Kubernetes namespace and an OpenStack project of one test, and what a test does with them."""

import json
from typing import Any

from mooring.lab import cloud, topology
from mooring.lab.lab import Lab


class Tenant:
    """Who a test is in the lab."""

    def __init__(self, lab: Lab, name: str) -> None:
        self.lab = lab
        self.name = name
        self._admin = topology.connect(lab)

    def create(self) -> None:
        self.lab.kubectl("create", "namespace", self.name)
        identity = self._admin.identity
        project = identity.create_project(name=self.name, domain_id="default")
        user = identity.create_user(name=self.name, password=cloud.PASSWORD, domain_id="default")
        for role in ("member", "load-balancer_member"):
            identity.assign_project_role_to_user(project, user, identity.find_role(role))

    def delete(self) -> None:
        """Remove what the test made. Kubernetes goes on with it in the background."""
        self.lab.kubectl("delete", "namespace", self.name, "--wait=false")
        project = self._admin.identity.find_project(self.name)
        network = self._admin.network
        for ip in network.ips(project_id=project.id):
            network.delete_ip(ip)
        for balancer in self._admin.load_balancer.load_balancers(project_id=project.id):
            self._admin.load_balancer.delete_load_balancer(balancer, cascade=True)
        for port in network.ports(project_id=project.id):
            if not port.device_owner:
                network.delete_port(port)
        self._admin.identity.delete_user(self._admin.identity.find_user(self.name))
        self._admin.identity.delete_project(project)

    def kubectl(self, *argv: str, stdin: str = "") -> str:
        """Run kubectl in the test's namespace."""
        return self.lab.kubectl(f"--namespace={self.name}", *argv, stdin=stdin)

    def get(self, *argv: str) -> Any:  # noqa: ANN401 - whatever the API server answers
        """What kubectl get finds, decoded."""
        return json.loads(self.kubectl("get", *argv, "--output=json"))

    def cloud(self) -> Any:  # noqa: ANN401 - openstacksdk has no types
        """OpenStack, as the test's own member."""
        return topology.connect(self.lab, username=self.name, password=cloud.PASSWORD, project_name=self.name)

    def deploy(self, name: str, *, image: str = "web", replicas: int = 2, command: tuple[str, ...] = ()) -> None:
        """Pods, spread over the nodes, ready when this returns."""
        pod = {
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": False,
            "containers": [{"name": name, "image": f"docker.io/mooring/{image}:1", "command": list(command) or None}],
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": "kubernetes.io/hostname",
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {"matchLabels": {"app": name}},
                }
            ],
        }
        labels = {"app": name}
        deployment = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        }
        self.kubectl("apply", "--filename=-", stdin=json.dumps(deployment))
        self.kubectl("rollout", "status", f"deployment/{name}", "--timeout=60s")

    def expose(self, name: str, *, port: int, target: int, kind: str = "NodePort") -> Any:  # noqa: ANN401 - as above
        """A Service of both families in front of a Deployment."""
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name},
            "spec": {
                "type": kind,
                "ipFamilyPolicy": "RequireDualStack",
                "selector": {"app": name},
                "ports": [{"port": port, "targetPort": target}],
            },
        }
        self.kubectl("apply", "--filename=-", stdin=json.dumps(service))
        return self.get("service", name)

    def pod_addresses(self, name: str, *, version: int) -> list[str]:
        """The pods' addresses of one family, sorted."""
        pods = self.get("pods", f"--selector=app={name}")["items"]
        addresses = [each["ip"] for pod in pods for each in pod["status"]["podIPs"]]
        return sorted(address for address in addresses if (":" in address) == (version == 6))
