"""Who shows which address."""

from mooring.core.showing import Showing
from mooring.model import names
from mooring.model.kubernetes import Ingress, LoadBalancerStatus, Meta, Name, Service, ServiceSpec, ServiceStatus

WEB, OTHER = Name("shop", "web"), Name("shop", "other")


def shows(name: Name, *addresses: str, ours: bool = True) -> Service:
    lb_class = names.GATEWAY_CLASS if ours else "example.org/other"
    ingress = tuple(Ingress(each) for each in addresses)
    spec = ServiceSpec(type="LoadBalancer", load_balancer_class=lb_class)
    return Service(Meta(name.name, name.namespace), spec, ServiceStatus(LoadBalancerStatus(ingress)))


def test_who_shows_something_is_known_by_it_until_it_does_no_more() -> None:
    showing = Showing()
    showing.see(shows(WEB, "192.0.2.1", "2001:db8::1"))
    showing.see(shows(OTHER, "192.0.2.1"))
    assert showing.of(WEB) == ("192.0.2.1", "2001:db8::1")
    assert showing.by("192.0.2.1") == {WEB, OTHER}
    showing.see(shows(WEB, "192.0.2.2"))
    assert (showing.by("192.0.2.1"), showing.by("2001:db8::1")) == ({OTHER}, frozenset())
    showing.forget(OTHER)
    showing.forget(OTHER)
    assert (showing.of(OTHER), showing.by("192.0.2.1")) == ((), frozenset())
    assert showing.everything() == {"192.0.2.2"}


def test_what_is_not_ours_shows_an_address_and_has_no_say_in_it() -> None:
    showing = Showing()
    showing.see(shows(WEB, "192.0.2.1", ours=False))
    assert showing.by("192.0.2.1") == frozenset()
    assert showing.everything() == {"192.0.2.1"}
