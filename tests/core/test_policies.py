"""Which NetworkPolicies bear on a Service's pods: every row of the table, and that what is certain is certain."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.core import policies
from mooring.core.policies import Bearing
from mooring.model.kubernetes import (
    LabelSelector,
    Meta,
    NetworkPolicy,
    NetworkPolicySpec,
    Requirement,
    Service,
    ServiceSpec,
)

WEB = {"app": "web"}


def policy(
    name: str = "p",
    labels: dict[str, str] | None = None,
    *asked: Requirement,
    types: tuple[str, ...] = ("Ingress",),
    namespace: str = "shop",
) -> NetworkPolicy:
    selector = LabelSelector(labels or {}, asked)
    return NetworkPolicy(Meta(name=name, namespace=namespace), NetworkPolicySpec(selector, types))


@pytest.mark.parametrize(
    ("found", "labels", "answer"),
    [
        # one that asks nothing selects every pod; of hand-made endpoints nobody knows whether they are pods
        (policy(), WEB, "yes"),
        (policy(), {}, "perhaps"),
        # labels by their value
        (policy("p", {"app": "web"}), WEB, "yes"),
        (policy("p", {"app": "web"}), {"app": "web", "tier": "front"}, "yes"),
        (policy("p", {"app": "shop"}), WEB, "no"),
        (policy("p", {"tier": "front"}), WEB, "perhaps"),
        (policy("p", {"app": "web", "tier": "front"}), WEB, "perhaps"),
        (policy("p", {"app": "shop", "tier": "front"}), WEB, "no"),
        (policy("p", {"app": "web"}), {}, "perhaps"),
        # labels by what is asked of them
        (policy("p", {}, Requirement("app", "In", ("web", "shop"))), WEB, "yes"),
        (policy("p", {}, Requirement("app", "In", ("shop",))), WEB, "no"),
        (policy("p", {}, Requirement("tier", "In", ("front",))), WEB, "perhaps"),
        (policy("p", {}, Requirement("app", "NotIn", ("shop",))), WEB, "yes"),
        (policy("p", {}, Requirement("app", "NotIn", ("web",))), WEB, "no"),
        (policy("p", {}, Requirement("tier", "NotIn", ("front",))), WEB, "perhaps"),
        (policy("p", {}, Requirement("app", "Exists")), WEB, "yes"),
        (policy("p", {}, Requirement("tier", "Exists")), WEB, "perhaps"),
        (policy("p", {}, Requirement("app", "DoesNotExist")), WEB, "no"),
        (policy("p", {}, Requirement("tier", "DoesNotExist")), WEB, "perhaps"),
        (policy("p", {}, Requirement("app", "Resembles", ("web",))), WEB, "perhaps"),
        (policy("p", {"app": "web"}, Requirement("app", "DoesNotExist")), WEB, "no"),
    ],
)
def test_whether_a_policy_selects_pods_with_these_labels(
    found: NetworkPolicy, labels: dict[str, str], answer: str
) -> None:
    assert policies.selects(found, labels) == answer


@pytest.mark.parametrize(
    ("types", "expected"), [((), True), (("Ingress",), True), (("Egress",), False), (("Egress", "Ingress"), True)]
)
def test_whether_a_policy_says_who_may_come_in(types: tuple[str, ...], expected: bool) -> None:  # noqa: FBT001 - a table
    assert policies.restricts(policy(types=types)) is expected


def test_what_bears_on_a_service() -> None:
    web = Service(Meta(name="web", namespace="shop"), ServiceSpec(selector=WEB))
    found = [
        policy("z"),
        policy("a", {"app": "web"}),
        policy("out", types=("Egress",)),
        policy("elsewhere", namespace="other"),
        policy("shop", {"app": "shop"}),
        policy("front", {"tier": "front"}),
    ]
    assert policies.bearing_on(web, found) == Bearing(("a", "z"), ("front",))
    assert policies.bearing_on(web, ()) == Bearing()


KEYS, VALUES = st.sampled_from("abc"), st.sampled_from("xyz")
LABELS = st.dictionaries(KEYS, VALUES)
REQUIREMENTS = st.builds(
    Requirement,
    KEYS,
    st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist")),
    st.lists(VALUES, max_size=2).map(tuple),
)


def really(found: NetworkPolicy, pod: dict[str, str]) -> bool:
    """As Kubernetes does, for a pod of which all labels are known."""
    wanted = found.spec.pod_selector
    verdicts = [pod.get(key) == value for key, value in wanted.match_labels.items()]
    for each in wanted.match_expressions:
        inside = each.key in pod and pod[each.key] in each.values
        verdicts.append(
            {
                "In": inside,
                "NotIn": not inside,
                "Exists": each.key in pod,
                "DoesNotExist": each.key not in pod,
            }[each.operator]
        )
    return all(verdicts)


@given(LABELS, st.lists(REQUIREMENTS, max_size=3), LABELS.filter(bool), LABELS)
def test_what_is_certain_holds_for_every_pod_that_the_service_selects(
    labels: dict[str, str], asked: list[Requirement], selector: dict[str, str], more: dict[str, str]
) -> None:
    found, pod = policy("p", labels, *asked), more | selector
    answer = policies.selects(found, selector)
    if answer != "perhaps":
        assert really(found, pod) is (answer == "yes")
