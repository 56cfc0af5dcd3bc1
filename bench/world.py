"""A Kubernetes, a Keystone, a Neutron and gateways over real HTTP, in a process of its own: the twins, and counters.

    python -m bench.world OPTIONS

The options are JSON (`Options`). Its first line says where everything listens; then each line of its input is a
command, and each is answered by a line. It ends when its input does. Gateways take what they are told and do nothing.
"""

import asyncio
import json
import ssl
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec
from msgspec import Struct

from bench import moored
from mooring.cloud.twin import neutron
from mooring.cloud.twin.neutron import NeutronTwin
from mooring.core import gateway_document
from mooring.kube.twin.server import KubeTwin
from mooring.kube.twin.watching import Scope, Subscription
from mooring.model.gateway import Delta, Document, Held, State, Vrrp
from mooring.wire import serving
from mooring.wire.http import Request, Response

BOOKMARKS = 30.0
PAIRS = 1 << 20
CPU_OF_A_PROCESS = 2
NOT_SERVED = "servicecidrs"
"""What kube-proxy follows too, and the twin does not know: there are none."""
JSON = {"content-type": "application/json"}
BEGINNING = {"k8s.io/initial-events-end": "true"}

Reader: TypeAlias = asyncio.StreamReader
Writer: TypeAlias = asyncio.StreamWriter


class Options(Struct, frozen=True):
    """`delay`: seconds that Neutron takes for each answer. Without `ca` there are no gateways.

    `sharing`: how many Services have one address.
    """

    size: int = 0
    sharing: int = moored.SHARING
    listen: str = "127.0.0.1"
    gateways: int = 1
    delay: float = 0.0
    ca: str = ""
    certificate: str = ""
    key: str = ""


class Push(Struct):
    """The first document that a gateway was told, and what the process that sent it had used until then."""

    cpu: float
    memory: float
    at: float
    forwards: int
    backends: int


class World:
    def __init__(self, options: Options) -> None:
        self._options = options
        self._kube = KubeTwin(lambda: datetime.now(UTC), service_ipv4="10.64.0.0/16")
        self._neutron = NeutronTwin(neutron.counted_ids(), time.time, address_pairs=PAIRS)
        self._cluster = moored.Cluster(self._kube)
        self._cloud = moored.Cloud(self._neutron, options.gateways)
        filled = moored.fill(self._cluster, self._cloud, options.size, options.sharing)
        made = [(ip, each.inner) for ip, each in filled]
        self.targets = [(*each, moored.port(number)) for number, each in enumerate(made[: moored.TO_PROBE])]
        self._held = [Held() for _ in range(options.gateways)]
        self._counts: Counter[str] = Counter()
        self._waiting: frozenset[str] = frozenset()
        self._go = asyncio.Event()
        self._pid = 0
        self._pushed: Push | None = None
        self.cloud_port = 0

    async def bookmark(self) -> None:
        while True:
            await asyncio.sleep(BOOKMARKS)
            self._kube.bookmark()

    async def kube(self, request: Request, peer: str, writer: Writer) -> Response | None:
        """Watches are answered here, for as long as they last; the rest is handed back."""
        query = dict(request.query)
        nothing = request.path.endswith(NOT_SERVED)
        if query.get("watch") not in {"1", "true"}:
            self._count("kube", request)
            return _none() if nothing else self._kube.handle(request)
        found = _silence(query) if nothing else self._kube.watch(request)
        if isinstance(found, Response):
            return found
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
        await self._stream(found, peer, writer)
        return None

    async def _stream(self, stream: Subscription, peer: str, writer: Writer) -> None:
        """Who is to wait gets its lines later."""
        try:
            while lines := await stream.read():
                while peer in self._waiting:
                    await self._go.wait()
                for line in lines.splitlines(keepends=True):  # like the real one, each event by itself
                    writer.write(b"%x\r\n%b\r\n" % (len(line), line))
                await writer.drain()
        finally:
            await stream.close()

    async def cloud(self, request: Request, _peer: str, _writer: Writer) -> Response | None:
        if request.path == "/v3/auth/tokens":
            return Response(201, {**JSON, "x-subject-token": "t"}, msgspec.json.encode(_token(self._url)))
        if request.path.startswith("/v3"):
            links = [{"rel": "self", "href": f"{self._url}/v3/"}]
            return Response(
                200, JSON, msgspec.json.encode({"version": {"id": "v3.14", "status": "stable", "links": links}})
            )
        self._count("cloud", request)
        if self._options.delay:
            await asyncio.sleep(self._options.delay)
        return self._neutron.handle(request, moored.MEMBER)

    def gateway(self, number: int) -> "Answer":
        async def answer(request: Request, _peer: str, _writer: Writer) -> Response | None:
            self._count("gateway", request)
            if request.method == "PUT" and request.path == "/v1/document":
                document = msgspec.json.decode(request.body, type=Document)
                self._note(document)
                self._held[number] = document.held
            elif request.method == "PATCH":
                delta = msgspec.json.decode(request.body, type=Delta)
                if delta.base == self._held[number]:
                    self._held[number] = delta.held
            state = State(
                self._held[number], Vrrp.MASTER, told=self._held[number].digest, schemas=gateway_document.SCHEMAS
            )
            return Response(200, JSON, msgspec.json.encode(state))

        return answer

    def _note(self, document: Document) -> None:
        if self._pid and self._pushed is None:
            cpu = time.clock_gettime(~self._pid << 3 | CPU_OF_A_PROCESS)
            backends = sum(len(each.backends) for each in document.forwards)
            self._pushed = Push(cpu, memory(self._pid), time.monotonic(), len(document.forwards), backends)

    def command(self, wanted: Mapping[str, Any]) -> Any:  # noqa: ANN401, PLR0911 - whatever can be JSON; one each
        match wanted:
            case {"do": "move", "number": int(number)}:
                at = time.monotonic()
                return {"endpoint": self._cluster.move(number), "at": at}
            case {"do": "hold", "peers": [*peers]}:
                self._waiting = frozenset(peers)
                self._go.set()
                self._go = asyncio.Event()
                return {}
            case {"do": "watch", "pid": int(pid)}:
                self._pid, self._pushed = pid, None
                self._held = [Held() for _ in self._held]
                return {}
            case {"do": "pushed"}:
                return None if self._pushed is None else msgspec.to_builtins(self._pushed)
            case {"do": "expose", "count": int(count), "port": int(port)}:
                for number in range(count):
                    self._cluster.expose(number, ports=(port,))
                return {}
            case {"do": "published"}:
                items = self._cluster.do("GET", "/api/v1/services")["items"]
                return sum(1 for each in items if each["status"]["loadBalancer"].get("ingress"))
            case {"do": "counts"}:
                found, self._counts = self._counts, Counter()
                return found
            case _:
                raise ValueError(f"there is no command {wanted}")

    def _count(self, server: str, request: Request) -> None:
        self._counts[f"{server} {request.method} {_kind(request.path)}"] += 1

    @property
    def _url(self) -> str:
        return f"http://{self._options.listen}:{self.cloud_port}"


Answer = Callable[[Request, str, Writer], Awaitable[Response | None]]


def memory(pid: int) -> float:
    """MiB that a process has."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(each.split()[1]) for each in lines if each.startswith("Rss:")) / 1024


async def serve(answer: Answer, reader: Reader, writer: Writer) -> None:
    """One connection, request by request."""
    peer = str(writer.get_extra_info("peername")[0])
    try:
        while True:
            first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().rstrip().split("\r\n")
            headers = {key.lower(): value.strip() for key, _, value in (each.partition(":") for each in lines)}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            method, target, _ = first.split(" ", 2)
            url = urlsplit(target)
            query = tuple(parse_qsl(url.query, keep_blank_values=True))
            request = Request("bench", method, unquote(url.path), query, headers, body)
            response = await answer(request, peer, writer)
            if response is None:
                break
            _write(writer, response)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


def _write(writer: Writer, response: Response) -> None:
    headers = {**response.headers, "content-length": str(len(response.body))}
    head = "".join(f"{key}: {value}\r\n" for key, value in headers.items())
    writer.write(f"HTTP/1.1 {response.status} X\r\n{head}\r\n".encode() + response.body)


def _none() -> Response:
    body = {"kind": "ServiceCIDRList", "apiVersion": "networking.k8s.io/v1", "metadata": {"resourceVersion": "1"}}
    return Response(200, JSON, msgspec.json.encode({**body, "items": []}))


def _silence(query: Mapping[str, str]) -> Subscription:
    """A watch of what never is."""
    stream = Subscription(Scope(), since=0, wants_bookmarks=False, on_end=lambda _: None)
    if "sendInitialEvents" in query:
        meta = {"resourceVersion": "1", "annotations": BEGINNING}
        mark = {"kind": "ServiceCIDR", "apiVersion": "networking.k8s.io/v1", "metadata": meta, "spec": {}}
        stream.push(msgspec.json.encode({"type": "BOOKMARK", "object": mark}) + b"\n")
    return stream


def _token(url: str) -> dict[str, Any]:
    endpoint = {"id": "e", "interface": "public", "region": "RegionOne", "region_id": "RegionOne", "url": url}
    domain = {"id": "default", "name": "Default"}
    return {
        "token": {
            "methods": ["password"],
            "expires_at": "2099-01-01T00:00:00.000000Z",
            "catalog": [{"type": "network", "id": "n", "name": "neutron", "endpoints": [endpoint]}],
            "project": {"id": "p", "name": "p", "domain": domain},
            "user": {"id": "u", "name": "u", "domain": domain},
            "roles": [],
        }
    }


def _kind(path: str) -> str:
    """What a path is about, without names of objects."""
    words = path.strip("/").split("/")
    if words[0] == "v2.0":
        return f"{words[1]}/tags" if "tags" in words else words[1]
    if words[0] == "v1":
        return words[1]
    rest = words[2:] if words[0] == "api" else words[3:]
    rest = rest[2:] if rest[0] == "namespaces" and len(rest) > 2 else rest  # noqa: PLR2004 - a namespace before a kind
    return "/".join((rest[0], *rest[2:]))


async def main(options: Options) -> None:
    world = World(options)
    tls: ssl.SSLContext | None = None
    if options.ca:
        tls = serving.server_tls(options.ca, options.certificate, options.key)
    kube = await _listening(world.kube, options.listen)
    cloud = await _listening(world.cloud, options.listen)
    gateways = [await _listening(world.gateway(each), options.listen, tls) for each in range(options.gateways) if tls]
    world.cloud_port = cloud
    marking = asyncio.create_task(world.bookmark())
    _say({"kube": kube, "cloud": cloud, "gateways": gateways, "targets": world.targets})
    while line := await asyncio.to_thread(sys.stdin.readline):
        _say(world.command(json.loads(line)))
    marking.cancel()


async def _listening(answer: Answer, host: str, tls: ssl.SSLContext | None = None) -> int:
    server = await asyncio.start_server(lambda *ends: serve(answer, *ends), host, 0, ssl=tls, limit=1 << 20)
    port: int = server.sockets[0].getsockname()[1]
    return port


def _say(what: object) -> None:
    sys.stdout.write(f"{json.dumps(what)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(msgspec.json.decode(sys.argv[1], type=Options)))
