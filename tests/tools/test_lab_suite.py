"""From the reports of Kubernetes' own suite and the gateways' counters to a table."""

import io
import re

import pytest
from rich.console import Console

from mooring.core import configuration
from mooring.lab import conformance, suite
from mooring.lab.suite import Connections, Outcome
from mooring.model.config import Services
from mooring.model.settings import Settings

FOCUS = "[sig-network] LoadBalancers"
TCP = "[sig-network] LoadBalancers [Feature:LoadBalancer] should be able to change the type of a TCP service [Slow]"
PODS = "[sig-network] LoadBalancers ExternalTrafficPolicy: Local [Feature:LoadBalancer] [Slow] should work from pods"
LISTED = f"""The following spec names can be used with 'ginkgo run --focus/skip':
    k8s.io/kubernetes@v1.36.4/test/e2e/network/loadbalancer.go:1221: {PODS}
    k8s.io/kubernetes@v1.36.4/test/e2e/network/loadbalancer.go:132: {TCP}
    k8s.io/kubernetes@v1.36.4/test/e2e/network/service.go:10: [sig-network] Services should serve LoadBalancers
"""


def report(status: str, child: str = "", seconds: str = "8.25") -> str:
    """As the suite writes it: all tests that there are stand in it, with what surrounds them."""
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="3"><testsuite name="Kubernetes e2e suite" tests="3">
<testcase name="[SynchronizedBeforeSuite]" classname="Kubernetes e2e suite" status="passed" time="0.03"></testcase>
<testcase name="[It] {PODS}" status="skipped" time="0"><skipped message="skipped"></skipped></testcase>
<testcase name="[It] {TCP}" classname="Kubernetes e2e suite" status="{status}" time="{seconds}">{child}</testcase>
</testsuite></testsuites>"""


def test_the_tests_of_one_kind_are_found_in_the_list() -> None:
    assert suite.listed(LISTED, FOCUS) == (PODS, TCP)
    assert suite.listed("", FOCUS) == ()


@pytest.mark.parametrize(
    ("status", "child", "expected"),
    [
        ("passed", "", Outcome(TCP, "passed", 8.25)),
        ("passed", "<system-err>noise</system-err>", Outcome(TCP, "passed", 8.25)),
        (
            "failed",
            '<failure message="" type="failed">[FAILED] service is not reachable\nIn [It] at: x.go:1</failure>',
            Outcome(TCP, "failed", 8.25, why="service is not reachable"),
        ),
        (
            "timedout",
            '<failure message="A suite timeout occurred"/>',
            Outcome(TCP, "failed", 8.25, why="A suite timeout occurred"),
        ),
        ("panicked", '<error message="nil"/>', Outcome(TCP, "failed", 8.25, why="nil")),
        ("interrupted", "", Outcome(TCP, "failed", 8.25)),
        (
            "skipped",
            "<skipped message=\"skipped - LoadBalancer uses 'Proxy' IPMode\"></skipped>",
            Outcome(TCP, "skipped", 8.25, why="LoadBalancer uses 'Proxy' IPMode"),
        ),
    ],
)
def test_each_way_to_end(status: str, child: str, expected: Outcome) -> None:
    assert suite.outcome(TCP, report(status, child)) == expected


@pytest.mark.parametrize("text", ["", report("passed").replace(TCP, "another")])
def test_what_is_in_no_report_did_not_run(text: str) -> None:
    assert suite.outcome(TCP, text).state == "not run"


def counter(service: str, number: float, port: int = 80) -> str:
    place = f'address="10.20.0.9",port="{port}",protocol="TCP",service="{service}"'
    return f"mooring_service_connections_total{{{place}}} {number}"


def test_connections_are_added_over_gateways_and_ports_and_outlive_their_counters() -> None:
    seen = Connections()
    for gateway, line in (
        ("gw1", counter("loadbalancers-12/web", 3.0)),
        ("gw1", counter("loadbalancers-12/web", 7.0)),
        ("gw1", counter("loadbalancers-12/web", 0.0)),
        ("gw1", counter("loadbalancers-12/web", 2.0, port=81)),
        ("gw2", counter("loadbalancers-12/web", 1.0)),
        ("gw1", counter("loadbalancers-123/web", 100.0)),
        ("gw1", "mooring_service_connections_created 1.0"),
        ("gw1", "# HELP mooring_service_connections_total New connections."),
    ):
        seen.take(gateway, line)
    assert seen.of(frozenset({"loadbalancers-12"})) == 7 + 2 + 1
    assert seen.of(frozenset({"loadbalancers-1"})) == 0
    assert seen.of(frozenset()) == 0


def test_a_test_is_asked_only_for_its_own_namespace() -> None:
    log = 'pod loadbalancers-9/x\n  STEP: Destroying namespace "esipp-4" for this suite. @ 11/15/26'
    assert suite.namespaces(log) == {"esipp-4"}


def test_what_is_told() -> None:
    outcomes = [Outcome(TCP, "passed", 8.4, 12), Outcome(PODS, "skipped", why="[not] for us"), Outcome("x", "not run")]
    assert suite.counts(outcomes) == "3 tests: 1 run, 1 passed, 0 failed, 1 skipped, 1 not run"
    shown = io.StringIO()
    Console(width=200, file=shown).print(suite.table("ipMode VIP", outcomes))
    lines = [re.split(r"\s{2,}", line.strip()) for line in shown.getvalue().splitlines()]
    assert ["LoadBalancers should be able to change the type of a TCP service", "passed", "8", "12"] in lines
    assert [
        "LoadBalancers ExternalTrafficPolicy: Local should work from pods",
        "skipped",
        "0",
        "none",
        "[not] for us",
    ] in lines


@pytest.mark.parametrize("way", conformance.WAYS)
def test_each_way_is_a_lab_that_can_be_built(way: conformance.Way) -> None:
    spec = way.lab("conformance")
    assert list(spec.problems()) == []
    read = configuration.read(spec.settings, "mooring.toml", {})
    assert isinstance(read, Settings)
    assert read.config.services == Services(claim_unclassed=True, ip_mode=way.ip_mode)
