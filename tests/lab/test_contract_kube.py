"""The real API server keeps the Kubernetes contract. Where it does not, the contract and the twin are wrong."""

import asyncio
import contextlib
import uuid
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from mooring.kube import credentials
from mooring.kube.transport import HttpTransport
from mooring.lab.errors import CommandError
from mooring.lab.lab import Lab
from mooring.wire.http import Request, Response, Stream, Transport
from tests.contract.kube import bodies, cases
from tests.contract.kube.world import Case, Rights, Tree, World, eventually

ROLES = "/apis/rbac.authorization.k8s.io/v1"
NAMESPACES = "/api/v1/namespaces"
FORGOTTEN = 2
"""A version that nobody needs any more when an API server begins to answer."""


class AsUser:
    """Somebody else's way to the API: an administrator may speak for others."""

    def __init__(self, transport: Transport, user: str) -> None:
        self._transport = transport
        self._header = {"impersonate-user": user}

    async def send(self, request: Request) -> Response:
        return await self._transport.send(self._theirs(request))

    async def open(self, request: Request) -> Stream:
        return await self._transport.open(self._theirs(request))

    def _theirs(self, request: Request) -> Request:
        return msgspec.structs.replace(request, headers={**request.headers, **self._header})


class RealHost:
    """The lab's API server, as its administrator."""

    def __init__(self, lab: Lab, name: str) -> None:
        self._lab = lab
        self._name = name
        self.http = HttpTransport(credentials.access(str(lab.place.kubeconfig)))
        self.transport: Transport = self.http

    async def compact(self) -> None:
        """An API server has its store compacted after minutes: do so now, for the first versions only."""
        pair = self._lab.authority.pair("apiserver-etcd")
        tls: list[str | Path] = [
            "--cacert",
            self._lab.authority.certificate,
            "--cert",
            pair.certificate,
            "--key",
            pair.key,
        ]
        order = msgspec.json.encode({"revision": FORGOTTEN}).decode()
        url = "https://127.0.0.1:2379/v3/kv/compaction"
        with contextlib.suppress(CommandError):  # somebody else was faster
            self._lab.hosts.run("control", ["curl", "--silent", "--fail", *tls, "--data", order, url])

    async def as_user(self, rights: Rights) -> Transport:
        at = World(self, self._name)
        rules = [
            {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
            for verb, (group, _, resource) in sorted((verb, right.partition("/")) for verb, right in rights)
        ]
        role: Tree = {"metadata": {"name": "somebody"}, "rules": rules}
        binding: Tree = {
            "metadata": {"name": "somebody"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "somebody"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": self._name}],
        }
        await at.made(f"{ROLES}/namespaces/{self._name}/roles", role)
        await at.made(f"{ROLES}/namespaces/{self._name}/rolebindings", binding)
        return AsUser(self.transport, self._name)


@pytest.fixture(scope="module")
def kinds(lab: Lab) -> Iterator[None]:
    """The contract's own kinds, for as long as the cases run."""
    asyncio.run(_with_host(lab, _install))
    yield
    asyncio.run(_with_host(lab, _uninstall))


@pytest.mark.usefixtures("kinds")
@pytest.mark.parametrize("case", cases.all_cases(), ids=cases.title)
def test_the_contract(case: Case, lab: Lab) -> None:
    async def within_a_namespace(at: World) -> None:
        await at.made(NAMESPACES, {"metadata": {"name": at.namespace}})
        try:
            await case(at)
        finally:
            await at.delete(f"{NAMESPACES}/{at.namespace}")

    asyncio.run(_with_host(lab, within_a_namespace))


async def _with_host(lab: Lab, case: Case) -> None:
    name = f"c-{uuid.uuid4().hex[:8]}"
    host = RealHost(lab, name)
    at = World(host, name)
    try:
        await case(at)
    finally:
        await at.close()
        await host.http.close()


async def _install(at: World) -> None:
    await _uninstall(at)
    for definition in bodies.CONTRACT_KINDS:
        await at.made(bodies.DEFINITIONS, definition)
    for path in (at.ports, at.plains):

        async def served(path: str = path) -> bool:
            return (await at.get(path)).status == 200

        await eventually(served)


async def _uninstall(at: World) -> None:
    for definition in bodies.CONTRACT_KINDS:
        path = f"{bodies.DEFINITIONS}/{definition['metadata']['name']}"
        await at.delete(path)

        async def gone(path: str = path) -> bool:
            return (await at.get(path)).status == 404

        await eventually(gone)
