"""What each write to a Service looks like when it has been done."""

import msgspec

from mooring.controller.service_writes import ServiceWrites
from mooring.core import explaining
from mooring.core.mapping import Seen
from mooring.kube.api import Api
from mooring.kube.kinds import SERVICES
from mooring.kube.store import Store
from mooring.kube.twin.server import KubeTwin
from mooring.model import names
from mooring.model.cloud import PortId
from mooring.model.gateway import Key
from mooring.model.kubernetes import Ingress, Name, Service
from mooring.wire.http import Request
from tests.simulation.loop import run_virtually
from tests.simulation.world import BEGIN

NAME = Name("shop", "web")
HOLD = "example.org/hold"


def written(
    *, lb_class: str = names.GATEWAY_CLASS, finalizers: tuple[str, ...] = (), ip_mode: str = "Proxy", then: str
) -> Service:
    """A Service after all writes up to one of them."""

    async def scene() -> Service:
        kube = KubeTwin(lambda: BEGIN)
        make(kube, "/api/v1/namespaces", {"kind": "Namespace", "metadata": {"name": "shop"}})
        spec = {"type": "LoadBalancer", "loadBalancerClass": lb_class, "ports": [{"port": 80}]}
        meta = {"name": "web", "finalizers": [HOLD, *finalizers]}
        make(kube, "/api/v1/namespaces/shop/services", {"kind": "Service", "metadata": meta, "spec": spec})
        api, store = Api(kube.transport()), Store[Service]()
        writes = ServiceWrites(api, store, lambda: BEGIN, ip_mode=ip_mode)
        conditions = explaining.conditions(Seen(await api.get(SERVICES, NAME)))
        for step in ("manage", "annotate", "publish", "clear", "forget", "let_go"):
            service = await api.get(SERVICES, NAME)
            match step:
                case "annotate":
                    await writes.annotate(service, (PortId("p-1"),))
                case "publish":
                    await writes.publish(service, ("203.0.113.9",), conditions)
                case "clear":
                    await writes.clear(service, ())
                case _ if step != "manage" or lb_class == names.GATEWAY_CLASS:
                    await getattr(writes, step)(service)
            if step == then:
                break
        assert store.get(NAME) == await api.get(SERVICES, NAME), "what was answered is known at once"
        return await api.get(SERVICES, NAME)

    return run_virtually(scene())


def make(kube: KubeTwin, path: str, body: dict[str, object]) -> None:
    encoded = msgspec.json.encode({"apiVersion": "v1", **body})
    assert kube.handle(Request("create", "POST", path, body=encoded)).status == 201


def test_it_is_taken_on_by_annotation_and_finalizers_beside_those_of_others() -> None:
    meta = written(then="manage").metadata
    assert meta.annotations == {names.MANAGED: "true"}
    assert meta.finalizers == (HOLD, names.FINALIZER, names.CLEANUP_FINALIZER)


def test_its_address_is_published_with_its_mode_and_conditions() -> None:
    service = written(then="publish")
    assert service.metadata.annotations[names.PORT] == "p-1"
    assert service.status.load_balancer.ingress == (Ingress("203.0.113.9", ip_mode="Proxy", ports=(Key("TCP", 80),)),)
    assert [each.type for each in service.status.conditions] == list(names.CONDITIONS)
    assert {each.last_transition_time for each in service.status.conditions} == {"2026-01-01T00:00:00Z"}
    other = written(ip_mode="VIP", then="publish")
    assert other.status.load_balancer.ingress == (Ingress("203.0.113.9", ip_mode="VIP", ports=(Key("TCP", 80),)),)


def test_nothing_of_ours_is_left_when_it_is_let_go() -> None:
    service = written(then="let_go")
    assert service.metadata.annotations == {}
    assert service.metadata.finalizers == (HOLD,)
    assert service.status.load_balancer.ingress == ()
    assert service.status.conditions == ()


def test_the_finalizer_that_another_class_relies_on_stays() -> None:
    ours = written(lb_class="example.org/other", finalizers=(names.CLEANUP_FINALIZER, names.FINALIZER), then="let_go")
    assert ours.metadata.finalizers == (HOLD, names.CLEANUP_FINALIZER)
    theirs = written(lb_class="example.org/other", finalizers=(names.CLEANUP_FINALIZER,), then="let_go")
    assert theirs.metadata.finalizers == (HOLD, names.CLEANUP_FINALIZER)
