"""`mooring why`: what is the matter with one Service, and what to do about it."""

from pathlib import Path

import click

from mooring.cli import looking, output
from mooring.cli.config_commands import config_option
from mooring.cli.looking import NOT_WELL
from mooring.cli.output import Lines, Page, Table
from mooring.core import reporting
from mooring.model.kubernetes import Name
from mooring.model.reports import EndpointsReport, GatewayReport, VerdictReport, WhyReport

KINDS = frozenset({"service", "services", "svc"})
DEFAULT = "default"

EPILOG = """\b
Exit codes:
  0  it is well: packets reach it
  1  there is no such Service, or Kubernetes could not be looked at
  2  wrong usage or configuration
  3  it is not well

\b
Examples:
  mooring why service/web -n shop
  mooring why shop/web -o json
"""  # \b: click leaves the lines below it as they are


@click.command(epilog=EPILOG)
@click.argument("service")
@click.option("-n", "--namespace", metavar="NAMESPACE", help=f"The namespace of the Service.  [default: {DEFAULT}]")
@config_option
@looking.json_option
@click.pass_context
def why(ctx: click.Context, path: Path | None, *, service: str, namespace: str | None, form: str) -> None:
    """Say why a Service is as it is.

    SERVICE is service/NAME, svc/NAME, NAME, or NAMESPACE/NAME. Each line is a verdict with its reason and, where
    something is not well, what to do; what comes later depends on what comes first. It looks at Kubernetes, OpenStack
    and the agents itself, so it works while no controller runs, and changes nothing.
    """
    name = wanted(service, namespace)
    survey = looking.survey(ctx, path)
    found = survey.services.get(name)
    if found is None:
        close = " or ".join(map(str, reporting.close_to(name, survey.services)))
        hint = f" Did you mean {close}?" if close else ""
        raise click.ClickException(output.printable(f"There is no Service {name}.{hint}"))
    report = reporting.why(survey, found)
    if form == "json":
        output.show_json(report)
    else:
        output.show(page(report))
    ctx.exit(0 if report.well else NOT_WELL)


def wanted(text: str, namespace: str | None) -> Name:
    """The Service that somebody means.

    service/NAME        and -n, or the namespace `default`
    NAMESPACE/NAME      -n may say the same
    """
    *before, name = text.split("/")
    if before and before[0] in KINDS:
        before = before[1:]
    if not name or len(before) > 1 or before == [""]:
        raise click.UsageError(f"{text!r} is not service/NAME, svc/NAME, NAME or NAMESPACE/NAME.")
    if before and namespace not in {None, before[0]}:
        raise click.UsageError(f"{text!r} names the namespace {before[0]!r}, and -n says {namespace!r}.")
    return Name(before[0] if before else namespace or DEFAULT, name)


def page(report: WhyReport) -> Page:
    rows = tuple(row for each in report.verdicts for row in _verdict(each))
    said = "OpenStack could not be asked; this is what a controller last wrote on it:" if report.as_told else ""
    silent = () if report.verdicts else ("No controller has said anything about it yet.",)
    return (
        Lines((f"Service {report.service}: {report.state}", *((said,) if said else ()), *silent)),
        Table(("mark", "reason", "fact, and what to do"), rows),
        Table(("gateway", "up to date", "holds"), tuple(map(_gateway, report.gateways))),
        Lines(tuple(_endpoints(report.endpoints))),
        Lines((*looking.missing_lines(report.missing), *_next(report))),
    )


def _verdict(found: VerdictReport) -> tuple[tuple[str, str, str], ...]:
    fact = (found.mark, found.reason, f"{found.fact}.")
    return (fact, ("", "", f"-> {found.fix}.")) if found.fix else (fact,)


def _gateway(found: GatewayReport) -> tuple[str, str, str]:
    if not found.answers:
        return found.name, "unknown", "its agent does not answer"
    current = {True: "yes", False: "no", None: "unknown"}[found.current]
    held = f"epoch {found.epoch}, generation {found.generation}" if found.epoch else "nothing"
    return found.name, current, f"{held}; stale" if found.stale else held


def _endpoints(found: EndpointsReport) -> list[str]:
    slices = f"{found.slices} EndpointSlice{'' if found.slices == 1 else 's'}"
    lines = [f"Endpoints: {found.ready} of {found.endpoints} ready, in {slices}."]
    if found.layer != "pod":
        where = {"node": "NodePorts of the nodes", "cluster": "its cluster IP"}[found.layer]
        lines.append(f"Layer {found.layer}: packets go to {where}.")
    return lines + [f"Port {each.port} has none." for each in found.ports if not each.endpoints]


def _next(report: WhyReport) -> tuple[str, ...]:
    nobody = () if report.leads else ("Nobody leads: nothing happens until a controller runs.",)
    if report.next is None:
        return nobody
    details = looking.details(report.next)
    return (f"Next: {report.next.to_do}{f' ({details})' if details else ''}.", *nobody)
