"""A ServiceAccount of the lab's Kubernetes, whose tokens a test hands out and ends."""

import asyncio
import json
import ssl
from pathlib import Path

from mooring.kube import credentials
from mooring.kube.transport import HttpTransport
from mooring.lab.lab import Lab
from mooring.wire.http import Request


class Account:
    """A ServiceAccount whose tokens end when we say so: each is bound to a Secret, and dies with it."""

    def __init__(self, lab: Lab, namespace: str, folder: Path) -> None:
        self._lab = lab
        self._own = f"--namespace={namespace}"
        self._file = folder / "token"
        rules = ("--verb=get,list,watch", "--resource=leases.coordination.k8s.io")
        lab.kubectl("create", self._own, "serviceaccount", "mooring")
        lab.kubectl("create", self._own, "role", "mooring", *rules)
        who = f"--serviceaccount={namespace}:mooring"
        lab.kubectl("create", self._own, "rolebinding", "mooring", "--role=mooring", who)
        self.kubeconfig = folder / "kubeconfig"
        content = json.loads(lab.kubectl("config", "view", "--raw", "--output=json"))
        content["users"][0]["user"] = {"tokenFile": str(self._file)}
        self.kubeconfig.write_text(json.dumps(content))

    def make(self, name: str) -> str:
        self._lab.kubectl("create", self._own, "secret", "generic", name)
        bound = (f"--bound-object-name={name}", "--bound-object-kind=Secret")
        return self._lab.kubectl("create", self._own, "token", "mooring", *bound).strip()

    def give(self, token: str) -> None:
        self._file.write_text(token)

    def end(self, name: str) -> None:
        self._lab.kubectl("delete", self._own, "secret", name)


async def until_refused(lab: Lab, token: str) -> None:
    """Wait until a token is no longer taken: an API server remembers for some seconds that it was good."""
    access = credentials.access(str(lab.place.kubeconfig))
    tls = ssl.create_default_context(cafile=str(lab.authority.certificate))
    http = HttpTransport(credentials.Access(access.server, tls, credentials.Fixed(f"Bearer {token}")))
    try:
        async with asyncio.timeout(60):
            while (await http.send(Request("test", "GET", "/api"))).status != 401:  # noqa: ASYNC110 - nobody tells us
                await asyncio.sleep(0.5)
    finally:
        await http.close()
