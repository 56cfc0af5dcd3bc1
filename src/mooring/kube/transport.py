"""The way to a real API server: HTTP over TLS, kept-alive connections, credentials. One request, one answer.

lightkube reads the kubeconfig; aiohttp carries the bytes, at a third of the cost of lightkube's own client
(docs/decisions/0011).
"""

import asyncio
import ssl
from collections.abc import Mapping
from http import HTTPStatus

import aiohttp
import msgspec

from mooring.kube.credentials import Access, BadCredentials
from mooring.wire.http import NoAnswer, NotSent, Request, Response

CONNECT_SECONDS = 5.0


class HttpTransport:
    """Speaks to one API server. The session is made at the first request, inside the loop that uses it."""

    def __init__(self, access: Access, *, agent: str = "mooring") -> None:
        self._access = access
        self._server = access.server.rstrip("/")
        # Compressed lists cost us more than the bytes that they save on the way to a neighbour.
        self._headers = {"user-agent": agent, "accept": "application/json", "accept-encoding": "identity"}
        self._session: aiohttp.ClientSession | None = None

    async def send(self, request: Request) -> Response:
        opened = await self._authorized(request, aiohttp.ClientTimeout(total=request.seconds, connect=CONNECT_SECONDS))
        try:
            body = await opened.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise NoAnswer(_text(error)) from error
        return Response(opened.status, _lower(opened.headers), body)

    async def open(self, request: Request) -> "HttpStream":
        limits = aiohttp.ClientTimeout(total=None, connect=CONNECT_SECONDS)
        try:
            async with asyncio.timeout(request.seconds):
                return HttpStream(await self._authorized(request, limits))
        except TimeoutError as error:
            raise NoAnswer("the server did not begin to answer in time") from error

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def renew(self, tls: ssl.SSLContext) -> None:
        """Speak with other certificates from now on. What is under way is not answered any more."""
        self._access = msgspec.structs.replace(self._access, tls=tls)
        await self.close()

    async def _authorized(self, request: Request, limits: aiohttp.ClientTimeout) -> aiohttp.ClientResponse:
        """The beginning of an answer. A token that is no longer taken is asked for once more."""
        header = await self._credentials(refused=None)
        opened = await self._open(request, header, limits)
        if opened.status != HTTPStatus.UNAUTHORIZED:
            return opened
        other = await self._credentials(refused=header)
        if other == header:
            return opened
        opened.release()
        return await self._open(request, other, limits)

    async def _credentials(self, *, refused: str | None) -> str | None:
        try:
            return await self._access.credentials.header(refused=refused)
        except BadCredentials as error:
            raise NotSent(str(error)) from error

    async def _open(
        self, request: Request, authorization: str | None, limits: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        if self._session is None:
            connector = aiohttp.TCPConnector(ssl=self._access.tls, limit=0)
            self._session = aiohttp.ClientSession(connector=connector, headers=self._headers)
        headers = {**request.headers, "authorization": authorization} if authorization else dict(request.headers)
        try:
            return await self._session.request(
                request.method,
                self._server + request.path,
                params=request.query,
                headers=headers,
                data=request.body or None,
                timeout=limits,
                allow_redirects=False,
                middlewares=(_once,) if request.writes else (),
            )
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL) as error:
            raise NotSent(_text(error)) from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise NoAnswer(_text(error)) from error


async def _once(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """A write. aiohttp would send a DELETE again when its connection breaks, but it may have been carried out."""
    try:
        return await handler(request)
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise NoAnswer(_text(error)) from error


class HttpStream:
    """A watch on its way."""

    def __init__(self, opened: aiohttp.ClientResponse) -> None:
        self._opened = opened
        self.status = opened.status
        self.headers = _lower(opened.headers)

    async def read(self) -> bytes:
        try:
            return await self._opened.content.readany()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise NoAnswer(_text(error)) from error

    async def close(self) -> None:
        """At once: a server that has fallen silent would not answer to the goodbye of TLS either."""
        connection = self._opened.connection
        if connection is not None and connection.transport is not None:
            connection.transport.abort()
        self._opened.close()


def _lower(headers: Mapping[str, str]) -> Mapping[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _text(error: BaseException) -> str:
    """Many of these errors have no text of their own."""
    return str(error) or ("no answer in time" if isinstance(error, TimeoutError) else type(error).__name__)
