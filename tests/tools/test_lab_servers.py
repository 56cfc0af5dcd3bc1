"""Whether a server answers: over TLS with a certificate of the lab, and at a Unix socket."""

import socket
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from mooring.host.certificates import Authority
from mooring.lab import servers


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    made = Authority(tmp_path)
    made.create()
    return made


class Answering(BaseHTTPRequestHandler):
    """Answers with the code that the path names."""

    def do_GET(self) -> None:
        self.send_response(int(self.path.strip("/")))
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's own word
        pass


@pytest.fixture
def server(authority: Authority) -> Iterator[str]:
    pair = authority.issue("server", "server", addresses=["127.0.0.1"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    with HTTPServer(("127.0.0.1", 0), Answering) as listening:
        listening.socket = context.wrap_socket(listening.socket, server_side=True)
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        yield f"https://127.0.0.1:{listening.server_port}"
        listening.shutdown()
        thread.join()


@pytest.mark.parametrize(("code", "answers"), [(200, True), (401, True), (404, True), (500, False), (503, False)])
def test_a_server_answers_unless_it_has_trouble_of_its_own(
    code: int,
    answers: bool,  # noqa: FBT001 - a column
    server: str,
    authority: Authority,
) -> None:
    assert servers.answers(f"{server}/{code}", ca=authority.certificate) is answers


def test_a_server_of_another_authority_is_not_believed(server: str, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Authority(tmp_path / "other")
    other.create()
    assert not servers.answers(f"{server}/200", ca=other.certificate)


def test_nobody_listens(authority: Authority) -> None:
    with HTTPServer(("127.0.0.1", 0), Answering) as closed:
        port = closed.server_port
    assert not servers.answers(f"https://127.0.0.1:{port}/200", ca=authority.certificate)


def test_a_unix_socket_needs_somebody_who_listens(tmp_path: Path) -> None:
    path = tmp_path / "s"
    assert not servers.listens(path)
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))
        assert path.exists()
        assert not servers.listens(path)
        bound.listen()
        assert servers.listens(path)
    assert path.exists()
    assert not servers.listens(path)
