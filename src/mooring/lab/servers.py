"""Asking the lab's own servers whether they answer yet."""

import socket
import ssl
import urllib.error
import urllib.request
from pathlib import Path

BAD = 500


def answers(url: str, *, ca: Path) -> bool:
    """Does a server answer with something better than an error of its own?"""
    context = ssl.create_default_context(cafile=str(ca))
    try:
        with urllib.request.urlopen(url, timeout=5, context=context) as response:  # noqa: S310 - urls of our own
            return int(response.status) < BAD
    except urllib.error.HTTPError as error:
        return error.code < BAD
    except OSError:
        return False


def listens(path: Path) -> bool:
    """Does somebody take connections at a Unix socket? Its file alone means nothing: that comes before."""
    with socket.socket(socket.AF_UNIX) as caller:
        try:
            caller.connect(str(path))
        except OSError:
            return False
    return True
