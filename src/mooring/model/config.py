"""What an operator can configure, as frozen data, with the sentence that documents each key.

The structs are the only list of keys: reading, checking, `mooring config show` and the reference page all follow them.
A field's type decides what is allowed; where the type alone does not tell a person, `allowed` in its Meta does. Where
a pattern cannot tell everything, `holds` names what the text has to be, and core/config_values.py judges it.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct

# Kubernetes' own rule for labels: it fits wherever a name has to stand later, in tags, labels and host names.
LABEL = r"\A[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z"
LABEL_LENGTH = 63
LABEL_ALLOWED = "lower-case letters, digits and inner dashes, at most 63 characters"

ENDPOINT = r"\A(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):[0-9]{1,5}\Z"
INTERFACE = r"\A[A-Za-z0-9_.-]{1,15}\Z"
V4 = r"\A[0-9]{1,3}(\.[0-9]{1,3}){3}\Z"
V4_OR_NOTHING = r"\A([0-9]{1,3}(\.[0-9]{1,3}){3})?\Z"
RANGE = r"\A[0-9A-Fa-f:./ -]+\Z"
ALSO = r"\A[0-9A-Fa-f:.]+ dev [A-Za-z0-9_.-]{1,15}\Z"

PATH = {"allowed": "the path of a file"}
FOLDER = {"allowed": "the path of a folder"}
ID = {"allowed": "an id, or a name that only one has"}
IDS = {"allowed": "a list of ids, or of names that only one has"}
LISTEN = {"allowed": "an address or host name, a colon and a port", "holds": "endpoint"}
NAME = {"allowed": "a name, not empty"}
RANGES = {
    "allowed": 'a list of texts such as "192.0.2.10", "192.0.2.10-192.0.2.40", "2001:db8::/120"',
    "holds": "range",
}


class Cluster(Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[
        str,
        Meta(
            pattern=LABEL,
            max_length=LABEL_LENGTH,
            description="What people call this cluster; it stands in the names of what is made in OpenStack.",
            extra={"allowed": LABEL_ALLOWED},
        ),
    ] = "kubernetes"


class Kubernetes(Struct, frozen=True, forbid_unknown_fields=True):
    kubeconfig: (
        Annotated[
            str,
            Meta(
                min_length=1,
                description="The kubeconfig to use; without it the pod's ServiceAccount, then `KUBECONFIG`.",
                extra=PATH,
            ),
        ]
        | None
    ) = None
    context: (
        Annotated[
            str,
            Meta(min_length=1, description="The context to use; without it the kubeconfig's own.", extra=NAME),
        ]
        | None
    ) = None


class OpenStack(Struct, frozen=True, forbid_unknown_fields=True):
    cloud: (
        Annotated[
            str,
            Meta(min_length=1, description="The entry of clouds.yaml to use; without it `OS_CLOUD`.", extra=NAME),
        ]
        | None
    ) = None
    clouds_file: (
        Annotated[
            str,
            Meta(
                min_length=1,
                description="The clouds.yaml to use; without it `OS_CLIENT_CONFIG_FILE`, then the usual places.",
                extra=PATH,
            ),
        ]
        | None
    ) = None


class Services(Struct, frozen=True, forbid_unknown_fields=True):
    claim_unclassed: Annotated[
        bool,
        Meta(
            description="Whether Services without a class are served too. Only where nobody else serves them, such as "
            "a cloud controller manager. Where it is unset again, those that are served stay so, until they opt out.",
            extra={"allowed": "true, false"},
        ),
    ] = False
    ip_mode: Annotated[
        Literal["Proxy", "VIP"],
        Meta(
            description="What a Service's status says of its address: that the nodes too have to go by the gateways, "
            "or that kube-proxy may answer for them itself."
        ),
    ] = "Proxy"


class Addresses(Struct, frozen=True, forbid_unknown_fields=True):
    network: (
        Annotated[
            str,
            Meta(min_length=1, description="The network of the gateways' ports and of the addresses.", extra=ID),
        ]
        | None
    ) = None
    subnet: (
        Annotated[
            str,
            Meta(
                min_length=1,
                description="The subnet that addresses are taken from; without it the network's only one of IPv4.",
                extra=ID,
            ),
        ]
        | None
    ) = None
    floating_network: (
        Annotated[
            str,
            Meta(
                min_length=1,
                description="The network that floating IPs come from; without it Services show the port's address.",
                extra=ID,
            ),
        ]
        | None
    ) = None
    sharing: Annotated[
        Literal["namespace", "cluster", "none"],
        Meta(description="Which Services may share an address: those of one namespace, all of them, or none."),
    ] = "namespace"
    subnet_ipv6: (
        Annotated[
            str,
            Meta(
                min_length=1,
                description="The subnet that addresses of IPv6 are taken from; without it Services get none of IPv6.",
                extra=ID,
            ),
        ]
        | None
    ) = None
    manage_security_group: Annotated[
        bool,
        Meta(
            description="Whether the controller keeps a security group of its own on the gateways' ports, beside those "
            "that they have: stateless, with what Services need. Else you see to it that packets come through.",
            extra={"allowed": "true, false"},
        ),
    ] = False
    pairs_limit: Annotated[
        int,
        Meta(
            ge=0,
            description="Neutron's `max_allowed_address_pair`, 10 unless its operator raised it: how many addresses a "
            "gateway's port may be given. Who comes too late is told so before anything is made for it. 0: not known, "
            "Neutron itself says when it is reached.",
            extra={"allowed": "a number from 0"},
        ),
    ] = 10
    wishes: Annotated[
        Literal["own", "shared", "none"],
        Meta(
            description="Which addresses a Service may ask for: those that no other namespace has, also those that it "
            "may share with others, or none."
        ),
    ] = "own"
    wishes_allowed: Annotated[
        tuple[Annotated[str, Meta(pattern=RANGE)], ...],
        Meta(description="The only addresses that Services may ask for; without it all.", extra=RANGES),
    ] = ()
    subnets_allowed: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...],
        Meta(
            description="Other subnets of the network, which a Service may choose by its annotation "
            "`openstack.org/mooring-subnet`.",
            extra=IDS,
        ),
    ] = ()
    floating_networks_allowed: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...],
        Meta(
            description="Other networks of floating IPs, which a Service may choose by its annotation "
            "`openstack.org/mooring-floating-network`. To have no floating IP (`none`) is always allowed.",
            extra=IDS,
        ),
    ] = ()
    static: Annotated[
        tuple[Annotated[str, Meta(pattern=RANGE)], ...],
        Meta(
            description="All addresses for Services, at most 4096, instead of a network: OpenStack is not asked for "
            "anything. Of a prefix, network and broadcast address are left out.",
            extra=RANGES,
        ),
    ] = ()


class Backends(Struct, frozen=True, forbid_unknown_fields=True):
    layer: Annotated[
        Literal["pod", "node", "cluster"],
        Meta(
            description=(
                "Where the gateways send packets: straight to the pods, to the NodePort of the nodes, or to the "
                "cluster IP. A Service chooses another by its annotation `openstack.org/mooring-layer`."
            )
        ),
    ] = "pod"
    probe_port: Annotated[
        int,
        Meta(
            ge=0,
            le=65535,
            description=(
                "The TCP port at which the gateways ask every node, once a second, whether it answers, such as 10256, "
                "that of kube-proxy's health. One that answers no gateway is sent nothing at the layer `node`. "
                "0: nobody asks, and what Kubernetes says of a node counts."
            ),
            extra={"allowed": "a number from 0 to 65535"},
        ),
    ] = 0


class Gateway(Struct, frozen=True, forbid_unknown_fields=True):
    agent: Annotated[
        str,
        Meta(pattern=ENDPOINT, description="Where its agent listens.", extra=LISTEN),
    ]
    port: (
        Annotated[
            str,
            Meta(
                min_length=1,
                description="The Neutron port of its interface; required, unless addresses are a static list.",
                extra=ID,
            ),
        ]
        | None
    ) = None


class Tls(Struct, frozen=True, forbid_unknown_fields=True):
    ca: Annotated[
        str, Meta(min_length=1, description="The certificate of the authority that signed the others.", extra=PATH)
    ] = "/etc/mooring/tls/ca.crt"
    certificate: Annotated[
        str, Meta(min_length=1, description="The certificate of this controller or agent.", extra=PATH)
    ] = "/etc/mooring/tls/tls.crt"
    key: Annotated[str, Meta(min_length=1, description="The key that belongs to it.", extra=PATH)] = (
        "/etc/mooring/tls/tls.key"
    )


class Controller(Struct, frozen=True, forbid_unknown_fields=True):
    monitoring: Annotated[
        str,
        Meta(pattern=ENDPOINT, description="Where it answers /healthz, /readyz and /metrics.", extra=LISTEN),
    ] = "127.0.0.1:9440"
    reconcile: Annotated[
        Literal["act", "observe"],
        Meta(
            description="Whether it does what it decides, or only says what it would do, and writes nothing anywhere: "
            "for a first look at a cluster."
        ),
    ] = "act"


class Agent(Struct, frozen=True, forbid_unknown_fields=True):
    listen: Annotated[str, Meta(pattern=ENDPOINT, description="Where it listens to the controller.", extra=LISTEN)] = (
        "0.0.0.0:9443"
    )
    monitoring: Annotated[
        str,
        Meta(pattern=ENDPOINT, description="Where it answers /healthz, /readyz and /metrics.", extra=LISTEN),
    ] = "127.0.0.1:9441"
    state: Annotated[
        str, Meta(min_length=1, description="The folder in which it keeps what it was told.", extra=FOLDER)
    ] = "/var/lib/mooring"
    kernel: Annotated[
        Literal["set", "check"],
        Meta(description="Whether it sets the kernel's settings that it needs, or only says which are not so."),
    ] = "set"


class Vrrp(Struct, frozen=True, forbid_unknown_fields=True):
    interface: Annotated[
        str,
        Meta(
            pattern=INTERFACE,
            description="The gateway's interface in the network of the addresses.",
            extra={"allowed": "the name of an interface"},
        ),
    ] = "eth0"
    router_id: Annotated[
        int,
        Meta(
            ge=1,
            le=255,
            description="The number of the group of gateways; another one of the same network needs another number.",
            extra={"allowed": "1 to 255"},
        ),
    ] = 51
    interval: Annotated[
        float,
        Meta(
            ge=0.05,
            le=10.0,
            description="Seconds between two adverts; about three of them lost, and another gateway takes over.",
            extra={"allowed": "0.05 to 10"},
        ),
    ] = 0.1
    address: Annotated[
        str,
        Meta(
            pattern=V4,
            description="The address that is advertised; nobody else uses it, and nobody is sent to it.",
            extra={"allowed": "an IPv4 address, best a link-local one", "holds": "v4"},
        ),
    ] = "169.254.77.1"
    also: Annotated[
        tuple[Annotated[str, Meta(pattern=ALSO)], ...],
        Meta(
            description="Addresses that move with those of the Services, such as the nodes' way out.",
            extra={"allowed": 'a list of texts such as "192.0.2.1 dev eth1"', "holds": "also"},
        ),
    ] = ()
    mode: Annotated[
        Literal["single", "spread"],
        Meta(description="One gateway holds all addresses, or each gateway holds a share of them."),
    ] = "single"
    instances: Annotated[
        int,
        Meta(
            ge=1,
            le=32,
            description="The number of gateways that share the addresses. As many numbers are used, from `router_id` "
            "on, and as many addresses, from `address` on.",
            extra={"allowed": 'with mode "single" 1, with "spread" 2 to 32'},
        ),
    ] = 1
    instance: Annotated[
        int,
        Meta(
            ge=0,
            le=31,
            description="Which share this gateway holds before others do; each gateway has another.",
            extra={"allowed": "0 to one less than `instances`"},
        ),
    ] = 0
    peers: Annotated[
        tuple[Annotated[str, Meta(pattern=V4)], ...],
        Meta(
            description="The other gateways, where the network has no multicast: adverts are sent to each of them.",
            extra={"allowed": "a list of IPv4 addresses", "holds": "v4"},
        ),
    ] = ()
    source_address: Annotated[
        str,
        Meta(
            pattern=V4_OR_NOTHING,
            description="The address of this gateway that its peers know.",
            extra={"allowed": "an IPv4 address; nothing, where there are no peers", "holds": "v4 or nothing"},
        ),
    ] = ""
    daemon: Annotated[
        Literal["own", "host"],
        Meta(description="A keepalived of the agent's own, or the one that the host runs."),
    ] = "own"
    file: Annotated[
        str,
        Meta(
            min_length=1,
            description="Where the agent writes its part of the configuration of the host's keepalived.",
            extra=PATH,
        ),
    ] = "/etc/keepalived/conf.d/mooring.conf"
    main: Annotated[
        str,
        Meta(
            min_length=1,
            description="The configuration of the host's keepalived; it has to include `file`.",
            extra=PATH,
        ),
    ] = "/etc/keepalived/keepalived.conf"
    pid_file: Annotated[
        str,
        Meta(min_length=1, description="Where the host's keepalived says which process it is.", extra=PATH),
    ] = "/run/keepalived.pid"
    reload: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...],
        Meta(
            description="What makes the host's keepalived read its configuration again.",
            extra={"allowed": "a list: a command and its words"},
        ),
    ] = ("systemctl", "reload", "keepalived")


class Forwarding(Struct, frozen=True, forbid_unknown_fields=True):
    snat: Annotated[
        Literal["vip", "never", "masquerade"],
        Meta(
            description=(
                "Whom backends see: the Service's address, the client itself (they have to answer by way of the "
                "gateways), or the gateway. With the last, connections do not survive a move to another gateway."
            )
        ),
    ] = "vip"
    denied: Annotated[
        Literal["reject", "drop"],
        Meta(description="Whether clients outside loadBalancerSourceRanges are refused, or hear nothing."),
    ] = "reject"
    removed: Annotated[
        Literal["drain", "end"],
        Meta(description="Whether connections to a backend that is gone may go on until they end, or are ended."),
    ] = "drain"
    counters: Annotated[
        Literal["connections", "bytes", "endpoints"],
        Meta(description="What is counted for each Service: connections; packets and bytes too; each endpoint too."),
    ] = "connections"


class Log(Struct, frozen=True, forbid_unknown_fields=True):
    level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Meta(description="The least severe messages that are written."),
    ] = "info"
    format: Annotated[
        Literal["text", "json"],
        Meta(description="Lines for people, or one JSON object per line for machines."),
    ] = "text"


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    cluster: Annotated[Cluster, Meta(description="The cluster as a whole.")] = Cluster()
    kubernetes: Annotated[Kubernetes, Meta(description="How the Kubernetes API is reached.")] = Kubernetes()
    openstack: Annotated[OpenStack, Meta(description="How OpenStack is reached.")] = OpenStack()
    services: Annotated[Services, Meta(description="Which Services are served, and how they say so.")] = Services()
    addresses: Annotated[Addresses, Meta(description="Where the addresses of Services come from.")] = Addresses()
    backends: Annotated[Backends, Meta(description="Where the packets of Services go.")] = Backends()
    gateways: Annotated[
        Mapping[str, Gateway],
        Meta(description="The gateways: a table for each, `[gateways.NAME]`. A file is the only place for them."),
    ] = {}
    tls: Annotated[Tls, Meta(description="How controller and agents know each other.")] = Tls()
    controller: Annotated[Controller, Meta(description="`mooring controller`.")] = Controller()
    agent: Annotated[Agent, Meta(description="`mooring agent`.")] = Agent()
    vrrp: Annotated[Vrrp, Meta(description="How the gateways agree who holds the addresses.")] = Vrrp()
    forwarding: Annotated[Forwarding, Meta(description="How the gateways treat packets.")] = Forwarding()
    log: Annotated[Log, Meta(description="What the daemons write about their work.")] = Log()

    @property
    def acts(self) -> bool:
        """Whether a controller does what it decides."""
        return self.controller.reconcile == "act"
