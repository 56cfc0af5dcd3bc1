"""What a Service is, wants and has, read independently of the code that is judged."""

from msgspec import structs

from mooring.model import names
from mooring.model.cloud import PortId
from mooring.model.gateway import Key, Vrrp
from mooring.model.kubernetes import Name, Service
from tests.simulation.gateway import GatewayTwin
from tests.simulation.truth import CHOICES, Promise, Truth

OUR_FINALIZERS = {names.FINALIZER, names.CLEANUP_FINALIZER}
OUR_ANNOTATIONS = {names.MANAGED, names.PORT}
SUBNETS = ("10.0.0.", "fd00:10::")
"""Where ports have their addresses, in these worlds."""
LAYERS = {"pod", "node", "cluster"}
OUR_CONDITIONS = ("openstack.org/Accepted", "openstack.org/Allocated", "openstack.org/Programmed")


def wanted(service: Service) -> bool:
    spec, annotations = service.spec, service.metadata.annotations
    ours = spec.type == "LoadBalancer" and spec.load_balancer_class == names.GATEWAY_CLASS
    return ours and service.metadata.deletion_timestamp is None and annotations.get(names.MANAGED) != "false"


def strange(service: Service) -> bool:
    """Of another class, and not held by us, whatever was copied into it."""
    spec = service.spec
    other = spec.type == "LoadBalancer" and spec.load_balancer_class != names.GATEWAY_CLASS
    return other and names.FINALIZER not in service.metadata.finalizers


def impossible(truth: Truth, service: Service) -> bool:
    """It says something that cannot be: it gets no address, and what it has, it keeps."""
    there = service.metadata.annotations.get("openstack.org/mooring-layer", "pod") in LAYERS
    clear = internal(service) or service.metadata.annotations.get(names.INTERNAL) in {None, "true", "false"}
    return not there or not clear or any(each not in truth.choices for each in chosen(service))


def has_ours(service: Service) -> bool:
    """Our annotations (an opt-out is its owner's), or the finalizer that we rely on."""
    annotations = service.metadata.annotations
    managed = annotations.get(names.MANAGED) == "true"
    return managed or names.PORT in annotations or names.FINALIZER in service.metadata.finalizers


def theirs(service: Service) -> tuple[object, ...]:
    meta = service.metadata
    annotations = {name: text for name, text in meta.annotations.items() if name not in OUR_ANNOTATIONS}
    finalizers = [each for each in meta.finalizers if each not in OUR_FINALIZERS]
    conditions = [each for each in service.status.conditions if each.type not in {*OUR_CONDITIONS, names.SHARED}]
    return meta.labels, annotations, finalizers, service.spec, conditions


def ports_of(service: Service) -> tuple[PortId, ...]:
    return tuple(PortId(each) for each in service.metadata.annotations.get(names.PORT, "").split(",") if each)


def keys(service: Service) -> set[Key]:
    return {Key(each.protocol, each.port) for each in service.spec.ports}


def group(truth: Truth, name: Name) -> str:
    """Those that may share an address with a Service have the same."""
    return {"namespace": name.namespace, "cluster": "", "none": str(name)}[truth.sharing]


def families(service: Service) -> tuple[str, ...]:
    return service.spec.ip_families or ("IPv4",)


def _family(address: str) -> str:
    return "IPv6" if ":" in address else "IPv4"


def sent(service: Service) -> set[tuple[str, Key]]:
    """What packets come to, of each family."""
    return {(family, key) for family in families(service) for key in keys(service)}


def layer(service: Service) -> str:
    said = service.metadata.annotations.get("openstack.org/mooring-layer")
    return said if said in LAYERS else "pod"


def given_by_others(truth: Truth, service: Service) -> bool:
    """Whether it shows an address that no controller gave it, and has no port of ours: it is not our concern."""
    shown = {each.ip for each in service.status.load_balancer.ingress}
    ours = truth.published.get(service.metadata.uid, set())
    return bool(shown) and not shown & ours and not any(port in truth.ports for port in ports_of(service))


def denied(truth: Truth, service: Service) -> bool:
    """Whether it asks for an address that there is not, that is in use by others, or that carries who is in its way."""
    asked = service.spec.load_balancer_ip
    if asked and (_family(asked) not in families(service) or _kept_for_others(truth, service, asked)):
        return True
    if truth.static:
        return any(_used_up(truth, service, family) for family in families(service))
    port = next((each for each in truth.ports if asked and public(truth, each) == asked), None)
    if port is not None:
        return truth.ports[port].description != truth.mark or not _free(truth, service, port)
    if not asked:
        return False
    if not truth.floats or _family(asked) == "IPv6" or internal(service):
        return not asked.startswith(SUBNETS)
    found = next((each for each in truth.floating_ips.values() if each.floating_ip_address == asked), None)
    return found is None or found.port_id is not None or found.description not in {truth.mark, ""}


def _kept_for_others(truth: Truth, service: Service, address: str) -> bool:
    """Whether a floating IP stays, and for Services of other namespaces."""
    kept = kept_for(truth, address)
    return bool(kept) and service.name.namespace not in kept


def kept_for(truth: Truth, address: str) -> set[str]:
    """The namespaces for whose Services a floating IP stays."""
    found = next((each for each in truth.floating_ips.values() if each.floating_ip_address == address), None)
    tags = found.tags if found is not None and names.KEEP_TAG in found.tags else ()
    return {tag.removeprefix(names.NAMESPACE_TAG) for tag in tags if tag.startswith(names.NAMESPACE_TAG)}


def in_vain(truth: Truth, service: Service) -> bool:
    """It gets nothing of what it asks for, and keeps what it has."""
    return impossible(truth, service) or denied(truth, service)


def chosen(service: Service) -> list[str]:
    """Where its owner wants its address to come from."""
    annotations = service.metadata.annotations
    return [annotations[each] for each in CHOICES if annotations.get(each, "none") != "none"]


def internal(service: Service) -> bool:
    """Whether it is to have no floating IP."""
    said = service.metadata.annotations
    return said.get(names.FLOATING_NETWORK, {"true": "none"}.get(said.get(names.INTERNAL, ""))) == "none"


def _free(truth: Truth, service: Service, port: PortId) -> bool:
    """Whether nobody who has a port is in the way of a Service, which has it or could have it.

    What another namespace has, nobody may ask for, be it that they may share.
    """
    beside = [each for each in truth.services.values() if port in ports_of(each) and wanted(each)]
    asks = service.spec.load_balancer_ip == public(truth, port)
    has = service in beside and any(each.ip for each in service.status.load_balancer.ingress)
    return has or not any(
        group(truth, each.name) != group(truth, service.name)
        or _rivals(wishes(truth, each), wishes(truth, service))
        or (asks and each.name.namespace != service.name.namespace)
        for each in beside
        if each != service
    )


def _used_up(truth: Truth, service: Service, family: str) -> bool:
    """Whether of a list there is nothing for a Service: not what it asks for, or nothing at all."""
    asked = service.spec.load_balancer_ip
    there = (
        {asked} if asked and _family(asked) == family else {each for each in truth.static if _family(each) == family}
    )
    usable = [PortId(each) for each in there if each in truth.listed or each in ports_of(service)]
    return not any(_free(truth, service, each) for each in usable)


def public(truth: Truth, port: PortId) -> str:
    """Where a port is reached: by its floating IP, or by its own address of IPv6, or one that is to have no other."""
    found = truth.ports.get(port)
    own = found.fixed_ips[0].ip_address if found and found.fixed_ips else ""
    floating = (each.floating_ip_address for each in truth.floating_ips.values() if each.port_id == port)
    alone = found is not None and found.device_owner == names.INTERNAL_OWNER
    return own if ":" in own or not truth.floats or port in truth.static or alone else next(floating, "")


def inner(truth: Truth, service: Service) -> set[str]:
    """The addresses that the gateways serve for a Service."""
    ports = (truth.ports.get(port) for port in ports_of(service))
    return {port.fixed_ips[0].ip_address for port in ports if port}


def serves(gateway: GatewayTwin, service: Service, truth: Truth) -> bool:
    """Whether a gateway serves all that a Service wants, at the addresses of the families that it wants."""
    ports = [truth.ports.get(port) for port in ports_of(service)]
    named = [port.fixed_ips[0].ip_address if port else "" for port in ports]
    addresses = [each for each in named if ("IPv6" if ":" in each else "IPv4") in families(service)] or [""]
    wanted = {(address, key.protocol, key.port) for key in keys(service) for address in addresses}
    return wanted <= {
        (each.address, each.protocol, each.port)
        for each in gateway.document.forwards
        if each.service == str(service.name)
    }


def members(truth: Truth, *, holders: bool = False) -> list[GatewayTwin]:
    """The gateways that there should be; with those that hold the addresses, and are on their way out."""
    return [
        each
        for name, each in truth.gateways.items()
        if name in truth.members or (holders and each.machine.daemon.vrrp is Vrrp.MASTER)
    ]


def backends(service: Service, key: Key, truth: Truth, *, v6: bool) -> set[tuple[str, int]]:
    """Where packets to a port of a Service, at an address of this family, should go."""
    ports = [each for each in service.spec.ports if (each.protocol, each.port) == (key.protocol, key.port)]
    if layer(service) == "cluster":
        return set() if v6 else {(service.spec.cluster_ip, key.port)}
    if layer(service) == "pod":
        return endpoints(service, key, truth, v6=v6)
    local = {
        endpoint.node_name
        for found in truth.slices_of(service.name)
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


def endpoints(service: Service, key: Key, truth: Truth, *, v6: bool) -> set[tuple[str, int]]:
    """The ready endpoints of a Service's port of one family, over all of its slices."""
    named = {each.name for each in service.spec.ports if (each.protocol, each.port) == (key.protocol, key.port)}
    return {
        (address, number.port or 0)
        for found in truth.slices_of(service.name)
        for number in found.ports or ()
        if number.name in named and number.protocol == key.protocol
        for endpoint in found.endpoints or ()
        if endpoint.conditions.ready
        for address in endpoint.addresses
        if (":" in address) is v6
    }


def wishes(truth: Truth, service: Service) -> Promise:
    told = frozenset((key.protocol, key.port) for key in keys(service))
    company = service.metadata.annotations.get(names.SHARING_KEY, "")
    return Promise(told, families(service), company, truth.turns[service.metadata.uid])


def _edited(truth: Truth, service: Service, *, wish: bool = True) -> bool:
    """Whether it wants something else than when it was last given an address. Not `wish`: be it another address."""
    promised, now = truth.promised.get(service.metadata.uid), wishes(truth, service)
    if promised is not None and not wish:
        now = structs.replace(now, turns=promised.turns)
    return promised is not None and promised != now


def settled(truth: Truth, service: Service, *, reached: bool = True, wish: bool = True) -> bool:
    """Whether nothing happened to a Service since it was given the address that it shows: no view may lack it.

    Its owner has not changed it, its port and floating IP are there and ours, and nobody on that port wants again
    what it gave up once. Not `reached`: be it that its floating IP is not on its port. Not `wish`: be it that it asks
    for another address by now.
    """
    named, had = set(ports_of(service)), truth.had.get(service.metadata.uid, set())
    ports = named or had  # who names none was replaced by somebody, and shows what it has
    shown = {each.ip for each in service.status.load_balancer.ingress}
    there = truth.ports.keys() - (truth.foreign - truth.static.keys())
    if not shown or not wanted(service) or not ports <= there or _edited(truth, service, wish=wish):
        return False
    as_given = shown == {public(truth, port) for port in ports} if reached or not named else named == had
    if not as_given:
        return False
    beside = [each for each in truth.services.values() if ports & set(ports_of(each)) and each.name != service.name]
    return not any(_edited(truth, each) and _was_first(truth, each, service) for each in beside)


def _was_first(truth: Truth, one: Service, other: Service) -> bool:
    """Whether one wants again what it was promised once, and what the other one was promised since."""
    promised = (truth.promised.get(each.metadata.uid, wishes(truth, each)) for each in (one, other))
    return _rivals(wishes(truth, one), wishes(truth, other)) and _rivals(*promised)


def _rivals(one: Promise, other: Promise) -> bool:
    """Whether they cannot have an address together: they want the same of it, or not the same company."""
    return bool(one.keys & other.keys) or one.company != other.company
