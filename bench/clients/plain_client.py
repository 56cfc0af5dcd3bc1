"""What the standard library alone can do.

The whole list as dicts is the usual way to keep it. The write over bare streams is a bound and no client: it knows no
error, no time-out, no answer that is not as expected.
"""

import asyncio
import http.client
import json
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from bench import services
from bench.clients import cost


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
    cost.run(start=start, write=write)
