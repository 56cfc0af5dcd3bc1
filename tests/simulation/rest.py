"""What must hold when nothing has happened for a while: all that is wanted is there, and nothing else of ours."""

import itertools
from collections.abc import Collection, Iterator

from mooring.model import names
from mooring.model.cloud import FloatingIp, FloatingIpId, PortId
from mooring.model.gateway import Key
from mooring.model.kubernetes import Service
from tests.simulation import security_group, wants
from tests.simulation.gateway import GatewayTwin
from tests.simulation.truth import Truth

PAIR_OF_OTHERS = "192.0.2.77"
IN_VAIN = {"BadAnnotation", "WishRefused", "CloudForbids"}
MOST_AT_ONCE = 5
SHARE_AT_ONCE = 0.2
"""More than this of ours is not cleaned up without a person's word."""


def at_rest(truth: Truth) -> Iterator[str]:
    """Every wanted Service is served and published; nothing of ours is without an owner; nobody else is touched."""
    yield from _wanted_are_served(truth)
    yield from _nothing_is_left(truth)
    mapped = [each for each in truth.services.values() if wants.wanted(each) and wants.ports_of(each)]
    yield from security_group.at_rest(truth, {sent for each in mapped for sent in wants.sent(each)})


def unserved(truth: Truth) -> set[str]:
    """The Services that nobody has taken on, and that are to be."""
    wanted = (each for each in truth.services.values() if wants.wanted(each) and not wants.given_by_others(truth, each))
    return {str(each.name) for each in wanted if not wants.has_ours(each)}


def _from_elsewhere(truth: Truth, service: Service) -> Iterator[str]:
    """An address comes from where its owner chose."""
    origins = {
        origin
        for port in wants.ports_of(service)
        for origin in (
            *(each.subnet_id for each in truth.ports[port].fixed_ips),
            *(each.floating_network_id for each in truth.floating_ips.values() if each.port_id == port),
        )
    }
    on = {each.port_id for each in truth.floating_ips.values()}
    if wants.internal(service) and on.intersection(wants.ports_of(service)):
        yield f"{service.name} wants no floating IP, and has one"
    for each in wants.chosen(service):
        if truth.choices[each] not in origins:
            yield f"{service.name} chose {each}, and its address is not from there"


def uninstalled(truth: Truth) -> Iterator[str]:
    """Nothing of ours is anywhere, and all that others have is there."""
    kept = {each.id for each in truth.floating_ips.values() if _is_kept(each)} if truth.uninstalled == "kept" else set()
    truth.floating_ips = {each.id: each for each in truth.floating_ips.values() if each.id not in kept - truth.foreign}
    truth.members = frozenset()
    yield from _nothing_is_left_in_neutron(truth, set())
    yield from (f"security group {each.id} is left" for each in truth.groups.values() if each.description == truth.mark)
    for gateway in truth.gateways.values():
        if gateway.document.forwards or gateway.machine.daemon.addresses:
            yield f"{gateway.name} still serves something"
    for service in truth.services.values():
        if wants.strange(service):
            continue
        ours = {each.type for each in service.status.conditions} & set(wants.OUR_CONDITIONS)
        held = service.deleting and not set(service.metadata.finalizers) - wants.OUR_FINALIZERS
        if wants.has_ours(service) or ours or held:
            yield f"{service.name} still bears something of ours"
        shown = {each.ip for each in service.status.load_balancer.ingress}
        if shown & truth.published.get(service.metadata.uid, set()):
            yield f"{service.name} still shows an address that was ours"


def _is_kept(floating_ip: FloatingIp) -> bool:
    """It lies about for whoever asks for it: a Service of a later install, too."""
    return names.KEEP_TAG in floating_ip.tags and not floating_ip.description and floating_ip.port_id is None


def _wanted_are_served(truth: Truth) -> Iterator[str]:
    for service in truth.services.values():
        if not wants.wanted(service) or wants.given_by_others(truth, service):
            continue
        public = [wants.public(truth, port) for port in wants.ports_of(service)]
        shown = [each.ip for each in service.status.load_balancer.ingress]
        if wants.in_vain(truth, service) and not shown:
            yield from _is_told_no(service)
            continue
        if wants.in_vain(truth, service):
            yield from _keeps_what_it_has(service, shown, public)
        else:
            yield from _has_what_it_wants(truth, service, shown, public)
            yield from _wrong_conditions(service, truth)
        if names.FINALIZER not in service.metadata.finalizers:
            yield f"{service.name} lacks our finalizer"
        for gateway in wants.members(truth):
            if not wants.serves(gateway, service, truth):
                yield f"{gateway.name} does not serve all of {service.name}"
            yield from _wrong_backends(gateway, service, truth)
        yield from _kept_as_its_owner_wants(service, truth)
        yield from _shared_as_its_owner_wants(service, truth)


def _shared_as_its_owner_wants(service: Service, truth: Truth) -> Iterator[str]:
    for each in truth.services.values():
        said = {one.metadata.annotations.get(names.SHARING_KEY) for one in (each, service)}
        shown = all(one.status.load_balancer.ingress for one in (each, service))
        if len(said) > 1 and shown and set(wants.ports_of(each)) & set(wants.ports_of(service)):
            yield f"{service.name} shares an address with {each.name}, which has another key"


def _kept_as_its_owner_wants(service: Service, truth: Truth) -> Iterator[str]:
    """What is to stay says so, and for whom; what is no longer to stay does not."""
    ports = wants.ports_of(service)
    said = service.metadata.annotations.get(names.KEEP)
    alone = not any(
        set(ports) & set(wants.ports_of(each)) for each in truth.services.values() if each.name != service.name
    )
    for each in (each for each in truth.floating_ips.values() if each.port_id in ports):
        if said == "true" and not {names.KEEP_TAG, f"{names.NAMESPACE_TAG}{service.name.namespace}"} <= set(each.tags):
            yield f"{service.name} wants to keep {each.floating_ip_address}, which has the tags {each.tags}"
        if said == "false" and alone and names.KEEP_TAG in each.tags and names.FOUND_TAG not in each.tags:
            yield f"{service.name} does not want to keep {each.floating_ip_address}, which has the tags {each.tags}"


def _has_what_it_wants(truth: Truth, service: Service, shown: list[str], public: list[str]) -> Iterator[str]:
    if shown != public or [":" in each for each in shown] != [each == "IPv6" for each in wants.families(service)]:
        yield f"{service.name} shows {shown}, its ports' addresses are {public}"
    if (asked := service.spec.load_balancer_ip) and asked not in shown:
        yield f"{service.name} shows {shown} and asked for {asked}"
    yield from _from_elsewhere(truth, service)


def _keeps_what_it_has(service: Service, shown: list[str], public: list[str]) -> Iterator[str]:
    said = {each.type: each.reason for each in service.status.conditions}
    if not set(shown) <= set(public) or said.get(names.ALLOCATED) not in IN_VAIN:
        yield f"{service.name} has {public}, asks for what cannot be, shows {shown} and says {said}"


def _wrong_backends(gateway: GatewayTwin, service: Service, truth: Truth) -> Iterator[str]:
    """A gateway sends packets to all backends of a Service, and to nobody else."""
    for forward in gateway.document.forwards:
        if forward.service == str(service.name):
            wanted = wants.backends(service, Key(forward.protocol, forward.port), truth, v6=":" in forward.address)
            found = [(each.address, each.port) for each in forward.backends]
            if sorted(wanted) != found:
                yield f"{gateway.name} sends {service.name} to {found}, its backends are {sorted(wanted)}"
            older = service.metadata.annotations.get(names.SOURCE_RANGES)
            allowed = tuple(sorted(service.spec.load_balancer_source_ranges or (older.split(",") if older else ())))
            if forward.sources != allowed:
                yield f"{gateway.name} lets {forward.sources} in to {service.name}, which wants {allowed}"


def _of_its_address(service: Service, truth: Truth) -> str:
    """What it should say of the address that it has."""
    ports = wants.ports_of(service)
    if any(port in truth.static and port not in truth.listed for port in ports):
        return "AddressRetired"
    on = [each for each in truth.floating_ips.values() if each.port_id in ports]
    return "Allocated" if all(each.description == truth.mark for each in on) else "AddressUnmarked"


def _wrong_conditions(service: Service, truth: Truth) -> Iterator[str]:
    """Who is served says so; who lacks something, or does not get what it asks for, says that."""
    said = {each.type: each for each in service.status.conditions}
    expected = _reason(service, truth)
    for name in wants.OUR_CONDITIONS:
        lost = name == wants.OUR_CONDITIONS[-1] and expected in {"NoNodes", "NoNodePort"}
        if name not in said or said[name].status != ("False" if lost else "True"):
            yield f"{service.name} does not say whether it is {name}"
            return
    if said[wants.OUR_CONDITIONS[1]].reason != _of_its_address(service, truth):
        yield f"{service.name} says {said[wants.OUR_CONDITIONS[1]].reason} of its address"
    given = {key for each in service.status.load_balancer.ingress for key in each.ports}
    if given and given != wants.keys(service):
        yield f"{service.name} says that it was given {given}"
    company = service.metadata.annotations.get(names.SHARING_KEY, "")
    if (said[names.SHARED].message if names.SHARED in said else "") != company:
        yield f"{service.name} does not say that it shares with {company}"
    reason = said[wants.OUR_CONDITIONS[-1]].reason
    if reason != expected:
        yield f"{service.name} says {reason}, and should say {expected}"


def _reason(service: Service, truth: Truth) -> str:
    """What the last of its conditions should say."""
    families = [each == "IPv6" for each in wants.families(service)]
    wanted = list(itertools.product(wants.keys(service), families))
    if wants.layer(service) == "node" and not all(each.node_port for each in service.spec.ports):
        return "NoNodePort"
    if wants.layer(service) == "node" and any(
        wants.endpoints(service, key, truth, v6=v6) and not wants.backends(service, key, truth, v6=v6)
        for key, v6 in wanted
    ):
        return "NoNodes"
    lead = [bool(wants.endpoints(service, key, truth, v6=v6)) for key, v6 in wanted]
    if not all(lead):
        return "PortWithoutEndpoints" if any(lead) else "NoEndpoints"
    if service.spec.external_traffic_policy == "Local":
        return "ClientAddressNotKept"  # the gateways of these worlds put the Service's address in its place
    guarded = any(
        each.name.namespace == service.name.namespace
        and each.spec.pod_selector.match_labels.items() <= service.spec.selector.items()
        for each in truth.policies.values()
    )
    return "NetworkPolicyApplies" if guarded else "Programmed"


def _is_told_no(service: Service) -> Iterator[str]:
    """Who asks for what cannot be had, and shows nothing, says why."""
    said = {each.type: each.status for each in service.status.conditions}
    if said.get(names.ALLOCATED) != "False":
        yield f"{service.name} asks for {service.spec.load_balancer_ip}, which cannot be had, and says {said}"


def _nothing_is_left(truth: Truth) -> Iterator[str]:
    wanted = [service for service in truth.services.values() if wants.wanted(service)]
    needed = {port for service in wanted for port in wants.ports_of(service)}
    held_back = _held_back(truth, needed)
    if missing := held_back - truth.ports.keys() - truth.floating_ips.keys():
        yield f"{sorted(missing)} was lost, and nobody had said that it may go"
    yield from _nothing_is_left_in_neutron(truth, needed | truth.ports.keys() & held_back, untagged=held_back)
    served = {str(service.name) for service in wanted}
    for gateway in wants.members(truth):
        gives_way = gateway.name in truth.drained
        there = truth.gateway_ports[gateway.name] in truth.ports
        if gateway.machine.daemon.lowered() is not gives_way and there:
            yield f"{gateway.name} {'does not give' if gives_way else 'gives'} way"
        for forward in gateway.document.forwards:
            if forward.service not in served:
                yield f"{gateway.name} still serves {forward.service}"
    for service in truth.services.values():
        if not wants.wanted(service):
            yield from _nothing_is_left_on(service, truth)


def _held_back(truth: Truth, needed: set[PortId]) -> set[str]:
    """What nobody needs after etcd was restored: if it is much at once, it stays until a person says go.

    Be it made after that, for Services that somebody who learned it late still knew.
    """
    if not truth.restored:
        return set()
    ours = [each for each in (*truth.ports.values(), *truth.floating_ips.values()) if each.description == truth.mark]
    every = truth.forgotten.union(each.id for each in ours)
    left = {each for each in every if each not in needed and _port_of(truth, each) not in needed}
    return left if len(left) > MOST_AT_ONCE and len(left) > SHARE_AT_ONCE * len(ours) else set()


def _port_of(truth: Truth, each: str) -> str | None:
    floating_ip = truth.floating_ips.get(FloatingIpId(each))
    return floating_ip.port_id if floating_ip else each


def _nothing_is_left_in_neutron(truth: Truth, needed: set[PortId], *, untagged: Collection[str] = ()) -> Iterator[str]:
    """What was not there at the beginning is needed by a Service and bears our tag; what was there still is."""
    free = {"", names.INTERNAL_OWNER}
    ours = {
        each.id: each for each in truth.ports.values() if each.device_owner in free and each.id not in truth.foreign
    }
    public = {each.id: each for each in truth.floating_ips.values() if each.id not in truth.foreign}
    for port in ours.values():
        if port.id not in needed:
            yield f"port {port.id} is left, and nobody needs it"
    for floating_ip in public.values():
        if floating_ip.port_id not in needed and not _is_kept(floating_ip):
            yield f"floating IP {floating_ip.id} is left, and nobody needs it"
    for each, tags in [(port.id, port.tags) for port in ours.values()] + [(ip.id, ip.tags) for ip in public.values()]:
        if names.TAG not in tags and names.KEEP_TAG not in tags and each not in untagged:
            yield f"{each} does not bear our tag"
    allowed = {each.ip_address for port in ours.values() for each in port.fixed_ips} | {PAIR_OF_OTHERS}
    waiting = (port for port in ours.values() if port.id in untagged)
    either = truth.lost.union(each.ip_address for port in waiting for each in port.fixed_ips)
    for name, there in truth.ports_of_gateways():
        has = {each.ip_address for each in there.allowed_address_pairs}
        should = allowed if name in truth.members else {PAIR_OF_OTHERS}
        if has - either != should - either:
            yield f"gateway {name} may use {sorted(has)}, and should {sorted(should)}"
    if missing := truth.foreign - truth.ports.keys() - truth.floating_ips.keys():
        yield f"{sorted(missing)} of others is gone"


def _nothing_is_left_on(service: Service, truth: Truth) -> Iterator[str]:
    if wants.strange(service):
        return
    if wants.has_ours(service) or service.deleting:
        yield f"{service.name} still bears something of ours"
    said = {each.type for each in service.status.conditions} & set(wants.OUR_CONDITIONS)
    if said:
        yield f"{service.name} still bears conditions of ours"
    shown = {each.ip for each in service.status.load_balancer.ingress}
    if shown & truth.published.get(service.metadata.uid, set()):
        yield f"{service.name} still shows an address that was ours"
