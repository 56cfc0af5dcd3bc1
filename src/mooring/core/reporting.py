"""What people are told about everything, about one Service, and about what comes next: from a survey to reports."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime

from mooring.core import backends, endpoints, layers, mapping, shares, wishes, wording
from mooring.core.cleaning import CleaningStep, Pair, Unpair
from mooring.core.surveyed import Survey
from mooring.model.cloud import Port, PortId
from mooring.model.gateway import Vrrp
from mooring.model.kubernetes import Name, Service
from mooring.model.reasons import Reason, Verdict
from mooring.model.reports import (
    AddressReport,
    Carried,
    ControllerReport,
    EndpointsReport,
    GatewayReport,
    GatewaysReport,
    Mark,
    Missing,
    PlanReport,
    PortEndpoints,
    ServiceReport,
    State,
    StatusReport,
    StepReport,
    VerdictReport,
    WhyReport,
)
from mooring.model.steps import Rest, Step, Tell

LEAVING = {Reason.ENDING, Reason.NOT_LOAD_BALANCER, Reason.OTHER_CLASS, Reason.OPTED_OUT}
PASSING = {Reason.NO_ADDRESS_YET, Reason.PORT_TAKEN, Reason.WAITING_FOR_ADDRESS, Reason.WAITING_FOR_GATEWAYS}
NOT_RUNNING = {Vrrp.FAULT, Vrrp.STOPPED}
ANY_ADDRESS = {"IPv4": "0.0.0.0", "IPv6": "::"}  # noqa: S104 - nobody listens there: it stands for its family
CLOSE = 3
"""How many names are told to somebody who mistyped one."""


def status(survey: Survey) -> StatusReport:
    """How everything is. Services of others are counted only."""
    steps = survey.next_steps()
    services = [each for each in survey.services.values() if survey.ours(each)]
    told = tuple(_service(survey, each, steps.get(each.name)) for each in services)
    gateways = tuple(_gateways(survey))
    problems = tuple(_problems(survey, gateways))
    missing = _missing(survey)
    every, free = tuple(addresses(survey)), _free(survey)
    balanced = sum(each.spec.type == "LoadBalancer" and not survey.ours(each) for each in survey.services.values())
    return StatusReport(
        well=not problems and not missing and all(each.state == "served" for each in told),
        controller=_controller(survey),
        gateways=gateways,
        addresses=tuple(each for each in every if each.carries or each.port not in free),
        services=told,
        others=balanced,
        problems=problems,
        missing=missing,
        observes=survey.observes,
        steps=_plan(survey, steps).steps if survey.observes else 0,
        free=len(free),
    )


def gateways(survey: Survey) -> GatewaysReport:
    return GatewaysReport(tuple(_gateways(survey)))


def up_to_date(found: GatewayReport) -> str:
    return "stale" if found.stale else {True: "yes", False: "no", None: "unknown"}[found.current]


def silent(survey: Survey) -> tuple[Missing, ...]:
    """The gateways that do not answer, and why."""
    unheard = (each for each in survey.sights.agents if each.state is None)
    return tuple(Missing(f"gateway {each.name}", each.failure) for each in unheard)


def why(survey: Survey, service: Service) -> WhyReport:
    """Why a Service is as it is."""
    verdicts = survey.verdicts(service)
    step = survey.next_step(service)
    state = _state(survey, service, verdicts, step)
    return WhyReport(
        service=str(service.name),
        well=state == "served",
        state=state,
        verdicts=tuple(VerdictReport(_mark(each), each.reason.value, each.fact, each.fix) for each in verdicts),
        as_told=survey.picture is None and mapping.can_be_managed(service),
        gateways=tuple(_gateways(survey)),
        endpoints=_endpoints(survey, service),
        next=None if step is None or isinstance(step, Rest) else _step(str(service.name), step),
        leads=survey.leads,
        missing=_missing(survey),
    )


def plan(survey: Survey) -> PlanReport:
    """What a controller does next."""
    return _plan(survey, survey.next_steps())


def _plan(survey: Survey, steps: Mapping[Name, Step]) -> PlanReport:
    return PlanReport(
        services=tuple(_step(str(name), step) for name, step in sorted(steps.items()) if not isinstance(step, Rest)),
        gateways=survey.lacking,
        cleaning=tuple(_step(_about(each), each) for each in survey.clean_up()),
        waiting=tuple(_step(_about(each), each) for each in survey.waiting()),
        leads=survey.leads,
        missing=_missing(survey),
        observes=survey.observes,
    )


def close_to(wanted: Name, known: Iterable[Name]) -> tuple[Name, ...]:
    """Names that somebody may have meant: the same in other namespaces first, then what is spelt alike."""
    every = sorted(known)
    same = [each for each in every if each.name == wanted.name]
    near = [each.name for each in every if each.namespace == wanted.namespace]
    alike = [Name(wanted.namespace, each) for each in difflib.get_close_matches(wanted.name, near, CLOSE)]
    return tuple([*same, *alike][:CLOSE])


def _service(survey: Survey, service: Service, step: Step | None) -> ServiceReport:
    verdicts = survey.verdicts(service)
    telling = _worst(verdicts) or (verdicts[-1] if verdicts else None)
    return ServiceReport(
        namespace=service.name.namespace,
        name=service.name.name,
        address=", ".join(each.ip or each.hostname for each in service.status.load_balancer.ingress),
        state=_state(survey, service, verdicts, step),
        reason=telling.reason.value if telling else "",
        message=telling.message if telling else "No controller has said anything about it yet.",
    )


def _state(survey: Survey, service: Service, verdicts: tuple[Verdict, ...], step: Step | None) -> State:
    """From the worst verdict, as each stands for one row.

    verdict                step            ->  state
    -------                ----                -----
    all are well           rest, or tell       served
    all are well           another             waiting: they are about to be carried out
    no endpoints           -                   refusing
    well, and worth a look -                   served
    it comes by itself     -                   waiting
    not ours any more      -                   waiting, while it has something of ours; else other
    something else         -                   stuck
    """
    if survey.picture is None and mapping.can_be_managed(service):
        return "unknown"
    worst = _worst(verdicts)
    if worst is None:
        return "served" if isinstance(step, Rest | Tell) else "waiting"
    if worst.reason in LEAVING:
        return "waiting" if survey.ours(service) else "other"
    if worst.well:
        return "refusing" if worst.reason is Reason.NO_ENDPOINTS else "served"
    return "waiting" if worst.reason in PASSING else "stuck"


def _worst(verdicts: Iterable[Verdict]) -> Verdict | None:
    """What its state is told by: what is not well, then what is refused to clients, then what is worth a look."""
    found = (each for each in verdicts if _mark(each) != "ok")
    return min(found, key=lambda each: (each.well, each.reason is not Reason.NO_ENDPOINTS), default=None)


def _mark(verdict: Verdict) -> Mark:
    """What is well and asks for something to be done is worth a look all the same."""
    if not verdict.well:
        return "not"
    return "warn" if verdict.fix or verdict.reason is Reason.NO_ENDPOINTS else "ok"


def _controller(survey: Survey) -> ControllerReport:
    leader = survey.sights.leader
    renewed = leader.renewed
    return ControllerReport(
        leads=survey.leads,
        identity=leader.identity,
        since=leader.since.strftime("%Y-%m-%dT%H:%M:%SZ") if leader.since else "",
        renewed=renewed.strftime("%Y-%m-%dT%H:%M:%SZ") if renewed else "",
        renewed_seconds_ago=round((survey.sights.now - renewed).total_seconds(), 1) if renewed else None,
        epoch=leader.epoch,
    )


def _gateways(survey: Survey) -> Iterator[GatewayReport]:
    for each in survey.sights.agents:
        state = each.state
        drained = each.name in survey.sights.leader.drained
        if state is None:
            yield GatewayReport(each.name, answers=False, failure=each.failure, drained=drained)
            continue
        yield GatewayReport(
            each.name,
            answers=True,
            vrrp=state.vrrp.value,
            epoch=state.held.epoch,
            generation=state.held.generation,
            current=survey.holds(state),
            stale=state.stale,
            version=state.version,
            drained=drained,
            connections=state.connections,
            certificate_ends=_day(state.certificate_ends),
        )


def _day(when: int) -> str:
    return datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%d") if when else ""


def _problems(survey: Survey, gateways: tuple[GatewayReport, ...]) -> Iterator[str]:
    leader = survey.sights.leader
    if not survey.leads and not survey.observes:
        last = f"{leader.identity} led last" if leader.identity else "no Lease is held"
        yield f"Nobody leads: {last}. See that `mooring controller` runs, and what its log says."
    for each in gateways:
        if each.current is False:
            held = f"epoch {each.epoch}, generation {each.generation}" if each.epoch else "nothing"
            yield f"Gateway {each.name} lacks the wanted document: it holds {held}."
        if each.stale:
            yield f"Gateway {each.name} is stale: no leader speaks to it, or it stays behind. It gives way to others."
    for name, state in survey.answering:
        if state.trouble:
            yield f"Gateway {name} says: {state.trouble.rstrip('.')}."
    for name in survey.without_port:
        told = f"The port of gateway {name} is not in OpenStack: it gives way to others"
        yield f"{told}. Make it anew, by the same name, or put gateways.{name}.port right."
    if held_back := len(survey.held_back):
        what = f"{held_back} ports and floating IPs that nobody needs are not deleted, because they are many at once"
        yield f"{what}: `mooring orphans` lists them, and `mooring orphans --delete` lets them go."
    yield from _vrrp_problems(survey)


def _vrrp_problems(survey: Survey) -> Iterator[str]:
    for name, state in survey.answering:
        if state.vrrp in NOT_RUNNING:
            yield f"keepalived of gateway {name} is in the state {state.vrrp.value}."
    masters = [name for name, state in survey.answering if state.vrrp is Vrrp.MASTER]
    if len(masters) > survey.sights.holders:
        yield f"Gateways {', '.join(masters)} all hold the addresses: they do not hear each other's adverts."
    unknown = any(state.vrrp is Vrrp.UNKNOWN for _, state in survey.answering)
    if survey.answering and not masters and not unknown:
        yield "No gateway that answers holds the addresses."


def _free(survey: Survey) -> frozenset[PortId]:
    """What an operator lists and nobody has; in OpenStack there is nothing that nobody has."""
    view = survey.picture
    listed = view is not None and view.addresses.place.static
    return frozenset(view.addresses.usable()) - view.holdings.used() if view is not None and listed else frozenset()


def addresses(survey: Survey) -> Iterator[AddressReport]:
    """Every address of ours, also those of a list that nobody has."""
    view = survey.picture
    if view is None:
        return
    carried: dict[str, list[Carried]] = {}
    for service in survey.services.values():
        for port in view.holdings.ports_of(service) if mapping.can_be_managed(service) else ():
            carried.setdefault(port, []).append(Carried(str(service.name), _ports(service)))
    going = frozenset(view.addresses.going())
    for port in sorted(view.addresses.ports):
        yield AddressReport(
            public=view.addresses.public(port) or "",
            inner=view.addresses.address(port) or "",
            port=port,
            carries=tuple(carried.get(port, ())),
            going=port in going,
        )


def _ports(service: Service) -> tuple[str, ...]:
    return tuple(f"{key.port}/{key.protocol}" for key in sorted(shares.keys(service), key=lambda key: key.port))


def _endpoints(survey: Survey, service: Service) -> EndpointsReport:
    known = survey.known_of(service)
    layer = layers.of_service(service, survey.sights.owned.place.layer if survey.sights.owned else "pod")
    every = [(each.address_type, endpoint) for each in known.slices for endpoint in each.endpoints or ()]
    address = ANY_ADDRESS[wishes.families(service)[0]]
    return EndpointsReport(
        slices=len(known.slices),
        endpoints=len(every),
        ready=sum(family in endpoints.FAMILIES and endpoints.ready(each) for family, each in every),
        ports=tuple(
            PortEndpoints(f"{each.port}/{each.protocol}", len(backends.of_port(service, each, address, known, layer)))
            for each in service.spec.ports
        ),
        layer=layer,
    )


def _missing(survey: Survey) -> tuple[Missing, ...]:
    return (*survey.sights.missing, *silent(survey))


def _step(about: str, step: Step | CleaningStep) -> StepReport:
    return StepReport(type(step).__name__, about, wording.to_do(step), wording.details(step))


def _about(step: CleaningStep) -> str:
    if isinstance(step, Pair | Unpair):
        return f"port {step.gateway} of a gateway"
    kind = "port" if isinstance(step.what, Port) else "floating IP"
    return f"{kind} {step.what.id}"
