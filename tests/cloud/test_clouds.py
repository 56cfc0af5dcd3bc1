"""The reader of clouds.yaml comes alone; who wants the whole package gets it."""

import subprocess
import sys

import pytest

ALONE = """
import sys
from mooring.cloud import wire
assert not [each for each in sys.modules if each.partition(".")[0] == "openstack"]
assert len(sys.modules) < 900, len(sys.modules)
"""
AFTERWARDS = """
import openstack
from mooring.cloud import clouds
assert openstack.connection.Connection
assert openstack.config.OpenStackConfig is not clouds.OpenStackConfig
"""
BEFORE = """
import openstack
from mooring.cloud import clouds
assert openstack.config.OpenStackConfig is clouds.OpenStackConfig
assert openstack.exceptions.SDKException is clouds.SDKException
"""


@pytest.mark.parametrize("program", [ALONE, ALONE + AFTERWARDS, BEFORE])
def test_in_a_process_of_its_own(program: str) -> None:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
