"""`mooring doctor`: whether the cluster and its cloud have what Mooring needs."""

from pathlib import Path

import click

from mooring.cli import config_file, looking, output
from mooring.cli.config_commands import config_option
from mooring.cli.looking import NOT_WELL, Examine
from mooring.cli.output import Lines, Page, Table
from mooring.model.reports import DoctorReport, Finding

HOSTS = "What a gateway's host needs: `mooring agent doctor`, on the host."

EPILOG = """\b
Exit codes:
  0  everything that was looked at is well
  2  wrong usage or configuration
  3  something is not well, or could not be looked at

\b
Examples:
  mooring doctor
  mooring doctor -o json | jq '.findings[] | select(.well | not)'
"""  # \b: click leaves the lines below it as they are


@click.command(epilog=EPILOG)
@config_option
@looking.json_option
@click.pass_context
def doctor(ctx: click.Context, path: Path | None, *, form: str) -> None:
    """See whether cluster and cloud have what Mooring needs.

    Looks at Kubernetes, the rights of our user there, OpenStack, its networks and quota, the ports and security groups
    of the gateways, their agents, certificates and clocks, and at who else claims the same Services. Changes nothing.
    """
    from mooring.controller import doctor as examination  # noqa: PLC0415 - it needs much that other commands do not

    examine: Examine = looking.ways(ctx).examine or examination.examine
    report = looking.run(examine(config_file.load_for("controller", path)))
    if form == "json":
        output.show_json(report)
    else:
        output.show(page(report))
    ctx.exit(0 if report.well else NOT_WELL)


def page(report: DoctorReport) -> Page:
    ill = sum(not each.well for each in report.findings)
    summary = f"{ill} of {len(report.findings)} things are not well." if ill else "All is well."
    return Table(("", "what", "seen, and what to do"), _rows(report.findings)), Lines((summary, HOSTS))


def _rows(findings: tuple[Finding, ...]) -> tuple[tuple[str, ...], ...]:
    rows: list[tuple[str, ...]] = []
    for each in findings:
        rows.append(("ok" if each.well else "no", each.what, f"{each.seen.rstrip('.')}."))
        if not each.well and each.fix:
            rows.append(("", "", f"-> {each.fix[:1].upper()}{each.fix[1:]}."))
    return tuple(rows)
