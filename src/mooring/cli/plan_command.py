"""`mooring plan`: what the controller does next, without doing it."""

from pathlib import Path

import click

from mooring.cli import looking, output
from mooring.cli.config_commands import config_option
from mooring.cli.looking import HAS_STEPS, MOST
from mooring.cli.output import Lines, Page, Table
from mooring.core import reporting
from mooring.model.reports import PlanReport, StepReport

EPILOG = """\b
Exit codes:
  0  nothing to do, or any plan without --exit-code
  1  Kubernetes or OpenStack could not be looked at
  2  wrong usage or configuration
  4  there are steps, with --exit-code

\b
Examples:
  mooring plan
  mooring plan --exit-code > /dev/null && echo "at rest"
"""  # \b: click leaves the lines below it as they are


@click.command(epilog=EPILOG)
@config_option
@looking.json_option
@looking.all_option
@click.option("--exit-code", "tell", is_flag=True, help="End with 4 if there are steps.")
@click.pass_context
def plan(ctx: click.Context, path: Path | None, *, form: str, everything: bool, tell: bool) -> None:
    """Show what the controller does next.

    The next step of each Service that has one, what of Mooring's own in OpenStack is cleaned up, and which gateways
    have to be told. Each step leads to another. It changes nothing, whether a controller runs or not.
    """
    survey = looking.survey(ctx, path)
    report = reporting.plan(survey)
    if form == "json":
        output.show_json(report)
    else:
        output.show(page(report, everything=everything))
    if survey.picture is None:
        ctx.exit(1)
    ctx.exit(HAS_STEPS if tell and report.has_steps else 0)


def page(report: PlanReport, *, everything: bool = False) -> Page:
    most = None if everything else MOST
    if any(each.what == "OpenStack" for each in report.missing):
        nobody_can_tell = "A controller does nothing until OpenStack answers, and nobody can tell what it does then."
        return (Lines((*looking.missing_lines(report.missing), nobody_can_tell)),)
    return (
        *_table("service", report.services, most),
        Table(("gateway", "to do"), tuple((each, "tell it what is wanted") for each in report.gateways)),
        *_table("clean-up", report.cleaning, most),
        *_table("waiting", report.waiting, most, later=", when its tag has been seen for long enough"),
        Lines((*looking.missing_lines(report.missing), *_nobody(report), _summary(report))),
    )


def _nobody(report: PlanReport) -> tuple[str, ...]:
    if report.observes:
        return ('Nothing of this is done: the controller is configured to observe (controller.reconcile = "observe").',)
    return () if report.leads else ("Nobody leads: this happens once a controller runs, and tells all gateways anew.",)


def _table(title: str, steps: tuple[StepReport, ...], most: int | None, *, later: str = "") -> Page:
    shown = steps[:most]
    more = len(steps) - len(shown)
    rows = tuple((each.about, f"{each.to_do}{later}", looking.details(each)) for each in shown)
    return (
        Table((title, "to do", "with"), rows),
        Lines((f"and {more:,} more (--all shows them)",) if more else ()),
    )


def _summary(report: PlanReport) -> str:
    steps = len(report.services) + len(report.cleaning)
    if report.has_steps:
        told = f", and {output.cut(report.gateways, None)} to be told" if report.gateways else ""
        return f"{steps:,} step{'' if steps == 1 else 's'}{told}."
    return "Nothing to do now." if report.waiting else "Nothing to do."
