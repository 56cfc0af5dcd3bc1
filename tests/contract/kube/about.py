"""What a server says of itself, and of what its users may do."""

from mooring.kube import kinds
from mooring.kube.api import Api
from mooring.model.kubernetes import AccessReview, AccessReviewSpec, ResourceAttributes
from tests.contract.kube.world import World, eventually


async def a_server_has_a_version(at: World) -> None:
    said = await at.api.about()
    assert said.version.startswith("v1.")


async def somebody_asks_what_it_may_do(at: World) -> None:
    somebody = Api(await at.host.as_user(frozenset({("list", "/services"), ("patch", "/services/status")})))

    async def may(api: Api, verb: str, resource: str, subresource: str = "", group: str = "") -> bool:
        wanted = ResourceAttributes(verb, group, resource, subresource, at.namespace)
        review = await api.create(kinds.ACCESS_REVIEWS, AccessReview(spec=AccessReviewSpec(wanted)))
        assert review.spec.resource_attributes == wanted
        return review.status.allowed

    async def granted() -> bool:
        return await may(somebody, "list", "services")

    await eventually(granted)
    assert await may(somebody, "patch", "services", "status")
    assert not await may(somebody, "patch", "services")
    assert not await may(somebody, "list", "endpointslices", group="discovery.k8s.io")
    assert await may(at.api, "list", "endpointslices", group="discovery.k8s.io")
