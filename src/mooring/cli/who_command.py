"""`mooring who`: whose an address is, and what is at it."""

from pathlib import Path

import click

from mooring.cli import looking, output
from mooring.cli.config_commands import config_option
from mooring.cli.looking import NOT_WELL
from mooring.cli.output import Lines, Page, Table
from mooring.core import reporting, whose
from mooring.model.reports import AddressReport, GatewayReport, WhoReport

NOT_OURS = 1
COUNTERS = (
    "Connections of a Service are all since the gateways serve it; those of a gateway are what it follows now, of all "
    "addresses together."
)

EPILOG = """\b
Exit codes:
  0  it is Mooring's, and packets reach all Services at it
  1  it is not Mooring's, or Kubernetes could not be looked at
  2  wrong usage or configuration
  3  something at it is not well, or could not be looked at

\b
Examples:
  mooring who 203.0.113.7
  mooring who 203.0.113.7:443
  mooring who '[2001:db8::7]:443' -o json
"""  # \b: click leaves the lines below it as they are


@click.command(epilog=EPILOG)
@click.argument("address")
@config_option
@looking.json_option
@click.pass_context
def who(ctx: click.Context, path: Path | None, *, address: str, form: str) -> None:
    """Say whose an address is, and what is at it.

    ADDRESS is the one that clients use, the one that the gateways serve, one of them with :PORT, or the id of a Neutron
    port or floating IP. It looks at Kubernetes, OpenStack and the agents itself, so it works while no controller runs,
    and changes nothing.
    """
    asked = whose.read(address)
    if asked is None:
        raise click.UsageError(f"{address!r} is not an address, an address with :PORT, or an id of Neutron's.")
    report = whose.who(looking.survey(ctx, path, counters=True), asked)
    if form == "json":
        output.show_json(report)
    else:
        output.show(page(report))
    ctx.exit(code(report))


def code(report: WhoReport) -> int:
    """Who could not look at everything cannot say that it is nobody's."""
    if report.well:
        return 0
    return NOT_WELL if report.ours or report.missing else NOT_OURS


def page(report: WhoReport) -> Page:
    missing = looking.missing_lines(report.missing)
    others = tuple(f"{each}." for each in report.others)
    if report.address is None:
        nobody = "Nobody that could be asked knows it." if not report.others else ""
        return (
            Lines((f"{report.asked}: not Mooring's, as far as can be told.", *others, *((nobody,) if nobody else ()))),
            Lines(missing),
        )
    return (
        Lines(tuple(_address(report, report.address))),
        _services(report),
        Lines(_empty(report, report.address)),
        Table(("gateway", "holds the addresses", "may use it", "up to date", "connections"), _gateways(report)),
        Lines((*others, COUNTERS, *missing)),
    )


def _address(report: WhoReport, found: AddressReport) -> list[str]:
    lines = [f"{report.asked}: Mooring's."]
    floating = f", floating IP {report.floating_ip}" if report.floating_ip else ""
    lines.append(f"Address {found.public or 'none yet'}{floating}.")
    port = f", port {found.port}" if found.port != found.inner else ", from the list of addresses.static"
    lines.append(f"Gateways serve {found.inner or 'nothing'}{port}.")
    return [*lines, "It goes: it bears the tag that says so."] if found.going else lines


def _empty(report: WhoReport, found: AddressReport) -> tuple[str, ...]:
    if report.services:
        return ()
    if found.carries:
        told = (f"{each.service} {output.ports(each.ports, looking.MOST)}" for each in found.carries)
        has = output.cut(told, looking.MOST)
        return (f"No Service has that port. The address carries {has}.",)
    if found.port == found.inner:
        return ("No Service is at it: it is free, in the list of addresses.static.",)
    return ("No Service is at it. `mooring orphans` lists what nobody needs.",)


def _services(report: WhoReport) -> Table:
    """Bytes only where they are counted, by `forwarding.counters`."""
    head: tuple[str, ...] = ("service", "ports", "state", "reason", "connections")
    rows = [
        (each.service, output.ports(each.ports, looking.MOST), each.state, each.reason, _number(each.connections))
        for each in report.services
    ]
    if all(each.received_bytes is None for each in report.services):
        return Table(head, tuple(rows))
    wide = [
        (*row, _number(each.received_bytes), _number(each.sent_bytes))
        for row, each in zip(rows, report.services, strict=True)
    ]
    return Table((*head, "bytes received", "sent"), tuple(wide))


def _number(counted: int | None) -> str:
    return "unknown" if counted is None else str(counted)


def _gateways(report: WhoReport) -> tuple[tuple[str, ...], ...]:
    return tuple(_gateway(each, report) for each in report.gateways)


def _gateway(found: GatewayReport, report: WhoReport) -> tuple[str, ...]:
    holds = "yes" if found.name in report.holders else "no" if found.answers else "unknown"
    allowed = "yes" if found.name in report.allowed else "no"
    if not found.answers:
        return found.name, holds, allowed, "unknown", ""
    return found.name, holds, allowed, reporting.up_to_date(found), str(found.connections)
