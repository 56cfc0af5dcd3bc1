"""The lab's certificates: signed by its own authority, good for what they were asked for, made once."""

import ipaddress
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from mooring.lab import pki
from mooring.lab.pki import Authority, Pair


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
        assert made.not_valid_after_utc - made.not_valid_before_utc >= pki.LIFE


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
    pki.write_signing_key(file)
    text = file.read_bytes()
    serialization.load_pem_private_key(text, None)
    pki.write_signing_key(file)
    assert file.read_bytes() == text
    assert mode(file) == 0o600
