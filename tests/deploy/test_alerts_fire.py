"""Prometheus itself says which alerts fire: `promtool`, where it is installed, or as Debian has it."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import Struct

from tests.source_copy import ROOT

RULES = ROOT / "deploy" / "monitoring" / "mooring.rules.yaml"
FIRING = 'count by (alertname, cluster) (ALERTS{alertstate="firing", severity="page"})'
AFTER = "10m"


@pytest.fixture(scope="session")
def promtool(tmp_path_factory: pytest.TempPathFactory) -> str:
    found = shutil.which("promtool")
    if found is not None:
        return found
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        pytest.skip("promtool is not installed, and this is no Debian")
    folder = tmp_path_factory.mktemp("prometheus")
    fetched = subprocess.run(
        ["apt-get", "download", "prometheus"], cwd=folder, capture_output=True, text=True, check=False
    )
    if fetched.returncode:
        pytest.skip(f"promtool is not installed, and apt cannot fetch it: {fetched.stderr[-200:]}")
    [archive] = folder.glob("*.deb")
    subprocess.run(["dpkg", "-x", str(archive), str(folder)], check=True)
    return str(folder / "usr" / "bin" / "promtool")


class Cluster(Struct, frozen=True):
    """What its daemons say of themselves, one after the other. Those of one without a name have no such label."""

    name: str = ""
    leading: tuple[int, ...] = (1, 0)
    live: tuple[int, ...] = (1, 1)
    masters: tuple[int, ...] = (1, 0)

    def series(self) -> Iterator[str]:
        label = f', cluster="{self.name}"' if self.name else ""
        for figure, values in (("leading", self.leading), ("agent_ready", tuple(1 for _ in self.masters))):
            for number, value in enumerate(values):
                yield f'mooring_{figure}{{instance="{number}"{label}}} {value}'
        for number, value in enumerate(self.live):
            yield f'mooring_gateway_live{{instance="0", gateway="gw{number}"{label}}} {value}'
        for number, value in enumerate(self.masters):
            yield f'mooring_agent_vrrp_state{{instance="{number}", state="master"{label}}} {value}'
            yield f'mooring_agent_vrrp_state{{instance="{number}", state="backup"{label}}} {1 - value}'


EAST, WEST = Cluster("east"), Cluster("west")


@pytest.mark.long
@pytest.mark.parametrize(
    ("clusters", "fires"),
    [
        pytest.param((Cluster(),), [], id="one that is well"),
        pytest.param((EAST, WEST), [], id="two that are well"),
        pytest.param((), [("MooringNobodyLeads", "")], id="none at all"),
        pytest.param((Cluster(leading=(0, 0)),), [("MooringNobodyLeads", "")], id="nobody leads the only one"),
        pytest.param((Cluster(leading=()),), [("MooringNobodyLeads", "")], id="the only one has no controller"),
        pytest.param((EAST, Cluster("west", leading=(0, 0))), [("MooringNobodyLeads", "west")], id="nobody leads one"),
        pytest.param((EAST, Cluster("west", leading=())), [("MooringNobodyLeads", "west")], id="no controller in one"),
        pytest.param((EAST, Cluster("west", live=(0, 0))), [("MooringNoGateway", "west")], id="no gateway of one"),
        pytest.param((EAST, Cluster("west", live=(0, 1))), [], id="a gateway of one is left"),
        pytest.param(
            (EAST, Cluster("west", masters=(0, 0))), [("MooringNobodyHoldsTheAddresses", "west")], id="nobody holds"
        ),
        pytest.param((EAST, Cluster("west", masters=(1, 1))), [("MooringTwoHoldTheAddresses", "west")], id="two hold"),
        pytest.param((Cluster(masters=(1, 1)),), [("MooringTwoHoldTheAddresses", "")], id="two hold the only one"),
    ],
)
def test_who_is_paged(
    clusters: tuple[Cluster, ...], fires: list[tuple[str, str]], promtool: str, tmp_path: Path
) -> None:
    series = [line.rpartition(" ") for each in clusters for line in each.series()]
    samples = [{"labels": _labels(alert, cluster), "value": 1} for alert, cluster in fires]
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": f"{value}x20"} for name, _, value in series],
        "promql_expr_test": [{"expr": FIRING, "eval_time": AFTER, "exp_samples": samples}],
    }
    file = tmp_path / "test.yaml"
    file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [test]}))
    run = subprocess.run([promtool, "test", "rules", str(file)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.long
def test_prometheus_takes_the_rules(promtool: str) -> None:
    run = subprocess.run([promtool, "check", "rules", str(RULES)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def _labels(alert: str, cluster: str) -> str:
    return f'{{alertname="{alert}"' + (f', cluster="{cluster}"}}' if cluster else "}")
