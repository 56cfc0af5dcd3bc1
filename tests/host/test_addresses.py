"""The addresses of an interface, from the real kernel."""

from mooring.host import addresses


def test_every_machine_has_its_own() -> None:
    assert "127.0.0.1" in addresses.held("lo")


def test_an_interface_that_is_not_there_has_none() -> None:
    assert addresses.held("not-there") == frozenset()


def test_an_address_is_here_or_elsewhere() -> None:
    assert addresses.is_here("127.0.0.1")
    assert addresses.is_here("::1")
    assert not addresses.is_here("198.51.100.1")
    assert not addresses.is_here("2001:db8::1")
