"""Who we are to the API server: what a kubeconfig or a pod's ServiceAccount says, turned into headers.

A token in a file is rotated by others, a token from a program ends some day: both are asked for again when the server
no longer takes the one that we have. Knows nothing of requests.
"""

import asyncio
import base64
import os
import ssl
from pathlib import Path
from typing import Protocol

import msgspec
from lightkube.config import client_adapter
from lightkube.config.kubeconfig import KubeConfig, SingleConfig
from lightkube.config.models import User, UserExec
from lightkube.core.exceptions import ConfigError
from msgspec import Struct

EXEC_VERSIONS = tuple(f"client.authentication.k8s.io/{version}" for version in ("v1", "v1beta1", "v1alpha1"))


class BadCredentials(Exception):
    """The kubeconfig, the token's file or the credential program is not usable; the text says which and why."""


class Credentials(Protocol):
    async def header(self, *, refused: str | None) -> str | None:
        """The Authorization header; `refused` is one that the server did not take, so another one is wanted."""


class Fixed:
    """A token or password that stands in the kubeconfig, or nothing where a certificate speaks for us."""

    def __init__(self, header: str | None) -> None:
        self._header = header

    async def header(self, *, refused: str | None) -> str | None:  # noqa: ARG002 - there is no other one
        return self._header


class TokenFile:
    """A token that others rotate, as the kubelet does for pods."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._header: str | None = None

    async def header(self, *, refused: str | None) -> str | None:
        if self._header is None or self._header == refused:
            try:
                token = (await asyncio.to_thread(self._file.read_text)).strip()
            except OSError as error:
                raise BadCredentials(f"the token's file {self._file} cannot be read: {error.strerror}") from error
            self._header = f"Bearer {token}"
        return self._header


class _ExecStatus(Struct, frozen=True):
    token: str


class _ExecCredential(Struct, frozen=True):
    status: _ExecStatus


class Program:
    """A program of the cluster's owner that gives out tokens (`exec` in a kubeconfig)."""

    def __init__(self, program: UserExec) -> None:
        self._program = program
        self._header: str | None = None

    async def header(self, *, refused: str | None) -> str | None:
        if self._header is None or self._header == refused:
            self._header = f"Bearer {await self._token()}"
        return self._header

    async def _token(self) -> str:
        version, command = self._program.apiVersion, self._program.command
        if version not in EXEC_VERSIONS:
            raise BadCredentials(f"credential program {command}: version {version} is not known")
        info = {"apiVersion": version, "kind": "ExecCredential", "spec": {"interactive": False}}
        environment = os.environ | {each.name: each.value for each in self._program.env or ()}
        environment["KUBERNETES_EXEC_INFO"] = msgspec.json.encode(info).decode()
        try:
            process = await asyncio.create_subprocess_exec(
                command or "", *self._program.args or (), env=environment, stdout=asyncio.subprocess.PIPE
            )
        except OSError as error:
            raise BadCredentials(f"credential program {command} cannot be started: {error.strerror}") from error
        output, _ = await process.communicate()
        try:
            return msgspec.json.decode(output, type=_ExecCredential).status.token
        except msgspec.DecodeError as error:
            raise BadCredentials(f"credential program {command} gave no token (exit {process.returncode})") from error


class Access(Struct, frozen=True):
    """Where the API server is, how its certificate is checked, and who we are."""

    server: str
    tls: ssl.SSLContext
    credentials: Credentials


def access(kubeconfig: str | None = None, context: str | None = None) -> Access:
    """What the kubeconfig says; without one the pod's ServiceAccount, then KUBECONFIG and the usual place."""
    try:
        config = KubeConfig.from_file(kubeconfig) if kubeconfig else KubeConfig.from_env()
        chosen = config.get(context)
        if chosen is None:
            raise BadCredentials(f"{kubeconfig or 'the kubeconfig'} has no current context: name one")
        user = chosen.user or User()
        tls = client_adapter.verify_cluster(chosen.cluster, user, chosen.abs_file, trust_env=False)
    except (ConfigError, OSError, ValueError) as error:
        raise BadCredentials(f"{kubeconfig or 'the kubeconfig'} cannot be used: {error}") from error
    return Access(chosen.cluster.server, tls, _credentials(user, chosen))


def _credentials(user: User, chosen: SingleConfig) -> Credentials:
    if user.token_file is not None:
        return TokenFile(Path(chosen.abs_file(user.token_file)))
    if user.token is not None:
        return Fixed(f"Bearer {user.token}")
    if user.exec is not None:
        return Program(user.exec)
    if user.username and user.password:
        return Fixed(f"Basic {base64.b64encode(f'{user.username}:{user.password}'.encode()).decode()}")
    return Fixed(None)
