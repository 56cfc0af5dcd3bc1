"""Settings of all tests."""

from collections.abc import Generator

import hypothesis
import pytest

from tests import kept
from tests.kept import Kept

# The same examples in every run, and no limit of time for one: a busy machine is not a failure.
hypothesis.settings.register_profile("steady", derandomize=True, deadline=None)
hypothesis.settings.load_profile("steady")

TEN_HOURS = 36_000
AN_HOUR = 3_600
"""What is long takes what others leave of the machine, and may be slow."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--whole", action="store_true", help="run everything that is long, whole")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What is run whole takes hours: limits are not those of the slices, and what passed already is not run again."""
    whole = config.getoption("--whole")
    for item in items:
        if whole or item.get_closest_marker("long"):
            item.add_marker(pytest.mark.timeout(TEN_HOURS if whole else AN_HOUR), append=False)
    if not whole:
        return
    done = kept.passed(kept.folder())
    config.hook.pytest_deselected(items=[each for each in items if each.nodeid in done])
    items[:] = [each for each in items if each.nodeid not in done]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if item.config.getoption("--whole") and report.when == "call" and report.passed:
        kept.add_passed(kept.folder(), item.nodeid)
    return report


@pytest.fixture
def parts_kept(request: pytest.FixtureRequest, whole: bool) -> Kept:  # noqa: FBT001 - a fixture
    """Where the parts of a test are kept that is run whole."""
    return Kept.of_test(kept.folder(), request.node.nodeid) if whole else Kept()


@pytest.fixture(scope="session")
def whole(pytestconfig: pytest.Config) -> bool:
    """Whether everything that is long is to be run whole."""
    return bool(pytestconfig.getoption("--whole"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests counted, a line each: `ran k of n` says more than a dot."""
    passed = terminalreporter.getreports("passed")
    printed = (text for report in passed for name, text in report.sections if name == "Captured stdout call")
    counted = [line for text in printed for line in text.splitlines() if line.strip()]
    if counted:
        terminalreporter.section("counted")
        for line in counted:
            terminalreporter.line(line.strip())
