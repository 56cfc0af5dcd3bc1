"""openstacksdk's reader of clouds.yaml, and nothing else of it.

The package loads the clients of all services of OpenStack, five hundred modules, before anybody has asked for one: ten
MiB and a tenth of a second of CPU in each process. Its reader needs none of them, so the package's own first lines are
passed over. Who imports the package afterwards gets it whole.
"""

import importlib
import importlib.util
import sys
from types import ModuleType

PACKAGE = "openstack"


def _alone(*names: str) -> list[ModuleType]:
    """Modules of the package, loaded as if it had no first lines; or those that somebody has loaded before."""
    if PACKAGE in sys.modules:
        return [importlib.import_module(name) for name in names]
    found = importlib.util.find_spec(PACKAGE)
    if found is None:
        raise ModuleNotFoundError(PACKAGE)
    sys.modules[PACKAGE] = importlib.util.module_from_spec(found)
    try:
        return [importlib.import_module(name) for name in names]
    finally:
        for name in [each for each in sys.modules if each.partition(".")[0] == PACKAGE]:
            del sys.modules[name]


_config, _exceptions = _alone("openstack.config", "openstack.exceptions")
OpenStackConfig = _config.OpenStackConfig
SDKException: type[Exception] = _exceptions.SDKException
