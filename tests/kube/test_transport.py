"""The way to an API server, over real sockets: what has certainly not happened, what may have, what is an answer."""

import asyncio
import socket
from pathlib import Path

import msgspec
import pytest

from mooring.kube.kinds import SERVICES
from mooring.kube.transport import HttpTransport
from mooring.wire.http import NoAnswer, NotSent, Request, Response
from tests.kube.tiny_server import (
    Answer,
    Asked,
    Line,
    TinyServer,
    authority,
    play,
    server_tls,
    serving,
    speaking,
    write_kubeconfig,
)
from tests.patience import until

GET = Request("test", "GET", "/api", seconds=5.0)
WRITES = [Request("test", method, "/api", body=b"{}", seconds=5.0) for method in ("POST", "PATCH", "PUT", "DELETE")]


async def fine(_: Asked, line: Line) -> None:
    await line.answer()


async def silent(_: Asked, line: Line) -> None:
    await line.silence()


async def gone(_: Asked, line: Line) -> None:
    await line.hang_up()


async def rude(_: Asked, line: Line) -> None:
    await line.reset()


async def short(_: Asked, line: Line) -> None:
    await line.send(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"items": [')
    await line.hang_up()


async def short_chunks(_: Asked, line: Line) -> None:
    await line.begin()
    await line.chunk(b'{"items": [')
    await line.hang_up()


async def half_a_head(_: Asked, line: Line) -> None:
    await line.send(b"HTTP/1.1 200 OK\r\nContent-Le")
    await line.hang_up()


async def nonsense(_: Asked, line: Line) -> None:
    await line.send(b"SSH-2.0-OpenSSH_9.2p1\r\n\r\n")
    await line.hang_up()


async def half_a_body(_: Asked, line: Line) -> None:
    await line.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
    await line.silence()


def test_what_nobody_listens_to_was_not_sent(tmp_path: Path) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        kubeconfig = write_kubeconfig(tmp_path, f"http://127.0.0.1:{bound.getsockname()[1]}")

        async def scene() -> None:
            async with speaking(kubeconfig) as transport:
                for request in (GET, *WRITES):
                    with pytest.raises(NotSent, match="Connect call failed"):
                        await transport.send(request)
                with pytest.raises(NotSent):
                    await transport.open(GET)

        asyncio.run(scene())


def test_what_is_for_a_host_without_address_was_not_sent(tmp_path: Path) -> None:
    async def scene() -> None:
        async with speaking(write_kubeconfig(tmp_path, "http://no-such-host.invalid")) as transport:
            with pytest.raises(NotSent, match="no-such-host"):
                await transport.send(GET)

    asyncio.run(scene())


@pytest.mark.parametrize("answer", [gone, rude, short, short_chunks, half_a_head, nonsense])
@pytest.mark.parametrize("request_", WRITES, ids=lambda request: request.method)
def test_a_write_whose_answer_is_not_whole_may_have_happened_and_is_sent_once(
    tmp_path: Path, answer: Answer, request_: Request
) -> None:
    async def scene(server: TinyServer, transport: HttpTransport) -> None:
        with pytest.raises(NoAnswer, match=r"\w"):
            await transport.send(request_)
        assert server.methods == [request_.method]

    play(tmp_path, answer, scene)


@pytest.mark.parametrize("answer", [gone, rude, short, short_chunks, half_a_head, nonsense])
def test_a_read_whose_answer_is_not_whole_is_no_answer(tmp_path: Path, answer: Answer) -> None:
    async def scene(_: TinyServer, transport: HttpTransport) -> None:
        with pytest.raises(NoAnswer, match=r"\w"):
            await transport.send(GET)

    play(tmp_path, answer, scene)


@pytest.mark.parametrize("answer", [silent, half_a_body])
def test_an_answer_that_does_not_come_in_time_is_no_answer(tmp_path: Path, answer: Answer) -> None:
    async def scene(server: TinyServer, transport: HttpTransport) -> None:
        for request in (GET, *WRITES):
            with pytest.raises(NoAnswer, match=r"\w"):
                await transport.send(msgspec.structs.replace(request, seconds=0.1))
        assert len(server.asked) == 5

    play(tmp_path, answer, scene)


def test_a_request_that_is_given_up_does_not_spoil_the_next(tmp_path: Path) -> None:
    async def echo(asked: Asked, line: Line) -> None:
        if asked.path == "/slow":
            await asyncio.sleep(0.3)
        await line.answer(body=asked.path.encode())

    async def scene(_: TinyServer, transport: HttpTransport) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await transport.send(msgspec.structs.replace(GET, path="/slow"))
        answers = [await transport.send(msgspec.structs.replace(GET, path=f"/{number}")) for number in range(3)]
        assert [answer.body for answer in answers] == [b"/0", b"/1", b"/2"]

    play(tmp_path, echo, scene)


def test_many_requests_do_not_wait_for_one_another(tmp_path: Path) -> None:
    everybody = asyncio.Event()

    async def scene(server: TinyServer, transport: HttpTransport) -> None:
        sending = asyncio.gather(*(transport.send(GET) for _ in range(150)))
        await until(lambda: len(server.asked) == 150)
        everybody.set()
        assert {answer.status for answer in await sending} == {200}

    async def patient(_: Asked, line: Line) -> None:
        await everybody.wait()
        await line.answer()

    play(tmp_path, patient, scene)


def test_connections_are_kept_and_the_answer_is_told_whole(tmp_path: Path) -> None:
    async def answer(_: Asked, line: Line) -> None:
        await line.answer(429, b"later", Retry_After="7")

    async def scene(server: TinyServer, transport: HttpTransport) -> None:
        for _ in range(3):
            response = await transport.send(GET)
        assert (response.status, response.headers["retry-after"], response.body) == (429, "7", b"later")
        assert (server.connections, len(server.asked)) == (1, 3)

    play(tmp_path, answer, scene)


def test_what_is_sent_is_what_was_asked_for(tmp_path: Path) -> None:
    async def scene(server: TinyServer, transport: HttpTransport) -> None:
        query = (("labelSelector", "a=b,c in (d,e)"), ("continue", "x+/=&ü"), ("a", "1"), ("a", "2"))
        headers = {"content-type": "application/merge-patch+json"}
        await transport.send(Request("test", "PATCH", "/api/v1/a%20b", query, headers, b'{"a": 1}'))
        [asked] = server.asked
        path, _, sent = asked.path.partition("?")
        assert path == "/api/v1/a%20b"
        assert sent == "labelSelector=a%3Db,c+in+(d,e)&continue=x%2B/%3D%26%C3%BC&a=1&a=2"
        assert asked.body == b'{"a": 1}'
        kept = {name: asked.headers[name] for name in ("content-type", "accept", "accept-encoding", "user-agent")}
        wanted = {"accept": "application/json", "accept-encoding": "identity", "user-agent": "mooring"}
        assert kept == headers | wanted
        assert "authorization" not in asked.headers

    play(tmp_path, fine, scene)


def test_a_server_may_live_below_a_path(tmp_path: Path) -> None:
    async def run(ending: str) -> str:
        async with serving(fine) as server:
            kubeconfig = write_kubeconfig(tmp_path, f"{server.url}/k8s/clusters/c-1{ending}")
            async with speaking(kubeconfig) as transport:
                await transport.send(msgspec.structs.replace(GET, path=SERVICES.path("shop", "web")))
                return server.asked[0].path

    for ending in ("", "/"):
        assert asyncio.run(run(ending)) == "/k8s/clusters/c-1/api/v1/namespaces/shop/services/web"


def test_a_redirection_is_an_answer_and_is_not_followed(tmp_path: Path) -> None:
    async def elsewhere(_: Asked, line: Line) -> None:
        await line.answer(307, Location="http://elsewhere.invalid/")

    async def scene(server: TinyServer, transport: HttpTransport) -> None:
        assert (await transport.send(GET)).status == 307
        assert (await transport.open(GET)).status == 307
        assert len(server.asked) == 2

    play(tmp_path, elsewhere, scene)


class Tired:
    """A server that answers once and ends the connection: at once (nobody waits), or when the next request comes."""

    def __init__(self, *, at_once: bool) -> None:
        self._at_once = at_once
        self._answered: set[Line] = set()
        self.closed = asyncio.Event()

    async def __call__(self, _: Asked, line: Line) -> None:
        if line in self._answered:
            await line.hang_up()
            return
        self._answered.add(line)
        await line.answer()
        if self._at_once:
            await line.say_goodbye()
            self.closed.set()


@pytest.mark.parametrize("request_", [GET, *WRITES], ids=lambda request: request.method)
def test_a_connection_that_the_server_closed_while_idle_is_not_used_again(tmp_path: Path, request_: Request) -> None:
    tired = Tired(at_once=True)

    async def scene(server: TinyServer, transport: HttpTransport) -> None:
        await transport.send(GET)
        await tired.closed.wait()
        assert (await transport.send(request_)).status == 200
        assert server.methods == ["GET", request_.method]

    play(tmp_path, tired, scene)


@pytest.mark.parametrize("request_", WRITES, ids=lambda request: request.method)
def test_a_write_into_a_connection_that_just_ends_is_not_sent_twice(tmp_path: Path, request_: Request) -> None:
    async def scene(server: TinyServer, transport: HttpTransport) -> None:
        await transport.send(GET)
        with pytest.raises(NoAnswer):
            await transport.send(request_)
        assert server.methods == ["GET", request_.method]
        assert (await transport.send(request_)).status == 200

    play(tmp_path, Tired(at_once=False), scene)


def test_a_read_into_a_connection_that_just_ends_is_sent_again(tmp_path: Path) -> None:
    async def scene(server: TinyServer, transport: HttpTransport) -> None:
        await transport.send(GET)
        assert (await transport.send(GET)).status == 200
        assert len(server.asked) == 3

    play(tmp_path, Tired(at_once=False), scene)


def test_a_server_whose_certificate_is_of_another_authority_is_told_nothing(tmp_path: Path) -> None:
    theirs, ours = authority(tmp_path / "theirs"), authority(tmp_path / "ours")

    async def scene() -> None:
        async with serving(fine, server_tls(theirs)) as server:
            user = {"token": "precious-token"}
            kubeconfig = write_kubeconfig(tmp_path, server.url, user=user, authority=ours.certificate)
            async with speaking(kubeconfig) as transport:
                for request in (GET, *WRITES):
                    with pytest.raises(NotSent, match="certificate verify failed"):
                        await transport.send(request)
                with pytest.raises(NotSent, match=f"127.0.0.1:{server.port}"):
                    await transport.open(GET)
            assert server.asked == []

    asyncio.run(scene())


def test_a_server_whose_certificate_is_for_another_address_is_told_nothing(tmp_path: Path) -> None:
    ours = authority(tmp_path / "ours")

    async def scene() -> None:
        async with serving(fine, server_tls(ours, address="192.0.2.1")) as server:
            kubeconfig = write_kubeconfig(tmp_path, server.url, authority=ours.certificate)
            async with speaking(kubeconfig) as transport:
                with pytest.raises(NotSent, match="IP address mismatch"):
                    await transport.send(GET)
            assert server.asked == []

    asyncio.run(scene())


def test_a_client_certificate_is_shown(tmp_path: Path) -> None:
    ours = authority(tmp_path / "ours")
    pair = ours.issue("client", "mooring")

    async def scene() -> None:
        async with serving(fine, server_tls(ours)) as server:
            user = {"client-certificate": str(pair.certificate), "client-key": str(pair.key)}
            kubeconfig = write_kubeconfig(tmp_path, server.url, user=user, authority=ours.certificate)
            async with speaking(kubeconfig) as transport:
                await transport.send(GET)
            assert [asked.who for asked in server.asked] == ["mooring"]

    asyncio.run(scene())


def test_no_answer_text_is_ever_a_secret(tmp_path: Path) -> None:
    async def scene() -> None:
        for answer in (gone, rude, short, nonsense, half_a_head):
            async with serving(answer) as server:
                kubeconfig = write_kubeconfig(tmp_path, server.url, user={"token": "precious-token"})
                async with speaking(kubeconfig) as transport:
                    with pytest.raises(NoAnswer) as caught:
                        await transport.send(WRITES[0])
                    assert server.tokens == ["Bearer precious-token"]
                    assert "precious" not in str(caught.value)

    asyncio.run(scene())


def test_closing_twice_and_going_on_afterwards_is_fine(tmp_path: Path) -> None:
    async def scene(server: TinyServer, transport: HttpTransport) -> None:
        answers: list[Response] = []
        for _ in range(2):
            answers.append(await transport.send(GET))
            await transport.close()
            await transport.close()
        assert [answer.status for answer in answers] == [200, 200]
        assert server.connections == 2

    play(tmp_path, fine, scene)
