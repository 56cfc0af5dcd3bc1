"""The rules that are never broken (S1-S8), judged after every effect.

Each property is a function of its own: it sees the truth and the effect, and says in words what is wrong, if anything.
They know nothing of how a controller works, and use nothing of it; only names, marks and documents mean to them what
the design says that they mean.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from mooring.model import names
from mooring.model.cloud import FloatingIp, FloatingIpId, PortId
from mooring.model.gateway import Key, Vrrp
from mooring.model.kubernetes import Lease, Name, Service
from tests.simulation import security_group, wants
from tests.simulation.gateway import GatewayTwin
from tests.simulation.truth import Effect, Truth, body

Property = Callable[[Truth, Effect], Iterator[str]]

GRACE = 3.0


def s1_one_owner(truth: Truth, effect: Effect) -> Iterator[str]:
    """No two Services on one (address, protocol, port): at no gateway, and by no status that a controller writes."""
    for service in _published_now(effect) if effect.process is not None else ():
        for another in truth.services.values():
            if another.name != service.name and (both := _given(service, truth) & _given(another, truth)):
                yield f"{service.name} is published at {sorted(both)}, which {another.name} shows"
    gateway = truth.gateways.get(effect.server)
    if gateway is None:
        return
    owners: dict[tuple[str, str, int], str] = {}
    for each in gateway.document.forwards:
        other = owners.setdefault((each.address, each.protocol, each.port), each.service)
        if other != each.service:
            yield f"{each.address} {each.protocol} {each.port} belongs to {other} and to {each.service}"


def _given(service: Service, truth: Truth) -> set[tuple[str, str, int]]:
    """Where it says that it is reached, and is, of what it still wants. Who moves what is on its port, moves it."""
    wanted = {(each.protocol, each.port) for each in service.spec.ports}
    reached = {wants.public(truth, each) for each in wants.ports_of(service)}
    shown = [each for each in service.status.load_balancer.ingress if each.ip in reached]
    every = ((each.ip, key.protocol, key.port) for each in shown for key in each.ports)
    return {each for each in every if each[1:] in wanted}


def one_group(truth: Truth, effect: Effect) -> Iterator[str]:
    """Services that may not share an address do not, whatever their owners write."""
    gateway = truth.gateways.get(effect.server)
    if gateway is None:
        return
    owners: dict[str, str] = {}
    for each in gateway.document.forwards:
        group = wants.group(truth, Name(*each.service.split("/")))
        if owners.setdefault(each.address, group) != group:
            yield f"{each.address} is served for {group} and for {owners[each.address]}"


def s2_acknowledged_first(truth: Truth, effect: Effect) -> Iterator[str]:
    """No address in a Service's status before every live gateway has acknowledged it."""
    _see_promises(truth, effect)
    for service in _published_now(effect):
        if effect.process is None:
            continue
        given = truth.published.setdefault(service.metadata.uid, set())
        given.update(each.ip for each in service.status.load_balancer.ingress)
        if truth.now < effect.process.deposed_until or not truth.ports.keys() >= set(wants.ports_of(service)):
            continue  # an operator took its port away, or S3 says that we did
        live = [each for each in wants.members(truth, holders=True) if _live(truth, effect, each)]
        if not live and not any(_holds(truth, effect, each) for each in truth.gateways.values()):
            yield f"{service.name} was given an address while no gateway was live"
        for gateway in live:
            if not wants.serves(gateway, service, truth) and _known(truth, effect, gateway):
                yield f"{service.name} was given an address that {gateway.name} does not serve"


def let_go_last(truth: Truth, effect: Effect) -> Iterator[str]:
    """Who is let go of is served by no live gateway any more."""
    if effect.process is None or truth.now < effect.process.deposed_until or truth.uninstalled:
        return
    for name, (before, after) in effect.changed.items():
        held, still = (each is not None and names.FINALIZER in each.metadata.finalizers for each in (before, after))
        for gateway in wants.members(truth) if held and not still else ():
            serves = any(each.service == str(name) for each in gateway.document.forwards)
            if serves and gateway.up and _live(truth, effect, gateway) and _known(truth, effect, gateway):
                yield f"{name} was let go of, and {gateway.name} still serves it"


def let_in_first(truth: Truth, effect: Effect) -> Iterator[str]:
    """Nobody is sent to an address before the gateways' security group lets packets in, where it is ours to keep."""
    if not truth.keeps_group or truth.group_meddled or effect.process is None:
        return
    for service in _published_now(effect):
        if truth.now >= effect.process.deposed_until:
            known = [each.name for each in wants.members(truth) if _heard_of(truth, effect, each)]
            ports = [port for name, port in truth.ports_of_gateways() if name in known]
            for wrong in security_group.let_in(truth, wants.sent(service), ports):
                yield f"{service.name} was given an address: {wrong}"


def stays_let_in(truth: Truth, effect: Effect) -> Iterator[str]:
    """No rule of the group goes by which packets come to a Service that shows its address."""
    kind = "/security-group-rules/"
    if effect.process is None or effect.request.method != "DELETE" or kind not in effect.request.path:
        return
    if not truth.keeps_group or truth.group_meddled or not effect.done or truth.now < effect.process.deposed_until:
        return
    rule = effect.request.path.rpartition("/")[2]
    ports = [port for name, port in truth.ports_of_gateways() if name in truth.members]
    for service in truth.services.values():
        if wants.settled(truth, service):
            for wrong in security_group.let_in(truth, wants.sent(service), ports, without=rule):
                yield f"{service.name}: {wrong}"


def s3_needed_is_kept(truth: Truth, effect: Effect) -> Iterator[str]:
    """Never delete what a live object names, never touch what is not ours."""
    if effect.server != "neutron" or effect.process is None or effect.request.method != "DELETE" or not effect.done:
        return
    parts = effect.request.path.split("/")
    if "tags" in parts or parts[2].startswith("security"):
        return
    before = truth.ports.get(parts[3]) or truth.floating_ips.get(parts[3])  # type: ignore[call-overload]
    if before is None or before.description != truth.mark:
        yield f"{parts[2]} {parts[3]} was deleted and was not ours"
        return
    port = getattr(before, "port_id", before.id)
    if port in truth.foreign:
        yield f"{parts[2]} {parts[3]} was deleted, and is in use on {port}"
    for service in truth.services.values():
        if wants.wanted(service) and port in wants.ports_of(service):
            yield f"{parts[2]} {parts[3]} was deleted while {service.name} uses it"


def s3_gateways_keep_theirs(truth: Truth, effect: Effect) -> Iterator[str]:
    """Of ports that are not ours only the gateways' lists of addresses are changed, and there only what is ours."""
    if effect.server != "neutron" or effect.process is None or effect.request.method != "PUT" or not effect.done:
        return
    parts = effect.request.path.split("/")
    if "tags" in parts:
        return
    if parts[2] == "floatingips":
        change = body(effect.request)["floatingip"]
        yield from _not_to_be_changed(truth.floating_ips[FloatingIpId(parts[3])], change, truth)
        return
    changes = body(effect.request).get("port", {})
    if parts[3] in truth.gateway_ports.values() and set(changes) == {"security_groups"}:
        yield from security_group.others_stay(truth, truth.ports[PortId(parts[3])], changes["security_groups"])
        return
    if parts[3] not in truth.gateway_ports.values() or set(changes) != {"allowed_address_pairs"}:
        yield f"{parts[2]} {parts[3]} was changed: {sorted(changes)}"
        return
    before = truth.ports[PortId(parts[3])].allowed_address_pairs
    after = {each["ip_address"] for each in changes["allowed_address_pairs"]}
    ours = {
        each.ip_address for port in truth.ports.values() if port.description == truth.mark for each in port.fixed_ips
    }
    for pair in before:
        if pair.ip_address not in after and pair.ip_address not in ours | truth.lost:
            yield f"{pair.ip_address} was taken from a gateway and is not ours"
    yield from _taken_from_holder(truth, parts[3], {each.ip_address for each in before} - after)


def _taken_from_holder(truth: Truth, port: str, taken: set[str]) -> Iterator[str]:
    """Who holds the addresses keeps the right to use those that Services show: packets go there."""
    settled = (each for each in truth.services.values() if wants.settled(truth, each))
    shown = {address for each in settled for address in wants.inner(truth, each)}
    for name, gateway in truth.gateways.items():
        holds = gateway.up and gateway.machine.daemon.vrrp is Vrrp.MASTER
        if truth.gateway_ports[name] == port and holds and taken & shown - truth.lost:
            yield f"{name} holds the addresses, and may not use {sorted(taken & shown)} any more"


def prepared_first(truth: Truth, effect: Effect) -> Iterator[str]:
    """Nobody takes its place in VRRP before its port may use what it serves.

    Whom nobody has reached for long may serve an address whose port is gone since; that is nobody's any more.
    """
    gateway = truth.gateways.get(effect.server)
    if gateway is None or truth.pairs_taken or gateway.machine.daemon.lowered() or gateway.name not in truth.members:
        return
    port = dict(truth.ports_of_gateways()).get(gateway.name)
    allowed = {each.ip_address for each in port.allowed_address_pairs} if port else set()
    there = {each.ip_address for found in truth.ports.values() for each in found.fixed_ips}
    for forward in gateway.document.forwards if port else ():  # without one, nothing can come to it
        if forward.address in there - allowed - truth.lost and forward.address not in truth.static:
            yield f"{gateway.name} does not give way, and may not use {forward.address}"


def _not_to_be_changed(before: FloatingIp, change: Mapping[str, Any], truth: Truth) -> Iterator[str]:
    """Of floating IPs ours are changed, and those that nobody uses, once they say that they are to be kept.

    One that somebody uses elsewhere stays there.
    """
    if before.port_id in truth.foreign and change.get("port_id") != before.port_id:
        yield f"floating IP {before.id} was taken off {before.port_id}, which is not ours"
    free = not before.description and before.port_id is None and names.KEEP_TAG in before.tags
    if before.description != truth.mark and not free:
        yield f"floating IP {before.id} was changed and is not ours"


def s4_fenced(truth: Truth, effect: Effect) -> Iterator[str]:
    """Every write can be refused when its sender has lost its lease: it carries what it was decided on, or our mark."""
    request = effect.request
    if effect.process is None or not request.writes:
        return
    if effect.server == "kube" and "/services/" in request.path:
        if "resourceVersion" not in body(request).get("metadata", {}):
            yield f"{request.what} carries no resourceVersion"
    elif effect.server == "neutron" and "/tags/" not in request.path:
        if request.method == "POST":
            wanted = next(iter(body(request).values()))
            made = wanted if isinstance(wanted, list) else [wanted]
            if any(each.get("description") != truth.mark for each in made):
                yield f"{request.what} does not carry our mark"
        elif "if-match" not in request.headers:
            yield f"{request.what} carries no revision"


def s4_newest_leader_wins(truth: Truth, effect: Effect) -> Iterator[str]:
    """What a leader has written is not overwritten by one before it. Tags are left out: they carry no revision."""
    process, request = effect.process, effect.request
    if process is None or not effect.done:
        return
    if request.what in {"create leases", "patch leases"}:
        process.epoch = _epoch(effect)
        return
    what = _written(effect)
    if what is None:
        return
    told = effect.server in truth.gateways
    epoch = body(request)["epoch"] if told else process.epoch
    newest = truth.writers.get(what, 0)
    truth.writers[what] = max(newest, epoch)
    if epoch < newest and (told or not truth.epochs_lost):
        yield f"{request.what} of epoch {epoch}, and {what} was written by {newest} before"


def _epoch(effect: Effect) -> int:
    lease = msgspec.json.decode(effect.response.body, type=Lease)
    return int(lease.metadata.annotations.get(names.EPOCH, "0"))


def _written(effect: Effect) -> str | None:
    """What a write changes that was there before and is of one piece."""
    request = effect.request
    if effect.server == "kube":
        return request.path.removesuffix("/status") if request.what.startswith("patch services") else None
    if effect.server == "neutron":
        return request.path if request.method in {"PUT", "DELETE"} and "/tags/" not in request.path else None
    return effect.server if request.what in {"put document", "patch document"} else None


def s5_theirs_is_theirs(truth: Truth, effect: Effect) -> Iterator[str]:
    """Never overwrite what a user set."""
    if effect.process is None:
        return
    for name, (before, after) in effect.changed.items():
        if before is None:
            continue
        if after is None:
            if set(before.metadata.finalizers) - wants.OUR_FINALIZERS:
                yield f"{name} is gone, and somebody else still held it"
            continue
        if wants.strange(before) and before != after:
            yield f"{name} is of another class, and was changed"
        if wants.theirs(before) != wants.theirs(after):
            yield f"something of {name} was changed that is its owner's"
        same = after.status.load_balancer.ingress == before.status.load_balancer.ingress
        if wants.given_by_others(truth, before) and not same:
            yield f"the address that somebody gave to {name} was changed"
        if before.metadata.annotations.get(names.MANAGED) == "false" != after.metadata.annotations.get(names.MANAGED):
            yield f"{name} had opted out"


def s7_nothing_mapped_is_missing(truth: Truth, effect: Effect) -> Iterator[str]:
    """A gateway never receives a document that takes away a Service that is mapped."""
    gateway = truth.gateways.get(effect.server)
    if gateway is None or effect.request.method not in {"PUT", "PATCH"} or not effect.done:
        return
    served = frozenset(each.service for each in gateway.document.forwards)
    before, truth.served[gateway.name] = truth.served.get(gateway.name, frozenset()), served
    known = (each for each in truth.services.values() if each.metadata.uid not in truth.came_back)
    for service in known:
        if str(service.name) in before - served and wants.settled(truth, service, reached=False):
            yield f"{gateway.name} was told to forget {service.name}, which the world was sent to"


def s7_nobody_is_sent_nowhere(truth: Truth, effect: Effect) -> Iterator[str]:
    """A gateway that sent packets to backends, which there have been ever since, is not told that there are none.

    Who wants Local is left out: where its endpoints are and which nodes there are is told in two streams. So is a world
    in which a controller was never told of a backend: before the next audit it cannot know.
    """
    if effect.server == "kube":
        _see_backends(truth)
    gateway = truth.gateways.get(effect.server)
    if gateway is None or not effect.done:
        return
    services = {str(each.name): each for each in truth.services.values()}
    for forward in gateway.document.forwards:
        found = services.get(forward.service)
        if found is None or found.spec.external_traffic_policy == "Local":
            continue
        key, v6 = Key(forward.protocol, forward.port), ":" in forward.address
        state = (gateway.name, *_state(found, key, v6=v6))
        sent = {(each.address, each.port) for each in forward.backends}
        if sent and sent <= wants.backends(found, key, truth, v6=v6):
            truth.reached.add(state)
        if not sent and state in truth.reached and state[1:] in truth.steady and not truth.backends_missed:
            yield f"{gateway.name} was told that {found.name} has no backends, and it always had"


def _see_backends(truth: Truth) -> None:
    """Remember of every port of every Service whether it has had backends ever since it first had some.

    What its owner wanted of it before and wants again does not count: what was told in between may still be on its way.
    """
    answered = {
        _state(service, key, v6=v6)
        for service in truth.services.values()
        for key, v6 in itertools.product(wants.keys(service), (False, True))
        if wants.backends(service, key, truth, v6=v6)
    }
    truth.unsteady |= truth.steady - answered
    truth.steady = answered - truth.unsteady


def stays(truth: Truth, effect: Effect) -> Iterator[str]:
    """An address that the world was told stays, unless its owner, or an operator in the cloud, changed something."""
    if effect.process is None or truth.now < effect.process.deposed_until or truth.uninstalled:
        return
    for name, (before, after) in effect.changed.items():
        if before is None or after is None or not wants.wanted(after):
            continue
        had, has = ([each.ip for each in either.status.load_balancer.ingress] for either in (before, after))
        asks = before.spec.load_balancer_ip not in {"", *had}
        if had != has and wants.settled(truth, before) and not (asks and not wants.in_vain(truth, before)):
            yield f"{name} lost the address {had[0]} without a reason"
        if had and had != has and wants.in_vain(truth, before) and wants.settled(truth, before, wish=False):
            yield f"{name} lost the address {had[0]} for one that it cannot have"
        lost = {wants.public(truth, port) for port in set(wants.ports_of(before)) - set(wants.ports_of(after))}
        if lost & set(had):
            yield f"{name} was given another port while it still showed the address of the old one"


def kept_for_its_own(truth: Truth, effect: Effect) -> Iterator[str]:
    """What stays for the Services of a namespace is given to no others, unless all may share."""
    if effect.process is None or truth.sharing != "namespace":
        return
    for service in _published_now(effect):
        for address in (each.ip for each in service.status.load_balancer.ingress):
            kept = wants.kept_for(truth, address)
            if kept and service.name.namespace not in kept:
                yield f"{service.name} was given {address}, which stays for {sorted(kept)}"


def openstack_is_left_alone(truth: Truth, effect: Effect) -> Iterator[str]:
    """Where an operator lists the addresses, nobody asks OpenStack for anything."""
    if truth.static and effect.server == "neutron" and effect.process is not None:
        yield f"{effect.request.what} of {effect.process.name}"


def s8_one_generation(truth: Truth, effect: Effect) -> Iterator[str]:
    """Disk, kernel and VRRP of a gateway are of one document whenever its agent runs."""
    gateway = truth.gateways.get(effect.server)
    if gateway is not None and gateway.up and not gateway.consistent:
        yield f"disk, kernel and VRRP of {gateway.name} are not of one document"


def _state(service: Service, key: Key, *, v6: bool) -> tuple[object, ...]:
    """A port of a Service for as long as its owner wants the same of it."""
    ports = tuple(service.spec.ports)
    return service.metadata.uid, key, v6, wants.layer(service), ports, service.spec.external_traffic_policy


def _see_promises(truth: Truth, effect: Effect) -> None:
    """An address is promised for what a Service wants when it is published, and when it stays though that changes."""
    shared = (
        after
        for before, after in effect.changed.values()
        if before is not None and after is not None and after.status.load_balancer.ingress
        if _company(before) != _company(after)
    )
    for service in (*shared, *_published_now(effect)) if effect.process is not None else ():
        truth.promised[service.metadata.uid] = wants.wishes(truth, service)
        truth.had[service.metadata.uid] = set(wants.ports_of(service))


def _company(service: Service) -> str:
    """With whom it says that it shares."""
    return next((each.message for each in service.status.conditions if each.type == names.SHARED), "")


def _published_now(effect: Effect) -> Iterator[Service]:
    """The Services that this very effect gave an address."""
    for before, after in effect.changed.values():
        if after is not None and after.status.load_balancer.ingress:
            had = before.status.load_balancer.ingress if before is not None else ()
            if had != after.status.load_balancer.ingress:
                yield after


def _heard_of(truth: Truth, effect: Effect, gateway: GatewayTwin) -> bool:
    """Whether a process knew that this is a gateway when it decided; one that slept has not read it yet."""
    since = effect.process.contacted.get(gateway.name) if effect.process is not None else None
    return not truth.joined.get(gateway.name) or (since is not None and since <= truth.decided)


def _known(truth: Truth, effect: Effect, gateway: GatewayTwin) -> bool:
    """Whether a process knew a gateway as it is when it decided, and not only that it has come back since."""
    revived = effect.process.revived.get(gateway.name, float("-inf")) if effect.process is not None else truth.now
    return _heard_of(truth, effect, gateway) and revived < truth.decided


def _live(truth: Truth, effect: Effect, gateway: GatewayTwin) -> bool:
    """When this was decided it answered and did as told, or had not failed to for longer than what is overlooked."""
    if effect.process is None:
        return False
    trouble = (effect.process.failing.get(gateway.name), effect.process.refusing.get(gateway.name))
    return all(since is None or truth.decided < since + GRACE for since in trouble)


def _holds(truth: Truth, effect: Effect, gateway: GatewayTwin) -> bool:
    """It answered then, and holds the addresses: it counts, whatever it refuses."""
    since = effect.process.failing.get(gateway.name) if effect.process is not None else 0.0
    return gateway.machine.daemon.vrrp is Vrrp.MASTER and (since is None or truth.decided < since + GRACE)


AFTER_EVERY_EFFECT: dict[str, Property] = {
    "stays": stays,  # by what was promised before; S2 writes down what is promised now
    "S1": s1_one_owner,
    "one group": one_group,
    "S2": s2_acknowledged_first,
    "let in": let_in_first,
    "stays let in": stays_let_in,
    "let go": let_go_last,
    "groups": security_group.only_ours,
    "S3": s3_needed_is_kept,
    "S3, gateways": s3_gateways_keep_theirs,
    "prepared": prepared_first,
    "S4": s4_fenced,
    "S4, leaders": s4_newest_leader_wins,
    "S5": s5_theirs_is_theirs,
    "S7": s7_nothing_mapped_is_missing,
    "S7, backends": s7_nobody_is_sent_nowhere,
    "S8": s8_one_generation,
    "kept": kept_for_its_own,
    "no OpenStack": openstack_is_left_alone,
}
