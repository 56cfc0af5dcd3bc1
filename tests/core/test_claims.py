"""Whose a Service without a class is."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.core import claims, explaining, mapping
from mooring.core.mapping import Seen
from mooring.model import names
from mooring.model.config import Services
from mooring.model.kubernetes import Condition, Ingress, LoadBalancerStatus, Meta, Service, ServiceSpec, ServiceStatus
from mooring.model.reasons import Reason
from mooring.model.steps import Tell

CLAIMED, NOT_CLAIMED = Services(claim_unclassed=True), Services()


def service(lb_class: str = "", backend: str = "", type: str = "LoadBalancer", cah: str = "") -> Service:  # noqa: A002 - Kubernetes' word
    given = {names.BACKEND: backend, names.MANAGED_BY_CAH: cah}
    annotations = {name: text for name, text in given.items() if text}
    return Service(Meta("web", "shop", annotations=annotations), ServiceSpec(type=type, load_balancer_class=lb_class))


def served(given: Service, managed: str = "true", shown: str = "203.0.113.5") -> Service:
    """As it is when it has its address from us."""
    ours = {names.MANAGED: managed, names.PORT: "p"}
    meta = msgspec.structs.replace(
        given.metadata, annotations=given.metadata.annotations | ours, finalizers=(names.FINALIZER,)
    )
    told = tuple(Condition(each, "True", "Accepted") for each in names.CONDITIONS)
    status = ServiceStatus(LoadBalancerStatus((Ingress(shown),) if shown else ()), told)
    return msgspec.structs.replace(given, metadata=meta, status=status)


@pytest.mark.parametrize(
    ("given", "wanted", "reason"),
    [
        (service(names.GATEWAY_CLASS), NOT_CLAIMED, None),
        (service(names.GATEWAY_CLASS), CLAIMED, None),
        (service(names.GATEWAY_CLASS, "gateway"), NOT_CLAIMED, None),
        (service(names.GATEWAY_CLASS, "octavia"), NOT_CLAIMED, Reason.CLASS_DISAGREES),
        (service(names.GATEWAY_CLASS, "octavia"), CLAIMED, Reason.CLASS_DISAGREES),
        (service("example.org/other"), CLAIMED, Reason.OTHER_CLASS),
        (service("example.org/other", "gateway"), CLAIMED, Reason.OTHER_CLASS),
        (service(), NOT_CLAIMED, Reason.OTHER_CLASS),
        (service(backend="gateway"), NOT_CLAIMED, Reason.OTHER_CLASS),
        (service(), CLAIMED, None),
        (service(backend="gateway"), CLAIMED, None),
        (service(backend="ovn"), CLAIMED, Reason.OTHER_CLASS),
        (service(backend="Gateway"), CLAIMED, Reason.OTHER_CLASS),
        (service(type="ClusterIP"), CLAIMED, Reason.NOT_LOAD_BALANCER),
        (service(cah="false"), CLAIMED, Reason.OTHER_CLASS),
        (service(cah="true"), CLAIMED, None),
        (service(cah="false", backend="gateway"), CLAIMED, None),
        (service(cah="false", backend="gateway"), NOT_CLAIMED, Reason.OTHER_CLASS),
        (service(names.GATEWAY_CLASS, cah="false"), CLAIMED, None),
        (served(service(cah="false")), CLAIMED, None),
        (served(service()), NOT_CLAIMED, None),
        (msgspec.structs.replace(served(service()), status=ServiceStatus()), NOT_CLAIMED, Reason.OTHER_CLASS),
        (msgspec.structs.replace(served(service()), metadata=Meta(name="web", namespace="shop")), NOT_CLAIMED, None),
        (served(service(backend="gateway")), NOT_CLAIMED, None),
        (served(service(backend="octavia")), NOT_CLAIMED, Reason.OTHER_CLASS),
        (served(service("example.org/other")), NOT_CLAIMED, Reason.OTHER_CLASS),
        (served(service(), managed="false"), NOT_CLAIMED, Reason.OPTED_OUT),
        (served(service(), shown=""), NOT_CLAIMED, None),
        (served(service(type="ClusterIP")), NOT_CLAIMED, Reason.NOT_LOAD_BALANCER),
    ],
)
def test_each_row_of_the_table(given: Service, wanted: Services, reason: Reason | None) -> None:
    assert mapping.why_not(claims.settled(given, wanted)) is reason


@given(
    st.builds(
        service,
        st.sampled_from(["", names.GATEWAY_CLASS, "example.org/other"]),
        st.sampled_from(["", "gateway", "octavia"]),
        st.sampled_from(["LoadBalancer", "ClusterIP", "NodePort"]),
    ),
    st.booleans(),
)
def test_nothing_but_a_missing_class_is_settled_and_once_is_enough(given: Service, claimed: bool) -> None:  # noqa: FBT001 - hypothesis gives it
    wanted = Services(claim_unclassed=claimed)
    after = claims.settled(given, wanted)
    assert claims.settled(after, wanted) == after
    same = msgspec.structs.replace(after.spec, load_balancer_class=given.spec.load_balancer_class)
    assert msgspec.structs.replace(after, spec=same) == given
    assert after == given or (claimed and not given.spec.load_balancer_class)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (service(), ("It has no class, and Mooring serves openstack.org/gateway", "services.claim_unclassed")),
        (service("x.org/y"), ("It has class x.org/y", "make it anew")),
        (
            service(cah="false"),
            (f'no class, and its annotation {names.MANAGED_BY_CAH} says "false"', 'write "gateway"'),
        ),
        (
            service(backend="ovn"),
            ("its annotation openstack.org/mooring-backend says 'ovn'", "Take the annotation away"),
        ),
        (
            service(backend="a\n" + "x" * 1000),
            (f"mooring-backend says 'a\\n{'x' * 52}...'", "Take the annotation away"),
        ),
        (
            service(names.GATEWAY_CLASS, "ovn"),
            ("Its class is openstack.org/gateway, and its annotation openstack.org/mooring-backend says 'ovn'", "Take"),
        ),
    ],
)
def test_who_is_not_served_is_told_why_and_what_to_do(given: Service, words: tuple[str, str]) -> None:
    [verdict] = explaining.verdicts(Seen(given))
    assert words[0] in verdict.fact
    assert words[1] in verdict.fix


@pytest.mark.parametrize("said", ["flase", "no", "0"])
def test_who_may_have_wanted_to_opt_out_is_not_taken_on_and_told_so(said: str) -> None:
    new = service(names.GATEWAY_CLASS)
    new.metadata.annotations[names.MANAGED] = said
    [condition] = explaining.conditions(Seen(new))
    assert (condition.status, condition.reason) == ("False", "BadAnnotation")
    assert f"says '{said}'" in condition.message
    assert isinstance(explaining.decide(Seen(new)), Tell)
    held = msgspec.structs.replace(new, metadata=msgspec.structs.replace(new.metadata, finalizers=(names.FINALIZER,)))
    assert mapping.why_not(held) is None, "a slip takes no address away"


@pytest.mark.parametrize("lb_class", ["", names.GATEWAY_CLASS])
@pytest.mark.parametrize(("said", "stays"), [("gatewy", True), ("Gateway", True), ("octavia", False), ("ovn", False)])
def test_a_slip_in_the_name_of_the_back_end_takes_no_address_away(lb_class: str, said: str, *, stays: bool) -> None:
    new = service(lb_class, said)
    held = msgspec.structs.replace(new, metadata=msgspec.structs.replace(new.metadata, finalizers=(names.FINALIZER,)))
    assert (mapping.why_not(claims.settled(held, CLAIMED)) is None) == stays
    refused = claims.unclear(held)
    assert (refused is not None) == stays
    assert refused is None or (repr(said) in refused.fact and refused.reason is Reason.BAD_ANNOTATION)
    assert claims.unclear(new) is None, "who has nothing yet is not taken on"


def test_who_asks_us_for_another_back_end_gets_an_answer() -> None:
    [condition] = explaining.conditions(Seen(service(names.GATEWAY_CLASS, "octavia")))
    assert (condition.status, condition.reason) == ("False", "ClassDisagrees")
    assert explaining.conditions(Seen(service(backend="octavia"))) == ()


@pytest.mark.parametrize(
    ("given", "theirs"),
    [
        (served(service(names.GATEWAY_CLASS), shown=""), False),
        (served(service(names.GATEWAY_CLASS), shown="198.51.100.9"), False),
        (served(service(), shown=""), False),
        (served(service(), shown="198.51.100.9"), True),
        (served(service("example.org/other"), shown=""), True),
        (served(service(type="ClusterIP"), shown="198.51.100.9"), False),
        (service(names.GATEWAY_CLASS), True),
    ],
    ids=[
        "ours",
        "ours, that others wrote to",
        "no class",
        "no class, served",
        "another class",
        "no balancer",
        "not held",
    ],
)
def test_whose_the_finalizer_of_kubernetes_is(given: Service, theirs: bool) -> None:  # noqa: FBT001 - a column
    assert mapping.also_held_by_others(given) is theirs
