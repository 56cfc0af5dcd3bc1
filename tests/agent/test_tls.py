"""Who is heard by an agent, and who is not; and what is never told to anybody.

All gateways are told the same document, so one that was sent to another is as good here. What protects it is TLS: an
agent hears only who has a certificate for clients of the authority, a controller talks only to a server whose
certificate has the name that it called. A gateway's own certificate is for servers only: it commands nobody.
"""

import asyncio
import datetime as dt
import http.client
import io
import logging
import socket
import ssl
import time
import traceback
import urllib.parse
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import msgspec
import prometheus_client
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from structlog.typing import FilteringBoundLogger

from mooring.agent import certificates as certificates_in_use
from mooring.agent.app import app
from mooring.agent.counting import Counting
from mooring.agent.gateway import Choices, Gateway
from mooring.agent.metrics import GatewayCollector, Metrics
from mooring.cli import logs
from mooring.core import gateway_document
from mooring.host.certificates import Authority, Role
from mooring.model.config import Agent, Config, Log, Tls
from mooring.model.gateway import Backend, Forward
from mooring.wire import serving
from tests.agent.agents import SETTINGS, Certificates, Running, client_tls, running
from tests.simulation.host import Machine

DAY = dt.timedelta(days=1)
CLIENT, SERVER = ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH
Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path)


class Forger:
    """Makes certificates that an authority should not have signed, with that authority's own key or another."""

    def __init__(self, folder: Path, authority: Path) -> None:
        self._folder = folder
        self._authority = x509.load_pem_x509_certificate((authority / "ca.crt").read_bytes())
        key = serialization.load_pem_private_key((authority / "ca.key").read_bytes(), None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        self._signer: Key = key

    def issue(  # noqa: PLR0913 - what can be wrong with one
        self,
        name: str,
        *,
        key: Key | None = None,
        signer: Key | None = None,
        uses: tuple[x509.ObjectIdentifier, ...] = (CLIENT,),
        since: dt.timedelta = -DAY,
        until: dt.timedelta = DAY,
    ) -> Path:
        """A folder with `tls.crt` and `tls.key`."""
        own = key or ec.generate_private_key(ec.SECP256R1())
        now = dt.datetime.now(dt.UTC)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "controller")])
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject if signer is own else self._authority.subject)
            .public_key(own.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + since)
            .not_valid_after(now + until)
        )
        if uses:
            builder = builder.add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        signed = builder.sign(signer or self._signer, hashes.SHA256())
        folder = self._folder / name
        folder.mkdir()
        (folder / "tls.crt").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        (folder / "tls.key").write_bytes(
            own.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.TraditionalOpenSSL,
                serialization.NoEncryption(),
            )
        )
        return folder


def shown(folder: Path | None, ca: Path, *, weak: bool = False) -> ssl.SSLContext:
    """A client that shows a certificate, however bad."""
    context = ssl.create_default_context(cafile=str(ca))
    if weak:
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
    if folder is not None:
        context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    return context


def old_tls(own: Path) -> ssl.SSLContext:
    context = client_tls(own / "ca.crt", own)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    return context


def cases(certificates: Certificates, tmp_path: Path) -> Iterator[tuple[str, ssl.SSLContext]]:
    """By what is wrong with it: a client that has to be refused."""
    own = certificates.issued(Role.CONTROLLER, "controller")
    ca = own / "ca.crt"
    forger = Forger(tmp_path, tmp_path / "authority")
    (tmp_path / "foreign").mkdir()
    foreign = Certificates(tmp_path / "foreign").issued(Role.CONTROLLER, "controller")
    yield "no certificate", shown(None, ca)
    alone = ec.generate_private_key(ec.SECP256R1())
    yield "self-signed", shown(forger.issue("self", key=alone, signer=alone), ca)
    other = ec.generate_private_key(ec.SECP256R1())
    yield "signed by somebody else in the authority's name", shown(forger.issue("name", signer=other), ca)
    yield "another authority", shown(foreign, ca)
    yield "expired", shown(forger.issue("expired", until=-dt.timedelta(minutes=1)), ca)
    yield "not valid yet", shown(forger.issue("early", since=dt.timedelta(hours=1)), ca)
    yield "for servers", shown(forger.issue("server", uses=(SERVER,)), ca)
    yield "for signing code", shown(forger.issue("code", uses=(ExtendedKeyUsageOID.CODE_SIGNING,)), ca)
    yield "an agent's", shown(certificates.issued(Role.AGENT, "gw2"), ca)
    yield "this agent's own", shown(certificates.issued(Role.AGENT, "gw1"), ca)
    weak = rsa.generate_private_key(65537, 1024)  # noqa: S505 - that is the point
    yield "a weak key", shown(forger.issue("weak", key=weak), ca, weak=True)
    small = ec.generate_private_key(ec.SECP192R1())
    yield "a weak curve", shown(forger.issue("small", key=small), ca, weak=True)
    yield "signed by a certificate that may not sign", shown(_signed_by_a_leaf(forger, own), ca)
    yield "TLS 1.2", old_tls(own)


def _signed_by_a_leaf(forger: Forger, own: Path) -> Path:
    """What a controller's key signed, with the controller's certificate behind it."""
    key = serialization.load_pem_private_key((own / "tls.key").read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    made = forger.issue("leaf", signer=key)
    file = made / "tls.crt"
    file.write_bytes(file.read_bytes() + (own / "tls.crt").read_bytes())
    return made


async def answered(url: str, context: ssl.SSLContext) -> bool:
    """Whether anything at all is answered."""
    try:
        async with (
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session,
            session.get(f"{url}/v1/state") as response,
        ):
            return response.status == 200 and bool(await response.read())
    except aiohttp.ClientError:
        return False


def test_nobody_is_heard_but_a_controller(certificates: Certificates, tmp_path: Path) -> None:
    own = certificates.issued(Role.CONTROLLER, "controller")
    right = client_tls(own / "ca.crt", own)
    tried = {}

    async def scene() -> None:
        async with running(certificates) as agent:
            for what, context in cases(certificates, tmp_path):
                assert await answered(agent.url, right)
                tried[what] = await answered(agent.url, context)
                assert await answered(agent.url, client_tls(own / "ca.crt", own))
            tried["plain HTTP"] = await asyncio.to_thread(plainly_answered, agent)
            assert await answered(agent.url, right)

    asyncio.run(scene())
    print(f"ran {len(tried)} of 15 kinds: {sum(tried.values())} accepted")  # noqa: T201 - it is what the run is for
    assert [what for what, heard in tried.items() if heard] == []
    assert len(tried) == 15


def plainly_answered(agent: Running) -> bool:
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(agent.url).netloc, timeout=5)
    try:
        connection.request("GET", "/v1/state")
        return bool(connection.getresponse().read())
    except (http.client.HTTPException, OSError):
        return False
    finally:
        connection.close()


def test_a_controller_tells_nothing_to_a_gateway_of_another_name(certificates: Certificates, tmp_path: Path) -> None:
    own = certificates.issued(Role.CONTROLLER, "controller")
    other = tmp_path / "elsewhere"
    authority = Authority(tmp_path / "authority")
    authority.issue_to(other, Role.AGENT, "gw9", addresses=["127.0.0.9", "gw9.example"], life=DAY)

    async def scene() -> None:
        tls = serving.server_tls(*(str(other / name) for name in ("ca.crt", "tls.crt", "tls.key")))
        monitoring = serving.monitoring(prometheus_client.CollectorRegistry(), lambda: None)
        async with (
            serving.serving(monitoring, "127.0.0.1:0", tls=tls) as port,
            aiohttp.ClientSession() as session,
        ):
            with pytest.raises(aiohttp.ClientConnectorCertificateError):
                await session.get(f"https://127.0.0.1:{port}/healthz", ssl=client_tls(own / "ca.crt", own))

    asyncio.run(scene())


class Rotating:
    """A server with certificates of one authority, which are replaced by those of another."""

    def __init__(self, tmp_path: Path) -> None:
        self.clients = {}
        for name in ("old", "new"):
            (tmp_path / name).mkdir()
            made = Certificates(tmp_path / name)
            self.clients[name] = made.issued(Role.CONTROLLER, "controller")
            made.issued(Role.AGENT, "gw1")
        self._sources = tmp_path
        self._used = tmp_path / "old" / "gw1"
        paths = [str(self._used / name) for name in ("ca.crt", "tls.crt", "tls.key")]
        self.config = Config(tls=Tls(*paths), agent=Agent(state=str(tmp_path / "state")))

    def rotate(self) -> None:
        for file in (self._sources / "new" / "gw1").iterdir():
            (self._used / file.name).write_bytes(file.read_bytes())

    def client(self, name: str) -> ssl.SSLContext:
        """One that trusts whatever the server has: it is the server that is to judge."""
        own = self.clients[name]
        context = client_tls(own / "ca.crt", own)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context


Renew = Callable[[certificates_in_use.Certificates, Config], None]


def _by_main(used: certificates_in_use.Certificates, _: Config) -> None:
    assert used.renew()


def _by_serving(used: certificates_in_use.Certificates, config: Config) -> None:
    tls = config.tls
    serving.renew(used.context, serving.server_tls(tls.ca, tls.certificate, tls.key))


@pytest.mark.parametrize("renew", [_by_main, _by_serving])
def test_who_was_signed_by_an_authority_that_was_replaced_is_heard_no_more(tmp_path: Path, renew: Renew) -> None:
    rotating = Rotating(tmp_path)
    used = certificates_in_use.Certificates(rotating.config)

    async def heard(port: int, name: str) -> bool:
        connector = aiohttp.TCPConnector(ssl=rotating.client(name))
        try:
            async with (
                aiohttp.ClientSession(connector=connector) as session,
                session.get(f"https://127.0.0.1:{port}/healthz") as response,
            ):
                return response.status == 200
        except aiohttp.ClientError:
            return False

    async def scene() -> None:
        monitoring = serving.monitoring(prometheus_client.CollectorRegistry(), lambda: None)
        async with serving.serving(monitoring, "127.0.0.1:0", tls=used.context) as port:
            assert [await heard(port, each) for each in ("old", "new")] == [True, False]
            rotating.rotate()
            assert [await heard(port, each) for each in ("old", "new")] == [True, False]
            renew(used, rotating.config)
            assert [await heard(port, each) for each in ("old", "new")] == [False, True]

    asyncio.run(scene())


def test_nobody_comes_back_without_showing_a_certificate_again(certificates: Certificates) -> None:
    own = certificates.issued(Role.CONTROLLER, "controller")
    context = client_tls(own / "ca.crt", own)

    def again(agent: Running) -> bool:
        port = int(agent.url.rpartition(":")[2])
        session = None
        for _ in range(2):
            with (
                socket.create_connection(("127.0.0.1", port), timeout=5) as plain,
                context.wrap_socket(plain, server_hostname="127.0.0.1", session=session) as secure,
            ):
                secure.sendall(b"GET /v1/state HTTP/1.1\r\nHost: gw1\r\nConnection: close\r\n\r\n")
                assert secure.recv(4096).startswith(b"HTTP/1.1 200")
                session, reused = secure.session, secure.session_reused
        return bool(reused)

    async def scene() -> None:
        async with running(certificates) as agent:
            assert not await asyncio.to_thread(again, agent)

    asyncio.run(scene())


class Words(logging.Handler):
    """All that is said, by us and by libraries, at every level."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.stream = io.StringIO()
        self.setFormatter(logging.Formatter("%(name)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self.stream.write(self.format(record) + "\n")


@pytest.fixture
def words() -> Iterator[Words]:
    handler, root = Words(), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield handler
    root.setLevel(level)
    root.removeHandler(handler)


@asynccontextmanager
async def speaking(log: FilteringBoundLogger, tls: certificates_in_use.Certificates) -> AsyncIterator[Running]:
    """An agent over a host in memory that says what it does."""
    machine = Machine(lambda _: None)
    gateway = Gateway(machine.host, SETTINGS, Choices(version="1"), log=log, clock=time.monotonic)
    gateway.start()
    registry = prometheus_client.CollectorRegistry()
    metrics = Metrics(registry)
    counting = Counting(gateway.rules, machine.kernel)
    registry.register(GatewayCollector(gateway, counting, certificate_ends=lambda: tls.ends))
    with ThreadPoolExecutor(1) as hand:
        async with (
            serving.serving(app(gateway, hand, metrics, counting), "127.0.0.1:0", tls=tls.context) as port,
            serving.serving(serving.monitoring(registry, gateway.ready), "127.0.0.1:0") as plain,
        ):
            yield Running(gateway, machine, f"https://127.0.0.1:{port}", f"http://127.0.0.1:{plain}")


def secrets(folder: Path) -> set[str]:
    """Parts of all keys below a folder, as they stand in the files."""
    lines = [line for file in folder.rglob("*.key") for line in file.read_text().splitlines() if "---" not in line]
    return {line[at : at + 20] for line in lines for at in range(0, len(line) - 20, 8)}


def test_keys_are_never_told(certificates: Certificates, tmp_path: Path, words: Words) -> None:
    """Nor where they are: but for who starts the agent, and has to know which file is wrong."""
    place = "canary-of-a-path"
    own, good = tmp_path / place, certificates.issued(Role.CONTROLLER, "controller")
    Authority(tmp_path / "authority").issue_to(own, Role.AGENT, "gw1", addresses=["127.0.0.1"], life=DAY)
    config = Config(tls=Tls(*(str(own / name) for name in ("ca.crt", "tls.crt", "tls.key"))))
    log = logs.make(Log(level="debug"), words.stream)
    told: list[str] = []

    async def asked(session: aiohttp.ClientSession, method: str, url: str, body: bytes = b"") -> None:
        async with session.request(method, url, data=body, ssl=client_tls(good / "ca.crt", good)) as response:
            told.append(f"{response.headers} {await response.text()}")

    async def scene() -> None:
        used = certificates_in_use.Certificates(config)
        async with speaking(log, used) as agent, aiohttp.ClientSession() as session:
            web = Forward("10.0.0.5", "TCP", 80, "shop/web", (Backend("10.1.0.7", 8080),))
            whole = msgspec.json.encode(gateway_document.document([web], epoch=1, generation=1, seed=7))
            for body in (whole, whole[:-9], b"\xff", b"[" * 9000, whole.replace(b"TCP", b"ICMP")):
                await asked(session, "PUT", f"{agent.url}/v1/document", body)
                await asked(session, "PATCH", f"{agent.url}/v1/document", body)
            for method, page in (("GET", "state"), ("POST", "heartbeat"), ("GET", "nothing"), ("DELETE", "document")):
                await asked(session, method, f"{agent.url}/v1/{page}")
            assert not await answered(agent.url, shown(None, good / "ca.crt"))
            for page in ("metrics", "readyz", "healthz"):
                await asked(session, "GET", f"{agent.monitoring}/{page}")

    asyncio.run(scene())
    said = "\n".join((*told, words.stream.getvalue()))
    assert "document taken" in said
    assert place not in said
    assert {each for each in secrets(tmp_path) if each in said} == set()


@pytest.mark.parametrize("spoilt", ["swapped", "cut", "other", "text"])
def test_what_is_wrong_with_a_key_is_said_without_it(certificates: Certificates, tmp_path: Path, spoilt: str) -> None:
    own, other = certificates.issued(Role.AGENT, "gw1"), certificates.issued(Role.AGENT, "gw2")
    files = [own / name for name in ("ca.crt", "tls.crt", "tls.key")]
    canaries = secrets(tmp_path) | {"canary"}
    key = files[2].read_bytes()
    contents = {"swapped": key, "cut": key[:90], "other": (other / "tls.key").read_bytes(), "text": b"canary"}
    files[1 if spoilt == "swapped" else 2].write_bytes(contents[spoilt])
    with pytest.raises(serving.CannotServe) as refused:
        serving.server_tls(*map(str, files))
    said = "".join(traceback.format_exception(refused.value))
    assert str(files[2]) in str(refused.value)
    assert {each for each in canaries if each in said} == set()
