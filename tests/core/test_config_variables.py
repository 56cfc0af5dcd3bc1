"""Variables that count for nothing are told, and those of others are not."""

import re

import pytest

from mooring.core import config_keys, config_variables
from tests.source_copy import ROOT

LINKS = {
    "MOORING_LOG_SERVICE_HOST": "10.0.0.1",
    "MOORING_LOG_SERVICE_PORT": "80",
    "MOORING_LOG_SERVICE_PORT_HTTP": "80",
    "MOORING_LOG_PORT": "tcp://10.0.0.1:80",
    "MOORING_LOG_PORT_80_TCP": "tcp://10.0.0.1:80",
    "MOORING_LOG_PORT_80_TCP_ADDR": "10.0.0.1",
}
"""As the kubelet sets them for a Service mooring-log."""


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("MOORING_ADDRESES_NETWORK", "there is no such key, did you mean MOORING_ADDRESSES_NETWORK?"),
        ("MOORING_LOG_LEVLE", "there is no such key, did you mean MOORING_LOG_LEVEL?"),
        ("MOORING_BACKEND_PROBE_PORT", "there is no such key, did you mean MOORING_BACKENDS_PROBE_PORT?"),
        ("MOORING_COLOUR", "there is no such key"),
        ("MOORING_GATEWAYS_GW1_AGENT", "gateways stand in the file only"),
        ("MOORING_LOG_PORT", "there is no such key, did you mean MOORING_LOG_FORMAT?"),
    ],
)
def test_a_name_that_no_key_has(name: str, told: str) -> None:
    [line] = config_variables.strange({name: "x", "PATH": "/bin", "MY_MOORING_X": "x"})
    assert line == f"environment variable {name}: counts for nothing: {told}"


def test_all_are_told_in_order() -> None:
    lines = config_variables.strange({"MOORING_B": "", "MOORING_A": ""})
    assert [line.split()[2] for line in lines] == ["MOORING_A:", "MOORING_B:"]


def test_what_kubernetes_sets_for_services_is_not_told() -> None:
    assert config_variables.strange(LINKS) == ()


def test_variables_of_keys_are_not_told() -> None:
    keys = {key.variable or "PATH": "x" for section in config_keys.sections() for key in section.keys}
    assert len(keys) > 20
    assert config_variables.strange(keys) == ()


def test_variables_that_the_source_reads_and_that_are_no_keys_are_known() -> None:
    text = "\n".join(file.read_text() for part in ("src", "tests") for file in sorted((ROOT / part).rglob("*.py")))
    read = set(re.findall(r"(?:environ\.get\(|envvar=)\"(MOORING_\w+)\"", text))
    assert read == config_variables.NO_KEYS
