"""`mooring status`: everything on one screen."""

from collections import Counter
from pathlib import Path

import click

from mooring.cli import looking, output
from mooring.cli.config_commands import config_option
from mooring.cli.looking import MOST, NOT_WELL
from mooring.cli.output import Lines, Page, Table
from mooring.core import reporting
from mooring.model.reports import AddressReport, ControllerReport, GatewayReport, ServiceReport, StatusReport

CARRIED = 5
"""So many Services of an address are named where not everything is shown."""

EPILOG = """\b
Exit codes:
  0  everything is well
  1  Kubernetes could not be looked at
  2  wrong usage or configuration
  3  something is not well, or could not be looked at

\b
Examples:
  mooring status
  mooring status -o json | jq '.services[] | select(.state == "stuck")'
"""  # \b: click leaves the lines below it as they are


@click.command(epilog=EPILOG)
@config_option
@looking.json_option
@looking.all_option
@click.pass_context
def status(ctx: click.Context, path: Path | None, *, form: str, everything: bool) -> None:
    """Show controller, gateways, addresses and Services.

    Looks at Kubernetes, OpenStack and the agents itself, so it works while no controller runs, and changes nothing.
    Where there are many Services, those that are well are only counted.
    """
    report = reporting.status(looking.survey(ctx, path))
    if form == "json":
        output.show_json(report)
    else:
        output.show(page(report, everything=everything))
    ctx.exit(0 if report.well else NOT_WELL)


def page(report: StatusReport, *, everything: bool = False) -> Page:
    shown, left_out = _services(report.services, everything=everything)
    served = len(report.services) - len(shown) - left_out
    addresses = report.addresses if everything else report.addresses[:MOST]
    more_addresses = len(report.addresses) - len(addresses)
    return (
        Lines((_controller(report.controller), *_observes(report))),
        Table(
            ("gateway", "answers", "vrrp", "epoch", "generation", "up to date", "version"),
            tuple(map(_gateway, report.gateways)),
        ),
        Table(
            ("address", "inside", "port", "carries"),
            tuple(_address(each, None if everything else CARRIED) for each in addresses),
        ),
        Lines((f"and {more_addresses:,} more addresses (--all shows them)",) if more_addresses else ()),
        Lines((f"{report.free:,} addresses of addresses.static are free.",) if report.free else ()),
        Table(("service", "address", "state", "reason"), tuple(map(_service, shown))),
        Lines((f"and {left_out:,} more that are not well (--all shows them)",) if left_out else ()),
        Lines((f"and {served:,} that are served (--all shows them)",) if served else ()),
        Lines((*looking.missing_lines(report.missing), *report.problems, *_summary(report))),
    )


def _services(services: tuple[ServiceReport, ...], *, everything: bool) -> tuple[tuple[ServiceReport, ...], int]:
    """All of a few, of many only those that are not well, and how many of those are left out."""
    if everything or len(services) <= MOST:
        return services, 0
    ill = tuple(each for each in services if each.state != "served")
    return ill[:MOST], max(len(ill) - MOST, 0)


def _controller(found: ControllerReport) -> str:
    ago = "" if found.renewed_seconds_ago is None else f", renewed {max(found.renewed_seconds_ago, 0):g} s ago"
    if found.leads:
        return f"Controller: {found.identity} leads since {found.since or 'some time'}, epoch {found.epoch}{ago}."
    if not found.identity:
        return "Controller: nobody leads."
    return f"Controller: nobody leads; {found.identity} led last, epoch {found.epoch}{ago}."


def _observes(report: StatusReport) -> tuple[str, ...]:
    if not report.observes:
        return ()
    steps = f"{report.steps:,} step{'' if report.steps == 1 else 's'}"
    told = 'It is configured to observe (controller.reconcile = "observe") and writes nothing.'
    return (f"{told} It would take {steps}: `mooring plan` shows them.",)


def _gateway(found: GatewayReport) -> tuple[str, ...]:
    if not found.answers:
        return found.name, "no", "", "", "", "", ""
    vrrp = f"{found.vrrp}, drained" if found.drained else found.vrrp
    current = reporting.up_to_date(found)
    return found.name, "yes", vrrp, str(found.epoch), str(found.generation), current, found.version


def _address(found: AddressReport, most: int | None) -> tuple[str, ...]:
    carries = output.cut((f"{each.service} {output.ports(each.ports, most)}" for each in found.carries), most)
    nothing = "nothing, and goes" if found.going else "nothing"
    return found.public or "none yet", found.inner, found.port, carries or nothing


def _service(found: ServiceReport) -> tuple[str, ...]:
    return f"{found.namespace}/{found.name}", found.address or "none", found.state, found.reason


def _summary(report: StatusReport) -> tuple[str, ...]:
    counted = Counter(each.state for each in report.services)
    states = ", ".join(f"{number:,} {state}" for state, number in sorted(counted.items()))
    total = len(report.services)
    told = f"{total:,} Service{'' if total == 1 else 's'}{f': {states}' if states else ''}."
    others = f" Of type LoadBalancer and not Mooring's: {report.others:,}." if report.others else ""
    first = next((each for each in report.services if each.state != "served"), None)
    hint = (f"`mooring why {first.namespace}/{first.name}` says why.",) if first else ()
    return (told + others, *hint)
