"""The fields of a Service, as the API server's own types hold them."""

import functools
from datetime import UTC, datetime

from msgspec import UNSET, Struct, UnsetType

from mooring.kube.twin.answers import Json, Mistyped
from mooring.kube.twin.metadata import fitted


class Port(Struct, rename="camel", omit_defaults=True):
    name: str = ""
    protocol: str = ""
    app_protocol: str | None = None
    port: int = 0
    target_port: int | str = 0
    node_port: int = 0


class ClientIP(Struct, rename="camel", omit_defaults=True):
    timeout_seconds: int | None = None


class Affinity(Struct, omit_defaults=True):
    clientIP: ClientIP | None = None  # noqa: N815 - the API's own spelling


class Spec(Struct, omit_defaults=True):
    """Spelled as in the API: its names follow no rule that could be told to a machine."""

    ports: list[Port] = []
    selector: dict[str, str] = {}
    clusterIP: str = ""  # noqa: N815
    clusterIPs: list[str] = []  # noqa: N815
    type: str = ""
    externalIPs: list[str] = []  # noqa: N815
    sessionAffinity: str = ""  # noqa: N815
    loadBalancerIP: str = ""  # noqa: N815
    loadBalancerSourceRanges: list[str] = []  # noqa: N815
    externalName: str = ""  # noqa: N815
    externalTrafficPolicy: str = ""  # noqa: N815
    healthCheckNodePort: int = 0  # noqa: N815
    publishNotReadyAddresses: bool = False  # noqa: N815
    sessionAffinityConfig: Affinity | None = None  # noqa: N815
    ipFamilies: list[str] = []  # noqa: N815
    ipFamilyPolicy: str | None = None  # noqa: N815
    allocateLoadBalancerNodePorts: bool | None = None  # noqa: N815
    loadBalancerClass: str | None = None  # noqa: N815
    internalTrafficPolicy: str | None = None  # noqa: N815
    trafficDistribution: str | None = None  # noqa: N815


class PortStatus(Struct, omit_defaults=True):
    port: int = 0
    protocol: str = ""
    error: str | None = None


class Ingress(Struct, rename="camel", omit_defaults=True):
    ip: str = ""
    hostname: str = ""
    ip_mode: str | None = None
    ports: list[PortStatus] = []


class LoadBalancer(Struct, frozen=True, omit_defaults=True):
    ingress: list[Ingress] = []


class Condition(Struct, rename="camel"):
    type: str = ""
    status: str = ""
    observed_generation: int | UnsetType = UNSET
    last_transition_time: str | None = None
    reason: str = ""
    message: str = ""


class Status(Struct, rename="camel"):
    load_balancer: LoadBalancer = LoadBalancer()
    conditions: list[Condition] | UnsetType = UNSET


def spec(value: Json) -> Json:
    return fitted(value or {}, Spec)


def status(value: Json) -> Json:
    told = fitted(value or {}, Status)
    if not told.get("conditions"):
        told.pop("conditions", None)
    for condition in told.get("conditions", ()):
        condition["lastTransitionTime"] = _second(condition["lastTransitionTime"])
    return told


@functools.lru_cache(maxsize=1024)
def _second(moment: str | None) -> str | None:
    if moment is None:
        return None
    try:
        parsed = datetime.fromisoformat(moment)
    except ValueError:
        raise Mistyped(f'parsing time "{moment}" as "2006-01-02T15:04:05Z07:00"') from None
    if parsed.tzinfo is None:
        raise Mistyped(f'parsing time "{moment}" as "2006-01-02T15:04:05Z07:00"')
    return parsed.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
