"""The ways to the outside, from the configuration: API server, Neutron, agents. Connects to nothing by itself."""

import asyncio
import ssl
from pathlib import Path

from msgspec import Struct

from mooring.cloud.wire import NeutronTransport
from mooring.kube import credentials
from mooring.kube.credentials import Access, BadCredentials
from mooring.kube.transport import HttpTransport
from mooring.model.config import Config, Tls
from mooring.model.errors import StartRefused


class AgentWays:
    """The ways to the agents, by where they listen, with the certificates that lie in the files."""

    def __init__(self, files: Tls) -> None:
        self._files = files
        self._tls = client_tls(files)
        self._seen = _written(files)
        self._ways: dict[str, HttpTransport] = {}

    def reach(self, agent: str) -> HttpTransport:
        """The way to the agent that listens there. Connects to nothing by itself."""
        if agent not in self._ways:
            nobody = credentials.Fixed(None)  # the certificate says who we are
            self._ways[agent] = HttpTransport(Access(f"https://{agent}", self._tls, nobody))
        return self._ways[agent]

    async def renew(self, files: Tls) -> bool:
        """Use the certificates that lie in the files now, if they are others. What is under way is not answered."""
        seen = _written(files)
        if (files, seen) == (self._files, self._seen):
            return False
        self._tls = client_tls(files)
        self._files, self._seen = files, seen
        await asyncio.gather(*(each.renew(self._tls) for each in self._ways.values()))
        return True

    async def close(self) -> None:
        await asyncio.gather(*(each.close() for each in self._ways.values()))


class Ways(Struct, frozen=True):
    """One transport for each outside thing, not yet counted, limited or fenced."""

    kube: HttpTransport
    cloud: NeutronTransport
    agents: AgentWays | None
    """None, where certificates are missing."""

    async def close(self) -> None:
        await asyncio.gather(*(each.close() for each in (self.kube, self.cloud, self.agents) if each is not None))


def ways(config: Config, agents: AgentWays | None) -> Ways:
    try:
        access = credentials.access(config.kubernetes.kubeconfig, config.kubernetes.context)
    except BadCredentials as error:
        raise StartRefused(f"The Kubernetes API cannot be used: {error}. Set kubernetes.kubeconfig") from error
    cloud = NeutronTransport(config.openstack.cloud, config.openstack.clouds_file)
    return Ways(HttpTransport(access), cloud, agents)


def client_tls(files: Tls) -> ssl.SSLContext:
    """TLS 1.3 to agents whose certificate our authority signed, with a certificate of our own."""
    try:
        context = ssl.create_default_context(cafile=files.ca)
        context.load_cert_chain(files.certificate, files.key)
    except OSError as error:
        raise StartRefused(
            f"The certificates for the agents cannot be used ({error}): {files.ca}, {files.certificate}, {files.key}. "
            "Make them with `mooring pki init` and `mooring pki issue controller NAME`, and name them in section tls"
        ) from error
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context


def _written(files: Tls) -> tuple[int, ...]:
    """When each of the files was written; what is not there was written never."""
    paths = (Path(each) for each in (files.ca, files.certificate, files.key))
    return tuple(each.stat().st_mtime_ns if each.exists() else 0 for each in paths)
