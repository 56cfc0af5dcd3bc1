"""httpx2, which lightkube sends its requests with, without lightkube: no model, nothing decoded."""

from collections.abc import Mapping

import httpx2
from lightkube.config import client_adapter
from lightkube.config.kubeconfig import KubeConfig

from bench import services
from bench.clients import cost


async def write(kubeconfig: str, in_flight: int) -> Mapping[str, float]:
    config = KubeConfig.from_file(kubeconfig).get()
    if config is None:
        raise ValueError(f"{kubeconfig} has no current context")
    client = client_adapter.AsyncClient(config, client_adapter.ConnectionParams())
    path = f"/api/v1/namespaces/{services.namespace(0)}/services/{services.name(0)}"
    headers = {"content-type": "application/merge-patch+json"}
    body = services.compact(cost.CHANGE)

    async def once() -> httpx2.Response:
        return await client.patch(path, content=body, headers=headers)

    return await cost.writes(once, in_flight)


if __name__ == "__main__":
    cost.run(write=write)
