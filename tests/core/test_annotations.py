"""What owners say in the words of other load balancers."""

import pytest

from mooring.core import annotations, choices, wishes
from mooring.core.choices import Choices
from mooring.core.wishes import IPV4, Wish
from mooring.kube import remembering
from mooring.model import names
from mooring.model.cloud import NetworkId, SubnetId
from mooring.model.kubernetes import Meta, Service, ServiceSpec

OFFERED = Choices({"s-1": (IPV4, SubnetId("s-1"))}, {"n-1": NetworkId("n-1")})


def service(**said: str) -> Service:
    return Service(Meta(name="web", namespace="shop", annotations=dict(said)), ServiceSpec("LoadBalancer"))


@pytest.mark.parametrize(
    "name", ["metallb.io/loadBalancerIPs", "metallb.universe.tf/loadBalancerIPs", "purelb.io/addresses"]
)
def test_an_address_is_asked_for(name: str) -> None:
    assert wishes.wished(service(**{name: " 192.0.2.1"}), (IPV4,)) == (Wish(IPV4, "192.0.2.1"),)


def test_a_long_key_is_told_as_its_digest() -> None:
    """What is told stands in a condition, and in every list of all Services."""
    long, other = (wishes.key(service(**{names.SHARING_KEY: each * 10_000})) for each in "ab")
    assert long != other
    assert len(long) == 64
    assert wishes.key(service(**{names.SHARING_KEY: "a" * 253})) == "a" * 253


@pytest.mark.parametrize(
    "name", ["metallb.io/allow-shared-ip", "metallb.universe.tf/allow-shared-ip", "purelb.io/allow-shared-ip"]
)
def test_an_address_is_shared_with_some(name: str) -> None:
    assert wishes.key(service(**{name: "mail "})) == "mail"


@pytest.mark.parametrize(
    ("text", "keeps", "no_more"), [("true", True, False), ("false", False, True), ("", False, False)]
)
def test_a_floating_ip_is_kept(text: str, *, keeps: bool, no_more: bool) -> None:
    found = service(**{"loadbalancer.openstack.org/keep-floatingip": text})
    assert (wishes.keeps(found), wishes.keeps_no_more(found)) == (keeps, no_more)


def test_where_an_address_comes_from_is_chosen() -> None:
    found = service(
        **{"loadbalancer.openstack.org/subnet-id": "s-1", "loadbalancer.openstack.org/floating-network-id": "n-1"}
    )
    assert choices.refused(found, OFFERED) is None
    assert choices.chosen(found, Wish(IPV4), OFFERED) == Wish(IPV4, "", SubnetId("s-1"), NetworkId("n-1"))


@pytest.mark.parametrize(
    "name", ["loadbalancer.openstack.org/subnet-id", "loadbalancer.openstack.org/floating-network-id"]
)
def test_what_is_refused_is_named_as_its_owner_wrote_it(name: str) -> None:
    refused = choices.refused(service(**{name: "theirs"}), OFFERED)
    assert refused is not None
    assert refused.fact.startswith(f"Its annotation {name} says 'theirs'")


def test_a_bad_address_is_to_be_put_right_where_it_stands() -> None:
    refused = wishes.refused(service(**{"metallb.io/loadBalancerIPs": "none"}), (IPV4,))
    assert refused is not None
    assert "annotation metallb.io/loadBalancerIPs:" in refused.fix


def test_that_there_is_to_be_no_floating_ip_is_heard_from_who_has_an_address_too() -> None:
    """Were it not, a Service that lost its port would get a public address in its place."""
    found = service(**{names.INTERNAL: "true", names.PORT: "p"})
    assert choices.chosen(found, Wish(IPV4), OFFERED).internal
    assert remembering.service(found).metadata.annotations == found.metadata.annotations


@pytest.mark.parametrize("name", sorted(annotations.ONCE))
def test_who_has_an_address_keeps_it_whatever_words_of_others_say(name: str) -> None:
    [*_, alike] = names.ALIKE[name]
    assert annotations.said(service(**{alike: "theirs"}), name) == "theirs"
    assert annotations.said(service(**{alike: "theirs", names.PORT: "p"}), name) == ""
    assert annotations.said(service(**{alike: "theirs", name: "ours", names.PORT: "p"}), name) == "ours"


@pytest.mark.parametrize(("ours", "alike"), [(ours, each) for ours, alike in names.ALIKE.items() for each in alike])
def test_ours_win_and_both_are_remembered(ours: str, alike: str) -> None:
    assert annotations.said(service(**{alike: "theirs"}), ours) == "theirs"
    both = service(**{alike: "theirs", ours: "ours"})
    assert annotations.said(both, ours) == "ours"
    assert annotations.said(service(**{alike: "theirs", ours: ""}), ours) == ""
    assert remembering.service(both).metadata.annotations == both.metadata.annotations


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({}, []),
        ({"loadbalancer.openstack.org/port-id": "p"}, ["loadbalancer.openstack.org/port-id"]),
        ({"loadbalancer.openstack.org/proxy-protocol": "False"}, []),
        ({"loadbalancer.openstack.org/proxy-protocol": "v2"}, ["loadbalancer.openstack.org/proxy-protocol"]),
        ({"loadbalancer.openstack.org/flavor-id": " "}, []),
        (
            {"purelb.io/service-group": "b", "metallb.io/address-pool": "a"},
            ["metallb.io/address-pool", "purelb.io/service-group"],
        ),
        ({"loadbalancer.openstack.org/load-balancer-id": "x", "metallb.io/ip-allocated-from-pool": "y"}, []),
        ({each: "x" for alike in names.ALIKE.values() for each in alike} | {names.INTERNAL: "true"}, []),
        ({"example.org/other": "x"}, []),
    ],
)
def test_what_nobody_does_here(said: dict[str, str], told: list[str]) -> None:
    assert annotations.not_done(service(**said)) == told
    kept = remembering.service(service(**said))
    assert annotations.not_done(kept) == told, "it is remembered"


@pytest.mark.parametrize(
    ("text", "serves", "opted_out"),
    [("true", True, False), (" True", True, False), ("false", False, True), ("", False, False), ("yes", False, False)],
)
def test_what_ch_k8s_lbaas_and_its_users_say(text: str, *, serves: bool, opted_out: bool) -> None:
    found = remembering.service(service(**{names.MANAGED_BY_CAH: text}))
    assert (annotations.served_by_cah(found), annotations.opted_out_of_cah(found)) == (serves, opted_out)
