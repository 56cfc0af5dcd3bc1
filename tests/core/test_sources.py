"""Who may call a Service: by the field, by the older annotation, at an address of each family."""

import pytest

from mooring.core import sources
from mooring.model import names
from mooring.model.kubernetes import Meta, Service, ServiceSpec


@pytest.mark.parametrize(
    ("ranges", "address", "told"),
    [
        ((), "192.0.2.1", ()),
        (("198.51.100.0/24", " 10.0.0.0/8 "), "192.0.2.1", ("10.0.0.0/8", "198.51.100.0/24")),
        (("198.51.100.7/24",), "192.0.2.1", ("198.51.100.0/24",)),
        (("2001:db8::7/64", "10.0.0.0/8"), "2001:db8::1", ("2001:db8::/64",)),
        (("10.0.0.0/8",), "2001:db8::1", ("::/128",)),
        (("nonsense/24",), "192.0.2.1", ("nonsense/24",)),
    ],
)
def test_who_may_call(ranges: tuple[str, ...], address: str, told: tuple[str, ...]) -> None:
    """Kubernetes takes an address with a length for the network that it lies in."""
    service = Service(Meta(), ServiceSpec(load_balancer_source_ranges=ranges))
    assert sources.allowed(service, address) == told


@pytest.mark.parametrize(
    ("ranges", "annotated", "told"),
    [
        ((), "10.0.0.0/8", ("10.0.0.0/8",)),
        ((), " 10.0.0.7/8 , 192.0.2.0/24 ", ("10.0.0.0/8", "192.0.2.0/24")),
        ((), "2001:db8::/64", ("0.0.0.0/32",)),
        ((), "", ()),
        ((), "  ", ()),
        # what is no network is told to the gateways, which say so, and lets nobody in
        ((), "nonsense", ("nonsense",)),
        ((), ",", ("",)),
        ((), "10.0.0.0/8,", ("", "10.0.0.0/8")),
        # the field wins
        (("198.51.100.0/24",), "10.0.0.0/8", ("198.51.100.0/24",)),
        (("198.51.100.0/24",), "nonsense", ("198.51.100.0/24",)),
    ],
)
def test_who_may_call_by_the_older_annotation(ranges: tuple[str, ...], annotated: str, told: tuple[str, ...]) -> None:
    meta = Meta(annotations={names.SOURCE_RANGES: annotated})
    service = Service(meta, ServiceSpec(load_balancer_source_ranges=ranges))
    assert sources.allowed(service, "192.0.2.1") == told
