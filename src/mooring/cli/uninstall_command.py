"""`mooring uninstall`: everything of Mooring's out of Kubernetes, the gateways and OpenStack."""

from collections import Counter
from pathlib import Path

import click

from mooring.cli import config_file, looking, output
from mooring.cli.config_commands import config_option
from mooring.cli.looking import MOST, NOT_WELL, Remove
from mooring.cli.output import Lines, Page, Table
from mooring.model.reports import StepReport, UninstallReport

EPILOG = """\b
Exit codes:
  0  nothing of Mooring's is left; without --delete: there was nothing
  1  not everything could be looked at, a controller leads, or the answer was no
  2  wrong usage or configuration
  3  something is left: without --delete all that is listed, with it what is told

\b
Examples:
  mooring uninstall
  mooring uninstall --delete
  mooring uninstall --delete --yes --keep-floating-ips
"""  # \b: click leaves the lines below it as they are

AFTERWARDS = (
    "On each gateway, stop the agent and run `mooring agent uninstall`.",
    "For the controller: `kubectl delete --kustomize deploy/example`, or `mooring manifests | kubectl delete -f -`.",
)
DONE = {
    "Clear": "addresses taken off Services",
    "Tell": "conditions taken off Services",
    "Empty": "gateways emptied",
    "Forget": "ports taken off Services",
    "LetGo": "Services let go",
    "Keep": "floating IPs tagged to stay",
    "Unpair": "gateways' ports cleared",
    "GiveBack": "floating IPs given back",
    "Remove": "ports and floating IPs deleted",
}


@click.command(epilog=EPILOG)
@click.option("--delete", is_flag=True, help="Remove it.")
@click.option("--yes", is_flag=True, help="With --delete: do not ask.")
@click.option("--keep-floating-ips", "keep", is_flag=True, help="Leave the floating IPs in the project, on no port.")
@config_option
@looking.json_option
@looking.all_option
@click.pass_context
def uninstall(  # noqa: PLR0913 - its options
    ctx: click.Context, path: Path | None, *, delete: bool, yes: bool, keep: bool, form: str, everything: bool
) -> None:
    """Remove everything of Mooring's from Kubernetes, the gateways and OpenStack.

    Without --delete it only shows what there is. With it, in this order: addresses and conditions off the Services,
    what the gateways serve, annotations and finalizers off the Services, the gateways' allowed addresses, floating IPs,
    ports. What others have made stays as it is; Services stay, without an address. It can be interrupted
    anywhere, and goes on when it is started again.

    No controller may lead meanwhile: it would make everything anew.
    """
    if yes and not delete:
        raise click.UsageError("--yes goes with --delete only.")
    if delete and form == "json" and not yes:
        raise click.UsageError("--delete with -o json needs --yes: a program cannot be asked.")
    report = looking.run(_look(ctx, path, keep=keep, patient=delete))
    if form == "text":
        output.show(page(report, everything=everything))
    if delete and not report.clean:
        if report.in_the_way:
            raise click.ClickException(f"{report.in_the_way}.")
        if not yes:
            click.confirm("Remove all of it? Nobody can call these Services any more.", abort=True, err=True)
        report = looking.run(_remove(ctx, path, keep=keep, form=form))
        if form == "text":
            output.show(done_page(report))
    if form == "json":
        output.show_json(report)
    ctx.exit(0 if report.clean else NOT_WELL)


async def _look(ctx: click.Context, path: Path | None, *, keep: bool, patient: bool) -> UninstallReport:
    from mooring.controller import removing  # noqa: PLC0415 - it needs much that other commands do not

    remove: Remove = looking.ways(ctx).remove or removing.opened
    async with remove(config_file.load_for("controller", path), keep=keep) as remover:
        return await remover.look(patient=patient)


async def _remove(ctx: click.Context, path: Path | None, *, keep: bool, form: str) -> UninstallReport:
    from mooring.controller import removing  # noqa: PLC0415 - as above

    def progress(step: StepReport) -> None:
        if form == "text":
            click.echo(f"{step.about}: {step.to_do}", err=True)

    remove: Remove = looking.ways(ctx).remove or removing.opened
    async with remove(config_file.load_for("controller", path), keep=keep, progress=progress) as remover:
        try:
            return await remover.run()
        except removing.CannotRemove as error:
            raise click.ClickException(f"{error}.") from error


def page(report: UninstallReport, *, everything: bool = False) -> Page:
    shown = report.steps if everything else report.steps[:MOST]
    more = len(report.steps) - len(shown)
    rows = tuple((each.about, each.to_do, looking.details(each)) for each in shown)
    return (
        Table(("what", "to do", "with"), rows),
        Lines((f"and {more:,} more (--all shows them)",) if more else ()),
        Lines((*looking.missing_lines(report.missing), *_summary(report))),
    )


def done_page(report: UninstallReport) -> Page:
    counted = Counter(each.step for each in report.done)
    rows = tuple((DONE[step], f"{counted[step]:,}") for step in DONE if counted[step])
    failed = tuple(f"{each.step.about} is as it was: {each.why.rstrip('.')}." for each in report.failed)
    silent = looking.missing_lines(report.missing)
    if report.clean:
        return Table(("done", ""), rows), Lines((*silent, "Nothing of Mooring's is left.", *AFTERWARDS))
    return Table(("done", ""), rows), Lines(
        (*silent, *failed, "Something is left. Try it again when that is put right.")
    )


def _summary(report: UninstallReport) -> tuple[str, ...]:
    if report.clean:
        return ("There is nothing of Mooring's.", *AFTERWARDS)
    steps = len(report.steps)
    way = (f"Not now: {report.in_the_way}.",) if report.in_the_way else ()
    return f"{steps:,} step{'' if steps == 1 else 's'}. `--delete` takes them.", *way
