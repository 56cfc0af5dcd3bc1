"""What a cluster and its gateways need, and whether they have it: from facts to findings.

Each finding says what was looked at, what was seen, and what to do where that is not well. What OpenStack has to offer
is judged in `cloud_findings`.
"""

from collections.abc import Callable, Iterator

from msgspec import Struct

from mooring.core import annotations, cloud_findings, group_findings, mapping
from mooring.core.cloud_findings import InCloud
from mooring.core.surveyed import Survey
from mooring.model import names
from mooring.model.gateway import State
from mooring.model.reports import DoctorReport, Finding

DAY = 86400
SOON = 14 * DAY
"""A certificate that ends sooner is to be replaced."""
APART = 2.0
"""Seconds by which clocks may differ: Leases and certificates are judged by them."""
STALE = "is stale: no leader speaks to it, or it stays behind"


class Right(Struct, frozen=True):
    """Something that the controller does in Kubernetes, and whether our user may."""

    what: str
    allowed: bool


class Clock(Struct, frozen=True):
    """What somebody's clock said, in whole seconds, in an answer that came between two times of ours."""

    of: str
    said: float
    begin: float
    end: float

    @property
    def apart(self) -> float:
        """By how many seconds it is certainly ahead of ours; negative: behind. 0: it may be right."""
        if self.said > self.end:
            return self.said - self.end
        return min(self.said + 1.0 - self.begin, 0.0)


class Facts(Struct, frozen=True):
    """What was seen. `survey` is None where Kubernetes could not be looked at, and `unseen` says why."""

    survey: Survey | None
    cloud: InCloud
    unseen: str = ""
    kubernetes: str = ""
    """Its version."""
    rights: tuple[Right, ...] = ()
    rights_unseen: str = ""
    clocks: tuple[Clock, ...] = ()
    release: str = ""
    """The version of this Mooring."""


def report(facts: Facts) -> DoctorReport:
    found = findings(facts)
    return DoctorReport(all(each.well for each in found), found)


def findings(facts: Facts) -> tuple[Finding, ...]:
    """From the outside to the inside: what comes later may follow from what comes first."""
    looks: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
        _kubernetes,
        _rights,
        _leader,
        _cloud,
        _agents,
        _versions,
        _clocks,
        _rivals,
    )
    return tuple(each for look in looks for each in look(facts))


def _kubernetes(facts: Facts) -> Iterator[Finding]:
    fix = "see that kubernetes.kubeconfig, or KUBECONFIG, names a cluster that answers, and a user whom it knows"
    seen = facts.unseen or f"answers, version {facts.kubernetes or 'unknown'}"
    yield Finding("Kubernetes", not facts.unseen, seen, fix)


def _rights(facts: Facts) -> Iterator[Finding]:
    what = "rights in Kubernetes"
    if facts.rights_unseen:
        yield Finding(what, well=False, seen=facts.rights_unseen, fix="see that Kubernetes answers")
        return
    denied = [each.what for each in facts.rights if not each.allowed]
    fix = "apply the roles, `mooring manifests --only rbac`, or ask as the controller's own user"
    seen = (
        f"may not {cloud_findings.some(denied)}"
        if denied
        else f"may do all {len(facts.rights)} things that a controller does"
    )
    yield Finding(what, not denied, seen, fix)


def _leader(facts: Facts) -> Iterator[Finding]:
    if facts.survey is None:
        return
    leader = facts.survey.sights.leader
    last = f"nobody; {leader.identity} led last" if leader.identity else "nobody, and nobody ever did"
    seen = f"{leader.identity}, epoch {leader.epoch}" if facts.survey.leads else last
    fix = "see that `mooring controller` runs, and what its log says"
    yield Finding("who leads", facts.survey.leads, seen, fix)


def _cloud(facts: Facts) -> Iterator[Finding]:
    yield from cloud_findings.findings(facts.survey, facts.cloud)
    yield from group_findings.findings(facts.survey, facts.cloud)


def _agents(facts: Facts) -> Iterator[Finding]:
    if facts.survey is None:
        return
    sights = facts.survey.sights
    for each in sights.agents:
        if each.state is None:
            fix = "on its host: systemctl status mooring-agent, mooring agent doctor"
            yield Finding(f"agent of {each.name}", well=False, seen=each.failure, fix=fix)
            continue
        trouble = each.state.trouble or (STALE if each.state.stale else "")
        seen = trouble or f"answers, VRRP {each.state.vrrp.value}"
        fix = "see what its log says; on its host: mooring agent doctor"
        yield Finding(f"agent of {each.name}", not trouble, seen, fix)
        yield from _silent(each.name, each.state)
        yield from _certificate(each.name, each.state, sights.now.timestamp())


def _silent(name: str, state: State) -> Iterator[Finding]:
    if not state.probes:
        return
    found = [f"{each.address} at port {each.port}" for each in state.silent]
    seen = f"no answer from {cloud_findings.some(found)}" if found else "all that it asks answer"
    yield Finding(f"nodes, seen by {name}", not found, seen, "see whether the node runs, and what is on its way there")


def _certificate(name: str, state: State, now: float) -> Iterator[Finding]:
    if not state.certificate_ends:
        return
    left = state.certificate_ends - now
    seen = f"{left / DAY:.0f} days left" if left > 0 else "has expired"
    yield Finding(f"certificate of {name}", left > SOON, seen, "make another one: mooring pki issue")


def _versions(facts: Facts) -> Iterator[Finding]:
    """Which controller runs, its Lease does not say."""
    answering = facts.survey.answering if facts.survey else ()
    known = {name: state.version for name, state in answering if state.version}
    if not known:
        return
    told = ", ".join(f"{name} {version}" for name, version in known.items())
    well = set(known.values()) == {facts.release}
    fix = "upgrade what is older: agents first, then controllers"
    yield Finding("versions", well, f"{told}; this command {facts.release}", fix)


def _clocks(facts: Facts) -> Iterator[Finding]:
    if not facts.clocks:
        return
    wrong = [each for each in facts.clocks if abs(each.apart) > APART]
    told = ", ".join(f"{each.of} {abs(each.apart):.0f} s {'ahead' if each.apart > 0 else 'behind'}" for each in wrong)
    seen = f"against ours: {told}" if wrong else f"all {len(facts.clocks)} that were asked say what ours says"
    fix = "let all hosts follow the same time servers (timedatectl set-ntp true), this one too"
    yield Finding("clocks", not wrong, seen, fix)


def _rivals(facts: Facts) -> Iterator[Finding]:
    """Whoever else writes on the Services that are ours."""
    survey = facts.survey
    if survey is None:
        return
    every = survey.services.values()
    foreign = [each for each in every if mapping.can_be_managed(each) and mapping.foreign(survey.seen(each))]
    shown = [str(each.name) for each in foreign]
    fix = "find who wrote the address; where it serves Services without a class, set services.claim_unclassed = false"
    seen = (
        f"has given an address to {cloud_findings.some(shown)}"
        if shown
        else "nobody has given an address to a Service of ours"
    )
    yield Finding("another controller", not shown, seen, fix)
    held = [
        str(each.name)
        for each in survey.sights.services
        if not each.spec.load_balancer_class
        and mapping.can_be_managed(survey.services[each.name])
        and names.CLEANUP_FINALIZER in each.metadata.finalizers
        and names.FINALIZER not in each.metadata.finalizers
    ]
    claimed = [str(each.name) for each in every if mapping.can_be_managed(each) and annotations.served_by_cah(each)]
    if claimed:
        fix = "end the controller of ch-k8s-lbaas, then take its annotations away: it takes Services of every class"
        yield Finding("ch-k8s-lbaas", well=False, seen=f"claims {cloud_findings.some(claimed)}", fix=fix)
    if held:
        fix = "set services.claim_unclassed = false, or end the cloud controller manager's part for Services"
        yield Finding("cloud controller manager", well=False, seen=f"holds {cloud_findings.some(held)}", fix=fix)
