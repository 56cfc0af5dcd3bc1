"""Certificates: an authority that lives in a folder, and the key pairs that it signs.

The one place that makes any. The lab's programs get pairs that are found again by the next command; an operator's
controller and agents get a folder each, written once and never overwritten. Who is let in is decided by what a
certificate is for: a controller's is good for clients only, an agent's for servers only, so that the key of a gateway
is of no use to command another.

Keys are never readable for others, and a file is there whole or not at all.
"""

import contextlib
import datetime as dt
import enum
import fcntl
import ipaddress
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from mooring.model.config import LABEL, LABEL_ALLOWED, LABEL_LENGTH

LIFE = dt.timedelta(days=365)
SKEW = dt.timedelta(minutes=5)
"""How far behind ours another clock may be and still find a new certificate valid."""

HOST_NAME = re.compile(
    r"(?=.{1,253}\Z)([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\.)*[a-z]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII | re.IGNORECASE
)
SECRET, PUBLIC = 0o600, 0o644


class CertificateError(Exception):
    """No certificate was made, and no file was changed. The text says what, which, why and what to do."""


class NotPossible(CertificateError):
    """Nobody can be called so, or reached there."""


class AlreadyThere(CertificateError):
    """A file would have to be overwritten."""


class NoAuthority(CertificateError):
    """There is none in the folder, or none that can sign."""


class Role(enum.Enum):
    """What a certificate of an operator's is for."""

    CONTROLLER = "controller"
    AGENT = "agent"


USES = {Role.CONTROLLER: ExtendedKeyUsageOID.CLIENT_AUTH, Role.AGENT: ExtendedKeyUsageOID.SERVER_AUTH}


class Pair(msgspec.Struct, frozen=True):
    """Files of one certificate and its key."""

    certificate: Path
    key: Path


class Authority:
    """Signs certificates; its files lie in one folder and are found again by the next command."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.certificate = folder / "ca.crt"
        self.key = folder / "ca.key"

    def create(self, name: str = "mooring-lab", life: dt.timedelta = LIFE) -> None:
        """Make the authority, unless it is there."""
        with _alone_in(self._folder):
            if not self.certificate.exists():
                self._make(name, life)

    def found(self, life: dt.timedelta) -> dt.datetime:
        """Make the authority, which must not be there; until when it is valid. Raises CertificateError."""
        with _told(self._folder), _alone_in(self._folder):
            _refuse_to_overwrite(
                self.certificate, self.key, hint="use this authority, or name another folder with --folder"
            )
            return self._make("mooring", life)

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
        pair = self.pair(name)
        with _alone_in(self._folder):  # parts that start side by side may want the same pair
            if not pair.certificate.exists():
                key = ec.generate_private_key(ec.SECP256R1())
                signed = self._signed(
                    _name(common_name, groups),
                    key.public_key(),
                    served=[*map(_served_address, addresses), *map(x509.DNSName, names)],
                    uses=[ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH],
                    life=LIFE,
                )
                _write((pair.key, _pem_of_key(key), SECRET), (pair.certificate, _pem(signed), PUBLIC))
        return pair

    def pair(self, name: str) -> Pair:
        """Where the files of a pair are, or would be."""
        return Pair(self._folder / f"{name}.crt", self._folder / f"{name}.key")

    def issue_to(
        self, out: Path, role: Role, name: str, *, addresses: Sequence[str], life: dt.timedelta
    ) -> dt.datetime:
        """Write tls.crt, tls.key and ca.crt for a daemon to a folder; until when they are valid.

        The authority's own end comes first if it is nearer. Raises CertificateError.
        """
        if len(name) > LABEL_LENGTH or re.search(LABEL, name) is None:
            raise NotPossible(f'"{name}" cannot be the name of a certificate; allowed: {LABEL_ALLOWED}')
        served = [_served(address) for address in addresses]
        if role is Role.CONTROLLER:  # most verifiers want a name that is not only the subject's
            served.insert(0, x509.DNSName(name))
        key = ec.generate_private_key(ec.SECP256R1())
        signed = self._signed(_name(name, ()), key.public_key(), served=served, uses=[USES[role]], life=life)
        files = [(out / "tls.key", _pem_of_key(key), SECRET), (out / "tls.crt", _pem(signed), PUBLIC)]
        authority = (out / "ca.crt", self.certificate.read_bytes(), PUBLIC)
        with _told(out), _alone_in(out):
            if not _holds(*authority[:2]):
                files.insert(0, authority)
            _refuse_to_overwrite(
                *(file for file, _, _ in files), hint="move it away, or name another folder with --out"
            )
            _write(*files)
        return signed.not_valid_after_utc

    def _make(self, name: str, life: dt.timedelta) -> dt.datetime:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _name(name, ())
        now = dt.datetime.now(dt.UTC)
        builder = (
            _builder(subject, subject, key.public_key(), issued_by=key.public_key())
            .not_valid_before(now - SKEW)
            .not_valid_after(now + life)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(ca=True), critical=True)
        )
        signed = builder.sign(key, hashes.SHA256())
        _write((self.key, _pem_of_key(key), SECRET), (self.certificate, _pem(signed), PUBLIC))
        return signed.not_valid_after_utc

    def _signed(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePublicKey,
        *,
        served: Sequence[x509.GeneralName],
        uses: Sequence[x509.ObjectIdentifier],
        life: dt.timedelta,
    ) -> x509.Certificate:
        authority, signer = self._opened()
        now = dt.datetime.now(dt.UTC)
        builder = (
            _builder(subject, authority.subject, key, issued_by=signer.public_key())
            .not_valid_before(now - SKEW)
            .not_valid_after(min(now + life, authority.not_valid_after_utc))
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(ca=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        )
        if served:
            builder = builder.add_extension(x509.SubjectAlternativeName(served), critical=False)
        return builder.sign(signer, hashes.SHA256())

    def _opened(self) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
        remedy = f"make an authority with `mooring pki init --folder {self._folder}`, or name its folder with --folder"
        try:
            certificate = x509.load_pem_x509_certificate(self.certificate.read_bytes())
            key = serialization.load_pem_private_key(self.key.read_bytes(), None)
        except OSError as error:
            raise NoAuthority(f"{error.filename} cannot be read: {error.strerror}; {remedy}") from error
        except (ValueError, TypeError) as error:  # TypeError: the key wants a password
            why = "no PEM file, or with a password"
            raise NoAuthority(f"{self.certificate} or {self.key} cannot be used: {why}; {remedy}") from error
        if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
            why = f"it is not the elliptic curve key of {self.certificate}"
            raise NoAuthority(f"{self.key} cannot sign: {why}; {remedy}")
        if certificate.not_valid_after_utc <= dt.datetime.now(dt.UTC):
            ended = f"{certificate.not_valid_after_utc:%Y-%m-%d}"
            raise NoAuthority(f"{self.certificate} cannot sign: it was valid until {ended}; {remedy}")
        return certificate, key


def write_signing_key(file: Path) -> None:
    """A bare key pair for signing service account tokens."""
    with _alone_in(file.parent):
        if file.exists():
            return
        _write((file, _pem_of_key(ec.generate_private_key(ec.SECP256R1())), SECRET))


def _name(common_name: str, groups: Sequence[str]) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _served(text: str) -> x509.GeneralName:
    try:
        return _served_address(text)
    except ValueError as error:
        if HOST_NAME.fullmatch(text):
            return x509.DNSName(text)
        what = "neither an IP address nor a host name"
        raise NotPossible(f'"{text}" cannot stand in a certificate: it is {what}; give one, without port') from error


def _served_address(text: str) -> x509.GeneralName:
    return x509.IPAddress(ipaddress.ip_address(text))


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, *, issued_by: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    """What every certificate has. Strict verifiers want both key identifiers."""
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issued_by), critical=False)
    )


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


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _pem_of_key(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """One process at a time. The lock is on the folder itself: no file is left behind."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _told(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        remedy = "name a folder that you may write to, or run this as a user who may"
        raise CertificateError(f"{folder} cannot be written: {error.strerror}; {remedy}") from error


def _holds(file: Path, content: bytes) -> bool:
    return file.is_file() and file.read_bytes() == content


def _refuse_to_overwrite(*files: Path, hint: str) -> None:
    for file in sorted(files):
        if os.path.lexists(file):
            raise AlreadyThere(f"{file} is there already and is not overwritten; {hint}")


def _write(*files: tuple[Path, bytes, int]) -> None:
    """Put files in place, the last one last; all are on the disk before the first one gets its name.

    Whoever calls is alone in the folder, so what has a temporary name is the rest of a process that ended.
    """
    staged = [(file.with_name(f".{file.name}.new"), file) for file, _, _ in files]
    try:
        for (temporary, _), (_, content, mode) in zip(staged, files, strict=True):
            temporary.unlink(missing_ok=True)
            with os.fdopen(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode), "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
        for temporary, file in staged:
            temporary.replace(file)
    finally:
        for temporary, _ in staged:
            temporary.unlink(missing_ok=True)
