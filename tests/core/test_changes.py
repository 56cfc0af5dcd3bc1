"""Of whom the picture says that nothing has changed, the gateways are told the same as before."""

from typing import Literal

from hypothesis import example, given
from hypothesis import strategies as st

from mooring.core.addresses import Addresses, Place
from mooring.core.backends import Known
from mooring.core.changes import Changes
from mooring.core.editions import Forwards
from mooring.core.picture import Picture
from mooring.model import names
from mooring.model.cloud import FixedIp, NetworkId, Port, PortId, ProjectId, SubnetId
from mooring.model.kubernetes import Meta, Name, Service, ServicePort, ServiceSpec

Sharing = Literal["namespace", "cluster", "none"]
PORTS = ("a", "b")
WHO = tuple(Name(namespace, name) for namespace in ("shop", "bank") for name in ("x", "y"))


def port(name: str) -> Port:
    fixed = (FixedIp(SubnetId("s"), f"10.0.0.{PORTS.index(name) + 1}"),)
    return Port(
        id=PortId(name), network_id=NetworkId("n"), project_id=ProjectId("p"), revision_number=1, fixed_ips=fixed
    )


def service(who: Name, on: str, numbers: frozenset[int], key: str = "", affinity: str = "None") -> Service:
    marks = {names.MANAGED: "true", names.PORT: on} | ({names.SHARING_KEY: key} if key else {})
    return Service(
        Meta(name=who.name, namespace=who.namespace, annotations=marks, finalizers=(names.FINALIZER,)),
        ServiceSpec(
            "LoadBalancer",
            tuple(map(ServicePort, sorted(numbers))),
            load_balancer_class=names.GATEWAY_CLASS,
            session_affinity=affinity,
        ),
    )


SERVICES = st.builds(
    service,
    st.sampled_from(WHO),
    st.sampled_from(PORTS),
    st.frozensets(st.integers(80, 81), min_size=1),
    st.sampled_from(("", "", "together")),
    st.sampled_from(("None", "ClientIP")),
)
DEEDS = st.lists(st.one_of(SERVICES, st.sampled_from(WHO), st.sets(st.sampled_from(PORTS))), max_size=12)


HTTP, TLS = frozenset({80}), frozenset({443})


@example(
    "namespace", [service(WHO[0], "a", HTTP), service(WHO[2], "a", TLS), WHO[0]]
)  # the other namespace may have it
@example("cluster", [service(WHO[0], "a", HTTP), service(WHO[1], "a", HTTP), service(WHO[0], "b", HTTP)])
@example("cluster", [service(WHO[0], "a", HTTP), service(WHO[0], "a", HTTP, affinity="ClientIP")])
@given(st.sampled_from(("namespace", "cluster", "none")), DEEDS)
def test_whose_forwards_are_others_is_among_the_changes(
    sharing: Sharing, deeds: list[Service | Name | set[str]]
) -> None:
    addresses = Addresses(Place("c", NetworkId("n"), SubnetId("s"), sharing=sharing))
    addresses.replace([port(each) for each in PORTS], [], [])
    picture = Picture(addresses)
    picture.holdings.offer()
    there: dict[Name, Service] = {}
    told: dict[Name, Forwards] = {}
    picture.holdings.changes.take()
    for deed in deeds:
        match deed:
            case Service():
                there[deed.name] = deed
                picture.holdings.claim(deed)
            case Name():
                there.pop(deed, None)
                picture.release(deed)
            case _:
                addresses.replace([port(each) for each in sorted(deed)], [], [])
                picture.holdings.offer()
        changed = picture.holdings.changes.take()
        now = {name: picture.forwards(each, Known()) for name, each in there.items()}
        differing = {name for name in now.keys() | told.keys() if now.get(name, ()) != told.get(name, ())}
        assert changed is None or differing <= changed
        told = now


def test_what_was_taken_is_taken_once_and_everybody_is_more_than_some() -> None:
    changes = Changes()
    assert changes.take() is None, "at the beginning nobody was looked at"
    assert changes.take() == frozenset()
    changes.add(WHO[:1])
    changes.add(WHO[1:2])
    assert changes.take() == frozenset(WHO[:2])
    changes.add_everybody()
    changes.add(WHO[:1])
    assert changes.take() is None
