"""`mooring agent`: the daemon of a gateway, and what an operator does about it on its host."""

from pathlib import Path

import click

from mooring.cli import config_file, looking, output
from mooring.cli.config_commands import config_option, daemon_config_option
from mooring.cli.daemon_commands import run
from mooring.cli.looking import NOT_WELL
from mooring.model.errors import StartRefused
from mooring.model.reports import DoctorReport, Finding

DOCTOR_EPILOG = """\b
Exit codes:
  0  everything that was looked at is well
  2  wrong usage or configuration
  3  something is not well, or could not be looked at
"""  # \b: click leaves the lines below it as they are


@click.group(invoke_without_command=True)
@daemon_config_option
@click.pass_context
def agent(context: click.Context, path: Path | None) -> None:
    """Run the agent of a gateway, or look after it.

    Without a command it runs: it does what the controller tells it, until it gets SIGTERM, as root, once on each
    gateway. The log goes to standard error.
    """
    context.obj = path
    if context.invoked_subcommand is None:
        run("agent", path)


@agent.command(epilog=DOCTOR_EPILOG)
@click.option("--seconds", type=click.FloatRange(0.1, 60), default=3.0, show_default=True, help="How long to listen.")
@config_option
@looking.json_option
@click.pass_context
def doctor(context: click.Context, path: Path | None, *, seconds: float, form: str) -> None:
    """See whether this host can be a gateway.

    Looks at the kernel's settings, nftables, keepalived, the certificate, and listens whether others speak VRRP with
    our numbers. Changes nothing.
    """
    from mooring.agent import doctor as examination  # noqa: PLC0415 - it needs much that other commands do not

    findings = examination.examine(config_file.load_for("agent", path or context.obj), seconds=seconds)
    report = DoctorReport(all(each.well for each in findings), findings)
    if form == "json":
        output.show_json(report)
    else:
        output.show((output.Table(("", "what", "seen", "what to do"), tuple(map(_row, findings))),))
    context.exit(0 if report.well else NOT_WELL)


def _row(found: Finding) -> tuple[str, ...]:
    return "ok" if found.well else "no", found.what, found.seen, "" if found.well else found.fix


@agent.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
@config_option
@click.pass_obj
def uninstall(before: Path | None, path: Path | None, *, yes: bool) -> None:
    """Remove everything that the agent has put on this host.

    Addresses that its keepalived holds, its tables of nftables, and what it keeps in its folder. The agent must not run
    meanwhile. It can be interrupted anywhere, and goes on when it is started again. The kernel's settings stay as they
    are: others may rely on them by now.
    """
    from mooring.agent import removal  # noqa: PLC0415 - it needs much that other commands do not

    config = config_file.load_for("agent", path or before)
    if not yes:
        click.confirm("Remove the gateway's addresses, rules and files from this host?", abort=True, err=True)
    try:
        done = removal.remove(config)
    except StartRefused as error:
        raise click.ClickException(str(error)) from error
    for each in done:
        click.echo(f"Removed: {each}")
    click.echo("Nothing of Mooring's is left on this host." if done else "There was nothing to remove on this host.")


@agent.command("reset-epoch")
@config_option
@click.pass_obj
def reset_epoch(before: Path | None, path: Path | None) -> None:
    """Let this gateway take the documents of any leader again.

    An agent refuses what is older than what it holds. After the cluster's Lease was lost, or the gateway came from
    another cluster, all that its leader has may be older. What is served stays; the agent must not run meanwhile.
    """
    from mooring.agent import main  # noqa: PLC0415 - it needs much that other commands do not

    try:
        held = main.reset_epoch(config_file.load_for("agent", path or before))
    except StartRefused as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"It held epoch {held.epoch}, generation {held.generation}, and takes any now. Start the agent again.")
