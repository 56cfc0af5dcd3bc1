"""Certificates: signed by their authority, good for what they were asked for and nothing else, made once."""

import contextlib
import datetime as dt
import ipaddress
import os
import socket
import ssl
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from mooring.host import certificates
from mooring.host.certificates import AlreadyThere, Authority, CertificateError, NoAuthority, Pair, Role

YEAR = dt.timedelta(days=365)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    made = Authority(tmp_path)
    made.create()
    return made


def read(file: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(file.read_bytes())


def belong_together(pair: Pair) -> bool:
    key = serialization.load_pem_private_key(pair.key.read_bytes(), None)
    return key.public_key() == read(pair.certificate).public_key()


def mode(file: Path) -> int:
    return file.stat().st_mode & 0o777


def test_the_authority_signs_itself_and_may_sign(authority: Authority, tmp_path: Path) -> None:
    root = read(authority.certificate)
    root.verify_directly_issued_by(root)
    assert root.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert root.extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign
    assert mode(tmp_path / "ca.key") == 0o600


def test_the_authority_is_made_once(authority: Authority, tmp_path: Path) -> None:
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    Authority(tmp_path).create()
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before
    assert authority.certificate in before


def test_a_certificate_has_what_was_asked_for(authority: Authority) -> None:
    addresses = ["172.30.100.1", "fd00:30::1"]
    pair = authority.issue("etcd", "etcd-1", groups=["system:nodes"], addresses=addresses, names=["control"])
    made = read(pair.certificate)
    made.verify_directly_issued_by(read(authority.certificate))
    served = made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert served.get_values_for_type(x509.IPAddress) == [ipaddress.ip_address(address) for address in addresses]
    assert served.get_values_for_type(x509.DNSName) == ["control"]
    assert [each.value for each in made.subject.get_attributes_for_oid(NameOID.COMMON_NAME)] == ["etcd-1"]
    assert [each.value for each in made.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)] == ["system:nodes"]
    uses = set(made.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)
    assert uses == {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH}
    assert not made.extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign
    assert belong_together(pair)
    assert mode(pair.key) == 0o600


def test_a_client_needs_neither_address_nor_name(authority: Authority) -> None:
    made = read(authority.issue("admin", "admin").certificate)
    with pytest.raises(x509.ExtensionNotFound):
        made.extensions.get_extension_for_class(x509.SubjectAlternativeName)


def test_a_certificate_is_valid_now(authority: Authority) -> None:
    for file in (authority.certificate, authority.issue("one", "one").certificate):
        made = read(file)
        assert made.not_valid_after_utc - made.not_valid_before_utc >= certificates.LIFE


def test_the_second_time_the_same_files_are_found(authority: Authority, tmp_path: Path) -> None:
    first = authority.issue("one", "one")
    texts = (first.certificate.read_bytes(), first.key.read_bytes())
    again = Authority(tmp_path).issue("one", "one")
    assert again == first == authority.pair("one")
    assert (again.certificate.read_bytes(), again.key.read_bytes()) == texts
    assert authority.issue("two", "one").key.read_bytes() != texts[1]


def test_two_parts_that_want_the_same_pair_at_once_get_one_that_fits(authority: Authority) -> None:
    wanted, threads = 30, 8  # kube-proxies start side by side; two, once, would too seldom get in each other's way
    meeting = threading.Barrier(threads)

    def issue(number: int) -> Pair:
        meeting.wait(10)
        return authority.issue(f"proxy-{number}", "system:kube-proxy")

    with ThreadPoolExecutor(threads) as pool:
        pairs = list(pool.map(issue, [number // threads for number in range(threads * wanted)]))
    assert len(set(pairs)) == wanted
    assert [pair.key.name for pair in set(pairs) if not belong_together(pair)] == []


def test_a_signing_key_is_made_once(tmp_path: Path) -> None:
    file = tmp_path / "service-accounts.key"
    certificates.write_signing_key(file)
    text = file.read_bytes()
    serialization.load_pem_private_key(text, None)
    certificates.write_signing_key(file)
    assert file.read_bytes() == text
    assert mode(file) == 0o600


# What follows is an operator's: controllers and agents.


def issued(folder: Path, role: Role, name: str, *addresses: str) -> Path:
    """A new authority in the folder, if need be, and the folder of a daemon's files."""
    if not (folder / "ca.crt").exists():
        Authority(folder).found(10 * YEAR)
    Authority(folder).issue_to(folder / name, role, name, addresses=addresses, life=YEAR)
    return folder / name


def openssl(*arguments: str | Path) -> str:
    return subprocess.run(["openssl", *arguments], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    ("role", "addresses", "served", "good_for"),
    [
        (Role.CONTROLLER, (), ["DNS:one"], "client"),
        (Role.CONTROLLER, ("10.0.0.1",), ["DNS:one", "IP Address:10.0.0.1"], "client"),
        (Role.AGENT, ("10.0.0.1", "fd00::1"), ["IP Address:10.0.0.1", "IP Address:FD00:0:0:0:0:0:0:1"], "server"),
        (Role.AGENT, ("gw-1.example.org",), ["DNS:gw-1.example.org"], "server"),
    ],
)
def test_openssl_agrees_what_a_certificate_is_for(
    role: Role, addresses: tuple[str, ...], served: list[str], good_for: str, tmp_path: Path
) -> None:
    folder = issued(tmp_path, role, "one", *addresses)
    purposes = openssl("x509", "-in", folder / "tls.crt", "-noout", "-purpose").splitlines()
    assert [line for line in purposes if line.startswith("SSL") and line.endswith("Yes")] == [f"SSL {good_for} : Yes"]
    names = openssl("x509", "-in", folder / "tls.crt", "-noout", "-ext", "subjectAltName").splitlines()[1]
    assert names.strip().split(", ") == served
    strictly = ("-x509_strict", "-purpose", f"ssl{good_for}", "-CAfile")
    assert openssl("verify", *strictly, folder / "ca.crt", folder / "tls.crt").endswith(": OK\n")


def test_the_files_of_a_daemon_and_who_may_read_them(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        folder = issued(tmp_path, Role.AGENT, "gw1", "10.0.0.1")
    finally:
        os.umask(before)
    assert {file.name: mode(file) for file in folder.iterdir()} == {"tls.crt": 0o644, "tls.key": 0o600, "ca.crt": 0o644}
    assert mode(tmp_path / "ca.key") == 0o600
    assert mode(folder) == 0o700
    assert (folder / "ca.crt").read_bytes() == (tmp_path / "ca.crt").read_bytes()
    assert belong_together(Pair(folder / "tls.crt", folder / "tls.key"))


def test_nothing_outlives_the_authority(tmp_path: Path) -> None:
    end = Authority(tmp_path).found(dt.timedelta(days=3))
    assert Authority(tmp_path).issue_to(tmp_path / "a", Role.CONTROLLER, "a", addresses=(), life=YEAR) == end
    short = Authority(tmp_path).issue_to(tmp_path / "b", Role.CONTROLLER, "b", addresses=(), life=dt.timedelta(days=1))
    assert end - short > dt.timedelta(days=1)


@pytest.mark.parametrize("there", ["ca.crt", "ca.key"])
def test_an_authority_is_never_overwritten(there: str, tmp_path: Path) -> None:
    (tmp_path / there).write_text("mine")
    with pytest.raises(AlreadyThere, match=rf"{there} is there already and is not overwritten; use .* --folder"):
        Authority(tmp_path).found(YEAR)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [(there, "mine")]


@pytest.mark.parametrize("there", ["ca.crt", "tls.crt", "tls.key"])
def test_the_files_of_a_daemon_are_never_overwritten(there: str, tmp_path: Path) -> None:
    Authority(tmp_path).found(YEAR)
    out = tmp_path / "out"
    out.mkdir()
    (out / there).write_text("mine")
    with pytest.raises(AlreadyThere, match=rf"out/{there} is there already"):
        Authority(tmp_path).issue_to(out, Role.CONTROLLER, "one", addresses=(), life=YEAR)
    assert [(file.name, file.read_text()) for file in out.iterdir()] == [(there, "mine")]


def test_the_same_authority_may_be_there(tmp_path: Path) -> None:
    Authority(tmp_path).found(YEAR)
    Authority(tmp_path).issue_to(tmp_path, Role.CONTROLLER, "one", addresses=(), life=YEAR)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["ca.crt", "ca.key", "tls.crt", "tls.key"]


def test_the_rest_of_a_process_that_ended_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / ".ca.key.new").write_text("half of a k")
    Authority(tmp_path).found(YEAR)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["ca.crt", "ca.key"]


@pytest.mark.parametrize("name", ["", "Gw1", "-a", "a.b", "../a", "a" * 64, "a\n"])
def test_names_that_are_refused(name: str, tmp_path: Path) -> None:
    Authority(tmp_path).found(YEAR)
    with pytest.raises(CertificateError, match="cannot be the name of a certificate; allowed: lower-case letters"):
        Authority(tmp_path).issue_to(tmp_path / "out", Role.CONTROLLER, name, addresses=(), life=YEAR)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "address", ["", "999.1.1.1", "10.0.0.1:9443", "a_b", "*.example.org", "https://gw1", "g\u00e4"]
)
def test_addresses_that_are_refused(address: str, tmp_path: Path) -> None:
    Authority(tmp_path).found(YEAR)
    with pytest.raises(CertificateError, match="neither an IP address nor a host name; give one, without port"):
        Authority(tmp_path).issue_to(tmp_path / "out", Role.AGENT, "gw1", addresses=[address], life=YEAR)


def broken_authorities(folder: Path) -> None:
    """Folders, each with an authority that cannot sign."""
    for name in ("other-key", "no-pem", "no-key", "rsa"):
        Authority(folder / name).found(YEAR)
    Authority(folder / "ended").found(-dt.timedelta(seconds=1))
    (folder / "other-key" / "ca.key").write_bytes((folder / "no-pem" / "ca.key").read_bytes())
    (folder / "no-pem" / "ca.crt").write_text("no PEM")
    (folder / "no-key" / "ca.key").unlink()
    key = rsa.generate_private_key(65537, 2048)
    (folder / "rsa" / "ca.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"x")
        )
    )


@pytest.mark.parametrize(
    ("folder", "why"),
    [
        ("missing", "missing/ca.crt cannot be read: No such file or directory"),
        ("no-key", "no-key/ca.key cannot be read: No such file or directory"),
        ("no-pem", "cannot be used: no PEM file, or with a password"),
        ("rsa", "cannot be used: no PEM file, or with a password"),
        ("other-key", "other-key/ca.key cannot sign: it is not the elliptic curve key of "),
        ("ended", "ended/ca.crt cannot sign: it was valid until 20"),
    ],
)
def test_an_authority_that_cannot_sign(folder: str, why: str, tmp_path: Path) -> None:
    broken_authorities(tmp_path)
    with pytest.raises(NoAuthority) as refused:
        Authority(tmp_path / folder).issue_to(tmp_path / "out", Role.CONTROLLER, "one", addresses=(), life=YEAR)
    assert why in str(refused.value)
    assert f"`mooring pki init --folder {tmp_path / folder}`" in str(refused.value)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CertificateError, match=r"file/x cannot be written: Not a directory; name a folder that"):
        Authority(tmp_path / "file" / "x").found(YEAR)
    Authority(tmp_path).found(YEAR)
    with pytest.raises(CertificateError, match=r"file cannot be written: File exists; "):
        Authority(tmp_path).issue_to(tmp_path / "file", Role.CONTROLLER, "one", addresses=(), life=YEAR)


# A real handshake: an agent's end as server, a controller's as client, over loopback.


def greeted(server: Path, client: Path, trusted_by_client: Path | None = None) -> bool:
    """Whether two folders' certificates get each other as far as a first byte."""
    there = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    there.verify_mode = ssl.CERT_REQUIRED
    here = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for context, folder, trusted in ((there, server, server), (here, client, trusted_by_client or client)):
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
        context.load_verify_locations(trusted / "ca.crt")
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as pool:
        answering = pool.submit(greet, listening, there)
        try:
            with (
                socket.create_connection(listening.getsockname(), timeout=10) as line,
                here.wrap_socket(line, server_hostname="127.0.0.1") as speaking,
            ):
                heard = speaking.recv(1)
        except (ssl.SSLError, ConnectionError):
            heard = b""
        assert answering.result(10) is bool(heard)
        return bool(heard)


def greet(listening: socket.socket, context: ssl.SSLContext) -> bool:
    line, _ = listening.accept()
    line.settimeout(10)
    with line, contextlib.suppress(ssl.SSLError, ConnectionError), context.wrap_socket(line, server_side=True) as there:
        there.sendall(b"!")
        return True
    return False


def test_a_controller_is_let_in_by_an_agent(tmp_path: Path) -> None:
    agent = issued(tmp_path, Role.AGENT, "gw1", "127.0.0.1")
    assert greeted(agent, issued(tmp_path, Role.CONTROLLER, "controller"))


def test_an_agent_is_not_let_in_by_another(tmp_path: Path) -> None:
    agent = issued(tmp_path, Role.AGENT, "gw1", "127.0.0.1")
    assert not greeted(agent, issued(tmp_path, Role.AGENT, "gw2", "127.0.0.1"))


def test_a_controller_cannot_pretend_to_be_an_agent(tmp_path: Path) -> None:
    pretender = issued(tmp_path, Role.CONTROLLER, "gw1", "127.0.0.1")
    assert not greeted(pretender, issued(tmp_path, Role.CONTROLLER, "controller"))


def test_an_agent_at_another_address_is_refused(tmp_path: Path) -> None:
    agent = issued(tmp_path, Role.AGENT, "gw1", "127.0.0.2")
    assert not greeted(agent, issued(tmp_path, Role.CONTROLLER, "controller"))


@pytest.mark.parametrize("trusting", [True, False])
def test_another_authority_counts_nothing(trusting: bool, tmp_path: Path) -> None:  # noqa: FBT001 - a column
    agent = issued(tmp_path / "ours", Role.AGENT, "gw1", "127.0.0.1")
    stranger = issued(tmp_path / "theirs", Role.CONTROLLER, "controller")
    assert not greeted(agent, stranger, agent if trusting else None)
