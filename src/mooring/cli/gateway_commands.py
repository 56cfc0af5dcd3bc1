"""`mooring gateway`: the gateways, and taking one out for a while."""

import asyncio
from pathlib import Path

import click

from mooring.cli import config_file, looking, output
from mooring.cli.config_commands import config_option
from mooring.cli.looking import NOT_WELL
from mooring.cli.output import Lines, Table
from mooring.core import reporting, roster
from mooring.model.reports import GatewayReport

HEAD = ("gateway", "answers", "vrrp", "drained", "up to date", "connections", "certificate until", "version")


@click.group()
def gateway() -> None:
    """Look at the gateways, and take one out for a while."""


@gateway.command("list")
@config_option
@looking.json_option
@click.pass_context
def list_gateways(ctx: click.Context, path: Path | None, *, form: str) -> None:
    """Show the gateways.

    Asks the agents themselves, so it works while no controller runs, and changes nothing. Exit code 3: one of them
    does not answer.
    """
    survey = looking.survey(ctx, path)
    report = reporting.gateways(survey)
    if form == "json":
        output.show_json(report)
    else:
        lines = looking.missing_lines(reporting.silent(survey))
        output.show((Table(HEAD, tuple(map(_row, report.gateways))), Lines(lines)))
    ctx.exit(0 if all(each.answers for each in report.gateways) else NOT_WELL)


@gateway.command()
@click.argument("name")
@click.option("--force", is_flag=True, help="Also the last one that answers and is not drained.")
@config_option
@click.pass_context
def drain(ctx: click.Context, path: Path | None, *, name: str, force: bool) -> None:
    """Have gateway NAME give the addresses to another one.

    It keeps its rules and is told everything as before; connections go on by way of the other gateway. It stays so
    until `mooring gateway undrain NAME`, whatever is started again. When no other gateway can, it still holds them.
    """
    config = config_file.load_for("controller", path)
    survey = looking.survey(ctx, path)
    refused = roster.cannot_drain(
        name,
        known=config.gateways,
        drained=survey.sights.leader.drained,
        answering=[each for each, _ in survey.answering],
        force=force,
    )
    if refused:
        raise click.ClickException(refused)
    _write(path, name, drained=True)
    click.echo(f"Gateway {name} is drained. `mooring gateway list` shows who holds the addresses.")


@gateway.command()
@click.argument("name")
@config_option
def undrain(path: Path | None, *, name: str) -> None:
    """Let gateway NAME hold addresses again."""
    _write(path, name, drained=False)
    click.echo(f"Gateway {name} is not drained any more.")


def _write(path: Path | None, name: str, *, drained: bool) -> None:
    from mooring.controller import draining  # noqa: PLC0415 - it needs much that other commands do not

    try:
        asyncio.run(draining.write(config_file.load_for("controller", path), name, drained=drained))
    except draining.CannotWrite as error:
        raise looking.ended(error) from error


def _row(found: GatewayReport) -> tuple[str, ...]:
    drained = "yes" if found.drained else "no"
    if not found.answers:
        return found.name, "no", "", drained, "", "", "", ""
    current = reporting.up_to_date(found)
    ends = found.certificate_ends or "unknown"
    return found.name, "yes", found.vrrp, drained, current, str(found.connections), ends, found.version
