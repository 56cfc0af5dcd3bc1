"""What is promised in seconds, on virtual time and without faults: endpoints, gateways and addresses are followed."""

from collections import Counter
from collections.abc import Callable

import msgspec
import pytest

from mooring.cloud.twin.state import Caller
from mooring.model import names
from mooring.model.cloud import FloatingIp, Port, PortId, ProjectId
from mooring.model.config import Services
from mooring.model.gateway import Vrrp
from mooring.model.kubernetes import Name, Service
from mooring.wire.http import Request, Response
from tests.simulation.explore import Scripted
from tests.simulation.faults import Fault
from tests.simulation.user import User
from tests.simulation.world import MEMBER, TIMES, World
from tests.surveying import backup, operate

SOON = 0.5
"""Much less than until the next audit, which would find everything anyway."""


def backends(world: World) -> list[list[str]]:
    """What each gateway sends packets to."""
    return [
        [each.address for forward in gateway.document.forwards for each in forward.backends]
        for gateway in world.gateways.values()
    ]


def service(world: World, name: str) -> Service:
    return world.truth.services[Name("shop", name)]


def reasons(world: World, name: str) -> list[str]:
    return [each.reason for each in service(world, name).status.conditions]


async def served(user: User, world: World) -> None:
    user.expose("web", "80/TCP")
    user.pods("web", "10.244.1.5")
    while not service(world, "web").status.load_balancer.ingress:
        await user.wait(0.1)


def test_packets_follow_the_endpoints_at_once() -> None:
    async def deeds(world: World) -> None:
        user = User(world)
        await served(user, world)
        for pods in (["10.244.1.5 10.244.2.5"], ["10.244.2.5", "10.244.3.5"], [""], ["10.244.1.7"]):
            user.pods("web", *pods)
            await user.wait(SOON)
            assert backends(world) == [sorted(" ".join(pods).split())] * 2
        assert TIMES.audit / 10 > SOON

    World(1, Scripted({})).run(deeds)


def test_what_goes_goes_also_while_a_gateways_list_of_addresses_is_full() -> None:
    """Neutron allows for ten addresses beside a port's own: what goes makes room for what is needed."""

    async def deeds(world: World) -> None:
        user = User(world)
        user.expose("web", "80/TCP")
        user.expose("shop", "80/TCP")
        await user.wait(3.0)
        gone = service(world, "shop").metadata.annotations[names.PORT]
        full = [{"ip_address": f"192.0.2.{number}"} for number in range(10)]
        world.truth.pairs_taken = True
        gateway = f"ports/{world.place.gateways[0]}"
        operate(world, "PUT", gateway, {"port": {"allowed_address_pairs": full}})
        user.delete("shop")
        await user.wait(TIMES.before_deletion + 3 * TIMES.audit)
        assert gone not in world.truth.ports
        user.take_pairs()

    World(1, Scripted({})).run(deeds)


def test_who_stops_to_be_a_load_balancer_is_let_go_at_once() -> None:
    async def deeds(world: World) -> None:
        user = User(world)
        await served(user, world)
        user.hide("web")
        await user.wait(SOON)
        assert [gateway.document.forwards for gateway in world.gateways.values()] == [(), ()]
        assert names.FINALIZER not in service(world, "web").metadata.finalizers

    World(1, Scripted({})).run(deeds)


def sources(world: World) -> list[tuple[str, ...]]:
    return [forward.sources for gateway in world.gateways.values() for forward in gateway.document.forwards]


def test_who_may_call_is_followed_at_once() -> None:
    async def deeds(world: World) -> None:
        user = User(world)
        await served(user, world)
        for ranges in (("192.0.2.0/24",), ("192.0.2.0/24", "203.0.113.0/24"), ()):
            user.restrict("web", *ranges)
            await user.wait(SOON)
            assert sources(world) == [ranges] * 2
        user.annotate("web", names.SOURCE_RANGES, "192.0.2.0/24")
        await user.wait(SOON)
        assert sources(world) == [("192.0.2.0/24",)] * 2, "by the older annotation, where the field says nothing"

    World(1, Scripted({})).run(deeds)


async def shown(user: User, world: World, name: str) -> None:
    while not service(world, name).status.load_balancer.ingress:
        await user.wait(0.1)


def test_nodes_are_followed_at_once() -> None:
    async def deeds(world: World) -> None:
        user = User(world)
        user.node("n1")
        user.expose("web", "80/TCP", annotations={names.LAYER: "node"})
        user.expose("near", "81/TCP", annotations={names.LAYER: "node"}, externalTrafficPolicy="Local")
        for name in ("web", "near"):
            user.pods(name, "10.244.1.5@n1 10.244.2.5@n2")
            await shown(user, world, name)
        turns: tuple[tuple[Callable[[], None], list[str]], ...] = (
            (lambda: user.node("n2"), ["172.30.0.1", "172.30.0.2"] * 2),
            (lambda: user.node("n3"), ["172.30.0.1", "172.30.0.2", "172.30.0.3", "172.30.0.1", "172.30.0.2"]),
            (lambda: user.node("n3", excluded=True), ["172.30.0.1", "172.30.0.2"] * 2),
            (lambda: user.node("n1", ready=False), ["172.30.0.2"] * 2),
            (lambda: user.pods("near", "10.244.1.5@n1"), ["172.30.0.2"]),
            (lambda: user.delete_node("n2"), []),
            (lambda: user.node("n1"), ["172.30.0.1"] * 2),
        )
        for number, (turn, expected) in enumerate(turns):
            turn()
            await user.wait(SOON)
            assert backends(world) == [expected] * 2, number

    World(1, Scripted({})).run(deeds)


def test_a_layer_is_followed_at_once() -> None:
    async def deeds(world: World) -> None:
        user = User(world)
        user.node("n1")
        await served(user, world)
        inside = service(world, "web").spec.cluster_ip
        for layer, expected in (
            ("node", "172.30.0.1"),
            ("cluster", inside),
            ("pod", "10.244.1.5"),
            (None, "10.244.1.5"),
        ):
            user.annotate("web", names.LAYER, layer)
            await user.wait(SOON)
            assert backends(world) == [[expected]] * 2

    World(1, Scripted({})).run(deeds)


def test_a_node_that_only_says_that_it_lives_costs_nothing() -> None:
    async def deeds(world: World) -> None:
        user = User(world)
        user.node("n1")
        user.expose("web", "80/TCP", annotations={names.LAYER: "node"})
        user.pods("web", "10.244.1.5@n1")
        await shown(user, world, "web")
        await user.wait(TIMES.audit + 5.0)
        quiet = {"event nodes", "event leases", "patch leases", "heartbeat", "get state"}
        for beat in range(20):
            before = len(world.trace)
            user.live("n1", beat)
            await user.wait(0.1)
            told = {step.what for step in world.trace[before:]}
            assert "event nodes" in told
            if told - quiet:  # an audit came in between
                assert "list services" in told

    World(1, Scripted({})).run(deeds)


def test_a_policy_is_told_at_once() -> None:
    async def deeds(world: World) -> None:
        user = User(world)
        await served(user, world)
        turns: tuple[tuple[Callable[[], None], str], ...] = (
            (lambda: user.guard("shop", "deny", "web"), "NetworkPolicyApplies"),
            (lambda: user.guard("other", "deny"), "NetworkPolicyApplies"),
            (lambda: user.unguard("shop", "deny"), "Programmed"),
            (lambda: user.guard("shop", "deny", "shop"), "Programmed"),
            (lambda: user.guard("shop", "all"), "NetworkPolicyApplies"),
        )
        for turn, expected in turns:
            turn()
            await user.wait(SOON)
            assert reasons(world, "web")[-1] == expected

    World(1, Scripted({})).run(deeds)


class Hanging:
    """Neutron stops answering, and begins again."""

    def __init__(self) -> None:
        self.hangs = False

    def at(self, _number: int, what: str, possible: tuple[Fault, ...]) -> Fault | None:
        hit = self.hangs and what.endswith((" ports", " floatingips")) and Fault.TIMEOUT_BEFORE in possible
        return Fault.TIMEOUT_BEFORE if hit else None


def test_endpoints_are_followed_while_openstack_does_not_answer() -> None:
    plan = Hanging()

    async def deeds(world: World) -> None:
        user = User(world)
        await served(user, world)
        plan.hangs = True
        user.expose("late", "80/TCP")
        for number in range(6, 12):
            await user.wait(20.0)
            user.pods("web", f"10.244.1.{number}")
            await user.wait(SOON)
            assert backends(world) == [[f"10.244.1.{number}"]] * 2
        assert reasons(world, "late") == ["Accepted", "CloudUnreachable", "WaitingForAddress"]
        plan.hangs = False

    World(1, plan).run(deeds)


def test_nothing_is_told_before_the_nodes_are_known() -> None:
    """Else a Service at the layer of nodes would have none of them for a moment, after every restart."""

    class Blind(Hanging):
        def at(self, _number: int, what: str, possible: tuple[Fault, ...]) -> Fault | None:
            return Fault.ERROR if self.hangs and what.endswith(" nodes") and Fault.ERROR in possible else None

    plan = Blind()

    async def deeds(world: World) -> None:
        user = User(world)
        user.node("n1")
        user.expose("web", "80/TCP", annotations={names.LAYER: "node"})
        user.pods("web", "10.244.1.5@n1")
        await shown(user, world, "web")
        plan.hangs = True
        await user.kill_leader()
        await user.wait(2 * TIMES.audit)
        assert backends(world) == [["172.30.0.1"]] * 2
        plan.hangs = False
        user.node("n2")
        await user.wait(TIMES.audit)
        assert backends(world) == [["172.30.0.1", "172.30.0.2"]] * 2

    World(1, plan).run(deeds)


class OneHangs:
    """One gateway takes documents, or heartbeats, and never answers; the other is well."""

    def __init__(self, *calls: str) -> None:
        self.calls = calls
        self.hangs = False

    def at(self, _number: int, what: str, possible: tuple[Fault, ...]) -> Fault | None:
        hit = self.hangs and what in self.calls and Fault.TIMEOUT_BEFORE in possible
        return Fault.TIMEOUT_BEFORE if hit else None


@pytest.mark.parametrize("calls", [("put document", "patch document"), ("heartbeat",)], ids=["documents", "heartbeats"])
def test_one_gateway_that_hangs_for_long_delays_nobody(calls: tuple[str, ...]) -> None:
    """The other one has every change at once, and a new Service gets its address after a while, again and again."""
    plan = OneHangs(*calls)

    async def deeds(world: World) -> None:
        backup(world)
        user = User(world)
        await served(user, world)
        plan.hangs = True
        for number in range(6, 40):
            user.pods("web", f"10.244.1.{number}")
            await user.wait(SOON)
            assert backends(world)[0] == [f"10.244.1.{number}"]
            await user.wait(1.0)
        user.expose("late", "81/TCP")
        await user.wait(SOON)
        assert service(world, "late").status.load_balancer.ingress
        plan.hangs = False

    World(1, plan, hit=frozenset({"g2"})).run(deeds)


def test_a_quota_that_is_spent_leaves_one_begun_port_and_not_more() -> None:
    class NoFloatingIps(Hanging):
        def at(self, _number: int, what: str, possible: tuple[Fault, ...]) -> Fault | None:  # noqa: ARG002 - as above
            return Fault.CONFLICT if self.hangs and what == "create floatingips" else None

    plan = NoFloatingIps()

    async def deeds(world: World) -> None:
        user = User(world)
        await served(user, world)
        plan.hangs = True
        user.expose("late", "80/TCP")
        await user.wait(10 * TIMES.audit)
        ours = [port for port in world.truth.ports.values() if port.description == world.truth.mark]
        assert len(ours) == 2
        plan.hangs = False

    World(1, plan).run(deeds)


def test_who_loses_all_gateways_says_so_and_says_when_they_are_back() -> None:
    async def deeds(world: World) -> None:
        user = User(world)
        await served(user, world)
        for gateway in world.gateways.values():
            gateway.up = False
        await user.wait(TIMES.heartbeat + 20.0)
        assert reasons(world, "web") == ["Accepted", "Allocated", "NoGateway"]
        assert service(world, "web").status.load_balancer.ingress, "what it has it keeps"
        user.expose("late", "81/TCP")
        await user.wait(5.0)
        assert not service(world, "late").status.load_balancer.ingress
        for gateway in world.gateways.values():
            gateway.start()
        await user.wait(TIMES.heartbeat + 2.0)
        assert reasons(world, "web") == ["Accepted", "Allocated", "Programmed"]
        assert service(world, "late").status.load_balancer.ingress

    World(1, Scripted({})).run(deeds)


def test_nobody_is_sent_to_a_gateway_of_which_nothing_is_known() -> None:
    """Who has the addresses does not answer: the others could say yes, and no packet would come to them."""

    async def deeds(world: World) -> None:
        user = User(world)
        await served(user, world)
        first, second = world.gateways.values()
        second.machine.daemon.vrrp = Vrrp.BACKUP
        second.start()
        first.up = False
        await user.wait(2 * TIMES.heartbeat + 5.0)
        user.expose("late", "81/TCP")
        await user.wait(5.0)
        assert not service(world, "late").status.load_balancer.ingress
        assert reasons(world, "late") == ["Accepted", "Allocated", "NoHolder"]
        second.machine.daemon.vrrp = Vrrp.MASTER
        second.start()
        await user.wait(TIMES.heartbeat + 2.0)
        assert service(world, "late").status.load_balancer.ingress
        first.start()

    World(1, Scripted({})).run(deeds)


@pytest.mark.parametrize("count", [1, 2])
def test_a_service_costs_three_writes_and_a_new_address_a_few_calls(count: int) -> None:
    """Managed, port, status; and in OpenStack two POST, a PUT for each gateway, and a tag for each thing."""

    async def deeds(world: World) -> None:
        user = User(world)
        await served(user, world)
        await user.wait(5.0)
        before = len(world.trace)
        user.expose("late", "81/TCP" if count == 1 else "80/TCP")
        user.pods("late", "10.244.1.6")
        await user.wait(5.0)
        assert service(world, "late").status.load_balancer.ingress
        since = [step.what for step in world.trace[before:]]
        writes = [what for what in since if what.startswith("patch services")]
        assert writes == ["patch services", "patch services", "patch services/status"]
        cloud = [what for what in since if what.split()[0] in {"create", "update", "get", "tag"} and "s" in what]
        neutron = sorted(what for what in cloud if what.split()[-1] in {"ports", "floatingips"})
        new = ["create floatingips", "create ports", "tag floatingips", "tag ports"]
        assert neutron == ([] if count == 1 else sorted([*new, *["update ports"] * 2]))

    World(1, Scripted({})).run(deeds)


def test_services_without_a_class_are_served_where_they_are_claimed() -> None:
    """Also after the leader has died, and by one who finds that somebody took our finalizer away meanwhile."""

    async def deeds(world: World) -> None:
        user = User(world)
        user.expose("web", "80/TCP", ours=False)
        user.expose("other", "80/TCP", ours=False, annotations={names.BACKEND: "octavia"})
        user.pods("web", "10.244.1.5")
        await user.wait(TIMES.audit)
        [shown] = service(world, "web").status.load_balancer.ingress
        assert shown.ip_mode == "VIP"
        await user.kill_leader()
        user.take_finalizers("web")
        await user.wait(2 * TIMES.audit)
        assert service(world, "web").status.load_balancer.ingress == (shown,)
        assert backends(world) == [["10.244.1.5"]] * 2
        assert reasons(world, "web") == ["Accepted", "Allocated", "Programmed"]
        assert not service(world, "other").metadata.finalizers

    World(1, Scripted({}), services=Services(claim_unclassed=True, ip_mode="VIP")).run(deeds)


def test_what_vanishes_all_at_once_is_not_cleaned_up_before_a_person_says_so() -> None:
    """A cluster that was restored from an old backup, say: the Services are gone, and nobody let their ports go."""

    async def deeds(world: World) -> None:
        user = User(world)
        made = [f"web{number}" for number in range(4)]
        for name in made:
            user.expose(name, "80/TCP")
            await shown(user, world, name)
        for name in made:
            user.take_finalizers(name)
            user.delete(name)
        await user.wait(5 * TIMES.audit)
        left = ours(world)
        assert len(left) == 8
        assert not any(names.DELETING_TAG in each.tags for each in left)
        for each in left:
            kind = "ports" if isinstance(each, Port) else "floatingips"
            operate(world, "PUT", f"{kind}/{each.id}/tags/{names.DELETING_TAG}", {})

    World(1, Scripted({})).run(deeds)


def test_what_services_let_go_is_cleaned_up_however_much_it_is() -> None:
    async def deeds(world: World) -> None:
        user = User(world)
        made = [f"web{number}" for number in range(4)]
        for name in made:
            user.expose(name, "80/TCP")
            await shown(user, world, name)
        for name in made:
            user.delete(name)
        await user.wait(5 * TIMES.audit)
        assert ours(world) == []

    World(1, Scripted({})).run(deeds)


def test_the_eleventh_address_is_refused_before_anything_is_made_and_given_when_there_is_room() -> None:
    """A gateway's port may have two pairs, and one is somebody else's."""

    async def deeds(world: World) -> None:
        user = User(world)
        await served(user, world)
        user.expose("late", "80/TCP")
        before = len(world.trace)
        await user.wait(2 * TIMES.audit)
        assert reasons(world, "late") == ["Accepted", "PairsLimit", "WaitingForAddress"]
        assert "create ports" not in {step.what for step in world.trace[before:]}
        user.expose("beside", "81/TCP")
        await user.wait(1.0)
        assert service(world, "beside").status.load_balancer.ingress, "it needs no new address"
        user.delete("web")
        user.delete("beside")
        await user.wait(TIMES.before_deletion + 2 * TIMES.audit)
        assert service(world, "late").status.load_balancer.ingress

    World(1, Scripted({}), pairs=2).run(deeds)


def test_a_limit_that_neutron_has_and_nobody_knew_of_is_told_by_its_name() -> None:
    """Nine addresses fit beside the pair of others."""

    async def deeds(world: World) -> None:
        user = User(world)
        for number in range(10):
            user.expose(f"s{number}", "80/TCP")
        await user.wait(TIMES.audit)
        told = Counter(reasons(world, f"s{number}")[1] for number in range(10))
        assert told == {"Allocated": 9, "PairsLimit": 1}
        user.delete("s0")
        await user.wait(TIMES.before_deletion + 2 * TIMES.audit)

    World(1, Scripted({})).run(deeds)


@pytest.mark.parametrize("kind", ["port", "floatingip"])
def test_a_quota_that_is_spent_is_known_before_anything_is_asked_for(kind: str) -> None:
    """Room for one more; who comes next is told so without a call, and served when there is room again."""

    async def deeds(world: World) -> None:
        user = User(world)
        await user.wait(5.0)
        every = world.truth.ports if kind == "port" else world.truth.floating_ips
        user.limit(**{kind: 1 + sum(each.project_id == MEMBER.project for each in every.values())})
        await user.wait(2 * TIMES.audit)
        await served(user, world)
        before = len(world.trace)
        user.expose("late", "80/TCP")
        await user.wait(2 * TIMES.audit)
        assert reasons(world, "late") == ["Accepted", "QuotaExceeded", "WaitingForAddress"]
        asked = {step.what for step in world.trace[before:] if step.what.startswith("create ")}
        assert asked.isdisjoint({"create ports", "create floatingips"})
        user.limit(**{kind: -1})
        await user.wait(2 * TIMES.audit)
        assert service(world, "late").status.load_balancer.ingress

    World(1, Scripted({})).run(deeds)


def test_a_group_that_cannot_be_opened_is_told_and_nobody_is_sent_to_a_closed_port() -> None:
    async def deeds(world: World) -> None:
        user = User(world)
        user.limit(security_group_rule=8)  # four of the default group's, two of the operator's, two of a new one
        user.expose("web", "80/TCP")
        await user.wait(TIMES.audit)
        assert not service(world, "web").status.load_balancer.ingress
        assert reasons(world, "web") == ["Accepted", "Allocated", "NotLetIn"]
        user.limit(security_group_rule=-1)
        await user.wait(TIMES.audit)
        assert service(world, "web").status.load_balancer.ingress
        assert reasons(world, "web") == ["Accepted", "Allocated", "NoEndpoints"]

    World(1, Scripted({}), group=True).run(deeds)


def test_a_stateful_group_on_a_gateway_is_told_and_once_it_is_gone_all_goes_on() -> None:
    """Neutron has groups with memory and without on different ports only."""

    async def deeds(world: World) -> None:
        user = User(world)
        groups = [each for each in world.truth.groups.values() if each.project_id == MEMBER.project]
        default, operators = ([each.id for each in groups if each.stateful is way] for way in (True, False))
        port = world.place.gateways[0]
        user.put_groups(port, default)
        for number in range(1, 4):
            user.expose(f"s{number}", f"{number}/TCP")
        before = len(world.trace)
        await user.wait(TIMES.audit - 5.0)
        tried = [step for step in world.trace[before:] if step.what == "update ports" and step.path.endswith(port)]
        assert [reasons(world, f"s{number}")[2] for number in range(1, 4)] == ["NotLetIn"] * 3
        assert len(tried) <= 6, "what was refused is not asked for again at once"
        user.put_groups(port, operators)
        await user.wait(2 * TIMES.audit)
        assert service(world, "s3").status.load_balancer.ingress

    World(1, Scripted({}), group=True).run(deeds)


def test_the_group_costs_nothing_for_ports_that_are_open_already() -> None:
    """One call lets a new port in; one that others have, or that answers come to anyway, needs none."""

    async def deeds(world: World) -> None:
        user = User(world)
        await served(user, world)
        await user.wait(5.0)

        async def calls(name: str, port: str) -> list[str]:
            before = len(world.trace)
            user.expose(name, port)
            await user.wait(0.9)
            assert service(world, name).status.load_balancer.ingress
            return [step.what for step in world.trace[before:] if "security_group_rules" in step.what]

        assert await calls("high", "8080/TCP") == []
        assert await calls("same", "80/TCP") == []
        assert await calls("new", "443/TCP") == ["create many security_group_rules"]

    World(1, Scripted({}), group=True).run(deeds)


def ours(world: World) -> list[Port | FloatingIp]:
    every: list[Port | FloatingIp] = [*world.truth.ports.values(), *world.truth.floating_ips.values()]
    return [each for each in every if each.description == world.truth.mark]


@pytest.mark.parametrize("dies", [False, True], ids=["the same leader", "a new leader"])
def test_a_neutron_that_says_it_has_nothing_is_not_believed(dies: bool) -> None:  # noqa: FBT001 - a case
    """As one does whose policies are not loaded yet: whoever asks is somebody whom it does not know."""

    async def deeds(world: World) -> None:
        user = User(world)
        await served(user, world)
        await user.wait(TIMES.audit)
        given = service(world, "web")
        made = set(world.truth.ports)
        world.account = Caller(ProjectId("5c" * 16))
        if dies:
            world.crash_leader()
        await user.wait(3 * TIMES.audit)
        assert service(world, "web") == given
        world.account = MEMBER
        user.pods("web", "10.244.1.7")
        await user.wait(2 * TIMES.audit)
        assert service(world, "web") == given
        assert backends(world) == [["10.244.1.7"]] * 2
        assert set(world.truth.ports) == made

    World(1, Scripted({})).run(deeds)


def test_a_floating_ip_that_somebody_took_off_its_port_is_put_back() -> None:
    """The Service shows its address, and gets it back."""

    async def deeds(world: World) -> None:
        user = User(world)
        await served(user, world)
        await user.wait(TIMES.audit)
        given, made = service(world, "web").status.load_balancer, set(world.truth.floating_ips)
        user.take_off("web")
        await user.wait(2 * TIMES.audit)
        assert service(world, "web").status.load_balancer == given
        assert set(world.truth.floating_ips) == made

    World(1, Scripted({})).run(deeds)


def test_who_lost_a_floating_ip_gets_its_own_back_and_no_other() -> None:
    """Also where somebody else's lies about for longer, and somebody new comes first; it never stops to show it."""

    async def deeds(world: World) -> None:
        user = User(world)
        for name in ("web", "other/shop"):
            user.expose(name, "80/TCP")
            await user.wait(3.0)
        user.lose("floatingips", "web")
        await user.wait(3 * TIMES.audit)  # that of the other one is older now
        given = {name: user.shown(name) for name in ("web", "other/shop")}
        for name in given:
            user.take_off(name)
        user.expose("new/new", "80/TCP")
        for _ in range(30):
            await user.wait(TIMES.audit / 10)
            assert {name: user.shown(name) for name in given} == given
        assert user.shown("new/new") not in given.values()
        on = {each.port_id for each in world.truth.floating_ips.values() if each.floating_ip_address in given.values()}
        assert on == {PortId(user.annotations(name)[names.PORT]) for name in given}

    World(1, Scripted({})).run(deeds)


def kept(world: World) -> list[FloatingIp]:
    return [each for each in world.truth.floating_ips.values() if names.KEEP_TAG in each.tags]


def test_a_floating_ip_is_kept_for_its_namespace_until_its_owner_says_otherwise() -> None:
    async def deeds(world: World) -> None:
        user = User(world)
        user.expose("web", "80/TCP", annotations={names.KEEP: "true"})
        await user.wait(3.0)
        address = user.shown("web")
        user.take_off("web")
        await user.wait(2 * TIMES.audit)
        assert user.shown("web") == address
        user.delete("web")
        await user.wait(TIMES.before_deletion + 3 * TIMES.audit)
        assert [(each.floating_ip_address, each.port_id, each.description) for each in kept(world)] == [
            (address, None, "")
        ]
        user.expose("other/thief", "80/TCP")
        user.wish("other/thief", address)
        await user.wait(3 * TIMES.audit)
        assert user.shown("other/thief") == ""
        user.delete("other/thief")
        user.expose("again", "80/TCP", annotations={names.KEEP: "false"})
        user.wish("again", address)
        await user.wait(3 * TIMES.audit)
        assert user.shown("again") == address
        user.delete("again")
        await user.wait(TIMES.before_deletion + 3 * TIMES.audit)
        world.truth.foreign |= {each.id for each in kept(world)}  # it was there before: who asks for it gives it back

    World(1, Scripted({})).run(deeds)


def test_who_wants_its_floating_ip_to_stay_may_think_better_of_it() -> None:
    async def deeds(world: World) -> None:
        user = User(world)
        user.expose("web", "80/TCP", annotations={names.KEEP: "true"})
        await user.wait(3.0)
        assert kept(world)
        user.annotate("web", names.KEEP, "false")
        await user.wait(3.0)
        assert not kept(world)
        user.delete("web")

    World(1, Scripted({})).run(deeds)


class Deaf:
    """A gateway that answers, and does not do what it is told."""

    def __init__(self, world: World, name: str) -> None:
        self._real = world.gateways[name].handle
        world.gateways[name].handle = self._refuse  # type: ignore[method-assign]

    def _refuse(self, request: Request) -> Response:
        if request.method in {"PUT", "PATCH"}:
            return Response(500, body=b'{"reason": "RulesRefused", "message": "no memory left"}')
        return self._real(request)


def notes(world: World) -> list[tuple[str, str, str]]:
    found = msgspec.json.decode(world.kube.handle(Request("list", "GET", "/apis/events.k8s.io/v1/events")).body)
    return [(each["regarding"]["name"], each["reason"], each["note"]) for each in found["items"]]


@pytest.mark.parametrize(("name", "shown"), [("g1", False), ("g2", True)], ids=["the holder", "another one"])
def test_who_is_affected_by_a_gateway_that_does_not_obey_says_so_and_nobody_else(name: str, *, shown: bool) -> None:
    async def deeds(world: World) -> None:
        backup(world)
        user = User(world)
        await served(user, world)
        before = world.gateways[name].handle
        Deaf(world, name)
        user.expose("late", "81/TCP")
        user.pods("late", "10.244.1.6")
        await user.wait(30.0)
        assert bool(user.shown("late")) is shown
        assert reasons(world, "late")[-1] == "GatewayRefuses"
        told = [note for who, reason, note in notes(world) if (who, reason) == ("late", "GatewayRefuses")]
        assert len(told) == 1
        assert f"Gateway {name} does not do what it is told" in told[0]
        assert "no memory left" in told[0]
        assert reasons(world, "web")[-1] == "Programmed"
        world.gateways[name].handle = before  # type: ignore[method-assign]
        await user.wait(10.0)
        assert reasons(world, "late")[-1] == "Programmed"
        assert user.shown("late")

    World(1, Scripted({})).run(deeds)


def test_who_keeps_what_another_one_claims_is_told_too() -> None:
    async def deeds(world: World) -> None:
        user = User(world)
        await served(user, world)
        world.crash_leader()
        user.copy("web", "twin")
        await user.wait(60.0)
        assert user.shown("twin") not in {"", user.shown("web")}
        assert [note for who, reason, note in notes(world) if (who, reason) == ("web", "Kept")] == [
            f"It keeps {user.shown('web')}. shop/twin claimed one of its ports there, and gets another address."
        ]

    World(1, Scripted({})).run(deeds)


def test_a_wish_that_cannot_be_granted_leaves_nothing_behind_however_often_it_is_tried() -> None:
    """Not the other half of a Service of two families, and not somebody's floating IP with a tag of ours."""

    async def deeds(world: World) -> None:
        user = User(world)
        taken = "fd00:10::99"
        fixed = [{"subnet_id": world.place.subnet_ipv6, "ip_address": taken}]
        theirs = {"network_id": world.place.network, "project_id": MEMBER.project, "device_owner": "compute:nova"}
        operate(world, "POST", "ports", {"port": theirs | {"fixed_ips": fixed}})
        user.expose(
            "web",
            "80/TCP",
            annotations={names.ADDRESSES: taken},
            ipFamilies=["IPv4", "IPv6"],
            ipFamilyPolicy="RequireDualStack",
        )
        await user.wait(1.0)
        before = set(world.truth.ports), set(world.truth.floating_ips)
        world.truth.foreign |= {each.id for each in world.truth.ports.values() if each.fixed_ips[0].ip_address == taken}
        for _ in range(30):
            await user.wait(10.0)
            assert (set(world.truth.ports), set(world.truth.floating_ips)) == before
        assert not user.shown("web")
        told = [note for who, reason, note in notes(world) if (who, reason) == ("web", "WishRefused")]
        assert told
        assert taken in told[0]
        user.delete("web")

    World(1, Scripted({})).run(deeds)
