"""The agent's certificates, which are replaced while it runs."""

import ssl
from pathlib import Path

from cryptography import x509

from mooring.model.config import Config
from mooring.wire import serving


class Certificates:
    """The agent's certificates. Those that lie in the files now are used for every new connection."""

    def __init__(self, config: Config) -> None:
        self._files = config.tls
        self.context = self._loaded()
        self._written = self._times()
        self.ends = self._expiry()

    def renew(self) -> bool:
        """Whether there were new ones."""
        written = self._times()
        if written == self._written:
            return False
        serving.renew(self.context, self._loaded())
        self._written, self.ends = written, self._expiry()
        return True

    def _loaded(self) -> ssl.SSLContext:
        return serving.server_tls(self._files.ca, self._files.certificate, self._files.key)

    def _times(self) -> tuple[int, ...]:
        files = self._files
        return tuple(Path(each).stat().st_mtime_ns for each in (files.ca, files.certificate, files.key))

    def _expiry(self) -> float:
        certificate = x509.load_pem_x509_certificate(Path(self._files.certificate).read_bytes())
        return certificate.not_valid_after_utc.timestamp()
