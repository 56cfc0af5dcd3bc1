"""`python -m tests.simulation`: look for failures by hand, and run one again."""

import functools
import os
import sys

import click

from tests.simulation import explore
from tests.simulation.explore import Report
from tests.simulation.faults import CRASHES, Fault
from tests.simulation.scenarios import SCENARIOS

SCENARIO = click.argument("scenario", type=click.Choice(sorted(SCENARIOS)))
SEED = click.option("--seed", default=1, show_default=True, help="Decides latencies, and what the user does.")


@click.group()
def main() -> None:
    """Run the controllers in a world where everything goes wrong."""


@main.command()
@SCENARIO
@SEED
@click.option("--faults", default="", help="Where what happens, as `12:crash-after,30:late`.")
def replay(scenario: str, seed: int, faults: str) -> None:
    """One run, with its trace."""
    pairs = [each.split(":", 1) for each in faults.split(",") if each]
    try:
        wanted = {int(number): Fault(fault) for number, fault in pairs}
    except ValueError as error:
        kinds = ", ".join(fault.value for fault in Fault)
        raise click.BadParameter(f"{error}; a fault is NUMBER:KIND, and kinds are {kinds}") from error
    run = explore.replay(SCENARIOS[scenario], seed, wanted)
    click.echo(str(run))
    sys.exit(run.wrong is not None)


@main.command()
@SCENARIO
@SEED
def singles(scenario: str, seed: int) -> None:
    """Every kind of fault at every point, one at a time."""
    _tell(explore.enumerate_faults, scenario, seed)


@main.command()
@SCENARIO
@SEED
@click.option("--all-kinds", is_flag=True, help="Pairs of all kinds of faults, not of crashes alone: hours.")
def pairs(scenario: str, seed: int, *, all_kinds: bool) -> None:
    """Every crash, and every crash in the recovery from it."""
    kinds = tuple(Fault) if all_kinds else CRASHES
    cores = os.cpu_count() or 1
    look = functools.partial(_pairs_part, scenario, seed, kinds, cores)
    _tell(lambda _name, _seed: explore.in_parallel(look, cores), scenario, seed)


def _pairs_part(scenario: str, seed: int, kinds: tuple[Fault, ...], every: int, part: int) -> Report:
    return explore.enumerate_pairs(scenario, seed, kinds=kinds, every=every, part=part)


@main.command()
@click.argument("scenario", type=click.Choice([*sorted(SCENARIOS), explore.ANY]))
@click.option("--first", default=1, show_default=True, help="The first seed.")
@click.option("--runs", default=1000, show_default=True, help="How many seeds.")
@click.option("--stop", is_flag=True, help="Stop at the first failure.")
def chance(scenario: str, first: int, runs: int, *, stop: bool) -> None:
    """Faults by chance, one run for each seed."""
    _tell(lambda name, seed: explore.by_chance(name, range(seed, seed + runs), stop=stop), scenario, first)


def _tell(look: "explore.Look", scenario: str, seed: int) -> None:
    begin = _cpu_seconds()
    report: Report = look(scenario, seed)
    used = max(_cpu_seconds() - begin, 0.01)
    click.echo(f"{scenario}: {report}; {report.calls / used:,.0f} calls per CPU second")
    if report.failed:
        click.echo(str(explore.shrunk(report.failed[0])))
        sys.exit(1)


def _cpu_seconds() -> float:
    """Of this process and of those that it has started and seen end."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


main()
