"""`make conformance`: Kubernetes' own tests of load balancers, run against Mooring in a lab of its own.

They run in the outside client, which gets a leg in the management network, because a test also speaks to the API
server. Each is a run of its own: so several go on at once, and none ends another.
"""

import contextlib
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import click
import msgspec
from rich.console import Console

from mooring.lab import commands, lifecycle, nodes, processes, progress, suite, topology
from mooring.lab.assets import e2e
from mooring.lab.lab import Lab, open_lab
from mooring.lab.place import DATA
from mooring.lab.spec import LB_V4, Cable, Spec
from mooring.lab.suite import Connections, Outcome

FOCUS = "[sig-network] LoadBalancers"
REPORTS = Path("build/conformance")
FIRST = ("rolling update",)
"""What these names say takes longest, by minutes; so they begin first."""
METRICS = "http://127.0.0.1:9441/metrics"
CLIENT_NUMBER = 40


class Way(msgspec.Struct, frozen=True):
    """One way to run Mooring that people choose, and that the tests treat differently."""

    ip_mode: Literal["Proxy", "VIP"]
    floating: bool
    snat: str
    told: str

    def lab(self, name: str) -> Spec:
        """A lab for it. Its nodes are known by IPv4 only, because kube-proxy answers health checks only there."""
        settings = (
            f'[services]\nclaim_unclassed = true\nip_mode = "{self.ip_mode}"\n\n[forwarding]\nsnat = "{self.snat}"\n'
        )
        return Spec(name=name, mooring="host", dual_nodes=False, floating=self.floating, settings=settings)


WAYS = (
    # Pods too come by the gateways: addresses to which the nodes have a route, and backends that answer the gateways.
    Way("Proxy", floating=False, snat="vip", told="addresses of the routed network, pods come by the gateways"),
    # kube-proxy answers pods, and the gateways are the nodes' routers: so every backend sees the client itself.
    Way("VIP", floating=True, snat="never", told="floating IPs, backends see the client's own address"),
)


class Wish(msgspec.Struct, frozen=True):
    """What somebody asked for on the command line."""

    name: str
    mode: str | None
    only: str
    at_once: int
    minutes: int
    keep: bool


@click.command()
@click.option("--name", default="conformance", show_default=True, help="The lab, made anew for each way.")
@click.option("--mode", type=click.Choice([way.ip_mode for way in WAYS]), help="Only with this ipMode.")
@click.option("--only", default="", metavar="REGEX", help="Only tests whose names have this in them.")
@click.option("--at-once", default=3, show_default=True, help="How many tests go on at the same time.")
@click.option("--minutes", default=30, show_default=True, help="After how many a test is ended.")
@click.option("--keep", is_flag=True, help="Leave the lab running.")
def main(**options: Any) -> None:  # noqa: ANN401 - what click made of the words
    """Run Kubernetes' own tests of load balancers. Exit code 1: one failed, or did not run."""
    wish = Wish(**options)
    with commands.explained():
        click.echo("The suite and its image are built if they are not there yet: the first time takes minutes.")
        e2e.ensure()
        tests = wanted_tests(wish.only)
        ended = [each for way in WAYS if wish.mode in {None, way.ip_mode} for each in run_way(way, tests, wish)]
        if not wish.keep:
            lifecycle.down(wish.name)
    sys.exit(0 if all(each.state in {"passed", "skipped"} for each in ended) else 1)


def wanted_tests(only: str) -> tuple[str, ...]:
    """The tests that are asked for, those that take longest first."""
    found = suite.listed(processes.run([e2e.suite(), "--list-tests"]), FOCUS)
    chosen = (each for each in found if re.search(only, each))
    return tuple(sorted(chosen, key=lambda each: not any(words in each for words in FIRST)))


def run_way(way: Way, tests: tuple[str, ...], wish: Wish) -> list[Outcome]:
    """Run the tests in a new lab and tell how they ended."""
    lifecycle.down(wish.name)
    with progress.progress() as watcher:
        lifecycle.up(way.lab(wish.name), watcher)
    lab = open_lab(wish.name)
    prepare(lab)
    reports = REPORTS / way.ip_mode.lower()
    reports.mkdir(parents=True, exist_ok=True)
    with counted(lab) as connections, ThreadPoolExecutor(wish.at_once) as pool:
        run = Run(lab, connections, reports.resolve(), wish.minutes)
        outcomes = list(pool.map(run.test, range(1, len(tests) + 1), tests))
    (reports / "outcomes.json").write_bytes(msgspec.json.format(msgspec.json.encode(outcomes)))
    title = f"ipMode {way.ip_mode}: {way.told}"
    Console(width=None if sys.stdout.isatty() else 200).print(suite.table(title, outcomes))
    click.echo(f"{suite.counts(outcomes)}. Reports and logs are in {reports}.\n")
    return outcomes


def prepare(lab: Lab) -> None:
    """Give the nodes the image, and the client a leg in the management network and a way to the addresses."""
    for node in lab.spec.node_names:
        nodes.load_images(lab, node, e2e.image())
    lab.hosts.connect(Cable("client", "eth1", "mgmt"))
    address = lab.spec.management_network.replace(".0/24", f".{CLIENT_NUMBER}/24")
    router = next(each for each in topology.load(lab).router_outside if ":" not in each)
    lab.hosts.ip("client", f"address add {address} dev eth1", "link set eth1 up", f"route replace {LB_V4} via {router}")


@contextlib.contextmanager
def counted(lab: Lab) -> Iterator[Connections]:
    """What the gateways count meanwhile."""
    seen = Connections()
    program = ["/usr/bin/python3", str(DATA / "conformance/counters.py"), METRICS]
    with contextlib.ExitStack() as stack:
        for gateway in lab.spec.gateway_names:
            counting = subprocess.Popen([*lab.hosts.enter(gateway), *program], stdout=subprocess.PIPE, text=True)
            reader = threading.Thread(target=_read, args=(counting, gateway, seen))
            reader.start()
            stack.callback(reader.join)
            stack.callback(counting.kill)
        yield seen


def _read(counting: subprocess.Popen[str], gateway: str, seen: Connections) -> None:
    with counting:
        for line in counting.stdout or ():
            seen.take(gateway, line)


class Run(msgspec.Struct, frozen=True):
    """Where tests run, and where what they say goes."""

    lab: Lab
    connections: Connections
    reports: Path
    minutes: int

    def test(self, number: int, name: str) -> Outcome:
        """Run one test. Its report and what it wrote stay."""
        prefix = f"{number:02}_"
        log, report = self.reports / f"{prefix}log.txt", self.reports / f"junit_{prefix}01.xml"
        report.unlink(missing_ok=True)
        words = [
            str(e2e.suite()),
            "--provider=local",
            f"--kubeconfig={self.lab.place.kubeconfig}",
            f"--kubectl-path={self.lab.program('kubectl')}",
            f"--report-dir={self.reports}",
            f"--report-prefix={prefix}",
            f"--ginkgo.focus={re.escape(name)}$",
            f"--ginkgo.timeout={self.minutes}m",
            "--ginkgo.no-color",
            "--ginkgo.v",
        ]
        with log.open("w") as output:
            command = [*self.lab.hosts.enter("client"), *words]
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False)
        ended = suite.outcome(name, report.read_text() if report.exists() else "")
        through = self.connections.of(suite.namespaces(log.read_text(errors="replace")))
        click.echo(f"{ended.state:<8} {ended.seconds:5.0f} s  {through:6} connections  {ended.short}")
        return msgspec.structs.replace(ended, connections=through)


if __name__ == "__main__":
    main()
