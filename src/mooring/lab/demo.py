"""`make demo`: Mooring at work, told step by step with the commands that anybody could type. Leaves it running."""

import os
import shlex
import subprocess
import time
from collections import Counter

import click

from mooring.lab import callers, commands, gateways, lifecycle, progress, report, waiting
from mooring.lab.errors import LabError
from mooring.lab.lab import Lab, open_lab
from mooring.lab.place import place_of
from mooring.lab.spec import Spec

NAME = "demo"
CALLS = 20
CONNECTIONS = 20
CLASS = '{"spec":{"loadBalancerClass":"openstack.org/gateway"}}'
ECHO_PORT = 7
AROUND = 2.0
"""Seconds of calls before and after the fail-over, for comparison."""


def main() -> None:
    """Tell the story, or what went wrong."""
    with commands.explained():
        tell()


def tell() -> None:
    """Bring the lab up with Mooring in it and show what it does for Services."""
    begin = time.monotonic()
    _say("A whole Kubernetes-on-OpenStack world comes up on this machine, with Mooring in it.")
    _say("The first time it is built, which takes minutes; then it is quick.")
    with progress.progress() as watcher:
        if place_of(NAME).ready.exists() and not lifecycle.lost_hosts(open_lab(NAME)):
            lifecycle.deploy(open_lab(NAME), "host", watcher)
        lifecycle.up(Spec(name=NAME, mooring="host"), watcher)
    stage = Stage(open_lab(NAME))
    stage.clear()
    address = first_service(stage)
    second_service(stage, address)
    gateway_dies(stage, address)
    _say("What Mooring says of all this:")
    stage.run("mooring status", may_fail=True)
    stage.run("mooring why service/hello", may_fail=True)
    broken_service(stage)
    farewell(address, time.monotonic() - begin)


def first_service(stage: "Stage") -> str:
    """From `kubectl expose` to packets."""
    _say("Four pods on two nodes, and a Service of Mooring's class in front of them:")
    stage.run("kubectl create deployment hello --image=docker.io/mooring/web:1 --port=8080 --replicas=4")
    stage.run("kubectl rollout status deployment/hello --timeout=60s", quiet=True)
    stage.run(f"kubectl expose deployment hello --port=80 --target-port=8080 --type=LoadBalancer --overrides='{CLASS}'")
    begin = time.monotonic()
    address = stage.address("hello")
    _say(f"Its address is there after {time.monotonic() - begin:.1f} s: a floating IP of OpenStack.")
    stage.run("kubectl get service hello")
    stage.run("openstack floating ip list --long -c 'Floating IP Address' -c 'Fixed IP Address' -c Description")
    _say("The outside client, which knows nothing of the cluster, calls it:")
    answers = call(stage, address)
    for pod, count in sorted(answers.items()):
        click.echo(f"    {count:3} answers from {pod or 'NOBODY'}")
    if answers[""] or len(answers) == 1:
        raise LabError("not every call was answered by a pod", hint=f"see `mooring lab status --name {NAME}`")
    return address


def second_service(stage: "Stage", address: str) -> None:
    """Ports that differ share an address."""
    _say("A second Service, with another port: an address is scarce, so they share it.")
    stage.run(
        "kubectl create deployment echo --image=docker.io/mooring/shell:1 --replicas=2 "
        "-- /bin/sh -c 'exec nc -ll -p 8080 -e cat'"
    )
    stage.run("kubectl rollout status deployment/echo --timeout=60s", quiet=True)
    stage.run(
        f"kubectl expose deployment echo --port={ECHO_PORT} --target-port=8080 --type=LoadBalancer "
        f"--overrides='{CLASS}'"
    )
    if stage.address("echo") != address:
        raise LabError("the second Service got another address", hint="see `mooring why service/echo`")
    stage.run("kubectl get services hello echo")


def gateway_dies(stage: "Stage", address: str) -> None:
    """Calls and connections go on while the gateway that carries them is cut off."""
    lab = stage.lab
    waiting.until(lambda: len(gateways.holders(lab)) == 1, seconds=20, what="one gateway to hold the addresses")
    [active] = gateways.holders(lab)
    _say(f"{active} carries all this. {CONNECTIONS} connections are open, calls go on, and {active} loses its cables:")
    with (
        callers.Connections(lab, "client", address, count=CONNECTIONS, port=ECHO_PORT) as connections,
        callers.Caller(lab, "client", address) as caller,
    ):
        opened = connections.working(first=True)
        time.sleep(AROUND)
        for link in ("eth0", "eth1"):
            stage.run(f"mooring lab cut --name {NAME} {active} --link {link}")
        others = set(lab.spec.gateway_names) - {active}
        waiting.until(lambda: bool(others.intersection(gateways.holders(lab))), seconds=20, what="another to take over")
        kept = connections.working()
        time.sleep(AROUND)
        calls = caller.end()
    click.echo(f"    longest time without an answer   {calls.longest:.2f} s")
    click.echo(f"    calls answered                   {calls.answered} of {calls.answered + calls.failed}")
    click.echo(f"    established connections kept     {kept} of {opened}")
    stage.run(f"mooring lab heal --name {NAME}")
    waiting.until(lambda: len(gateways.holders(lab)) == 1, seconds=20, what="one gateway to hold the addresses")
    if kept < opened:
        raise LabError("connections were lost", hint=f"see `mooring lab logs --name {NAME} agent-{active}`")


def broken_service(stage: "Stage") -> None:
    """A mistake that people make every day."""
    _say("A Service that cannot work: its selector has a typing error. Mooring knows why:")
    stage.run(
        "kubectl expose deployment hello --name=typo --port=8080 --selector=app=helo --type=LoadBalancer "
        f"--overrides='{CLASS}'"
    )
    stage.address("typo")
    stage.run("mooring why service/typo", may_fail=True)


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
        "mooring status; mooring plan; mooring why service/hello",
        "kubectl describe service hello",
        f"mooring lab exec --name {NAME} client -- curl http://{address}/",
        f"mooring lab exec --name {NAME} gw1 -- nft list tables",
        f"mooring lab logs --name {NAME} controller-gw1; mooring lab logs --name {NAME} agent-gw1",
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

    def run(self, command: str, *, quiet: bool = False, may_fail: bool = False) -> None:
        """Show a command and, unless quiet, what it prints."""
        click.echo(f"  $ {command}")
        output = self.output(command, check=not may_fail)
        if not quiet:
            click.echo("".join(f"    {line}\n" for line in output.splitlines()), nl=False)

    def output(self, command: str, *, check: bool = True) -> str:
        """What a command prints; its failure ends the story."""
        done = subprocess.run(shlex.split(command), env=self._environment, capture_output=True, text=True, check=False)
        if check and done.returncode:
            raise LabError(f"`{command}` ended with code {done.returncode}:\n{done.stderr.strip()}")
        return done.stdout

    def address(self, service: str) -> str:
        """The address of a Service, as soon as it has one."""
        path = "{.status.loadBalancer.ingress[0].ip}"
        get = f"kubectl get service {service} --output=jsonpath={path}"
        waiting.until(
            lambda: self.output(get, check=False) != "", seconds=60, what=f"an address for the Service {service}"
        )
        return self.output(get)

    def clear(self) -> None:
        """Remove what an earlier telling left."""
        self.output("kubectl delete deployment,service hello echo typo --ignore-not-found --timeout=60s")


def _say(text: str) -> None:
    click.echo(f"\n{text}")


if __name__ == "__main__":
    main()
