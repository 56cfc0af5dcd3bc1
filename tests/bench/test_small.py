"""The benchmarks of a controller work, and count what they say: each of them once, small."""

import pytest

from bench import controller_at_once, controller_calls, controller_start
from bench.measure import Measured
from bench.world import Options

pytestmark = pytest.mark.long


def figures(measured: list[Measured]) -> dict[str, float]:
    return {each.id: each.ours for each in measured}


def test_a_start() -> None:
    found = figures(list(controller_start.measured(Options(10, sharing=2), 1, "first push")))
    assert 0.1 < found["first push, CPU, json and dicts"] < 60
    assert 20 < found["first push, memory, json and dicts"] < 500


def test_services_that_come_at_once() -> None:
    found = figures(list(controller_at_once.measured(3)))
    made, read = 3 * 4, 30  # tags come later
    assert made <= found["50 at once, Neutron calls, ch-k8s-lbaas"] < made + read


def test_calls() -> None:
    found = figures(list(controller_calls.measure()))
    assert found["Neutron calls, an endpoint moves"] == 0
    assert found["writes to Services, on an address that is there"] == 3
