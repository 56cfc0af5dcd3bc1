"""`python -m tests.simulation`: look for failures by hand, and run one again."""

import functools
import os
import sys

import click

from tests.simulation import explore, matrix
from tests.simulation.explore import Report
from tests.simulation.faults import CRASHES, Fault
from tests.simulation.scenarios import SCENARIOS

PARTS_PER_CORE = 8
"""In how many parts a core does its work: progress is told after each."""

SCENARIO = click.argument("scenario", type=click.Choice(sorted(SCENARIOS)))
SEED = click.option("--seed", default=1, show_default=True, help="Decides latencies, and what the user does.")
STOP = click.option("--stop", is_flag=True, help="Stop at the first failure.")


class Faults(click.ParamType[dict[int, Fault]]):
    """Where what happens, as it stands in a replay command."""

    name = "faults"

    def convert(
        self, value: str | dict[int, Fault], param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[int, Fault]:
        if isinstance(value, dict):
            return value
        found: dict[int, Fault] = {}
        kinds = {fault.value: fault for fault in Fault}
        for each in filter(None, value.split(",")):
            number, _, kind = each.partition(":")
            if not number.isdecimal() or kind not in kinds:
                self.fail(
                    f"{each!r} is not NUMBER:KIND, as in 12:crash-after. Kinds are {', '.join(kinds)}.", param, ctx
                )
            found[int(number)] = kinds[kind]
        return found


@click.group()
def main() -> None:
    """Run the controllers in a world where everything goes wrong."""


@main.command()
@SCENARIO
@SEED
@click.option("--faults", default="", type=Faults(), help="Where what happens, as `12:crash-after,30:late`.")
@click.option("--whole", is_flag=True, help="Show every step, not the last ones and those with faults alone.")
def replay(scenario: str, seed: int, faults: dict[int, Fault], *, whole: bool) -> None:
    """One run, with its trace."""
    run = explore.replay(SCENARIOS[scenario], seed, faults)
    click.echo(run.told(len(run.trace)) if whole else str(run))
    sys.exit(run.wrong is not None)


@main.command()
@SCENARIO
@SEED
@STOP
def singles(scenario: str, seed: int, *, stop: bool) -> None:
    """Every kind of fault at every point, one at a time."""
    _tell(functools.partial(explore.enumerate_faults, stop=stop), scenario, seed)


@main.command()
@SCENARIO
@SEED
@click.option("--all-kinds", is_flag=True, help="Pairs of all kinds of faults, not of crashes alone: hours.")
def pairs(scenario: str, seed: int, *, all_kinds: bool) -> None:
    """Every crash, and every crash in the recovery from it."""
    kinds = tuple(Fault) if all_kinds else CRASHES
    parts = PARTS_PER_CORE * (os.cpu_count() or 1)
    look = functools.partial(_pairs_part, scenario, seed, kinds, parts)

    def progress(done: int, so_far: Report) -> None:
        click.echo(f"{scenario}: {done} of {parts} parts: {so_far}", err=True)

    _tell(lambda _name, _seed: explore.in_parallel(look, parts, progress), scenario, seed)


def _pairs_part(scenario: str, seed: int, kinds: tuple[Fault, ...], every: int, part: int) -> Report:
    return explore.enumerate_pairs(scenario, seed, kinds=kinds, every=every, part=part)


@main.command()
@click.argument("scenario", type=click.Choice([*sorted(SCENARIOS), explore.ANY]))
@click.option("--first", default=1, show_default=True, help="The first seed.")
@click.option("--runs", default=1000, show_default=True, type=click.IntRange(min=1), help="How many seeds.")
@STOP
def chance(scenario: str, first: int, runs: int, *, stop: bool) -> None:
    """Faults by chance, one run for each seed."""
    _tell(lambda name, seed: explore.by_chance(name, range(seed, seed + runs), stop=stop), scenario, first)


@main.command()
def table() -> None:
    """How often each kind of fault is tried at each kind of call, one at a time."""
    click.echo(matrix.table(matrix.counted(matrix.bases())))


@main.command()
@click.argument("scenario", type=click.Choice([name for name, each in SCENARIOS.items() if each.controllers > 1]))
@SEED
@STOP
def takeovers(scenario: str, seed: int, *, stop: bool) -> None:
    """A leader is stopped at every point, and goes on at every point of the next one."""
    _tell(functools.partial(explore.enumerate_takeovers, stop=stop), scenario, seed)


def _tell(look: "explore.Look", scenario: str, seed: int) -> None:
    begin = _cpu_seconds()
    report: Report = look(scenario, seed)
    used = max(_cpu_seconds() - begin, 0.01)
    rate = f"{(report.requests + report.events) / used:,.0f} requests and events per CPU second"
    click.echo(f"{scenario}: {report}; {rate}, {report.requests / used:,.0f} of them requests")
    if report.failed:
        click.echo(str(explore.shrunk(report.failed[0])))
        sys.exit(1)


def _cpu_seconds() -> float:
    """Of this process and of those that it has started and seen end."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


if __name__ == "__main__":
    main()
