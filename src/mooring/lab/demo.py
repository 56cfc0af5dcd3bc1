"""`make demo`: the world at work, told step by step with the commands that anybody could type. Leaves it running."""

import json
import os
import shlex
import subprocess
import time
from collections import Counter
from typing import Any

import click

from mooring.lab import commands, lifecycle, progress, report, topology
from mooring.lab.errors import LabError
from mooring.lab.lab import Lab, open_lab
from mooring.lab.spec import Spec

NAME = "demo"
CALLS = 20


def main() -> None:
    """Tell the story, or what went wrong."""
    with commands.explained():
        tell()


def tell() -> None:
    """Bring the lab up and show a Service of Kubernetes behind a load balancer and a floating IP of OpenStack."""
    begin = time.monotonic()
    _say(
        "A whole Kubernetes-on-OpenStack world comes up on this machine. The first time it is built, then it is quick."
    )
    with progress.progress() as watcher:
        lifecycle.up(Spec(name=NAME), watcher)
    stage = Stage(open_lab(NAME))
    stage.clear()
    _say("Two worker nodes, and pods on both of them:")
    stage.run("kubectl get nodes")
    stage.run("kubectl create deployment hello --image=docker.io/mooring/web:1 --port=8080 --replicas=4")
    stage.run("kubectl rollout status deployment/hello --timeout=60s", quiet=True)
    stage.run("kubectl get pods --selector=app=hello --output=wide")
    stage.run("kubectl expose deployment hello --port=80 --target-port=8080 --type=NodePort")
    node_port = stage.json("kubectl get service hello --output=json")["spec"]["ports"][0]["nodePort"]
    address = balance(stage, node_port)
    _say("The outside client, which knows nothing of the cluster, calls that address:")
    answers = call(stage, address)
    for pod, count in sorted(answers.items()):
        click.echo(f"    {count:3} answers from {pod or 'NOBODY'}")
    if answers[""] or len(answers) < len(stage.lab.spec.node_names):
        raise LabError("not every call was answered by a pod", hint=f"see `mooring lab status --name {NAME}`")
    farewell(address, time.monotonic() - begin)


def balance(stage: "Stage", node_port: int) -> str:
    """An Octavia load balancer of the stock OVN provider in front of the nodes, and a floating IP on it."""
    _say("An Octavia load balancer, made by an ordinary member of a project, with both nodes as members:")
    stage.run("openstack loadbalancer create --name hello --provider ovn --vip-subnet-id lb4 --wait", quiet=True)
    stage.run(
        "openstack loadbalancer listener create --name hello --protocol TCP --protocol-port 80 --wait hello", quiet=True
    )
    stage.run(
        "openstack loadbalancer pool create --name hello --listener hello --protocol TCP "
        "--lb-algorithm SOURCE_IP_PORT --wait",
        quiet=True,
    )
    ports = topology.load(stage.lab).ports
    for node in stage.lab.spec.node_names:
        member = ports[node].addresses[0].partition("/")[0]
        stage.run(
            f"openstack loadbalancer member create --name {node} --address {member} --protocol-port {node_port} "
            "--subnet-id nodes4 --wait hello",
            quiet=True,
        )
    stage.run("openstack loadbalancer list -c name -c vip_address -c provisioning_status -c operating_status")
    port = stage.json("openstack loadbalancer show hello --format json")["vip_port_id"]
    address = stage.json(f"openstack floating ip create public --port {port} --description hello --format json")
    return str(address["floating_ip_address"])


def call(stage: "Stage", address: str) -> Counter[str]:
    """Call an address from outside and count who answers."""
    command = f"mooring lab exec --name {NAME} client -- curl --silent --max-time 4 http://{address}/"
    click.echo(f"  $ {command}    # {CALLS} times")
    return Counter(stage.output(command, check=False).strip() for _ in range(CALLS))


def farewell(address: str, seconds: float) -> None:
    """How to look around, and how to end it."""
    _say(f"That was all real, in {seconds:.0f} s. The lab goes on running; look around:")
    for line in (
        f'eval "$(.venv/bin/mooring lab env --name {NAME})"',
        "kubectl get pods --all-namespaces --output=wide",
        "OS_CLOUD=mooring openstack loadbalancer status show hello",
        "ovn-nbctl list load_balancer",
        f"mooring lab exec --name {NAME} client -- curl http://{address}/",
        f"mooring lab status --name {NAME}",
    ):
        click.echo(f"  $ {line}")
    _say("and end it:")
    click.echo(f"  $ .venv/bin/mooring lab down --name {NAME}")


class Stage:
    """Runs commands of the story in the lab's environment and shows them."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self._environment = os.environ | report.environment(lab) | {"OS_CLOUD": "mooring"}

    def run(self, command: str, *, quiet: bool = False) -> None:
        """Show a command and, unless quiet, what it prints."""
        click.echo(f"  $ {command}")
        output = self.output(command)
        if not quiet:
            click.echo("".join(f"    {line}\n" for line in output.splitlines()), nl=False)

    def json(self, command: str) -> Any:  # noqa: ANN401 - whatever the command prints
        """Show a command and return what it prints, decoded."""
        click.echo(f"  $ {command}")
        return json.loads(self.output(command))

    def output(self, command: str, *, check: bool = True) -> str:
        """What a command prints; its failure ends the story."""
        done = subprocess.run(
            shlex.split(command),
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if check and done.returncode:
            raise LabError(f"`{command}` ended with code {done.returncode}:\n{done.stderr.strip()}")
        return done.stdout

    def clear(self) -> None:
        """Remove what an earlier telling left."""
        self.output("kubectl delete deployment,service hello --ignore-not-found")
        cloud = topology.connect(self.lab, "mooring")
        for ip in cloud.network.ips(description="hello"):
            cloud.network.delete_ip(ip)
        for balancer in cloud.load_balancer.load_balancers(name="hello"):
            cloud.load_balancer.delete_load_balancer(balancer, cascade=True)
            cloud.load_balancer.wait_for_delete(balancer, interval=1, wait=60)


def _say(text: str) -> None:
    click.echo(f"\n{text}")


if __name__ == "__main__":
    main()
