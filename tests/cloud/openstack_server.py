"""The smallest OpenStack that one can sign in to: a real server in a thread, whose Neutron misbehaves on demand."""

import http.server
import json
import threading
from types import TracebackType
from typing import Any, Self

PASSWORD = "correct-horse-battery"  # noqa: S105 - of a server that lives for one test
JSON = {"Content-Type": "application/json"}


class OpenStackServer:
    """Keystone and Neutron at one address. What is asked of Neutron, and with which token, is written down."""

    def __init__(self) -> None:
        self.tokens: list[str] = []
        self.asked: list[tuple[str, str, str]] = []
        self.refused: set[str] = set()
        self.neutron: str | None = None
        self.release = threading.Event()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        self.release.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def clouds(self, password: str = PASSWORD) -> str:
        """A clouds.yaml that leads here."""
        domains = {"user_domain_id": "default", "project_domain_id": "default"}
        auth = {"auth_url": f"{self.url}/v3", "username": "u", "password": password, "project_name": "p", **domains}
        return json.dumps({"clouds": {"tiny": {"region_name": "RegionOne", "auth": auth}}})

    def sign_in(self, body: dict[str, Any]) -> tuple[int, dict[str, str], object]:
        given = body["auth"]["identity"]["password"]["user"]["password"]
        if given != PASSWORD:
            # a Keystone that is careless with what it is told
            error = {"code": 401, "title": "Unauthorized", "message": f"The password {given} is wrong."}
            return 401, {}, {"error": error}
        self.tokens.append(f"secret-token-{len(self.tokens)}")
        endpoint = {"id": "e", "interface": "public", "region": "RegionOne", "region_id": "RegionOne"}
        endpoint["url"] = self.neutron or self.url
        catalog = [{"type": "network", "id": "n", "name": "neutron", "endpoints": [endpoint]}]
        token: dict[str, object] = {
            "methods": ["password"],
            "expires_at": "2099-01-01T00:00:00.000000Z",
            "catalog": catalog,
        }
        token |= {"project": {"id": "p", "name": "p", "domain": {"id": "default", "name": "Default"}}}
        token |= {"user": {"id": "u", "name": "u", "domain": {"id": "default", "name": "Default"}}, "roles": []}
        return 201, {"X-Subject-Token": self.tokens[-1]}, {"token": token}


class _Server(http.server.ThreadingHTTPServer):
    def __init__(self, cloud: OpenStackServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.cloud = cloud


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: object) -> None: ...

    def respond(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/v3/auth/tokens":
            self.answer(*self.server.cloud.sign_in(json.loads(body)))
        elif self.path.startswith("/v3"):
            links = [{"rel": "self", "href": f"{self.server.cloud.url}/v3/"}]
            self.answer(200, {}, {"version": {"id": "v3.14", "status": "stable", "links": links}})
        else:
            self.neutron(body)

    do_GET = do_POST = do_PUT = do_DELETE = respond  # noqa: N815 - the names that http.server looks for

    def neutron(self, body: bytes) -> None:
        cloud, token = self.server.cloud, self.headers.get("X-Auth-Token", "")
        cloud.asked.append((self.command, self.path, token))
        if token in cloud.refused:
            self.answer(401, {}, {"error": {"code": 401, "message": "requires authentication"}})
            return
        match self.path.split("?")[0].rsplit("/", 1)[1]:
            case "hang":
                cloud.release.wait()
                self.close_connection = True
            case "hang-up":
                self.close_connection = True
            case "cut":
                self.answer(200, {"Content-Length": "1000"}, {"ports": []})
                self.close_connection = True
            case "elsewhere":
                self.answer(302, {"Location": f"{cloud.url}/v2.0/ports"}, {})
            case "busy":
                self.answer(503, {"Retry-After": "1"}, {})
            case _:
                self.answer(200, {}, {"echo": body.decode(), "if-match": self.headers.get("If-Match")})

    def answer(self, status: int, headers: dict[str, str], body: object) -> None:
        encoded = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {**JSON, "Content-Length": str(len(encoded)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(encoded)
