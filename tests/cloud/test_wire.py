"""The transport to the real Neutron, against a small real server that misbehaves on demand."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mooring.cloud.wire import NeutronTransport
from mooring.wire.http import NoAnswer, NotSent, Request, Response
from tests.cloud.openstack_server import PASSWORD, OpenStackServer


@pytest.fixture
def server() -> Iterator[OpenStackServer]:
    with OpenStackServer() as server:
        yield server


def sent(
    server: OpenStackServer, folder: Path, *requests: Request, password: str = PASSWORD, cloud: str | None = "tiny"
) -> list[Response]:
    """The answers to requests that are sent one after the other."""
    clouds = folder / "clouds.yaml"
    clouds.write_text(server.clouds(password))

    async def send() -> list[Response]:
        transport = NeutronTransport(cloud, str(clouds))
        try:
            return [await transport.send(request) for request in requests]
        finally:
            server.release.set()
            await transport.close()

    return asyncio.run(send())


def get(path: str, seconds: float = 5.0) -> Request:
    return Request("get", "GET", f"/v2.0/{path}", seconds=seconds)


def closed_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def test_a_request_arrives_as_it_was_made(server: OpenStackServer, tmp_path: Path) -> None:
    query = (("name", "a b"), ("name", "c&d"), ("fixed_ips", "ip_address=::1"))
    headers = {"if-match": "revision_number=7", "content-type": "application/json"}
    request = Request("update", "PUT", "/v2.0/ports/x", query, headers, b'{"port":{}}')
    [response] = sent(server, tmp_path, request)
    assert (response.status, response.headers["content-type"]) == (200, "application/json")
    assert json.loads(response.body) == {"echo": '{"port":{}}', "if-match": "revision_number=7"}
    path = "/v2.0/ports/x?name=a+b&name=c%26d&fixed_ips=ip_address%3D%3A%3A1"
    assert server.asked == [("PUT", path, "secret-token-0")]


def test_one_sign_in_is_enough(server: OpenStackServer, tmp_path: Path) -> None:
    sent(server, tmp_path, *[get("ports")] * 3)
    assert len(server.tokens) == 1


def test_an_endpoint_may_name_its_version(server: OpenStackServer, tmp_path: Path) -> None:
    server.neutron = f"{server.url}/networking/v2.0/"
    sent(server, tmp_path, get("ports"))
    assert [path for _, path, _ in server.asked] == ["/networking/v2.0/ports"]


def test_a_token_that_ran_out_is_renewed_once(server: OpenStackServer, tmp_path: Path) -> None:
    server.refused = {"secret-token-0"}
    [response] = sent(server, tmp_path, get("ports"))
    assert response.status == 200
    assert [token for _, _, token in server.asked] == ["secret-token-0", "secret-token-1"]


def test_a_token_that_is_never_accepted_is_an_answer(server: OpenStackServer, tmp_path: Path) -> None:
    server.refused = {f"secret-token-{i}" for i in range(9)}
    [response] = sent(server, tmp_path, get("ports"))
    assert response.status == 401
    assert len(server.asked) == 2


@pytest.mark.parametrize(("path", "status"), [("busy", 503), ("elsewhere", 302)])
def test_nothing_is_repeated_or_followed(server: OpenStackServer, tmp_path: Path, path: str, status: int) -> None:
    [response] = sent(server, tmp_path, get(path))
    assert response.status == status
    assert len(server.asked) == 1


@pytest.mark.parametrize("path", ["hang", "hang-up", "cut"])
def test_what_was_sent_and_not_answered_may_have_happened(server: OpenStackServer, tmp_path: Path, path: str) -> None:
    with pytest.raises(NoAnswer) as error:
        sent(server, tmp_path, get("ports"), get(path, seconds=0.3))
    assert len(server.asked) == 2
    assert_no_secrets(str(error.value))


def test_what_nobody_listens_to_was_not_sent(server: OpenStackServer, tmp_path: Path) -> None:
    server.neutron = f"http://127.0.0.1:{closed_port()}"
    with pytest.raises(NotSent, match="refused") as error:
        sent(server, tmp_path, get("ports"))
    assert_no_secrets(str(error.value))


def test_a_name_that_nobody_knows_was_not_sent(server: OpenStackServer, tmp_path: Path) -> None:
    server.neutron = "http://neutron.invalid"
    with pytest.raises(NotSent):
        sent(server, tmp_path, get("ports"))


def test_a_wrong_password_is_told_without_it(server: OpenStackServer, tmp_path: Path) -> None:
    with pytest.raises(NotSent, match="cannot sign in to the cloud tiny") as error:
        sent(server, tmp_path, get("ports"), password="hunter2")  # noqa: S106 - the wrong one
    assert "The password [hidden] is wrong" in str(error.value)
    assert server.asked == []


def test_a_keystone_that_is_down_is_told(tmp_path: Path) -> None:
    with OpenStackServer() as server:
        pass
    with pytest.raises(NotSent, match="cannot sign in") as error:
        sent(server, tmp_path, get("ports"))
    assert_no_secrets(str(error.value))


@pytest.mark.parametrize(
    ("cloud", "environment"),
    [
        ("tiny", {"OS_CLIENT_CONFIG_FILE": "other.yaml"}),
        ("tiny", {"OS_CLIENT_CONFIG_FILE": "other.yaml", "OS_CLOUD": "other"}),
        (None, {"OS_CLIENT_CONFIG_FILE": "other.yaml", "OS_CLOUD": "tiny"}),
        (None, {"OS_CLIENT_CONFIG_FILE": "other.yaml"}),
        ("tiny", {"OS_AUTH_URL": "http://127.0.0.1:1/v3", "OS_USERNAME": "other"}),
    ],
)
def test_the_file_that_is_configured_counts_before_the_environment(
    server: OpenStackServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cloud: str | None,
    environment: dict[str, str],
) -> None:
    (tmp_path / "other.yaml").write_text(server.clouds("of another file"))
    monkeypatch.chdir(tmp_path)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    [response] = sent(server, tmp_path, get("ports"), cloud=cloud)
    assert response.status == 200


def test_a_password_in_a_file_of_its_own_is_found(
    server: OpenStackServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secure = tmp_path / "secure.yaml"
    secure.write_text(json.dumps({"clouds": {"tiny": {"auth": {"password": PASSWORD}}}}))
    monkeypatch.setenv("OS_CLIENT_SECURE_FILE", str(secure))
    [response] = sent(server, tmp_path, get("ports"), password="of the other file")  # noqa: S106 - nobody's
    assert response.status == 200


def test_an_unknown_cloud_is_told(tmp_path: Path) -> None:
    clouds = tmp_path / "clouds.yaml"
    clouds.write_text('{"clouds": {}}')

    async def send() -> None:
        transport = NeutronTransport("nowhere", str(clouds))
        try:
            await transport.send(get("ports"))
        finally:
            await transport.close()

    with pytest.raises(NotSent, match="nowhere"):
        asyncio.run(send())


def test_what_waits_for_a_thread_too_long_was_not_sent(server: OpenStackServer, tmp_path: Path) -> None:
    clouds = tmp_path / "clouds.yaml"
    clouds.write_text(server.clouds())

    async def send() -> None:
        transport = NeutronTransport("tiny", str(clouds), threads=1)
        first = asyncio.create_task(transport.send(get("hang")))
        await asyncio.sleep(0)
        try:
            with pytest.raises(NotSent, match="thread"):
                async with asyncio.timeout(3.0):
                    await transport.send(get("ports", seconds=0.1))
        finally:
            server.release.set()
            with pytest.raises(NoAnswer):
                await first
            await transport.close()

    asyncio.run(send())
    assert [path for _, path, _ in server.asked] == ["/v2.0/hang"]


class SlowKeystone(OpenStackServer):
    """Signs in as usual, save that from the `slow_from`th time on it waits until it is let go on."""

    def __init__(self, slow_from: int) -> None:
        super().__init__()
        self._slow_from = slow_from
        self.asked_to_sign_in = threading.Event()
        self.go_on = threading.Event()

    def sign_in(self, body: dict[str, Any]) -> tuple[int, dict[str, str], object]:
        if len(self.tokens) >= self._slow_from:
            self.asked_to_sign_in.set()
            self.go_on.wait(10.0)
        return super().sign_in(body)

    def stop(self) -> None:
        self.go_on.set()
        super().stop()


async def never_sent(transport: NeutronTransport, request: Request) -> None:
    """A request whose time passes is told not to be sent, in that time."""
    with pytest.raises(NotSent):
        async with asyncio.timeout(request.seconds + 2.0):
            await transport.send(request)


def test_a_request_whose_sign_in_takes_too_long_never_leaves(tmp_path: Path) -> None:
    clouds = tmp_path / "clouds.yaml"

    async def send(server: SlowKeystone) -> None:
        clouds.write_text(server.clouds())
        transport = NeutronTransport("tiny", str(clouds))
        await asyncio.gather(*[never_sent(transport, get(f"ports/{number}", seconds=2.0)) for number in range(3)])
        server.go_on.set()
        await transport.close()

    with SlowKeystone(slow_from=0) as server:
        asyncio.run(send(server))
        assert server.asked_to_sign_in.is_set()
        assert server.asked == []


def test_a_request_is_not_sent_again_with_a_new_token_when_its_time_is_over(tmp_path: Path) -> None:
    clouds = tmp_path / "clouds.yaml"

    async def send(server: SlowKeystone) -> None:
        clouds.write_text(server.clouds())
        transport = NeutronTransport("tiny", str(clouds))
        await never_sent(transport, get("ports", seconds=2.0))
        server.go_on.set()
        await transport.close()

    with SlowKeystone(slow_from=1) as server:
        server.refused = {"secret-token-0"}
        asyncio.run(send(server))
        assert [token for _, _, token in server.asked] == ["secret-token-0"]


def test_a_request_that_nobody_waits_for_any_more_never_leaves(tmp_path: Path) -> None:
    clouds = tmp_path / "clouds.yaml"

    async def send(server: SlowKeystone) -> None:
        clouds.write_text(server.clouds())
        transport = NeutronTransport("tiny", str(clouds))
        sending = asyncio.create_task(transport.send(get("ports", seconds=30.0)))
        await asyncio.to_thread(server.asked_to_sign_in.wait, 10.0)
        sending.cancel()
        await asyncio.wait([sending])
        server.go_on.set()
        await transport.close()

    with SlowKeystone(slow_from=0) as server:
        asyncio.run(send(server))
        assert server.tokens
        assert server.asked == []


def test_calls_run_side_by_side(server: OpenStackServer, tmp_path: Path) -> None:
    clouds = tmp_path / "clouds.yaml"
    clouds.write_text(server.clouds())

    async def send() -> list[Response]:
        transport = NeutronTransport("tiny", str(clouds))
        hanging = asyncio.create_task(transport.send(get("hang", seconds=5)))
        answers = await asyncio.gather(*[transport.send(get("ports")) for _ in range(20)])
        server.release.set()
        with pytest.raises(NoAnswer):
            await hanging
        await transport.close()
        return answers

    assert {response.status for response in asyncio.run(send())} == {200}
    assert len(server.tokens) == 1


def assert_no_secrets(text: str) -> None:
    assert PASSWORD not in text
    assert "secret-token" not in text


def test_who_is_cancelled_as_the_answer_comes_is_cancelled(server: OpenStackServer, tmp_path: Path) -> None:
    clouds = tmp_path / "clouds.yaml"
    clouds.write_text(server.clouds())

    async def scene() -> bool:
        transport = NeutronTransport("tiny", str(clouds), threads=1)
        sending = asyncio.create_task(transport.send(get("ports")))
        await asyncio.sleep(0)
        transport._threads.submit(int).result()  # noqa: SLF001 - the only thread is done, and the loop not yet told
        sending.cancel()
        await asyncio.wait([sending])
        await transport.close()
        return sending.cancelled()

    assert asyncio.run(scene())
