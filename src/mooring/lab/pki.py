"""The lab's own certificate authority: one key pair per program, all signed by one that lives with the lab."""

import datetime as dt
import ipaddress
from collections.abc import Sequence
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from mooring.lab import locking

LIFE = dt.timedelta(days=365)


class Pair(msgspec.Struct, frozen=True):
    """Files of one certificate and its key."""

    certificate: Path
    key: Path


class Authority:
    """Signs certificates; its files lie in one folder and are found again by the next command."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.certificate = folder / "ca.crt"

    def create(self) -> None:
        """Make the authority, unless it is there."""
        if self.certificate.exists():
            return
        key = ec.generate_private_key(ec.SECP256R1())
        name = _name("mooring-lab", ())
        builder = _builder(name, name, key.public_key()).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        builder = builder.add_extension(_usage(ca=True), critical=True)
        _write_key(self._folder / "ca.key", key)
        self.certificate.write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))

    def issue(
        self,
        name: str,
        common_name: str,
        *,
        groups: Sequence[str] = (),
        addresses: Sequence[str] = (),
        names: Sequence[str] = (),
    ) -> Pair:
        """Make (or find) the pair `name`; it is good for servers at these addresses and names, and for clients."""
        with locking.held(self._folder / "lock"):  # parts that start side by side may want the same pair
            pair = self.pair(name)
            if pair.certificate.exists():
                return pair
            authority = x509.load_pem_x509_certificate(self.certificate.read_bytes())
            signer = serialization.load_pem_private_key((self._folder / "ca.key").read_bytes(), None)
            if not isinstance(signer, ec.EllipticCurvePrivateKey):
                raise TypeError(f"{self._folder / 'ca.key'} is no elliptic curve key")
            key = ec.generate_private_key(ec.SECP256R1())
            builder = _builder(_name(common_name, groups), authority.subject, key.public_key())
            builder = builder.add_extension(_usage(ca=False), critical=True)
            builder = builder.add_extension(
                x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
                critical=False,
            )
            served: list[x509.GeneralName] = [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
            served += [x509.DNSName(each) for each in names]
            if served:
                builder = builder.add_extension(x509.SubjectAlternativeName(served), critical=False)
            _write_key(pair.key, key)
            pair.certificate.write_bytes(builder.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
            return pair

    def pair(self, name: str) -> Pair:
        """Where the files of a pair are, or would be."""
        return Pair(self._folder / f"{name}.crt", self._folder / f"{name}.key")


def write_signing_key(file: Path) -> None:
    """A bare key pair for signing service account tokens."""
    if not file.exists():
        _write_key(file, ec.generate_private_key(ec.SECP256R1()))


def _write_key(file: Path, key: ec.EllipticCurvePrivateKey) -> None:
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    file.touch(mode=0o600)
    file.write_bytes(pem)


def _name(common_name: str, groups: Sequence[str]) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(now - dt.timedelta(minutes=5)).not_valid_after(now + LIFE)


def _usage(*, ca: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=ca,
        crl_sign=ca,
        encipher_only=False,
        decipher_only=False,
    )
