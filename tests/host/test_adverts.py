"""Adverts: what is one and what is not. A real socket hears real ones in tests/lab/test_keepalived_real.py."""

import pytest

from mooring.host import adverts
from mooring.host.adverts import Advert, AdvertsError

HEADER = bytes([0x45, *[0] * 11, 192, 0, 2, 7, 224, 0, 0, 18])
LONG_HEADER = bytes([0x46, *HEADER[1:], 0, 0, 0, 0])
VERSION_3 = bytes([0x31, 51, 250, 1, 0, 10, 0, 0, 169, 254, 77, 1])
VERSION_2 = bytes([0x21, 51, 100, 2, 0, 1, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, *[0] * 8])
NO_ADDRESS = bytes([*VERSION_3[:3], 0, *VERSION_3[4:]])
OURS = Advert("192.0.2.7", 51, 250, "169.254.77.1")


@pytest.mark.parametrize(
    ("packet", "expected"),
    [
        pytest.param(HEADER + VERSION_3, OURS, id="version 3"),
        pytest.param(HEADER + VERSION_2, Advert("192.0.2.7", 51, 100, "192.0.2.1"), id="version 2"),
        pytest.param(LONG_HEADER + VERSION_3, OURS, id="header with options"),
        pytest.param(HEADER + NO_ADDRESS, Advert("192.0.2.7", 51, 250), id="no address, whatever follows"),
        pytest.param(HEADER + VERSION_3[:11], Advert("192.0.2.7", 51, 250), id="half an address"),
        pytest.param(HEADER + VERSION_3[:8], Advert("192.0.2.7", 51, 250), id="an address that is not there"),
        pytest.param(HEADER + bytes([0x41]) + VERSION_3[1:], None, id="other version"),
        pytest.param(HEADER + bytes([0x32]) + VERSION_3[1:], None, id="other type"),
        pytest.param(HEADER + VERSION_3[:7], None, id="cut off"),
        pytest.param(HEADER, None, id="header only"),
        pytest.param(HEADER[:19], None, id="half a header"),
        pytest.param(bytes([0x44]) + HEADER[1:] + VERSION_3, None, id="header that is too short"),
        pytest.param(bytes([0x4F]) + HEADER[1:] + VERSION_3, None, id="header that is too long"),
        pytest.param(b"", None, id="nothing"),
    ],
)
def test_what_is_an_advert(packet: bytes, expected: Advert | None) -> None:
    assert adverts.parsed(packet) == expected


def test_an_interface_that_is_not_there_is_told() -> None:
    with pytest.raises(AdvertsError, match="adverts on nowhere cannot be listened to: no interface with this name"):
        adverts.heard("nowhere", 0.1)
