"""What the standard library alone can do.

The whole list as dicts is the usual way to keep it. The write over bare streams is a bound and no client: it knows no
error, no time-out, no answer that is not as expected.
"""

import asyncio
import hashlib
import http.client
import json
import ssl
import time
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from bench import services
from bench.clients import cost

LISTS = {"services": "/api/v1/services", "slices": "/apis/discovery.k8s.io/v1/endpointslices"}


async def start(kubeconfig: str, number: int) -> Mapping[str, float]:
    connection = http.client.HTTPConnection(urlsplit(cost.server(kubeconfig)).netloc)
    _get(connection, "/api/v1/namespaces")
    growth = cost.Growth()
    listed = _get(connection, "/api/v1/services")
    cache = {(each["metadata"]["namespace"], each["metadata"]["name"]): each for each in listed["items"]}
    del listed
    found = growth.report()
    if len(cache) != number:
        raise ValueError(f"{len(cache)} objects in the cache")
    return found


async def document(kubeconfig: str, number: int) -> Mapping[str, float]:
    """What the gateways have to be told, made of dicts: the whole process counts."""
    connection = http.client.HTTPConnection(urlsplit(cost.server(kubeconfig)).netloc)
    listed = {each: _get(connection, path)["items"] for each, path in LISTS.items()}
    services = {(each["metadata"]["namespace"], each["metadata"]["name"]): each for each in listed["services"]}
    endpoints: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for each in listed["slices"]:
        meta = each["metadata"]
        endpoints.setdefault((meta["namespace"], meta["labels"]["kubernetes.io/service-name"]), []).append(each)
    forwards = [
        _forward(name, port, ingress["ip"], endpoints.get(name, ()))
        for name, each in sorted(services.items())
        for ingress in each["status"]["loadBalancer"].get("ingress", ())
        for port in each["spec"]["ports"]
    ]
    told = json.dumps({"forwards": forwards})
    hashlib.sha256(told.encode()).hexdigest()
    if len(forwards) != number:
        raise ValueError(f"{len(forwards)} forwards")
    return {"cpu": time.process_time(), "memory": cost.memory()}


def _forward(
    name: tuple[str, str], port: dict[str, Any], address: str, slices: Iterable[dict[str, Any]]
) -> dict[str, Any]:
    backends = sorted(
        (one["addresses"][0], number["port"])
        for each in slices
        for number in each["ports"]
        if (number["name"], number["protocol"]) == (port["name"], port["protocol"])
        for one in each["endpoints"]
        if one["conditions"].get("ready") is not False
    )
    where = {"address": address, "protocol": port["protocol"], "port": port["port"], "service": "/".join(name)}
    return {**where, "backends": [{"address": each, "port": number} for each, number in backends]}


def _get(connection: http.client.HTTPConnection, path: str) -> dict[str, Any]:
    connection.request("GET", path)
    found: dict[str, Any] = json.loads(connection.getresponse().read())
    return found


class Streams:
    """Kept-alive connections, each with one request at a time."""

    def __init__(self, server: str) -> None:
        url = urlsplit(server)
        self._place = (url.hostname, url.port)
        self._tls = ssl.create_default_context()
        self._tls.check_hostname = False
        self._tls.verify_mode = ssl.CERT_NONE
        path = f"/api/v1/namespaces/{services.namespace(0)}/services/{services.name(0)}"
        self._head = (
            f"PATCH {path} HTTP/1.1\r\nhost: {url.netloc}\r\nauthorization: Bearer {cost.TOKEN}\r\n"
            "content-type: application/merge-patch+json\r\ncontent-length: %d\r\n\r\n"
        ).encode()
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def write(self) -> Any:  # noqa: ANN401 - an object as JSON has it
        if self._free:
            reader, writer = self._free.pop()
        else:
            reader, writer = await asyncio.open_connection(*self._place, ssl=self._tls)
        body = services.compact(cost.CHANGE)
        writer.write(self._head % len(body) + body)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = head.partition(b"content-length: ")[2].partition(b"\r\n")[0]
        answer = json.loads(await reader.readexactly(int(length)))
        self._free.append((reader, writer))
        return answer


async def write(kubeconfig: str, in_flight: int) -> Mapping[str, float]:
    return await cost.writes(Streams(cost.server(kubeconfig)).write, in_flight)


if __name__ == "__main__":
    cost.run(start=start, write=write, document=document)
