"""While Neutron does not answer, only who needs something of it waits."""

import pytest

from mooring.model.kubernetes import Name
from tests.simulation.faults import Fault
from tests.simulation.user import User
from tests.simulation.world import World

NEUTRON = ("networks", "ports", "floatingips", "quotas", "security_groups", "tag")

AT_MOST = 10.0
"""Seconds. The first who is not answered may wait for half a minute; who comes later does not."""


class Away:
    """A Neutron that refuses, or swallows, everything while it is `on`."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault
        self.on = False

    def at(self, _number: int, what: str, possible: tuple[Fault, ...]) -> Fault | None:
        away = self.on and any(each in what for each in NEUTRON)
        return self._fault if away and self._fault in possible else None


@pytest.mark.parametrize("fault", [Fault.UNAVAILABLE, Fault.NOT_SENT, Fault.TIMEOUT_BEFORE])
def test_others_get_addresses_and_go(fault: Fault) -> None:
    plan = Away(fault)
    world = World(1, plan)

    def shown(name: str) -> list[str]:
        return [each.ip for each in world.truth.services[Name("shop", name)].status.load_balancer.ingress]

    async def deeds(world: World) -> None:
        user = User(world)
        user.expose("web", "80/TCP")
        user.expose("gone", "8080/TCP")
        await user.wait(20.0)
        plan.on = True
        user.expose("rival", "80/TCP")  # needs an address of its own: it is not known whether that was made
        await user.wait(40.0)
        user.expose("shop", "443/TCP")
        user.delete("gone")
        await user.wait(AT_MOST)
        assert shown("shop") == shown("web")
        assert Name("shop", "gone") not in world.truth.services
        assert shown("rival") == []
        plan.on = False

    world.run(deeds)
    assert shown("rival") not in ([], shown("web"))
