"""What of ours there is at all, and in which order it goes: what `mooring uninstall` does.

Each stage waits until nothing is left of the one before it. Whoever is interrupted looks again and goes on: what was
done is not seen any more, and what is left is found by the marks that it bears.

stage           what goes                                     why not earlier
--------------  --------------------------------------------  ---------------------------------------------------
services shown  addresses and conditions of ours on Services  nobody is sent to an address that goes
gateways        what they serve                               until then somebody may call it
services named  the ports that Services name                  until then the gateways served them
services held   our mark and finalizers on Services           until then a Service that ends is waited for
kept            the tag on floating IPs that are to stay      what is on its way out must say so first
pairs           what gateways may use                         once its port is gone, nobody knows that it was ours
floating IPs    ours; those to be kept are given back
ports           ours                                          a floating IP is on them
guards          our security group on the gateways' ports     until then packets come for what they serve
groups          our security groups                           Neutron deletes none that is on a port
"""

from collections.abc import Iterator

from msgspec import Struct

from mooring.core import cleaning, gateway_document, mapping, security_group, wording
from mooring.core.cleaning import CleaningStep, Remove, Unpair
from mooring.core.security_group import GroupStep, RemoveGroup
from mooring.core.surveyed import Sights, Survey
from mooring.model.cloud import FloatingIpId, PortId
from mooring.model.kubernetes import Service
from mooring.model.reports import StepReport
from mooring.model.steps import Clear, Forget, Keep, LetGo, Step, Tell

NOBODY: frozenset[PortId] = frozenset()


class Empty(Struct, frozen=True):
    """Tell a gateway that nothing is to be served."""


class Deed(Struct, frozen=True):
    """One step, and what it is about. `service` is as it was seen, where it is about one."""

    about: str
    step: Step | CleaningStep | GroupStep | Empty
    service: Service | None = None


Stage = tuple[Deed, ...]


def why_not(sights: Sights, remover: str) -> str:
    """Why nothing may be removed now, and what to do; empty, if it may be. `remover` begins the names of our kind."""
    leader = sights.leader
    if leader.leads(sights.now) and not leader.identity.startswith(remover):
        return (
            f"A controller leads: {leader.identity}. It would make everything anew. End all controllers first: "
            "`kubectl --namespace mooring-system scale deployment mooring-controller --replicas 0`, or "
            "`systemctl disable --now mooring-controller` on each host that runs one; then try it again"
        )
    return ""


def stages(survey: Survey, *, keep: bool) -> tuple[Stage, ...]:
    """All that is to be done, in its order. `keep`: the floating IPs stay in the project."""
    return (
        tuple(_shown(survey)),
        tuple(_served(survey)),
        tuple(_named(survey)),
        tuple(_held(survey)),
        tuple(_kept(survey)) if keep else (),
        tuple(_pairs(survey)),
        tuple(_floating_ips(survey)),
        tuple(_ports(survey)),
        tuple(_guards(survey)),
        tuple(_groups(survey)),
    )


def told(deed: Deed) -> StepReport:
    if isinstance(deed.step, Empty):
        return StepReport("Empty", deed.about, "tell it that nothing is to be served", {})
    return StepReport(type(deed.step).__name__, deed.about, wording.to_do(deed.step), wording.details(deed.step))


def _services(survey: Survey) -> Iterator[Service]:
    """Those that may bear something of ours. Whatever was copied into one of another class, it is somebody else's."""
    return (each for each in survey.services.values() if not mapping.strange(each))


def _shown(survey: Survey) -> Iterator[Deed]:
    for service in _services(survey):
        shows = bool(service.status.load_balancer.ingress) and not mapping.foreign(survey.seen(service))
        if shows:
            yield Deed(str(service.name), Clear(), service)
        elif mapping.has_conditions(service):
            yield Deed(str(service.name), Tell(()), service)


def _served(survey: Survey) -> Iterator[Deed]:
    owned = survey.sights.owned
    nothing = {"", gateway_document.digest((), gateway_document.seed(owned.place.cluster))} if owned else {""}
    for name, state in survey.answering:
        if (state.told or state.held.digest) not in nothing:
            yield Deed(f"gateway {name}", Empty())


def _named(survey: Survey) -> Iterator[Deed]:
    for service in _services(survey):
        if mapping.named_ports(service) and (mapping.marked(service) or survey.seen(service).port_is_ours):
            yield Deed(str(service.name), Forget(), service)


def _held(survey: Survey) -> Iterator[Deed]:
    yield from (Deed(str(each.name), LetGo(), each) for each in _services(survey) if mapping.marked(each))


def _kept(survey: Survey) -> Iterator[Deed]:
    for each in _floating_ips(survey):
        if isinstance(each.step, Remove):
            yield Deed(each.about, Keep(FloatingIpId(each.step.what.id)))


def _pairs(survey: Survey) -> Iterator[Deed]:
    owned = survey.sights.owned
    if owned is None:
        return
    everybody = frozenset(each.id for each in owned.gateways)
    steps = cleaning.steps(
        owned.ports, (), NOBODY, gateways=owned.gateways, released=everybody, tagged_for={}, wait=float("inf")
    )
    yield from (Deed(f"port {each.gateway} of a gateway", each) for each in steps if isinstance(each, Unpair))


def _floating_ips(survey: Survey) -> Iterator[Deed]:
    owned = survey.sights.owned
    ours = frozenset(each.id for each in owned.ports) if owned else frozenset()
    for each in owned.floating_ips if owned else ():
        yield Deed(f"floating IP {each.id}", cleaning.end(each, ours))


def _ports(survey: Survey) -> Iterator[Deed]:
    for each in survey.sights.owned.ports if survey.sights.owned else ():
        yield Deed(f"port {each.id}", Remove(each))


def _guards(survey: Survey) -> Iterator[Deed]:
    owned = survey.sights.owned
    for each in security_group.unguards(owned.groups, owned.gateways) if owned else ():
        yield Deed(f"port {each.gateway} of a gateway", each)


def _groups(survey: Survey) -> Iterator[Deed]:
    for each in survey.sights.owned.groups if survey.sights.owned else ():
        yield Deed(f"security group {each.id}", RemoveGroup(each.id))
