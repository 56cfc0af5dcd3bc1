"""The way to the real Neutron: openstacksdk reads clouds.yaml and finds it, keystoneauth signs in, requests sends.

All of that blocks, so it runs in threads of its own. Every library here would gladly repeat, follow and wait by itself;
all of it is switched off: one request here is one request there, save for a token that ran out, which is renewed once.

Who sends a request was allowed to at that moment, and perhaps no longer is a while later. Therefore `seconds` counts
from `send` on and covers all of it, the wait for a thread and the sign-in too: what has not left by then never leaves.
"""

import asyncio
import concurrent.futures
import contextlib
import os
import ssl
import threading
import time
import urllib.parse
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import requests
import urllib3.exceptions
from keystoneauth1 import exceptions as keystone
from keystoneauth1.session import Session

from mooring.cloud.clouds import OpenStackConfig, SDKException
from mooring.wire.http import NoAnswer, NotSent, Request, Response

THREADS = 10  # as many connections as requests keeps to one server
SIGN_IN_SECONDS = 30.0
HIDDEN = "[hidden]"
SECRETS = frozenset({"password", "token", "passcode", "application_credential_secret", "client_secret", "access_token"})
NEVER_LEFT = (
    urllib3.exceptions.NewConnectionError,
    urllib3.exceptions.ConnectTimeoutError,
    urllib3.exceptions.NameResolutionError,
    urllib3.exceptions.ProxyError,
    ssl.SSLCertVerificationError,
    requests.exceptions.ConnectTimeout,
    requests.exceptions.InvalidURL,
)


class _Departure:
    """Whether one request may leave, and whether it has. The thread that sends it and who waits for it agree."""

    def __init__(self, seconds: float) -> None:
        self._ends = time.monotonic() + seconds
        self._lock = threading.Lock()
        self._open = True
        self._left = False

    def seconds(self) -> float:
        """How long it may still take."""
        return max(self._ends - time.monotonic(), 0.0)

    def leave(self) -> float:
        """Asked immediately before each exchange: how long that may take."""
        with self._lock:
            seconds = self.seconds()
            if not self._open or not seconds:
                raise NotSent("its time was over before it could be sent")
            self._left = True
            return seconds

    def refused(self) -> None:
        """The server let nothing happen: as if it had not left."""
        with self._lock:
            self._left = False

    def close(self) -> bool:
        """It does not leave any more. Has it left before?"""
        with self._lock:
            self._open = False
            return self._left


class NeutronTransport:
    """A transport to the Neutron of one entry in a clouds.yaml. It signs in with the first request."""

    def __init__(
        self,
        cloud: str | None,
        clouds_file: str | None,
        *,
        threads: int = THREADS,
        sign_in_seconds: float = SIGN_IN_SECONDS,
    ) -> None:
        self._cloud = cloud
        self._clouds_file = clouds_file
        self._threads = concurrent.futures.ThreadPoolExecutor(threads, thread_name_prefix="neutron")
        self._sign_in_seconds = sign_in_seconds
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._root = ""
        self._secrets: tuple[str, ...] = ()

    async def send(self, request: Request) -> Response:
        """Exchange a request for its answer. Giving up waiting stops a request that is not yet on its way, no other."""
        departure = _Departure(request.seconds)
        call = self._threads.submit(self._exchange, request, departure)
        try:
            async with asyncio.timeout(request.seconds):  # wait_for would forget that we are cancelled as it ends
                return await asyncio.wrap_future(call)
        except TimeoutError:
            if departure.close():
                raise NoAnswer(f"no answer within {request.seconds:g} s") from None
            why = "no thread was free" if call.cancelled() else "not signed in"
            raise NotSent(f"{why} within {request.seconds:g} s") from None
        finally:
            departure.close()

    async def close(self) -> None:
        """Forget what has not begun, and wait for what has."""
        await asyncio.to_thread(self._threads.shutdown, wait=True, cancel_futures=True)
        if self._session is not None:
            self._session.session.close()

    def _exchange(self, request: Request, departure: _Departure) -> Response:
        response = self._attempt(request, departure)
        if response.status == HTTPStatus.UNAUTHORIZED and self._session is not None:
            departure.refused()
            self._session.invalidate()
            response = self._attempt(request, departure)
        return response

    def _attempt(self, request: Request, departure: _Departure) -> Response:
        with self._signing_in(departure):
            session = self._opened(departure)
            token = session.get_auth_headers() or {}
        url = f"{self._root}{request.path}"
        if request.query:
            url += f"?{urllib.parse.urlencode(request.query)}"
        try:
            answer = session.request(
                url,
                request.method,
                headers={**request.headers, **token},
                data=request.body or None,
                timeout=departure.leave(),
                authenticated=False,
                raise_exc=False,
                redirect=False,
                connect_retries=0,
                status_code_retries=0,
                log=False,
            )
        except (keystone.ClientException, requests.exceptions.RequestException) as error:
            raise self._failure(error, request) from None
        headers = {name.lower(): value for name, value in answer.headers.items()}
        return Response(answer.status_code, headers, answer.content)

    @contextlib.contextmanager
    def _signing_in(self, departure: _Departure) -> Iterator[None]:
        """One at a time: who waits for another's sign-in gives up when its own time is over."""
        if not self._lock.acquire(timeout=departure.seconds()):
            raise NotSent("its time was over while another request signed in")
        try:
            yield
        except (
            keystone.ClientException,
            SDKException,
            requests.exceptions.RequestException,
            OSError,
        ) as error:
            text = f"cannot sign in to the cloud {self._cloud or ''}: {type(error).__name__}: {error}"
            raise NotSent(self._clean(text)) from None
        finally:
            self._lock.release()

    def _opened(self, departure: _Departure) -> Session:
        """The session, made by whoever comes first, and patient with Keystone for as long as this request may be."""
        seconds = min(self._sign_in_seconds, departure.seconds())
        if not seconds:
            raise NotSent("its time was over before it could be sent")
        if self._session is None:
            self._session, self._root = self._open(seconds)
        self._session.timeout = seconds
        return self._session

    def _open(self, seconds: float) -> tuple[Session, str]:
        region = self._region()
        self._secrets = tuple(str(value) for key, value in region.config["auth"].items() if key in SECRETS and value)
        session: Session = region.get_session()
        session.timeout = seconds
        endpoint: str | None = region.get_session_endpoint("network")
        if endpoint is None:
            raise keystone.EndpointNotFound("its catalog has no network endpoint")
        return session, endpoint.rstrip("/").removesuffix("/v2.0")

    def _region(self) -> Any:  # noqa: ANN401 - the SDK's own, and it is loaded without its types
        """The entry of clouds.yaml. Who names a file means it; the SDK would put the environment's first."""
        if not self._clouds_file:
            return OpenStackConfig().get_one(cloud=self._cloud)
        secure = os.environ.get("OS_CLIENT_SECURE_FILE")
        files = {"config_files": [self._clouds_file], "secure_files": [secure] if secure else None}
        return OpenStackConfig(**files, load_envvars=False).get_one(cloud=self._cloud or os.environ.get("OS_CLOUD"))

    def _failure(self, error: Exception, request: Request) -> NotSent | NoAnswer:
        """Was the request certainly not received? keystoneauth's own classes do not tell: the first cause does."""
        causes = list(_chain(error))
        if any(isinstance(cause, NEVER_LEFT) for cause in causes):
            return NotSent(self._clean(f"{type(causes[-1]).__name__}: {causes[-1]}"))
        if any(isinstance(cause, requests.exceptions.Timeout) for cause in causes):
            return NoAnswer(f"no answer within {request.seconds:g} s")
        return NoAnswer(self._clean(f"{type(causes[-1]).__name__}: {causes[-1]}"))

    def _clean(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return text


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and everything that it comes from; libraries keep their causes in three different places."""
    seen: list[BaseException] = []
    waiting: list[object] = [error]
    while waiting:
        each = waiting.pop(0)
        if not isinstance(each, BaseException) or each in seen:
            continue
        seen.append(each)
        yield each
        waiting += [each.__cause__, each.__context__, getattr(each, "reason", None), *each.args]
