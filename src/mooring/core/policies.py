"""Which NetworkPolicies bear on the pods of a Service, as far as its own selector tells: pods are not looked at.

A pod behind a Service certainly has the labels that the Service selects by, and perhaps any others. A Service without a
selector has endpoints that somebody wrote by hand: nobody can tell whether they are pods.

what a policy asks of a label  the label has the value v  nobody knows the label
-----------------------------  -------------------------  ----------------------
is x, is one of x, y           yes if v is one of them    perhaps
is none of x, y                yes if v is none of them   perhaps
is there                       yes                        perhaps
is not there                   no                         perhaps
anything else                  perhaps                    perhaps

A policy selects a pod if all that it asks holds. One that asks nothing selects every pod of its namespace.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct

from mooring.model.kubernetes import NetworkPolicy, Requirement, Service

Answer = Literal["yes", "perhaps", "no"]


class Bearing(Struct, frozen=True):
    """The names of the policies that select a Service's pods, and of those that may."""

    surely: tuple[str, ...] = ()
    perhaps: tuple[str, ...] = ()


def bearing_on(service: Service, policies: Iterable[NetworkPolicy]) -> Bearing:
    """The policies that decide who may speak to the pods of a Service."""
    found = {
        each.metadata.name: selects(each, service.spec.selector)
        for each in policies
        if each.metadata.namespace == service.metadata.namespace and restricts(each)
    }
    return Bearing(
        tuple(sorted(name for name, answer in found.items() if answer == "yes")),
        tuple(sorted(name for name, answer in found.items() if answer == "perhaps")),
    )


def restricts(policy: NetworkPolicy) -> bool:
    """Whether it says who may speak to pods; without a word on its types, a policy does."""
    return not policy.spec.policy_types or "Ingress" in policy.spec.policy_types


def selects(policy: NetworkPolicy, labels: Mapping[str, str]) -> Answer:
    """Whether it selects pods that have these labels, and perhaps more."""
    answers = {_answer(each, labels) for each in _asked(policy)}
    if "no" in answers:
        return "no"
    return "perhaps" if "perhaps" in answers or not labels else "yes"


def _asked(policy: NetworkPolicy) -> Iterator[Requirement]:
    selector = policy.spec.pod_selector
    for key, value in selector.match_labels.items():
        yield Requirement(key, "In", (value,))
    yield from selector.match_expressions


def _answer(asked: Requirement, labels: Mapping[str, str]) -> Answer:
    value = labels.get(asked.key)
    if value is None:
        return "perhaps"
    holds = {
        "In": value in asked.values,
        "NotIn": value not in asked.values,
        "Exists": True,
        "DoesNotExist": False,
    }.get(asked.operator)
    if holds is None:
        return "perhaps"
    return "yes" if holds else "no"
