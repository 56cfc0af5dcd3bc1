"""`mooring orphans`: what of Mooring's in OpenStack nobody needs, and letting it go."""

from pathlib import Path

import click
import msgspec

from mooring.cli import config_file, looking, output
from mooring.cli.config_commands import config_option
from mooring.cli.looking import MOST, NOT_WELL, LetGo
from mooring.cli.output import Lines, Page, Table
from mooring.core import orphans as finding
from mooring.core.surveyed import Survey
from mooring.model.reports import OrphanReport, OrphansReport, TaggedReport

EPILOG = """\b
Exit codes:
  0  nothing is left behind that does not go by itself, or --delete tagged all that it was to tag
  1  Kubernetes or OpenStack could not be looked at, or the answer was no
  2  wrong usage or configuration
  3  there are orphans that do not go yet, or something could not be tagged

\b
Examples:
  mooring orphans
  mooring orphans --delete
  mooring orphans -o json | jq '.others[].cluster'
"""  # \b: click leaves the lines below it as they are


@click.command(epilog=EPILOG)
@click.option("--delete", is_flag=True, help="Let those of this cluster go.")
@click.option("--yes", is_flag=True, help="With --delete: do not ask.")
@config_option
@looking.json_option
@looking.all_option
@click.pass_context
def orphans(  # noqa: PLR0913 - its options
    ctx: click.Context, path: Path | None, *, delete: bool, yes: bool, form: str, everything: bool
) -> None:
    """Show what of Mooring's in OpenStack nobody needs.

    Ports and floating IPs that bear Mooring's mark and that no Service needs, by the decision of the controller itself;
    then what bears the marks of other clusters, and what gateways may use though no port has it, which are only told.

    --delete tags those of this cluster, which is all that it does: the controller that leads deletes what bears the tag
    and is not needed after all, when it has seen it so for long enough. It is also the way to say "go" to a controller
    that found too much to delete at once.
    """
    if yes and not delete:
        raise click.UsageError("--yes goes with --delete only.")
    if delete and form == "json" and not yes:
        raise click.UsageError("--delete with -o json needs --yes: a program cannot be asked.")
    survey = looking.survey(ctx, path, around=True)
    report = finding.orphans(survey)
    if form == "text":
        output.show(page(report, everything=everything))
    if survey.picture is None:
        _show_json(report, form)
        ctx.exit(1)
    if delete:
        report = msgspec.structs.replace(report, tagged=_let_go(ctx, path, survey, yes=yes))
        if form == "text":
            output.show(tagged_page(report.tagged))
    _show_json(report, form)
    ctx.exit(code(report, delete=delete))


def code(report: OrphansReport, *, delete: bool) -> int:
    if delete:
        return 0 if all(each.tagged for each in report.tagged) else NOT_WELL
    return NOT_WELL if report.missing or not all(each.going for each in report.orphans) else 0


def _show_json(report: OrphansReport, form: str) -> None:
    if form == "json":
        output.show_json(report)


def _let_go(ctx: click.Context, path: Path | None, survey: Survey, *, yes: bool) -> tuple[TaggedReport, ...]:
    from mooring.controller import orphans as letting_go  # noqa: PLC0415 - it needs much that other commands do not

    if why := finding.why_not(survey):
        raise click.ClickException(f"Nothing is tagged, because not everything could be looked at: {why}.")
    wanted = finding.to_tag(survey)
    if not wanted:
        return ()
    if not yes:
        many = f"{len(wanted):,} object{'' if len(wanted) == 1 else 's'}"
        click.confirm(f"Let {many} go? The controller deletes them after its usual wait.", abort=True, err=True)
    let_go: LetGo = looking.ways(ctx).let_go or letting_go.let_go
    config = config_file.load_for("controller", path)
    return looking.run(let_go(config, frozenset(each.id for each in wanted)))


def page(report: OrphansReport, *, everything: bool = False) -> Page:
    most = None if everything else MOST
    entries = tuple((each.gateway, each.address, each.port) for each in report.entries)
    return (
        *_table(("orphan", "address", "id", "goes", "made", "shown by"), tuple(map(_orphan, report.orphans)), most),
        *_table(("of other clusters", "address", "id", "goes", "made", "cluster"), _others(report.others), most),
        *_table(("gateway", "may use, and no port has", "port of the gateway"), entries, most),
        Lines((*looking.missing_lines(report.missing), *_summary(report))),
    )


def tagged_page(tagged: tuple[TaggedReport, ...]) -> Page:
    done = sum(each.tagged for each in tagged)
    failed = tuple(f"{each.kind} {each.id} was not tagged: {each.why.rstrip('.')}." for each in tagged if each.why)
    return (Lines(("", *failed, f"Tagged: {done:,}. `mooring plan` shows what waits for its time.")),)


def _table(head: tuple[str, ...], rows: tuple[tuple[str, ...], ...], most: int | None) -> Page:
    shown = rows if most is None else rows[:most]
    more = len(rows) - len(shown)
    return Table(head, shown), Lines((f"and {more:,} more (--all shows them)",) if more else ())


def _orphan(found: OrphanReport) -> tuple[str, ...]:
    goes = "yes" if found.going else "held back" if found.held_back else "not yet"
    if found.in_use_on:
        goes = f"given back, in use on port {found.in_use_on}"
    return found.kind, found.address, found.id, goes, found.created, output.cut(found.shown_by, MOST)


def _others(found: tuple[OrphanReport, ...]) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (each.kind, each.address, each.id, "yes" if each.going else "", each.created, each.cluster) for each in found
    )


def _summary(report: OrphansReport) -> list[str]:
    if any(each.what == "OpenStack" for each in report.missing):
        return ["What is in OpenStack, and who needs it, nobody can tell without it."]
    fresh = [each for each in report.orphans if not each.going]
    shown = sum(bool(each.shown_by) for each in fresh)
    lines = [f"{len(report.orphans):,} of this cluster that nobody needs, of which {len(fresh):,} do not go yet."]
    if shown:
        lines.append(
            f"{shown:,} of them a Service shows to the world: `mooring why` says why. They are never tagged here."
        )
    if any(each.held_back for each in fresh):
        lines.append(
            "Those that are held back are too many at once: they stay until a person says go, with `--delete`."
        )
    elif fresh:
        lines.append("The controller tags them by itself.")
    if not report.leads:
        lines.append("Nobody leads: nothing is deleted until a controller runs.")
    if report.entries:
        lines.append(
            "Who entered what no port has, cannot be told. If nobody knows: openstack port unset --allowed-address."
        )
    return lines
