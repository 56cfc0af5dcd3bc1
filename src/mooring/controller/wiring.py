"""The ways to the outside, from the configuration: API server, Neutron, agents. Connects to nothing by itself."""

import asyncio
import ssl
from collections.abc import Mapping

from msgspec import Struct

from mooring.cloud.wire import NeutronTransport
from mooring.kube import credentials
from mooring.kube.credentials import Access, BadCredentials
from mooring.kube.transport import HttpTransport
from mooring.model.config import Config, Tls
from mooring.model.errors import StartRefused


class Ways(Struct, frozen=True):
    """One transport for each outside thing, not yet counted, limited or fenced."""

    kube: HttpTransport
    cloud: NeutronTransport
    agents: Mapping[str, HttpTransport]

    async def close(self) -> None:
        await asyncio.gather(self.kube.close(), self.cloud.close(), *(each.close() for each in self.agents.values()))


def ways(config: Config) -> Ways:
    try:
        access = credentials.access(config.kubernetes.kubeconfig, config.kubernetes.context)
    except BadCredentials as error:
        raise StartRefused(f"The Kubernetes API cannot be used: {error}. Set kubernetes.kubeconfig") from error
    nobody = credentials.Fixed(None)  # the certificate says who we are
    tls = client_tls(config.tls) if config.gateways else ssl.create_default_context()
    return Ways(
        HttpTransport(access),
        NeutronTransport(config.openstack.cloud, config.openstack.clouds_file),
        {
            name: HttpTransport(Access(f"https://{gateway.agent}", tls, nobody))
            for name, gateway in sorted(config.gateways.items())
        },
    )


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
