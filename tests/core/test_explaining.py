"""Every verdict, what stands on a Service and when it is written, and what is worth an event."""

import msgspec
import pytest

from mooring.core import explaining, telling
from mooring.core.mapping import Seen
from mooring.core.wishes import IPV4, Refused
from mooring.model import names
from mooring.model.cloud import FloatingIpId, PortId
from mooring.model.kubernetes import (
    Condition,
    Ingress,
    LoadBalancerStatus,
    Meta,
    Name,
    Service,
    ServicePort,
    ServiceSpec,
    ServiceStatus,
)
from mooring.model.reasons import Reason, Trouble, Verdict
from mooring.model.steps import Annotate, Clear, MakePort, Manage, Publish, Push, Rest, Tell
from tests.core.seeing import seen

ADDRESS = "203.0.113.9"
NOW = "2026-02-01T00:00:00Z"
QUOTA = Trouble(Reason.QUOTA_EXCEEDED, "OpenStack said: no more ports")
HIDDEN = Verdict(Reason.CLIENT_HIDDEN, "Its pods do not see clients", "Do this")
GUARDED = Verdict(Reason.NETWORK_POLICY, "A policy selects its pods", "Do that")
LOST = Verdict(Reason.NO_NODES, "There is no node", "Make one", well=False)
OTHERS = Condition("example.org/Seen", "True", "Seen", "", "2025-01-01T00:00:00Z")


def service(shown: str = "", conditions: tuple[Condition, ...] = (), **spec: str) -> Service:
    wanted = {"type": "LoadBalancer", "load_balancer_class": names.GATEWAY_CLASS} | spec
    return Service(
        Meta(
            name="web",
            namespace="shop",
            annotations={names.MANAGED: "true", names.PORT: "p-1"},
            finalizers=(names.FINALIZER,),
        ),
        ServiceSpec(ports=(ServicePort(80),), **wanted),  # type: ignore[arg-type]
        ServiceStatus(LoadBalancerStatus((Ingress(shown),) if shown else ()), conditions),
    )


def annotated(given: Service, **annotations: str) -> Service:
    meta = msgspec.structs.replace(given.metadata, annotations=annotations)
    return msgspec.structs.replace(given, metadata=meta)


def mapped(given: Service | None = None, **facts: object) -> Seen:
    known = {"port_is_ours": True, "fits": True, "address": ADDRESS, "inner": "10.0.0.5", "served": True}
    return seen(given or service(ADDRESS), **(known | facts))


ENDING = msgspec.structs.replace(
    service(), metadata=msgspec.structs.replace(service().metadata, deletion_timestamp=NOW)
)


@pytest.mark.parametrize(
    ("given", "trouble", "reasons"),
    [
        (seen(ENDING), None, [Reason.ENDING]),
        (seen(service(type="ClusterIP")), None, [Reason.NOT_LOAD_BALANCER]),
        (seen(service(load_balancer_class="")), None, [Reason.OTHER_CLASS]),
        (seen(service(load_balancer_class="example.org/x")), None, [Reason.OTHER_CLASS]),
        (seen(annotated(service(), **{names.MANAGED: "false"})), None, [Reason.OPTED_OUT]),
        (seen(service("198.51.100.1")), None, [Reason.FOREIGN_ADDRESS]),
        (seen(service()), None, [Reason.ACCEPTED, Reason.NO_ADDRESS_YET, Reason.WAITING_FOR_ADDRESS]),
        (seen(service()), QUOTA, [Reason.ACCEPTED, Reason.QUOTA_EXCEEDED, Reason.WAITING_FOR_ADDRESS]),
        (
            seen(service(), rival=Name("shop", "other")),
            None,
            [Reason.ACCEPTED, Reason.PORT_TAKEN, Reason.WAITING_FOR_ADDRESS],
        ),
        (
            seen(service(), denied=Refused("It cannot have it", "Ask for another")),
            None,
            [Reason.ACCEPTED, Reason.WISH_REFUSED, Reason.WAITING_FOR_ADDRESS],
        ),
        (mapped(served=False, live=False), None, [Reason.ACCEPTED, Reason.ALLOCATED, Reason.NO_GATEWAY]),
        (mapped(served=False), None, [Reason.ACCEPTED, Reason.ALLOCATED, Reason.WAITING_FOR_GATEWAYS]),
        (mapped(served=False, holder=False), None, [Reason.ACCEPTED, Reason.ALLOCATED, Reason.NO_HOLDER]),
        (
            mapped(served=False, refused=("Gateway gw1 does not serve it: why.", "Do this")),
            None,
            [Reason.ACCEPTED, Reason.ALLOCATED, Reason.GATEWAY_REFUSES],
        ),
        (mapped(endpoints=False), None, [Reason.ACCEPTED, Reason.ALLOCATED, Reason.NO_ENDPOINTS]),
        (mapped(left_out=("x is bad",)), None, [Reason.ACCEPTED, Reason.ALLOCATED, Reason.BAD_ENDPOINT]),
        (mapped(), QUOTA, [Reason.ACCEPTED, Reason.ALLOCATED, Reason.PROGRAMMED]),
        (mapped(remarks=(HIDDEN, GUARDED)), None, [Reason.ACCEPTED, Reason.ALLOCATED, Reason.CLIENT_HIDDEN]),
        (mapped(remarks=(GUARDED,), endpoints=False), None, [Reason.ACCEPTED, Reason.ALLOCATED, Reason.NO_ENDPOINTS]),
        (mapped(remarks=(LOST,), endpoints=False), None, [Reason.ACCEPTED, Reason.ALLOCATED, Reason.NO_NODES]),
        (mapped(remarks=(LOST,), served=False), None, [Reason.ACCEPTED, Reason.ALLOCATED, Reason.WAITING_FOR_GATEWAYS]),
    ],
)
def test_each_verdict(given: Seen, trouble: Trouble | None, reasons: list[Reason]) -> None:
    verdicts = explaining.verdicts(given, trouble)
    assert [each.reason for each in verdicts] == reasons
    for each in verdicts:
        assert each.fact[0].isupper() or each.fact[0].isdigit()
        assert not each.message.endswith("..")


def test_all_remarks_are_told_with_the_first_as_the_reason() -> None:
    *_, told = explaining.verdicts(mapped(remarks=(HIDDEN, GUARDED)))
    assert told.message == "Its pods do not see clients. A policy selects its pods. Do this. Do that."
    assert told.well
    *_, told = explaining.verdicts(mapped(remarks=(LOST,)))
    assert not told.well


def test_every_reason_that_the_cloud_can_give_has_a_fix() -> None:
    for reason, fix in explaining.FIXES.items():
        [_, verdict, _] = explaining.verdicts(seen(service()), Trouble(reason, "it"))
        assert (verdict.reason, verdict.fix, verdict.well) == (reason, fix, False)


def said(given: Seen, trouble: Trouble | None = None) -> Seen:
    """The same, with its conditions on it."""
    conditions = tuple(explaining.as_they_stand(given.service, explaining.conditions(given, trouble), NOW))
    status = ServiceStatus(given.service.status.load_balancer, conditions)
    return msgspec.structs.replace(given, service=msgspec.structs.replace(given.service, status=status))


WAITING = seen(annotated(service(), **{names.MANAGED: "true"}))


def test_on_the_way_to_an_address_nothing_is_told() -> None:
    """Three writes, and not more: managed, port, status."""
    assert explaining.decide(WAITING) == MakePort(IPV4)
    assert explaining.decide(seen(WAITING.service, candidate=PortId("p-2"))) == Annotate((PortId("p-2"),))
    assert explaining.decide(mapped(service(), served=False)) == Push()


def test_what_was_lost_in_openstack_is_told_as_such() -> None:
    """It shows its address: that it has none yet would be untrue."""
    off = seen(service(ADDRESS), port_is_ours=True, taken_off=FloatingIpId("f"))
    gone = seen(service(ADDRESS), shows_ours=True)
    new = seen(annotated(service(), **{names.MANAGED: "true"}))
    facts = [explaining.verdicts(each)[1].fact for each in (off, gone, new)]
    assert facts[0].startswith(f"{ADDRESS} was taken off its port")
    assert facts[1].startswith(f"The port of {ADDRESS} is gone")
    assert facts[2] == "It has no address yet"


def test_who_has_an_address_does_not_hear_of_every_move() -> None:
    """While the addresses move, nobody holds them for a second; ten thousand Services would be written twice."""
    assert explaining.decide(said(mapped(served=False, holder=False))) == Push()


def test_the_address_and_the_conditions_are_one_write() -> None:
    step = explaining.decide(mapped(service()))
    assert isinstance(step, Publish)
    assert [each.reason for each in step.conditions] == ["Accepted", "Allocated", "Programmed"]
    assert all(each.status == "True" for each in step.conditions)


def test_who_is_served_and_says_so_rests() -> None:
    assert explaining.decide(said(mapped())) == Rest(Reason.PROGRAMMED)


@pytest.mark.parametrize(
    ("given", "trouble"),
    [
        (mapped(), None),
        (mapped(endpoints=False), None),
        (mapped(served=False, live=False), None),
        (mapped(service(), served=False, holder=False), None),
        (mapped(left_out=("x is bad",)), None),
        (seen(service("198.51.100.1")), None),
        (WAITING, QUOTA),
    ],
)
def test_who_has_to_wait_is_told_what_for_and_only_once(given: Seen, trouble: Trouble | None) -> None:
    step = explaining.decide(given, trouble)
    assert step == Tell(explaining.conditions(given, trouble))
    assert not isinstance(explaining.decide(said(given, trouble), trouble), Tell)


def test_who_moves_says_why_it_has_no_address() -> None:
    step = explaining.decide(mapped(fits=False, rival=Name("shop", "other"), candidate=PortId("p-2")))
    assert isinstance(step, Clear)
    assert [each.reason for each in step.conditions] == ["Accepted", "PortTaken", "WaitingForAddress"]


def test_who_is_not_ours_any_more_says_nothing() -> None:
    gone = said(mapped())
    opted_out = msgspec.structs.replace(gone, service=annotated(gone.service, **{names.MANAGED: "false"}))
    assert explaining.decide(opted_out) == Clear(())


def test_what_others_say_stays_and_what_did_not_turn_keeps_its_time() -> None:
    before = said(mapped(service(ADDRESS, (OTHERS,))))
    turned = msgspec.structs.replace(before, served=False, live=False)
    wanted = explaining.conditions(turned)
    after = explaining.as_they_stand(before.service, wanted, "2026-03-01T00:00:00Z")
    assert after[0] == OTHERS
    assert [each.last_transition_time for each in after[1:]] == [NOW, NOW, "2026-03-01T00:00:00Z"]
    assert not explaining.told(before.service, wanted)


def test_what_went_wrong_last_is_read_as_it_was_told() -> None:
    assert explaining.last_trouble(said(WAITING, QUOTA).service) == QUOTA
    assert explaining.last_trouble(said(mapped()).service) is None


def test_who_waits_for_another_address_says_that_it_keeps_its_own() -> None:
    shared = Condition(names.SHARED, "True", "SharingKey", "mail")
    keeps = seen(service(ADDRESS, (shared,)), port_is_ours=True, holds=True, address=ADDRESS, served=True)
    _, allocated, programmed, told = explaining.conditions(keeps, QUOTA)
    assert (allocated.status, programmed.status, told) == ("False", "True", shared)
    assert allocated.message.startswith(f"{QUOTA.text}. It keeps {ADDRESS} meanwhile. ")
    assert explaining.last_trouble(said(keeps, QUOTA).service) == QUOTA
    _, allocated, *_ = explaining.conditions(keeps)
    assert allocated.message.startswith(f"It asks for another address. It keeps {ADDRESS} meanwhile. ")


def test_an_annotation_that_nobody_reads_is_told() -> None:
    given = annotated(service(), **{names.MANAGED: "true", "openstack.org/mooring-adresses": "10.0.0.5", "a.org/b": ""})
    accepted, *_ = explaining.conditions(seen(given))
    assert (accepted.status, accepted.reason) == ("True", "BadAnnotation")
    assert "openstack.org/mooring-adresses" in accepted.message
    assert [each.reason for each in telling.news(given, Tell((accepted,)))] == ["BadAnnotation"]


@pytest.mark.parametrize(
    ("said", "reason", "words"),
    [
        ({names.MANAGED_BY_CAH: "true"}, "ClaimedTwice", "ch-k8s-lbaas claims it, too"),
        ({names.MANAGED_BY_CAH: "true", "purelb.io/multi-pool": "x"}, "ClaimedTwice", "ch-k8s-lbaas"),
        ({names.MANAGED_BY_CAH: "false"}, "Accepted", ""),
        ({"metallb.io/address-pool": "gold"}, "AnnotationIgnored", "annotation metallb.io/address-pool asks for"),
        (dict.fromkeys(sorted(names.NOT_DONE)[:5], "x"), "AnnotationIgnored", "and 2 more asks for"),
        (
            {"metallb.io/address-pool": "gold", "openstack.org/mooring-x": ""},
            "BadAnnotation",
            "openstack.org/mooring-x",
        ),
    ],
)
def test_words_of_others_are_told_on_who_is_served(said: dict[str, str], reason: str, words: str) -> None:
    given = annotated(service(), **{names.MANAGED: "true", **said})
    accepted, *_ = explaining.conditions(seen(given))
    assert (accepted.status, accepted.reason) == ("True", reason)
    assert words in accepted.message
    assert [each.reason for each in telling.news(given, Tell((accepted,)))] == [reason] * (reason != "Accepted")


def test_whose_address_it_is_that_ch_k8s_lbaas_gave() -> None:
    given = annotated(service("198.51.100.1"), **{names.MANAGED_BY_CAH: "true"})
    [accepted] = explaining.verdicts(seen(given))
    assert (accepted.reason, "which ch-k8s-lbaas, by its annotation, gave it" in accepted.fact) == (
        Reason.FOREIGN_ADDRESS,
        True,
    )


@pytest.mark.parametrize(("said", "told"), [("true", []), ("True", []), ("", []), ("flase", ["BadAnnotation"])])
def test_who_may_have_wanted_to_opt_out_hears_that_it_did_not(said: str, told: list[str]) -> None:
    given = annotated(service(), **{names.MANAGED: said})
    assert [each.reason for each in telling.news(given, Manage())] == told


@pytest.mark.parametrize(
    ("given", "step", "reasons"),
    [
        (service(), Publish((ADDRESS,)), ["Published"]),
        (service("198.51.100.1"), Publish((ADDRESS,)), ["Restored"]),
        (service(ADDRESS), Publish((ADDRESS,)), ["Restored"]),
        (service(), Publish((ADDRESS,), explaining.conditions(mapped(endpoints=False))), ["Published", "NoEndpoints"]),
        (service(ADDRESS), Clear(), ["Withdrawn"]),
        (service(), Clear(), []),
        (service(), Tell(explaining.conditions(WAITING, QUOTA)), ["QuotaExceeded"]),
        (service(), Tell(explaining.conditions(mapped(served=False, live=False))), ["NoGateway"]),
        (service(ADDRESS), Tell(explaining.conditions(mapped(served=False, live=False))), []),
        (service(ADDRESS), Tell(explaining.conditions(mapped())), []),
        (service(), MakePort(IPV4), []),
    ],
)
def test_what_is_worth_an_event(given: Service, step: Publish | Clear | Tell | MakePort, reasons: list[str]) -> None:
    told = telling.news(given, step)
    assert [each.reason for each in told] == reasons
    assert all(each.note.endswith(".") for each in told)


def test_an_address_that_stays_is_not_called_wrong() -> None:
    [restored] = telling.news(service(ADDRESS), Publish((ADDRESS,)))
    assert restored.note == f"It showed {ADDRESS} in another ipMode; it shows it as it is configured now."


def test_a_group_that_could_not_be_opened_is_told_where_packets_are_told_of() -> None:
    """Its address is there, and `why` knows it from the condition, too."""
    trouble = Trouble(Reason.NOT_LET_IN, "The gateways' security group could not be opened for it. OpenStack said: no")
    facts = seen(service(), fits=True, address=ADDRESS, served=True)
    _, allocated, programmed = explaining.conditions(facts, trouble)
    assert (allocated.status, programmed.status, programmed.reason) == ("True", "False", "NotLetIn")
    assert "manage_security_group" in programmed.message
    assert explaining.last_trouble(service(conditions=(allocated, programmed))) == trouble
