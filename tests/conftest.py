"""Settings of all tests."""

import hypothesis
import pytest

# The same examples in every run, and no limit of time for one: a busy machine is not a failure.
hypothesis.settings.register_profile("steady", derandomize=True, deadline=None)
hypothesis.settings.load_profile("steady")

TEN_HOURS = 36_000


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--whole", action="store_true", help="run everything that is long, whole")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What is run whole takes hours; the limits of tests are those of their slices."""
    if config.getoption("--whole"):
        for item in items:
            item.add_marker(pytest.mark.timeout(TEN_HOURS), append=False)


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
