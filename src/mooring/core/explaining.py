"""Why a Service is as it is: three verdicts from the very facts that decide its next step.

whether it is ours  ->  whether it has an address  ->  whether packets reach it

They stand on the Service as conditions, and `mooring why` prints them. Words are stable: what changes with every
packet or pod has no place in them.
"""

from mooring.core import annotations, backends, claims, mapping, quoting, shares, wishes
from mooring.core.mapping import Leg, Seen
from mooring.model import names
from mooring.model.kubernetes import Condition, Service
from mooring.model.reasons import Reason, Trouble, Verdict
from mooring.model.steps import Clear, Publish, Rest, Step, Tell

OURS = frozenset({*names.CONDITIONS, names.SHARED})
LONGEST = 1024
FEW = 3
KEEPS = ". It keeps "
SEE_PROJECT = (
    "See that the controller's OpenStack user is of the right project. If the ports were really deleted, clear "
    "status.loadBalancer of the Services, and they get other addresses"
)
OURS_TO_SERVE = "It is for the gateways to serve"

FIXES = {
    Reason.WISH_REFUSED: "Ask for another address or for none, or free that one",
    Reason.PAIRS_LIMIT: wishes.MORE_PAIRS,
    Reason.QUOTA_EXCEEDED: wishes.MORE_QUOTA,
    Reason.NO_MORE_ADDRESSES: "Make the subnet or its allocation pool larger, or delete Services that nobody needs",
    Reason.CLOUD_FORBIDS: "Give the controller's OpenStack user the role that this call needs",
    Reason.CLOUD_REFUSES: "See that the configured network, subnet and floating network belong together",
    Reason.CLOUD_UNREACHABLE: "See that Neutron and Keystone answer the controller; it tries again by itself",
    Reason.NOT_LET_IN: (
        "Let the controller's OpenStack user have what the message names, take stateful groups off the gateways' "
        "ports, or set addresses.manage_security_group to false and see to the groups yourself"
    ),
}


def decide(seen: Seen, trouble: Trouble | None = None) -> Step:
    """The next step, together with what is to be told on the Service."""
    step = mapping.next_step(seen)
    match step:
        case Publish(addresses):
            return Publish(addresses, conditions(seen, trouble))
        case Clear():
            return Clear(conditions(seen, trouble))
        case _:
            pass
    # On the way to an address nothing is told: the last write does it. Who has to wait is told what for.
    fresh = bool(seen.addresses) and not seen.service.status.load_balancer.ingress
    nobody = (bool(seen.addresses) and not seen.live) or (fresh and not seen.holder)
    waits = isinstance(step, Rest) or trouble is not None or nobody or seen.refused is not None
    wanted = conditions(seen, trouble)
    return Tell(wanted) if waits and mapping.addressed_to_us(seen.service) and not told(seen.service, wanted) else step


def verdicts(seen: Seen, trouble: Trouble | None = None) -> tuple[Verdict, ...]:
    """In order: what comes later depends on what comes first."""
    accepted = _accepted(seen)
    if not accepted.well:
        return (accepted,)
    allocated = _allocated(seen, trouble)
    return accepted, allocated, _programmed(seen, trouble) if allocated.well or _kept(seen) else _waiting()


def conditions(seen: Seen, trouble: Trouble | None = None) -> tuple[Condition, ...]:
    """What a Service of ours is to say of itself; nothing, if it is none."""
    if not mapping.addressed_to_us(seen.service):
        return ()
    three = tuple(
        Condition(name, "True" if each.well else "False", each.reason.value, each.message[:LONGEST])
        for name, each in zip(names.CONDITIONS, verdicts(seen, trouble), strict=False)
    )
    if seen.fits:
        return three + shares.condition(seen.service)
    return three + (shares.as_told(seen.service) if seen.held else ())


def told(service: Service, wanted: tuple[Condition, ...]) -> bool:
    """Whether a Service says just this, whatever others say on it."""
    ours = [each for each in service.status.conditions if each.type in OURS]
    return [_words(each) for each in ours] == [_words(each) for each in wanted]


def as_they_stand(service: Service, wanted: tuple[Condition, ...], now: str) -> list[Condition]:
    """All conditions of a Service with ours as wanted: others' stay, and what did not turn keeps its time."""
    since = {(each.type, each.status): each.last_transition_time for each in service.status.conditions}
    others = [each for each in service.status.conditions if each.type not in OURS]
    return others + [
        Condition(each.type, each.status, each.reason, each.message, since.get((each.type, each.status)) or now)
        for each in wanted
    ]


def last_trouble(service: Service) -> Trouble | None:
    """What went wrong when a controller last tried, as it said on the Service."""
    for each in service.status.conditions:
        if each.type in {names.ALLOCATED, names.PROGRAMMED} and each.status == "False":
            reason = next((reason for reason in FIXES if reason.value == each.reason), None)
            if reason is not None:
                return Trouble(reason, each.message.removesuffix(f". {FIXES[reason]}.").partition(KEEPS)[0])
    return None


def _accepted(seen: Seen) -> Verdict:
    service = seen.service
    if reason := mapping.why_not(service):
        return _refused(service, reason)
    if mapping.foreign(seen):
        shown = ", ".join(each.ip or each.hostname for each in service.status.load_balancer.ingress)
        if seen.many_lost:
            fact = f"It shows {shown}, and its port is gone, as are many at once: nothing is done about that"
            return _ill(Reason.PORTS_LOST, fact, SEE_PROJECT)
        who = "ch-k8s-lbaas, by its annotation," if annotations.served_by_cah(service) else "somebody else"
        fact = f"It shows {shown}, which {who} gave it"
        return _ill(Reason.FOREIGN_ADDRESS, fact, "Find who serves it, or clear status.loadBalancer if nobody does")
    return _remark(service) or _well(Reason.ACCEPTED, OURS_TO_SERVE)


def _remark(service: Service) -> Verdict | None:
    """What its owner should look at, though it is served."""
    if annotations.served_by_cah(service):
        fact = f'{OURS_TO_SERVE}. ch-k8s-lbaas claims it, too: its annotation {names.MANAGED_BY_CAH} says "true"'
        return _well(Reason.CLAIMED_TWICE, fact, "End the controller of ch-k8s-lbaas, then take the annotation away")
    if unknown := annotations.unknown(service):
        fact = f"{OURS_TO_SERVE}. Nobody reads its annotation {', '.join(unknown[:FEW])!s:.200}"
        return _well(Reason.BAD_ANNOTATION, fact, "Correct its name, or take it away")
    if ignored := annotations.not_done(service):
        more = f" and {len(ignored) - FEW} more" if len(ignored) > FEW else ""
        fact = f"{OURS_TO_SERVE}. Mooring does not do what its annotation {', '.join(ignored[:FEW])}{more} asks for"
        return _well(Reason.ANNOTATION_IGNORED, fact, "Take it away if that is well, or see what Mooring has instead")
    return None


def _refused(service: Service, reason: Reason) -> Verdict:
    spec = service.spec
    fix = ""
    match reason:
        case Reason.ENDING:
            fact = f"It is being deleted since {service.metadata.deletion_timestamp}"
        case Reason.NOT_LOAD_BALANCER:
            fact, fix = f"Its type is {spec.type}", "Set spec.type to LoadBalancer"
        case Reason.OTHER_CLASS:
            fact, fix = _other_class(service)
        case Reason.OPTED_OUT:
            fact = f'Its annotation {names.MANAGED} says "false"'
            fix = "Take the annotation away to have it served"
        case Reason.BAD_ANNOTATION:
            said = quoting.quoted(service.metadata.annotations[names.MANAGED])
            fact = f"Its annotation {names.MANAGED} says {said}"
            fix = 'Write "false" there if it is not to be served, or take the annotation away'
        case _:
            fact = f"Its class is {spec.load_balancer_class}, and {_annotation(service)}"
            fix = "Take the annotation away"
    return _ill(reason, fact, fix)


def _other_class(service: Service) -> tuple[str, str]:
    spec = service.spec
    fix = f"A class cannot be changed: make it anew with spec.loadBalancerClass {names.GATEWAY_CLASS}"
    if spec.load_balancer_class:
        return f"It has class {spec.load_balancer_class}, and Mooring serves {names.GATEWAY_CLASS}", fix
    if claims.other_backend(service):
        return f"It has no class, and {_annotation(service)}", "Take the annotation away if Mooring is to serve it"
    if claims.opted_out_elsewhere(service):
        fact = f'It has no class, and its annotation {names.MANAGED_BY_CAH} says "false"'
        return fact, f'If Mooring is to serve it, write "{names.GATEWAY_BACKEND}" into annotation {names.BACKEND}'
    fact = f"It has no class, and Mooring serves {names.GATEWAY_CLASS}"
    return fact, f"{fix}, or set services.claim_unclassed if nobody else serves Services without a class"


def _annotation(service: Service) -> str:
    return f"its annotation {names.BACKEND} says {quoting.quoted(claims.other_backend(service))}"


def _allocated(seen: Seen, trouble: Trouble | None) -> Verdict:
    if seen.fits:
        return _has(seen)
    if refused := seen.denied:
        return _ill(refused.reason, refused.fact, refused.fix)
    if trouble is not None:
        return _ill(trouble.reason, f"{trouble.text.rstrip('.')}{_kept(seen)}", FIXES[trouble.reason])
    rival = next((each.rival for each in seen.legs if each.rival), None)
    if rival:
        fact = f"The address that it names carries {rival}, which has one of its ports or does not share with it"
        return _ill(Reason.PORT_TAKEN, fact, "It gets another address by itself")
    fix = "Wait for the controller to give it one, and see that it runs"
    kept = _kept(seen)
    fact = _lost(seen) or (f"It asks for another address{kept}" if kept else "It has no address yet")
    return _ill(Reason.NO_ADDRESS_YET, fact, fix)


def _kept(seen: Seen) -> str:
    """What it goes on to show until it gets what it asks for."""
    shown = [each.ip for each in seen.service.status.load_balancer.ingress]
    return f"{KEEPS}{' and '.join(shown)} meanwhile" if shown and seen.held else ""


def _lost(seen: Seen) -> str:
    """What somebody took away in OpenStack of an address that it shows."""
    shown = " and ".join(each.ip for each in seen.service.status.load_balancer.ingress)
    if any(each.taken_off for each in seen.legs):
        return f"{shown} was taken off its port in OpenStack. It is put back with the next audit, within a minute"
    if shown and mapping.named_ports(seen.service) and not seen.port_is_ours:
        return f"The port of {shown} is gone from OpenStack. It gets another one with the next audit, within a minute"
    return ""


def _has(seen: Seen) -> Verdict:
    """It has what it wants, or keeps what it has."""
    told = f"Its address is {' and '.join(_leg(each) for each in seen.legs)}"
    if refused := next((each.refused for each in seen.legs if each.refused), None):
        return _well(refused.reason, f"{told}. It keeps that. {refused.fact}", refused.fix)
    retired = " and ".join(each.address for each in seen.legs if each.retired)
    if retired:
        fact = f"{told}. It keeps {retired}, which is no longer in addresses.static, until it lets it go"
        return _well(Reason.ADDRESS_RETIRED, fact, f"To give it another one, take annotation {names.PORT} away")
    if unmarked := next((each for each in seen.legs if each.unmarked), None):
        fact = f"{told}. Floating IP {unmarked.address} does not bear Mooring's mark: it is left alone, and will stay"
        fix = f'To have it cared for again, give it the description "{unmarked.unmarked}"'
        return _well(Reason.ADDRESS_UNMARKED, fact, fix)
    return _well(Reason.ALLOCATED, told)


def _leg(leg: Leg) -> str:
    inner = f", which is {leg.inner} to the gateways" if leg.inner != leg.address else ""
    port = f", port {leg.port}" if leg.port != leg.address else ""
    return f"{leg.address}{inner}{port}"


def _programmed(seen: Seen, trouble: Trouble | None) -> Verdict:
    lacking = _unreached(seen, trouble)
    if lacking is not None:
        return lacking
    if seen.remarks and not seen.remarks[0].well:
        return seen.remarks[0]
    if not seen.endpoints:
        return _well(
            Reason.NO_ENDPOINTS,
            "All live gateways know it, and refuse its connections, because no endpoint of it is ready",
            backends.SEE_PODS,
        )
    if seen.left_out:
        listed = "; ".join(seen.left_out[:FEW])
        return _well(
            Reason.BAD_ENDPOINT,
            f"All live gateways serve it, but some of its endpoints are left out: {listed}",
            "Take them out of its EndpointSlices",
        )
    if seen.remarks:
        facts, fixes = (
            ". ".join(texts) for texts in zip(*((each.fact, each.fix) for each in seen.remarks), strict=True)
        )
        return _well(seen.remarks[0].reason, facts, fixes)
    return _well(Reason.PROGRAMMED, "All live gateways serve it")


def _unreached(seen: Seen, trouble: Trouble | None) -> Verdict | None:
    """Why packets do not come to the gateways, or those do not do what it wants."""
    if trouble is not None and trouble.reason is Reason.NOT_LET_IN:
        return _ill(trouble.reason, trouble.text.rstrip("."), FIXES[trouble.reason])
    if not seen.live:
        return _ill(
            Reason.NO_GATEWAY,
            "No gateway answers the controller; what they serve already, they may go on serving",
            "See that `mooring agent` runs on the gateways and that their certificates are valid",
        )
    if not seen.holder:
        return _ill(
            Reason.NO_HOLDER,
            "No gateway that answers the controller holds the addresses",
            "See that keepalived runs on the gateways, and `mooring agent` on the one that is master",
        )
    if seen.refused is not None:
        fact, fix = seen.refused
        return _ill(Reason.GATEWAY_REFUSES, fact.rstrip("."), fix)
    if not seen.served:
        fact = "Not every live gateway has acknowledged it yet"
        return _ill(Reason.WAITING_FOR_GATEWAYS, fact, "It comes by itself; `mooring status` shows who lacks it")
    return None


def _waiting() -> Verdict:
    return _ill(Reason.WAITING_FOR_ADDRESS, "Packets can come once it has an address")


def _well(reason: Reason, fact: str, fix: str = "") -> Verdict:
    return Verdict(reason, fact, fix, well=True)


def _ill(reason: Reason, fact: str, fix: str = "") -> Verdict:
    return Verdict(reason, fact, fix, well=False)


def _words(condition: Condition) -> tuple[str, str, str, str]:
    return condition.type, condition.status, condition.reason, condition.message
