"""What the commands that look tell (`mooring status`, `why`, `plan`, `who`, ...): the structs that `-o json` prints.

Fields are added, never renamed or given another meaning. Times are texts as Kubernetes writes them.
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

State = Literal["served", "refusing", "waiting", "stuck", "other", "unknown"]
"""How a Service is:

served    packets reach it
refusing  it has its address, and no endpoint: connections are refused
waiting   the controller goes on by itself, if one leads
stuck     somebody has to do something
other     it is not Mooring's
unknown   OpenStack could not be asked
"""
Mark = Literal["ok", "warn", "not"]


class Missing(Struct, frozen=True):
    """Something that could not be looked at, and why."""

    what: str
    why: str


class ControllerReport(Struct, frozen=True):
    """Who leads, by the Lease. Without `leads`, it is who led last."""

    leads: bool = False
    identity: str = ""
    since: str = ""
    renewed: str = ""
    renewed_seconds_ago: float | None = None
    epoch: int = 0


class GatewayReport(Struct, frozen=True):
    """One gateway, as its agent answers. `current`: it holds the wanted document; null where nobody can tell.

    `drained`: a person told it to give way. `connections`: those that its kernel follows now.
    """

    name: str
    answers: bool
    vrrp: str = ""
    epoch: int = 0
    generation: int = 0
    current: bool | None = None
    stale: bool = False
    version: str = ""
    failure: str = ""
    drained: bool = False
    connections: int = 0
    certificate_ends: str = ""


class GatewaysReport(Struct, frozen=True):
    """What `mooring gateway list` tells."""

    gateways: tuple[GatewayReport, ...]


class Carried(Struct, frozen=True):
    """What a Service has on an address: ports as `80/TCP`."""

    service: str
    ports: tuple[str, ...]


class AddressReport(Struct, frozen=True):
    """An address that Mooring has made. `going`: it bears the tag that says that it goes away."""

    public: str
    inner: str
    port: str
    carries: tuple[Carried, ...] = ()
    going: bool = False


class ServiceReport(Struct, frozen=True):
    """A Service of Mooring's. `address` is what it shows; reason and message are those of what matters most."""

    namespace: str
    name: str
    address: str
    state: State
    reason: str
    message: str


class StatusReport(Struct, frozen=True):
    """What `mooring status` tells. `problems` are sentences about everything that is not a single Service.

    `others` counts the Services of type LoadBalancer that are not Mooring's, `free` the addresses of a static list that
    nobody has. `observes`: the controller is configured to write nothing, and nobody leads; `steps` is how many it
    would take next, and 0 where it acts.
    """

    well: bool
    controller: ControllerReport
    gateways: tuple[GatewayReport, ...]
    addresses: tuple[AddressReport, ...]
    services: tuple[ServiceReport, ...]
    others: int
    problems: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()
    observes: bool = False
    steps: int = 0
    free: int = 0


class VerdictReport(Struct, frozen=True):
    """One answer to `why`. `warn`: well as far as Mooring goes, and yet there is something to do."""

    mark: Mark
    reason: str
    fact: str
    fix: str = ""


class PortEndpoints(Struct, frozen=True):
    """How many endpoints, nodes or cluster IPs packets to a port, such as `80/TCP`, are sent to."""

    port: str
    endpoints: int


class EndpointsReport(Struct, frozen=True):
    """What the EndpointSlices of a Service say: `ready` of `endpoints`, in so many `slices`.

    `layer` is where its packets enter the cluster: pod, node or cluster.
    """

    slices: int
    endpoints: int
    ready: int
    ports: tuple[PortEndpoints, ...]
    layer: str = "pod"


class StepReport(Struct, frozen=True):
    """Something to do: `step` is its name, `to_do` the same in words, `about` the object, `details` what with."""

    step: str
    about: str
    to_do: str
    details: Mapping[str, str]


class WhyReport(Struct, frozen=True):
    """What `mooring why` tells. `verdicts` in order: what comes later depends on what comes first.

    `as_told`: OpenStack could not be asked, so the verdicts are what a controller last wrote on the Service. `next` is
    null where nothing is to be done, or where nobody can tell.
    """

    service: str
    well: bool
    state: State
    verdicts: tuple[VerdictReport, ...]
    as_told: bool
    gateways: tuple[GatewayReport, ...]
    endpoints: EndpointsReport
    next: StepReport | None
    leads: bool
    missing: tuple[Missing, ...] = ()


class PlanReport(Struct, frozen=True):
    """What `mooring plan` tells: the next step of each Service that has one, then what of ours is cleaned up.

    `gateways` are those that have to be told. `waiting` is what bears the tag that says that it goes, and is deleted
    once its time has come. `observes`: it does nothing of this, because it is configured to observe.
    """

    services: tuple[StepReport, ...]
    gateways: tuple[str, ...]
    cleaning: tuple[StepReport, ...]
    waiting: tuple[StepReport, ...]
    leads: bool
    missing: tuple[Missing, ...] = ()
    observes: bool = False

    @property
    def has_steps(self) -> bool:
        return self.steps > 0

    @property
    def steps(self) -> int:
        return len(self.services) + len(self.gateways) + len(self.cleaning)


class FoundService(Struct, frozen=True):
    """A Service at an address, with its ports there as `80/TCP`, and how it is.

    `connections` that it was asked for at these ports, by all gateways that say so, each since it serves them; null, if
    none does. Bytes are what clients sent and were sent; null, where they are not counted.
    """

    service: str
    ports: tuple[str, ...]
    state: State
    reason: str
    connections: int | None = None
    received_bytes: int | None = None
    sent_bytes: int | None = None


class WhoReport(Struct, frozen=True):
    """What `mooring who` tells. `ours`: Mooring made the address; then `address` is it, and `services` are at it.

    `floating_ip` is its id. `allowed` are the gateways whose ports may use it, `holders` those that hold the addresses
    now, by VRRP. `others`: sentences on who else has it; without any of this nobody is known who does.
    """

    asked: str
    ours: bool
    well: bool
    address: AddressReport | None = None
    floating_ip: str = ""
    services: tuple[FoundService, ...] = ()
    allowed: tuple[str, ...] = ()
    holders: tuple[str, ...] = ()
    gateways: tuple[GatewayReport, ...] = ()
    others: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()


class OrphanReport(Struct, frozen=True):
    """Something in OpenStack that bears Mooring's mark, of the cluster with this identity.

    `going`: it bears the tag that says that it goes. `held_back`: it does not before a person says so, because it is
    one of too many at once. `shown_by`: Services that show its address to the world. `in_use_on`: the port of somebody
    else that it is on; it stays there, and is given back.
    """

    kind: Literal["port", "floating IP"]
    id: str
    address: str
    cluster: str
    created: str = ""
    going: bool = False
    shown_by: tuple[str, ...] = ()
    held_back: bool = False
    in_use_on: str = ""


class EntryReport(Struct, frozen=True):
    """An address that the port of a gateway may use, and that no port has."""

    gateway: str
    port: str
    address: str


class TaggedReport(Struct, frozen=True):
    """What became of an orphan that somebody let go: it was tagged, or why not."""

    kind: Literal["port", "floating IP"]
    id: str
    address: str
    tagged: bool
    why: str = ""


class OrphansReport(Struct, frozen=True):
    """What `mooring orphans` tells: `orphans` of this cluster, and what bears the marks of other clusters.

    What others have is theirs, needed or not: only their own Mooring can tell. `entries` may be of anybody. `tagged` is
    what `--delete` did.
    """

    orphans: tuple[OrphanReport, ...]
    others: tuple[OrphanReport, ...]
    entries: tuple[EntryReport, ...]
    leads: bool
    missing: tuple[Missing, ...] = ()
    tagged: tuple[TaggedReport, ...] = ()


class Finding(Struct, frozen=True):
    """One thing that a doctor looked at: what was seen, and what to do where that is not well."""

    what: str
    well: bool
    seen: str
    fix: str = ""


class DoctorReport(Struct, frozen=True):
    """What `mooring doctor` and `mooring agent doctor` tell."""

    well: bool
    findings: tuple[Finding, ...]


class FailedReport(Struct, frozen=True):
    """A step that could not be taken, and why."""

    step: StepReport
    why: str


class UninstallReport(Struct, frozen=True):
    """What `mooring uninstall` tells: the `steps` that there were to take, in their order, by what was seen first.

    `done` and `failed` are what `--delete` did. `clean`: nothing of Mooring's is left, in Kubernetes and in OpenStack.
    `missing` are gateways that do not answer: what is on their hosts stays there. `in_the_way`: why nothing can be
    removed now, and what to do.
    """

    steps: tuple[StepReport, ...]
    clean: bool
    done: tuple[StepReport, ...] = ()
    failed: tuple[FailedReport, ...] = ()
    missing: tuple[Missing, ...] = ()
    in_the_way: str = ""
