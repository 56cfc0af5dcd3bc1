"""Who we are to the API server: what a kubeconfig or a pod's ServiceAccount says, turned into headers.

A token in a file is rotated by others, a token from a program ends some day: both are asked for again when the server
no longer takes the one that we have. Knows nothing of requests.
"""

import asyncio
import base64
import contextlib
import os
import ssl
import subprocess
from pathlib import Path
from typing import Protocol

import msgspec
import yaml  # type: ignore[import-untyped] # lightkube's own reader; only its errors concern us
from lightkube.config import client_adapter
from lightkube.config.kubeconfig import DEFAULT_KUBECONFIG, KubeConfig, SingleConfig
from lightkube.config.models import User, UserExec
from lightkube.core.exceptions import ConfigError
from msgspec import Struct

EXEC_VERSIONS = tuple(f"client.authentication.k8s.io/{version}" for version in ("v1", "v1beta1", "v1alpha1"))
EXEC_SECONDS = 60.0


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
            except UnicodeDecodeError:
                raise BadCredentials(f"the token's file {self._file} holds no token") from None
            self._header = _bearer(token, f"the token's file {self._file}")
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
        self._alone = asyncio.Lock()

    async def header(self, *, refused: str | None) -> str | None:
        async with self._alone:  # one token is enough for all who wait for it
            if self._header is None or self._header == refused:
                self._header = _bearer(await self._token(), f"credential program {self._program.command}")
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
                command, *self._program.args or (), env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
            )
        except OSError as error:
            raise BadCredentials(f"credential program {command} cannot be started: {error.strerror}") from error
        output = await _output(process, f"credential program {command}")
        try:
            return msgspec.json.decode(output, type=_ExecCredential).status.token
        except ValueError:
            raise BadCredentials(f"credential program {command} gave no token") from None  # its text may hold one


async def _output(process: asyncio.subprocess.Process, told: str) -> bytes:
    """What a program prints until it ends well. Whatever else happens, it does not stay."""
    try:
        async with asyncio.timeout(EXEC_SECONDS):
            output, _ = await process.communicate()
    except TimeoutError:
        raise BadCredentials(f"{told} gave no answer in {EXEC_SECONDS:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1):
                    await process.wait()
    if process.returncode:
        raise BadCredentials(f"{told} failed with exit code {process.returncode}")
    return output


def _bearer(token: str, told: str) -> str:
    """The header of a token, which is one printable word: anything else could not be sent."""
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise BadCredentials(f"{told} holds no token")
    return f"Bearer {token}"


class Access(Struct, frozen=True):
    """Where the API server is, how its certificate is checked, and who we are."""

    server: str
    tls: ssl.SSLContext
    credentials: Credentials


def access(kubeconfig: str | None = None, context: str | None = None) -> Access:
    """What the kubeconfig says; without one the pod's ServiceAccount, then KUBECONFIG and the usual place."""
    file = kubeconfig or os.environ.get("KUBECONFIG", DEFAULT_KUBECONFIG)
    try:
        config = KubeConfig.from_file(kubeconfig) if kubeconfig else KubeConfig.from_env()
        chosen = config.get(context)
    except yaml.YAMLError as error:  # its text shows the line, and a token stands in one
        line = f", line {error.problem_mark.line + 1}" if isinstance(error, yaml.MarkedYAMLError) else ""
        raise BadCredentials(f"{file} cannot be used: it is not YAML{line}") from None
    except KeyError as error:
        raise BadCredentials(f"{file} cannot be used: there is no {error}") from error
    except (ConfigError, OSError, ValueError) as error:
        raise BadCredentials(f"{file} cannot be used: {error}") from error
    except (AttributeError, TypeError) as error:
        raise BadCredentials(f"{file} cannot be used: it is no kubeconfig") from error
    if chosen is None:
        raise BadCredentials(f"{file} has no current context: name one")
    server = chosen.cluster.server
    if not server.startswith(("http://", "https://")) or not server.partition("://")[2].strip("/"):
        raise BadCredentials(f"{file} cannot be used: its server {server!r} is no address with http:// or https://")
    user = chosen.user or User()
    try:
        tls = client_adapter.verify_cluster(chosen.cluster, user, chosen.abs_file, trust_env=False)
    except (ConfigError, OSError, ValueError) as error:
        told = f"{file} cannot be used: a certificate or key that it names cannot be read: {error}"
        raise BadCredentials(told) from error
    return Access(server, tls, _credentials(user, chosen, file))


def _credentials(user: User, chosen: SingleConfig, file: str) -> Credentials:
    if user.token_file is not None:
        return TokenFile(Path(chosen.abs_file(user.token_file)))
    if user.token is not None:
        return Fixed(_bearer(user.token.strip(), file))
    if user.exec is not None:
        return Program(user.exec)
    if user.username and user.password:
        return Fixed(f"Basic {base64.b64encode(f'{user.username}:{user.password}'.encode()).decode()}")
    return Fixed(None)
