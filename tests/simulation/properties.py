"""The rules that are never broken (S1-S8), judged after every effect, and what must hold at rest.

Each property is a function of its own: it sees the truth and the effect, and says in words what is wrong, if anything.
They know nothing of how a controller works, and use nothing of it; only names, marks and documents mean to them what
the design says that they mean.
"""

import itertools
from collections.abc import Callable, Iterator

from mooring.model import names
from mooring.model.cloud import FloatingIp, FloatingIpId, PortId
from mooring.model.gateway import Key, Vrrp
from mooring.model.kubernetes import EndpointSlice, Service
from tests.simulation.gateway import GatewayTwin
from tests.simulation.truth import Effect, Promise, Truth, body

Property = Callable[[Truth, Effect], Iterator[str]]

OUR_FINALIZERS = {names.FINALIZER, names.CLEANUP_FINALIZER}
OUR_ANNOTATIONS = {names.MANAGED, names.PORT}
GRACE = 3.0
PAIR_OF_OTHERS = "192.0.2.77"
OUR_CONDITIONS = ("openstack.org/Accepted", "openstack.org/Allocated", "openstack.org/Programmed")


def s1_one_owner(truth: Truth, effect: Effect) -> Iterator[str]:
    """No two Services on one (address, protocol, port)."""
    gateway = truth.gateways.get(effect.server)
    if gateway is None:
        return
    owners: dict[tuple[str, str, int], str] = {}
    for each in gateway.document.forwards:
        other = owners.setdefault((each.address, each.protocol, each.port), each.service)
        if other != each.service:
            yield f"{each.address} {each.protocol} {each.port} belongs to {other} and to {each.service}"


def one_namespace(truth: Truth, effect: Effect) -> Iterator[str]:
    """Services of different namespaces do not share an address, whatever their owners write."""
    gateway = truth.gateways.get(effect.server)
    if gateway is None:
        return
    owners: dict[str, str] = {}
    for each in gateway.document.forwards:
        namespace = each.service.partition("/")[0]
        if owners.setdefault(each.address, namespace) != namespace:
            yield f"{each.address} is served for {namespace} and for {owners[each.address]}"


def s2_acknowledged_first(truth: Truth, effect: Effect) -> Iterator[str]:
    """No address in a Service's status before every live gateway has acknowledged it."""
    for service in _published_now(effect):
        if effect.process is None:
            continue
        given = truth.published.setdefault(service.metadata.uid, set())
        given.update(each.ip for each in service.status.load_balancer.ingress)
        truth.promised[service.metadata.uid] = _wishes(truth, service)
        if truth.now < effect.process.deposed_until:
            continue
        live = [each for each in _members(truth, holders=True) if _live(truth, effect, each)]
        if not live and not any(_holds(truth, effect, each) for each in truth.gateways.values()):
            yield f"{service.name} was given an address while no gateway was live"
        for gateway in live:
            if not _heard_of(truth, effect, gateway):
                continue
            just_back = effect.process.revived.get(gateway.name, float("-inf")) >= truth.decided
            if not _serves(gateway, service, truth) and not just_back:
                yield f"{service.name} was given an address that {gateway.name} does not serve"


def s3_needed_is_kept(truth: Truth, effect: Effect) -> Iterator[str]:
    """Never delete what a live object names, never touch what is not ours."""
    if effect.server != "neutron" or effect.process is None or effect.request.method != "DELETE" or not effect.done:
        return
    parts = effect.request.path.split("/")
    if "tags" in parts:
        return
    before = truth.ports.get(parts[3]) or truth.floating_ips.get(parts[3])  # type: ignore[call-overload]
    if before is None or before.description != truth.mark:
        yield f"{parts[2]} {parts[3]} was deleted and was not ours"
        return
    port = getattr(before, "port_id", before.id)
    for service in truth.services.values():
        if _wanted(service) and port in _ports_of(service):
            yield f"{parts[2]} {parts[3]} was deleted while {service.name} uses it"


def s3_gateways_keep_theirs(truth: Truth, effect: Effect) -> Iterator[str]:
    """Of ports that are not ours only the gateways' lists of addresses are changed, and there only what is ours."""
    if effect.server != "neutron" or effect.process is None or effect.request.method != "PUT" or not effect.done:
        return
    parts = effect.request.path.split("/")
    if "tags" in parts:
        return
    if parts[2] == "floatingips":
        yield from _not_to_be_changed(truth.floating_ips[FloatingIpId(parts[3])], truth)
        return
    changes = body(effect.request).get("port", {})
    if parts[3] not in truth.gateway_ports.values() or set(changes) != {"allowed_address_pairs"}:
        yield f"{parts[2]} {parts[3]} was changed: {sorted(changes)}"
        return
    before = truth.ports[PortId(parts[3])].allowed_address_pairs
    after = {each["ip_address"] for each in changes["allowed_address_pairs"]}
    ours = {
        each.ip_address for port in truth.ports.values() if port.description == truth.mark for each in port.fixed_ips
    }
    for pair in before:
        if pair.ip_address not in after and pair.ip_address not in ours:
            yield f"{pair.ip_address} was taken from a gateway and is not ours"
    yield from _taken_from_holder(truth, parts[3], {each.ip_address for each in before} - after)


def _taken_from_holder(truth: Truth, port: str, taken: set[str]) -> Iterator[str]:
    """Who holds the addresses keeps the right to use those that Services show: packets go there."""
    settled = (each for each in truth.services.values() if _settled(truth, each))
    shown = {address for each in settled for address in _inner(truth, each)}
    for name, gateway in truth.gateways.items():
        holds = gateway.up and gateway.machine.daemon.vrrp is Vrrp.MASTER
        if truth.gateway_ports[name] == port and holds and taken & shown:
            yield f"{name} holds the addresses, and may not use {sorted(taken & shown)} any more"


def prepared_first(truth: Truth, effect: Effect) -> Iterator[str]:
    """Nobody takes its place in VRRP before its port may use what it serves."""
    gateway = truth.gateways.get(effect.server)
    if gateway is None or truth.pairs_taken or gateway.machine.daemon.lowered() or gateway.name not in truth.members:
        return
    port = truth.ports[truth.gateway_ports[gateway.name]]
    allowed = {each.ip_address for each in port.allowed_address_pairs}
    for forward in gateway.document.forwards:
        if forward.address not in allowed:
            yield f"{gateway.name} does not give way, and may not use {forward.address}"


def _not_to_be_changed(before: FloatingIp, truth: Truth) -> Iterator[str]:
    """Of floating IPs ours are changed, and those that nobody uses, once they say that they are to be kept."""
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
            if wanted.get("description") != truth.mark:
                yield f"{request.what} does not carry our mark"
        elif "if-match" not in request.headers:
            yield f"{request.what} carries no revision"


def s5_theirs_is_theirs(truth: Truth, effect: Effect) -> Iterator[str]:
    """Never overwrite what a user set."""
    if effect.process is None:
        return
    for name, (before, after) in effect.changed.items():
        if before is None:
            continue
        if after is None:
            if set(before.metadata.finalizers) - OUR_FINALIZERS:
                yield f"{name} is gone, and somebody else still held it"
            continue
        if _strange(before) and before != after:
            yield f"{name} is of another class, and was changed"
        if _theirs(before) != _theirs(after):
            yield f"something of {name} was changed that is its owner's"
        same = after.status.load_balancer.ingress == before.status.load_balancer.ingress
        if _given_by_others(truth, before) and not same:
            yield f"the address that somebody gave to {name} was changed"
        if before.metadata.annotations.get(names.MANAGED) == "false" != after.metadata.annotations.get(names.MANAGED):
            yield f"{name} had opted out"


def s7_nothing_mapped_is_missing(truth: Truth, effect: Effect) -> Iterator[str]:
    """A gateway never receives a document that takes away a Service that is mapped."""
    gateway = truth.gateways.get(effect.server)
    if gateway is None or effect.request.method != "PUT" or not effect.done:
        return
    served = frozenset(each.service for each in gateway.document.forwards)
    before, truth.served[gateway.name] = truth.served.get(gateway.name, frozenset()), served
    for service in truth.services.values():
        if str(service.name) in before - served and _settled(truth, service):
            yield f"{gateway.name} was told to forget {service.name}, which the world was sent to"


def s7_nobody_is_sent_nowhere(truth: Truth, effect: Effect) -> Iterator[str]:
    """A gateway that sent packets to backends, which there have been ever since, is not told that there are none.

    Who wants Local is left out: where its endpoints are and which nodes there are is told in two streams.
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
        if sent and sent <= _backends(found, key, truth, v6=v6):
            truth.reached.add(state)
        if not sent and state in truth.reached and truth.steady.get(state[1:]) and not truth.backends_missed:
            yield f"{gateway.name} was told that {found.name} has no backends, and it always had"


def _see_backends(truth: Truth) -> None:
    """Remember of every port of every Service whether it has had backends ever since it first had some."""
    for service in truth.services.values():
        for key, v6 in itertools.product(_keys(service), (False, True)):
            state = _state(service, key, v6=v6)
            if _backends(service, key, truth, v6=v6):
                truth.steady.setdefault(state, True)
            elif state in truth.steady:
                truth.steady[state] = False


def stays(truth: Truth, effect: Effect) -> Iterator[str]:
    """An address that the world was told stays, unless its owner, or an operator in the cloud, changed something."""
    if effect.process is None or truth.now < effect.process.deposed_until:
        return
    for name, (before, after) in effect.changed.items():
        if before is None or after is None or not _wanted(after):
            continue
        had, has = (each.status.load_balancer.ingress for each in (before, after))
        if had != has and _settled(truth, before):
            yield f"{name} lost the address {had[0].ip} without a reason"
        lost = {_public(truth, port) for port in set(_ports_of(before)) - set(_ports_of(after))}
        if lost & {each.ip for each in had}:
            yield f"{name} was given another port while it still showed the address of the old one"


def s8_one_generation(truth: Truth, effect: Effect) -> Iterator[str]:
    """Disk, kernel and VRRP of a gateway are of one document whenever its agent runs."""
    gateway = truth.gateways.get(effect.server)
    if gateway is not None and gateway.up and not gateway.consistent:
        yield f"disk, kernel and VRRP of {gateway.name} are not of one document"


AFTER_EVERY_EFFECT: dict[str, Property] = {
    "stays": stays,  # by what was promised before; S2 writes down what is promised now
    "S1": s1_one_owner,
    "one namespace": one_namespace,
    "S2": s2_acknowledged_first,
    "S3": s3_needed_is_kept,
    "S3, gateways": s3_gateways_keep_theirs,
    "prepared": prepared_first,
    "S4": s4_fenced,
    "S5": s5_theirs_is_theirs,
    "S7": s7_nothing_mapped_is_missing,
    "S7, backends": s7_nobody_is_sent_nowhere,
    "S8": s8_one_generation,
}


def at_rest(truth: Truth) -> Iterator[str]:
    """Every wanted Service is served and published; nothing of ours is without an owner; nobody else is touched."""
    yield from _wanted_are_served(truth)
    yield from _nothing_is_left(truth)


def _wanted_are_served(truth: Truth) -> Iterator[str]:
    for service in truth.services.values():
        if not _wanted(service) or _given_by_others(truth, service):
            continue
        public = [_public(truth, port) for port in _ports_of(service)]
        shown = [each.ip for each in service.status.load_balancer.ingress]
        if _denied(truth, service):
            yield from _is_told_no(service)
            continue
        if shown != public or [":" in each for each in shown] != [each == "IPv6" for each in _families(service)]:
            yield f"{service.name} shows {shown}, its ports' addresses are {public}"
        if asked := service.spec.load_balancer_ip:
            yield from () if shown == [asked] else (f"{service.name} shows {shown} and asked for {asked}",)
        if names.FINALIZER not in service.metadata.finalizers:
            yield f"{service.name} lacks our finalizer"
        for gateway in _members(truth):
            if not _serves(gateway, service, truth):
                yield f"{gateway.name} does not serve all of {service.name}"
            yield from _wrong_backends(gateway, service, truth)
        yield from _wrong_conditions(service, truth)


def _wrong_backends(gateway: GatewayTwin, service: Service, truth: Truth) -> Iterator[str]:
    """A gateway sends packets to all backends of a Service, and to nobody else."""
    for forward in gateway.document.forwards:
        if forward.service == str(service.name):
            wanted = _backends(service, Key(forward.protocol, forward.port), truth, v6=":" in forward.address)
            found = [(each.address, each.port) for each in forward.backends]
            if sorted(wanted) != found:
                yield f"{gateway.name} sends {service.name} to {found}, its backends are {sorted(wanted)}"
            allowed = tuple(sorted(service.spec.load_balancer_source_ranges))
            if forward.sources != allowed:
                yield f"{gateway.name} lets {forward.sources} in to {service.name}, which wants {allowed}"


def _wrong_conditions(service: Service, truth: Truth) -> Iterator[str]:
    """Who is served says so; who lacks something, or does not get what it asks for, says that."""
    said = {each.type: each for each in service.status.conditions}
    expected = _reason(service, truth)
    for name in OUR_CONDITIONS:
        lost = name == OUR_CONDITIONS[-1] and expected in {"NoNodes", "NoNodePort"}
        if name not in said or said[name].status != ("False" if lost else "True"):
            yield f"{service.name} does not say whether it is {name}"
            return
    reason = said[OUR_CONDITIONS[-1]].reason
    if reason != expected:
        yield f"{service.name} says {reason}, and should say {expected}"


def _reason(service: Service, truth: Truth) -> str:
    """What the last of its conditions should say."""
    families = [each == "IPv6" for each in _families(service)]
    wanted = list(itertools.product(_keys(service), families))
    if _layer(service) == "node" and not all(each.node_port for each in service.spec.ports):
        return "NoNodePort"
    if _layer(service) == "node" and any(
        _endpoints(service, key, truth, v6=v6) and not _backends(service, key, truth, v6=v6) for key, v6 in wanted
    ):
        return "NoNodes"
    if not all(_endpoints(service, key, truth, v6=v6) for key, v6 in wanted):
        return "NoEndpoints"
    if service.spec.external_traffic_policy == "Local":
        return "ClientAddressNotKept"  # the gateways of these worlds put the Service's address in its place
    guarded = any(
        each.name.namespace == service.name.namespace
        and each.spec.pod_selector.match_labels.items() <= service.spec.selector.items()
        for each in truth.policies.values()
    )
    return "NetworkPolicyApplies" if guarded and _layer(service) == "pod" else "Programmed"


def _backends(service: Service, key: Key, truth: Truth, *, v6: bool) -> set[tuple[str, int]]:
    """Where packets to a port of a Service, at an address of this family, should go."""
    ports = [each for each in service.spec.ports if (each.protocol, each.port) == (key.protocol, key.port)]
    if _layer(service) == "cluster":
        return set() if v6 else {(service.spec.cluster_ip, key.port)}
    if _layer(service) == "pod":
        return _endpoints(service, key, truth, v6=v6)
    local = {
        endpoint.node_name
        for found in _slices(service, truth)
        if {each.name for each in ports} & {each.name for each in found.ports or ()}
        for endpoint in found.endpoints or ()
        if endpoint.conditions.ready
    }
    return {
        (address.address, port.node_port)
        for node in truth.nodes.values()
        if "node.kubernetes.io/exclude-from-external-load-balancers" not in node.metadata.labels
        and ("Ready", "True") in {(each.type, each.status) for each in node.status.conditions}
        and (service.spec.external_traffic_policy != "Local" or node.metadata.name in local)
        for address in node.status.addresses
        if address.type == "InternalIP" and (":" in address.address) is v6
        for port in ports
        if port.node_port
    }


def _layer(service: Service) -> str:
    return service.metadata.annotations.get("openstack.org/mooring-layer", "pod")


def _state(service: Service, key: Key, *, v6: bool) -> tuple[object, ...]:
    """A port of a Service for as long as its owner wants the same of it."""
    ports = tuple(service.spec.ports)
    return service.metadata.uid, key, v6, _layer(service), ports, service.spec.external_traffic_policy


def _slices(service: Service, truth: Truth) -> Iterator[EndpointSlice]:
    for found in truth.slices.values():
        label = found.metadata.labels.get("kubernetes.io/service-name")
        if (found.name.namespace, label) == (service.name.namespace, service.name.name):
            yield found


def _endpoints(service: Service, key: Key, truth: Truth, *, v6: bool) -> set[tuple[str, int]]:
    """The ready endpoints of a Service's port of one family, over all of its slices."""
    named = {each.name for each in service.spec.ports if (each.protocol, each.port) == (key.protocol, key.port)}
    return {
        (address, number.port or 0)
        for found in _slices(service, truth)
        for number in found.ports or ()
        if number.name in named and number.protocol == key.protocol
        for endpoint in found.endpoints or ()
        if endpoint.conditions.ready
        for address in endpoint.addresses
        if (":" in address) is v6
    }


def _is_told_no(service: Service) -> Iterator[str]:
    """Who asks for what cannot be had shows nothing, has nothing, and says why."""
    said = {each.type: each.status for each in service.status.conditions}
    if service.status.load_balancer.ingress or said.get(names.ALLOCATED) != "False":
        yield f"{service.name} asks for {service.spec.load_balancer_ip}, which cannot be had, and says {said}"


def _given_by_others(truth: Truth, service: Service) -> bool:
    """Whether it shows an address that no controller gave it, and has no port of ours: it is not our concern."""
    shown = {each.ip for each in service.status.load_balancer.ingress}
    ours = truth.published.get(service.metadata.uid, set())
    return bool(shown) and not shown & ours and not any(port in truth.ports for port in _ports_of(service))


def _nothing_is_left(truth: Truth) -> Iterator[str]:
    wanted = [service for service in truth.services.values() if _wanted(service)]
    needed = {port for service in wanted for port in _ports_of(service)}
    yield from _nothing_is_left_in_neutron(truth, needed)
    served = {str(service.name) for service in wanted}
    for gateway in _members(truth):
        gives_way = gateway.name in truth.drained
        if gateway.machine.daemon.lowered() is not gives_way:
            yield f"{gateway.name} {'does not give' if gives_way else 'gives'} way"
        for forward in gateway.document.forwards:
            if forward.service not in served:
                yield f"{gateway.name} still serves {forward.service}"
    for service in truth.services.values():
        if not _wanted(service):
            yield from _nothing_is_left_on(service, truth)


def _nothing_is_left_in_neutron(truth: Truth, needed: set[PortId]) -> Iterator[str]:
    """What was not there at the beginning is needed by a Service and bears our tag; what was there still is."""
    ours = {port.id: port for port in truth.ports.values() if port.device_owner == "" and port.id not in truth.foreign}
    public = {each.id: each for each in truth.floating_ips.values() if each.id not in truth.foreign}
    for port in ours.values():
        if port.id not in needed:
            yield f"port {port.id} is left, and nobody needs it"
    for floating_ip in public.values():
        if floating_ip.port_id not in needed:
            yield f"floating IP {floating_ip.id} is left, and nobody needs it"
    for each, tags in [(port.id, port.tags) for port in ours.values()] + [(ip.id, ip.tags) for ip in public.values()]:
        if names.TAG not in tags:
            yield f"{each} does not bear our tag"
    allowed = {each.ip_address for port in ours.values() for each in port.fixed_ips} | {PAIR_OF_OTHERS}
    for name, port_id in truth.gateway_ports.items():
        has = {each.ip_address for each in truth.ports[port_id].allowed_address_pairs}
        should = allowed if name in truth.members else {PAIR_OF_OTHERS}
        if has != should:
            yield f"gateway {name} may use {sorted(has)}, and should {sorted(should)}"
    if missing := truth.foreign - truth.ports.keys() - truth.floating_ips.keys():
        yield f"{sorted(missing)} of others is gone"


def _nothing_is_left_on(service: Service, truth: Truth) -> Iterator[str]:
    if _strange(service):
        return
    if _has_ours(service) or service.deleting:
        yield f"{service.name} still bears something of ours"
    said = {each.type: each.reason for each in service.status.conditions if each.type in OUR_CONDITIONS}
    if said and not (_impossible(service) and said == {OUR_CONDITIONS[0]: "BadAnnotation"}):
        yield f"{service.name} still bears conditions of ours"
    shown = {each.ip for each in service.status.load_balancer.ingress}
    if shown & truth.published.get(service.metadata.uid, set()):
        yield f"{service.name} still shows an address that was ours"


def _members(truth: Truth, *, holders: bool = False) -> list[GatewayTwin]:
    """The gateways that there should be; with those that hold the addresses, and are on their way out."""
    return [
        each
        for name, each in truth.gateways.items()
        if name in truth.members or (holders and each.machine.daemon.vrrp is Vrrp.MASTER)
    ]


def _inner(truth: Truth, service: Service) -> set[str]:
    """The addresses that the gateways serve for a Service."""
    ports = (truth.ports.get(port) for port in _ports_of(service))
    return {port.fixed_ips[0].ip_address for port in ports if port}


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


def _live(truth: Truth, effect: Effect, gateway: GatewayTwin) -> bool:
    """It answers and does what it is told, or has not failed to for longer than what is overlooked."""
    if effect.process is None:
        return False
    trouble = (effect.process.failing.get(gateway.name), effect.process.refusing.get(gateway.name))
    return all(since is None or truth.now < since + GRACE for since in trouble)


def _holds(truth: Truth, effect: Effect, gateway: GatewayTwin) -> bool:
    """It answers and holds the addresses: it counts, whatever it refuses."""
    since = effect.process.failing.get(gateway.name) if effect.process is not None else 0.0
    return gateway.machine.daemon.vrrp is Vrrp.MASTER and (since is None or truth.now < since + GRACE)


def _settled(truth: Truth, service: Service) -> bool:
    """Whether nothing happened to a Service since it was given the address that it shows: no view may lack it.

    Its owner has not changed it, its port and floating IP are there, and no owner of a Service beside it on that port
    has changed that one.
    """
    ports = set(_ports_of(service))
    shown = {each.ip for each in service.status.load_balancer.ingress}
    if not shown or not _wanted(service) or not ports <= truth.ports.keys() or _edited(truth, service):
        return False
    if shown != {_public(truth, port) for port in ports}:
        return False
    beside = [each for each in truth.services.values() if ports & set(_ports_of(each)) and each.name != service.name]
    return not any(_edited(truth, each) and _keys(each) & _keys(service) for each in beside)


def _edited(truth: Truth, service: Service) -> bool:
    """Whether it wants something else than when it was last given an address."""
    promised = truth.promised.get(service.metadata.uid)
    return promised is not None and promised != _wishes(truth, service)


def _wishes(truth: Truth, service: Service) -> Promise:
    keys = frozenset((key.protocol, key.port) for key in _keys(service))
    return keys, _families(service), truth.turns[service.metadata.uid]


def _serves(gateway: GatewayTwin, service: Service, truth: Truth) -> bool:
    """Whether a gateway serves all that a Service wants, at the address of its port."""
    ports = [truth.ports.get(port) for port in _ports_of(service)]
    addresses = [port.fixed_ips[0].ip_address if port else "" for port in ports] or [""]
    wanted = {(address, key.protocol, key.port) for key in _keys(service) for address in addresses}
    return wanted <= {
        (each.address, each.protocol, each.port)
        for each in gateway.document.forwards
        if each.service == str(service.name)
    }


# What a Service is and wants is read here independently of the code that is judged.


def _wanted(service: Service) -> bool:
    spec, annotations = service.spec, service.metadata.annotations
    ours = spec.type == "LoadBalancer" and spec.load_balancer_class == names.GATEWAY_CLASS
    meant = ours and service.metadata.deletion_timestamp is None and annotations.get(names.MANAGED) != "false"
    return meant and not _impossible(service)


def _strange(service: Service) -> bool:
    """Of another class, and not held by us, whatever was copied into it."""
    spec = service.spec
    other = spec.type == "LoadBalancer" and spec.load_balancer_class != names.GATEWAY_CLASS
    return other and names.FINALIZER not in service.metadata.finalizers


def _impossible(service: Service) -> bool:
    """It says something that cannot be."""
    return _layer(service) not in {"pod", "node", "cluster"}


def _denied(truth: Truth, service: Service) -> bool:
    """Whether it asks for an address that there is not, that is in use by others, or that carries who is in its way."""
    asked = service.spec.load_balancer_ip
    found = next((each for each in truth.floating_ips.values() if each.floating_ip_address == asked), None)
    if not asked or found is None or found.description not in {truth.mark, ""}:
        return bool(asked)
    beside = [each for each in truth.services.values() if found.port_id in _ports_of(each) and _wanted(each)]
    rivals = [each for each in beside if each.name.namespace != service.name.namespace or _keys(each) & _keys(service)]
    return service not in beside and bool(rivals)


def _families(service: Service) -> tuple[str, ...]:
    return service.spec.ip_families or ("IPv4",)


def _public(truth: Truth, port: PortId) -> str:
    """Where a port is reached: by its floating IP, or by its own address of IPv6."""
    found = truth.ports.get(port)
    own = found.fixed_ips[0].ip_address if found and found.fixed_ips else ""
    floating = (each.floating_ip_address for each in truth.floating_ips.values() if each.port_id == port)
    return own if ":" in own else next(floating, "")


def _has_ours(service: Service) -> bool:
    """Our annotations (an opt-out is its owner's), or the finalizer that we rely on."""
    annotations = service.metadata.annotations
    managed = annotations.get(names.MANAGED) == "true"
    return managed or names.PORT in annotations or names.FINALIZER in service.metadata.finalizers


def _ports_of(service: Service) -> tuple[PortId, ...]:
    return tuple(PortId(each) for each in service.metadata.annotations.get(names.PORT, "").split(",") if each)


def _keys(service: Service) -> set[Key]:
    return {Key(each.protocol, each.port) for each in service.spec.ports}


def _theirs(service: Service) -> tuple[object, ...]:
    meta = service.metadata
    annotations = {name: text for name, text in meta.annotations.items() if name not in OUR_ANNOTATIONS}
    finalizers = [each for each in meta.finalizers if each not in OUR_FINALIZERS]
    conditions = [each for each in service.status.conditions if each.type not in OUR_CONDITIONS]
    return meta.labels, annotations, finalizers, service.spec, conditions
