"""What is remembered of objects that are followed: what decisions are made of, and of what is equal, one.

There may be ten thousand Services with a hundred thousand endpoints. Half of what the API server sends of them is for
others, and most of the rest is the same words.
"""

import sys
from functools import lru_cache

from msgspec.structs import replace

from mooring.model import names
from mooring.model.gateway import Key
from mooring.model.kubernetes import (
    Condition,
    Endpoint,
    EndpointConditions,
    EndpointPort,
    EndpointSlice,
    Ingress,
    LoadBalancerStatus,
    Meta,
    Service,
    ServicePort,
    ServiceSpec,
)

once = sys.intern
"""The one text that stands for all that are equal to it."""
NO_TEXTS: dict[str, str] = {}
OURS = "openstack.org/"
"""Begins every annotation of ours."""
OF_OTHERS = frozenset(
    {
        *(each for alike in names.ALIKE.values() for each in alike),
        *names.NOT_DONE,
        *(names.SOURCE_RANGES, names.INTERNAL, names.MANAGED_BY_CAH),
    }
)
"""Annotations that are not ours, and that are read."""


def service(each: Service) -> Service:
    ours = {once(key): once(text) for key, text in each.metadata.annotations.items() if _says_something(key)}
    status = replace(
        each.status,
        load_balancer=_shown(each.status.load_balancer),
        conditions=tuple(map(_condition, each.status.conditions)),
    )
    meta = replace(_meta(each.metadata, annotations=ours), creation_timestamp=each.metadata.creation_timestamp)
    return Service(meta, _spec(each.spec), status)


def _says_something(annotation: str) -> bool:
    return annotation.startswith(OURS) or annotation in OF_OTHERS


def endpoint_slice(each: EndpointSlice) -> EndpointSlice:
    owner = each.metadata.labels.get(names.SERVICE_NAME)
    return EndpointSlice(
        _meta(each.metadata, labels={names.SERVICE_NAME: once(owner)} if owner else NO_TEXTS),
        once(each.address_type),
        tuple(map(_endpoint, each.endpoints or ())),
        _offered(each.ports or ()),
    )


def _meta(meta: Meta, *, labels: dict[str, str] = NO_TEXTS, annotations: dict[str, str] = NO_TEXTS) -> Meta:
    return Meta(
        name=once(meta.name),
        namespace=once(meta.namespace),
        uid=meta.uid,
        resource_version=meta.resource_version,
        generation=meta.generation,
        deletion_timestamp=meta.deletion_timestamp,
        labels=labels,
        annotations=annotations or NO_TEXTS,
        finalizers=_texts(meta.finalizers),
    )


def _spec(spec: ServiceSpec) -> ServiceSpec:
    return replace(
        spec,
        type=once(spec.type),
        ports=_ports(spec.ports),
        cluster_ip=once(spec.cluster_ip),
        cluster_ips=tuple(map(once, spec.cluster_ips)),
        ip_families=_texts(spec.ip_families),
        ip_family_policy=once(spec.ip_family_policy),
        load_balancer_class=once(spec.load_balancer_class),
        external_traffic_policy=once(spec.external_traffic_policy),
        session_affinity=once(spec.session_affinity),
    )


def _condition(each: Condition) -> Condition:
    return replace(
        each,
        type=once(each.type),
        status=once(each.status),
        reason=once(each.reason),
        message=once(each.message),
        last_transition_time=once(each.last_transition_time) if each.last_transition_time else None,
    )


def _endpoint(each: Endpoint) -> Endpoint:
    return Endpoint(each.addresses, _conditions(each.conditions), once(each.node_name))


@lru_cache(maxsize=256)
def _texts(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(once, texts))


@lru_cache(maxsize=1024)
def _ports(ports: tuple[ServicePort, ...]) -> tuple[ServicePort, ...]:
    return ports


@lru_cache(maxsize=1024)
def _offered(ports: tuple[EndpointPort, ...]) -> tuple[EndpointPort, ...]:
    return ports


@lru_cache(maxsize=1024)
def _shown(status: LoadBalancerStatus) -> LoadBalancerStatus:
    return LoadBalancerStatus(tuple(map(_ingress, status.ingress)))


def _ingress(each: Ingress) -> Ingress:
    return replace(each, ip=once(each.ip), ip_mode=once(each.ip_mode), ports=_keys(each.ports))


@lru_cache(maxsize=1024)
def _keys(keys: tuple[Key, ...]) -> tuple[Key, ...]:
    return keys


@lru_cache(maxsize=64)
def _conditions(conditions: EndpointConditions) -> EndpointConditions:
    return conditions
