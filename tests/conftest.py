"""Settings of all tests."""

import hypothesis
import pytest

# The same examples in every run, and no limit of time for one: a busy machine is not a failure.
hypothesis.settings.register_profile("steady", derandomize=True, deadline=None)
hypothesis.settings.load_profile("steady")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--whole", action="store_true", help="run everything that is long, whole")


@pytest.fixture(scope="session")
def whole(pytestconfig: pytest.Config) -> bool:
    """Whether everything that is long is to be run whole."""
    return bool(pytestconfig.getoption("--whole"))
