"""What the user does, and how many controllers there are. Each scenario is short: its crash points are all tried."""

import asyncio
import random
from collections.abc import Awaitable, Callable

from msgspec import Struct

from mooring.model import names
from tests.simulation.truth import Truth
from tests.simulation.user import User
from tests.simulation.world import TIMES, Violation, World

Deeds = Callable[[World, random.Random], Awaitable[None]]


class Scenario(Struct, frozen=True):
    """`addresses`: how many are enough for what is left at the end; more are waste.

    `depends`: the end depends on what was given when the user did something: it is not the same whatever happens.
    """

    name: str
    deeds: Deeds
    controllers: int = 1
    addresses: int | None = None
    group: bool = False
    """Whether the security group on the gateways' ports is the controllers' to keep."""
    observes: bool = False
    """The controllers are configured to observe when it begins."""
    depends: bool = False

    def run(self, world: World, seed: int) -> None:
        async def deeds(world: World) -> None:
            await self.deeds(world, random.Random(f"user {seed}"))  # noqa: S311 - it has to be repeatable

        world.run(deeds)
        used = _used(world.truth)
        if self.addresses is not None and used > self.addresses:
            raise Violation(f"at rest: {used} addresses are used, {self.addresses} would do")


def _used(truth: Truth) -> int:
    """How many addresses: of a list those that gateways serve, else the floating IPs that were not there before."""
    if not truth.static:
        return len(truth.floating_ips.keys() - truth.foreign)
    return len({each.address for gateway in truth.gateways.values() for each in gateway.document.forwards})


async def _map(world: World, _chance: random.Random) -> None:
    user = User(world)
    user.expose("web", "80/TCP")
    user.pods("web", "10.244.1.5 10.244.2.5", "10.244.1.6")


async def _endpoints(world: World, _chance: random.Random) -> None:
    """Endpoints come, become ready, move to another slice, and are all gone at the end."""
    user = User(world)
    user.expose("web", "80/TCP", "443/TCP")
    user.expose("bare", "53/UDP")
    await user.wait(1.0)
    user.pods("web", "10.244.1.5 10.244.2.5!")
    user.pods("bare", "10.244.1.7")
    await user.wait(0.2)
    user.pods("web", "10.244.1.5", "10.244.2.5")
    await user.wait(0.2)
    user.pods("bare", "10.244.1.7!")
    user.pods("web", "10.244.2.5")


async def _nodes(world: World, _chance: random.Random) -> None:
    """Packets by way of nodes, cluster IPs and pods, while nodes come, are not ready, and go; then pods are guarded."""
    user = User(world)
    user.node("n1")
    user.node("n2", excluded=True)
    user.expose("web", "80/TCP", annotations={names.LAYER: "node"})
    user.expose("near", "443/TCP", annotations={names.LAYER: "node"}, externalTrafficPolicy="Local")
    user.expose("inner", "53/UDP", annotations={names.LAYER: "cluster"})
    user.expose("plain", "25/TCP")
    for name in ("web", "near", "inner", "plain"):
        user.pods(name, "10.244.1.5@n1 10.244.3.5@n3")
    await user.wait(1.0)
    user.node("n3")
    user.live("n1", 1)
    await user.wait(0.2)
    user.node("n4")
    user.node("n1", ready=False)
    await user.wait(0.2)
    user.delete_node("n4")
    user.guard("shop", "deny")


async def _share(world: World, _chance: random.Random) -> None:
    """Three fit on one address, protocols told apart; the fourth needs another one."""
    user = User(world)
    user.expose("dns-tcp", "53/TCP")
    user.expose("dns-udp", "53/UDP")
    user.expose("web", "80/TCP", "443/TCP")
    await user.wait(0.5)
    user.expose("shop", "443/TCP")


async def _cluster(world: World, _chance: random.Random) -> None:
    """Services of all namespaces share addresses; then one wants to be with nobody else, and one wants a port anew."""
    world.share("cluster")
    user = User(world)
    user.expose("web", "80/TCP")
    user.expose("other/api", "443/TCP")
    user.expose("other/web", "80/TCP")
    await user.wait(2.0)
    user.annotate("web", names.SHARING_KEY, "private")
    await user.wait(0.2)
    user.change_ports("other/api", "80/TCP")


async def _alone(world: World, _chance: random.Random) -> None:
    """No Service shares an address: one goes, and another one comes at once."""
    world.share("none")
    user = User(world)
    user.expose("web", "80/TCP")
    user.expose("shop", "443/TCP")
    await user.wait(2.0)
    user.delete("web")
    user.expose("late", "8080/TCP")


async def _keys(world: World, _chance: random.Random) -> None:
    """Services share by their keys; one leaves those with whom it was, and goes to one that has no key."""
    user = User(world)
    for name, port, key in (("web", "80/TCP", "a"), ("shop", "443/TCP", "a"), ("late", "8080/TCP", "b")):
        user.expose(name, port, annotations={names.SHARING_KEY: key})
    user.expose("mail", "25/TCP")
    await user.wait(2.0)
    user.annotate("shop", names.SHARING_KEY, None)


async def _adds(world: World, _chance: random.Random) -> None:
    """The older one of two that share an address adds what the younger one has of it: who adds moves."""
    user = User(world)
    user.expose("web", "80/TCP")
    await user.wait(1.0)
    user.expose("shop", "443/TCP")
    user.expose("mail", "25/TCP")
    await user.wait(2.0)
    user.change_ports("web", "80/TCP", "443/TCP")


async def _thief(world: World, _chance: random.Random) -> None:
    """Somebody of another namespace writes the port of a Service into its own, and both want something new on it."""
    user = User(world)
    user.expose("web", "80/TCP")
    await user.wait(2.0)
    user.expose("other/web", "443/TCP")
    user.copy("web", "other/thief")
    user.change_ports("other/thief", "8080/TCP")
    await user.wait(0.2)
    user.change_ports("web", "80/TCP", "8080/TCP")


async def _dns(world: World, _chance: random.Random) -> None:
    """One number, two protocols, two Services, one address."""
    user = User(world)
    user.expose("dns-tcp", "53/TCP")
    user.expose("dns-udp", "53/UDP")


async def _unmap(world: World, _chance: random.Random) -> None:
    """One of two that share an address goes, then one that stops being a load balancer, then one that opts out."""
    user = User(world)
    user.expose("web", "80/TCP")
    user.expose("shop", "443/TCP")
    user.expose("mail", "25/TCP")
    await user.wait(2.0)
    user.delete("web")
    await user.wait(0.3)
    user.hide("shop")
    user.annotate("mail", names.MANAGED, "false")


async def _move(world: World, _chance: random.Random) -> None:
    """A Service wants a port that another one has on their address: it has to move. Gateways get other names."""
    user = User(world)
    user.expose("web", "80/TCP")
    user.expose("shop", "443/TCP")
    await user.wait(2.0)
    user.rename_gateways()
    user.change_ports("web", "443/TCP", "8080/TCP")


async def _dual(world: World, _chance: random.Random) -> None:
    """Addresses of two families, of one, of one more, and of one less."""
    user = User(world)
    user.expose("web", "80/TCP", ipFamilies=["IPv4", "IPv6"])
    user.pods("web", "10.244.1.5", "fd00:244::5")
    user.expose("six", "443/TCP", ipFamilies=["IPv6"])
    user.expose("four", "443/TCP")
    await user.wait(3.0)
    user.families("four", "IPv4", "IPv6")
    user.families("web", "IPv4")


async def _wish(world: World, _chance: random.Random) -> None:
    """Addresses that are asked for: one to share, one that somebody has until it goes, one that lies about."""
    user = User(world)
    spare = user.spare()
    user.expose("web", "80/TCP")
    user.expose("shop", "80/TCP")
    user.expose("own", "80/TCP", loadBalancerIP=spare)
    await user.wait(3.0)
    user.expose("api", "8080/TCP", loadBalancerIP=user.shown("shop"))
    user.expose("greedy", "80/TCP", loadBalancerIP=user.shown("web"))
    user.expose("other/thief", "81/TCP", loadBalancerIP=user.shown("shop"))
    await user.wait(1.0)
    user.delete("web")
    user.delete("own")


async def _wish_later(world: World, _chance: random.Random) -> None:
    """Who has an address asks for another: for none that there is, for one that somebody has until it goes, for one."""
    user = User(world)
    spare = user.spare()
    for each in ("web", "shop", "api", "dns"):
        user.expose(each, "80/TCP")
    await user.wait(3.0)
    user.wish("web", "192.0.2.9")
    user.wish("shop", user.shown("api"))
    user.wish("dns", spare)
    await user.wait(3.0)
    user.delete("api")
    await user.wait(1.0)
    user.wish("web", "")


async def _two_served(world: World) -> User:
    """Two Services on one port, each with an address."""
    user = User(world)
    for each in ("web", "shop"):
        user.expose(each, "80/TCP")
        user.pods(each, "10.244.1.5")
    await user.wait(3.0)
    return user


async def _replaced(world: World, _chance: random.Random) -> None:
    """Services lose all that is ours but the address that they show: while somebody leads, and while nobody does."""
    user = await _two_served(world)
    user.replace("web")
    user.expose("new", "80/TCP")
    await user.wait(2.0)
    world.crash_leader()
    user.replace("shop")
    user.delete("new")


async def _replaced_wish(world: World, _chance: random.Random) -> None:
    """Who is replaced asks for what it cannot have at the same time, then gets other endpoints; another one goes."""
    user = await _two_served(world)
    user.wish("web", "203.0.113.250")
    user.replace("web")
    user.replace("shop")
    user.delete("shop")
    await user.wait(1.0)
    user.pods("web", "10.244.2.5")
    await user.wait(TIMES.audit)
    user.annotate("web", names.PORT, "bogus")


async def _choose(world: World, _chance: random.Random) -> None:
    """Addresses from where their owners choose: at once, later, and where nobody may choose."""
    world.offer_choice()
    user = User(world)
    chosen = {names.SUBNET: "fast", names.FLOATING_NETWORK: "partners"}
    user.expose("web", "80/TCP")
    user.expose("fast", "443/TCP", annotations=chosen)
    user.expose("denied", "8080/TCP", annotations={names.SUBNET: "theirs"})
    await user.wait(3.0)
    for annotation, text in chosen.items():
        user.annotate("web", annotation, text)
    user.expose("plain", "443/TCP")


async def _internal(world: World, _chance: random.Random) -> None:
    """Addresses without floating IPs: at once, in words of others, later, shared, and where nobody knows what is meant.

    The port of one is lost, and the leader dies.
    """
    user = User(world)
    user.expose("web", "80/TCP")
    user.expose("inner", "443/TCP", annotations={names.FLOATING_NETWORK: "none"})
    user.expose("theirs", "80/TCP", annotations={names.INTERNAL: "true"})
    user.expose("unclear", "8080/TCP", annotations={names.INTERNAL: "yes please"})
    await user.wait(3.0)
    user.annotate("web", names.FLOATING_NETWORK, "none")
    user.lose("ports", "theirs")
    await user.kill_leader()


async def _static(world: World, _chance: random.Random) -> None:
    """Addresses of a list: shared, asked for, of both families, used up, and given to who waits when one is free."""
    world.list_addresses("192.0.2.9-192.0.2.10", "2001:db8::5")
    user = User(world)
    user.expose("web", "80/TCP")
    user.pods("web", "10.244.1.5")
    user.expose("other/web", "80/TCP")
    user.expose("both", "443/TCP", ipFamilies=["IPv4", "IPv6"])
    await user.wait(2.0)
    user.expose("late", "80/TCP")
    user.expose("api", "8080/TCP", loadBalancerIP=user.shown("web"))
    user.expose("other/thief", "81/TCP", loadBalancerIP=user.shown("web"))
    await user.wait(1.0)
    user.delete("web")


async def _static_changed(world: World, _chance: random.Random) -> None:
    """A list loses an address that is in use and gets others; the leader dies; who had it goes; it is listed again."""
    world.list_addresses("192.0.2.9", "192.0.2.10")
    user = User(world)
    user.expose("web", "80/TCP")
    user.expose("shop", "80/TCP")
    user.pods("web", "10.244.1.5")
    await user.wait(2.0)
    world.list_addresses("192.0.2.10", "192.0.2.12")
    user.expose("new", "80/TCP")
    user.expose("asks", "80/TCP", loadBalancerIP="192.0.2.9")
    await user.wait(1.0)
    await user.kill_leader()
    user.delete("web")
    await user.wait(1.0)
    world.list_addresses("192.0.2.9-192.0.2.12")


async def _static_named(world: World, _chance: random.Random) -> None:
    """Nobody may ask for an address of a list. Services name some: a new one, one that has another, one that goes."""
    world.refuse_wishes()
    world.list_addresses("192.0.2.9-192.0.2.12")
    user = User(world)
    user.expose("web", "80/TCP")
    user.pods("web", "10.244.1.5")
    await user.wait(2.0)
    user.expose("names", "443/TCP", annotations={names.PORT: "192.0.2.10"})
    await user.wait(1.0)
    user.annotate("web", names.PORT, "192.0.2.11")
    user.expose("goes", "8080/TCP", annotations={names.PORT: "192.0.2.12"})
    await user.wait(1.0)
    user.delete("goes")


async def _restart(world: World, _chance: random.Random) -> None:
    """Services come while a new leader has just begun to look around; they want what others already have."""
    user = User(world)
    user.expose("web", "80/TCP")
    user.expose("shop", "443/TCP")
    await user.wait(2.0)
    await user.kill_leader()
    user.expose("aaa", "80/TCP")
    await user.wait(0.05)
    user.expose("bbb", "443/TCP")
    await user.wait(0.3)
    user.expose("ccc", "443/TCP", "80/TCP")


async def _again(world: World, _chance: random.Random) -> None:
    """A Service is deleted, and made again from what `kubectl get` had told: its port is on its way out, and stays."""
    user = User(world)
    user.expose("web", "80/TCP")
    await user.wait(2.0)
    told = user.annotations("web")
    user.delete("web")
    await user.wait(3.0)
    user.expose("back", "80/TCP", annotations=told)


async def _lost(world: World, _chance: random.Random) -> None:
    """An operator deletes the floating IP of one Service, and the port of another."""
    user = User(world)
    user.expose("web", "80/TCP")
    user.expose("shop", "80/TCP")
    await user.wait(3.0)
    user.lose("floatingips", "web")
    user.lose("ports", "shop")


async def _lost_all(world: World, _chance: random.Random) -> None:
    """An operator deletes the ports of a Service of two families, and port and floating IP of another at once."""
    user = User(world)
    user.expose("web", "80/TCP", ipFamilies=["IPv6"])
    user.expose("shop", "80/TCP")
    user.expose("mail", "80/TCP")
    await user.wait(3.0)
    user.lose("ports", "web")
    user.lose("floatingips", "shop")
    user.lose("ports", "shop")
    user.take_off("mail")


async def _keep(world: World, _chance: random.Random) -> None:
    """Floating IPs that are to stay: one is taken off its port, one is no longer to stay; then one Service goes."""
    user = User(world)
    for name in ("web", "shop"):
        user.expose(name, "80/TCP", annotations={names.KEEP: "true"})
    await user.wait(3.0)
    user.take_off("web")
    user.annotate("shop", names.KEEP, "false")
    await user.wait(3.0)
    user.delete("web")
    await user.wait(1.0)
    user.expose("late", "80/TCP", annotations={names.KEEP: "true"})


async def _kept(world: World, _chance: random.Random) -> None:
    """What is to stay is let go of. Before it is off its port, others come, ask for it, name that; then its owner."""
    user = User(world)
    user.expose("web", "80/TCP", annotations={names.KEEP: "true"})
    await user.wait(3.0)
    kept, port = user.shown("web"), user.annotations("web").get(names.PORT, "")
    user.delete("web")
    await user.wait(0.5)
    user.expose("other/new", "80/TCP", annotations={names.KEEP: "false"})
    user.expose("other/names", "8080/TCP", annotations={names.PORT: port})
    user.expose("other/asks", "81/TCP", loadBalancerIP=kept)
    await user.wait(2.0)
    user.expose("back", "80/TCP", loadBalancerIP=kept)
    await user.wait(1.0)
    user.delete("other/asks")
    user.delete("other/names")


async def _taken_elsewhere(world: World, _chance: random.Random) -> None:
    """People move floating IPs of ours to machines of theirs; one machine goes, and what was on it is theirs still."""
    user = User(world)
    user.expose("web", "80/TCP")
    user.expose("keeps", "80/TCP", annotations={names.KEEP: "true"})
    await user.wait(3.0)
    gone = user.move_away("web")
    user.move_away("keeps")
    user.expose("late", "81/TCP")
    await user.wait(TIMES.audit + TIMES.before_deletion + TIMES.audit)
    user.take_away_machine(gone)
    await user.wait(TIMES.audit)
    user.delete("late")


async def _described(world: World, _chance: random.Random) -> None:
    """People write into the descriptions of a floating IP and of a port of ours: these are not ours any more."""
    user = User(world)
    user.expose("web", "80/TCP")
    user.expose("beside", "81/TCP")
    user.expose("other", "80/TCP")
    await user.wait(3.0)
    user.describe_floating_ip("web", "web of team a")
    user.describe_port("other", "of team a")
    user.expose("late", "82/TCP")
    await user.wait(TIMES.audit)
    user.delete("beside")
    await user.wait(1.0)
    user.delete("web")


async def _gateway_remade(world: World, _chance: random.Random) -> None:
    """The port of a gateway is deleted and made anew by the same name, while Services come and go."""
    user = User(world)
    user.expose("web", "80/TCP")
    user.pods("web", "10.244.1.5")
    await user.wait(2.0)
    user.remake_gateway("g2")
    user.expose("shop", "80/TCP")
    await user.wait(2.0)
    user.delete("web")


async def _lost_shared(world: World, _chance: random.Random) -> None:
    """An operator deletes a port that two Services have; others come, and one of another namespace asks for it."""
    user = User(world)
    user.expose("web", "80/TCP")
    user.expose("api", "81/TCP")
    user.pods("web", "10.244.1.5")
    await user.wait(3.0)
    user.expose("other/asks", "80/TCP", loadBalancerIP=user.shown("web"))
    await user.wait(1.0)
    user.lose("ports", "web")
    user.expose("late", "81/TCP")
    await user.wait(TIMES.audit)
    user.delete("other/asks")


async def _lease_back(world: World, _chance: random.Random) -> None:
    """The Lease is deleted, and is back at once: etcd is put back to what it was."""
    user = User(world)
    user.expose("web", "80/TCP")
    user.pods("web", "10.244.1.5")
    await user.wait(2.0)
    backup = user.back_up()
    user.delete_lease()
    await user.wait(0.001)
    user.restore(backup)
    await user.wait(1.0)
    user.pods("web", "10.244.1.6")


async def _lost_plain(world: World, _chance: random.Random) -> None:
    """Where addresses are reached without floating IPs, an operator deletes the port of a Service."""
    world.without_floating_ips()
    user = User(world)
    user.expose("web", "80/TCP")
    user.expose("shop", "80/TCP")
    await user.wait(3.0)
    user.lose("ports", "web")


async def _lease_gone(world: World, _chance: random.Random) -> None:
    """Somebody deletes the Lease while it is held, in the middle of work."""
    user = User(world)
    user.expose("web", "80/TCP")
    await user.wait(2.0)
    user.expose("shop", "443/TCP")
    await user.wait(0.05)
    user.delete_lease()
    user.delete("web")
    await user.wait(1.0)
    user.expose("mail", "25/TCP")


async def _restored(world: World, _chance: random.Random) -> None:
    """The content of etcd is put back: who came since is gone, who went is back, who got an address has none."""
    user = User(world)
    user.expose("old", "80/TCP")
    user.expose("gone", "443/TCP")
    await user.wait(2.0)
    user.expose("new", "8080/TCP")
    backup = user.back_up()
    await user.wait(1.0)
    user.delete("gone")
    for name in ("one", "two", "three", "four"):
        user.expose(name, "80/TCP")
    await user.wait(3.0)
    user.restore(backup)
    await user.wait(1.0)
    user.expose("late", "25/TCP")


async def _two_services(world: World) -> User:
    """On a world whose gateways agree by VRRP who holds the addresses."""
    world.elects = True
    user = User(world)
    user.expose("web", "80/TCP")
    user.expose("shop", "443/TCP")
    user.pods("web", "10.244.1.5")
    await user.wait(2.0)
    return user


async def _drain(world: World, _chance: random.Random) -> None:
    """The holder is drained; Services come and change meanwhile; it takes its place again, and the other is drained."""
    user = await _two_services(world)
    user.drain("g1")
    await user.wait(1.0)
    user.expose("late", "80/TCP")
    user.pods("web", "10.244.1.6")
    await user.wait(TIMES.heartbeat + 2.0)
    user.drain("g2")


async def _gateway_lost(world: World, _chance: random.Random) -> None:
    """The port of a gateway is deleted in OpenStack, while Services come and go."""
    user = User(world)
    user.expose("web", "80/TCP")
    user.pods("web", "10.244.1.5")
    await user.wait(2.0)
    user.lose_gateway("g2")
    user.expose("shop", "80/TCP")
    await user.wait(2.0)
    user.delete("web")


async def _gateway_removed(world: World, _chance: random.Random) -> None:
    """The gateway that holds the addresses is taken from the configuration, while a Service comes."""
    user = await _two_services(world)
    world.configure("g2")
    user.expose("late", "80/TCP")


async def _gateway_added(world: World, _chance: random.Random) -> None:
    """There is one gateway, then a second one; then the first is taken away."""
    world.configure("g1")
    user = await _two_services(world)
    world.configure("g1", "g2")
    user.expose("late", "80/TCP")
    await user.wait(TIMES.heartbeat + 2.0)
    world.configure("g2")


async def _gateway_back(world: World, _chance: random.Random) -> None:
    """A gateway is taken away and comes back before that is done; another one goes while nobody leads."""
    user = await _two_services(world)
    world.configure("g2")
    await user.wait(0.1)
    world.configure("g1", "g2")
    await user.wait(TIMES.heartbeat + 2.0)
    world.crash_leader()
    world.configure("g1")


async def _group(world: World, _chance: random.Random) -> None:
    """A port is opened, another one beside it, the first is closed; then a gateway goes."""
    user = User(world)
    world.elects = True
    user.expose("web", "80/TCP")
    await user.wait(2.0)
    user.change_ports("web", "443/TCP", "53/UDP")
    await user.wait(1.0)
    world.configure("g2")


async def _group_given_up(world: World, _chance: random.Random) -> None:
    """The group is there, a gateway's port loses it and somebody opens everything, and then it is nobody's to keep."""
    user = User(world)
    user.expose("web", "80/TCP")
    await user.wait(2.0)
    user.meddle_with_group()
    await user.wait(1.0)
    world.keep_group(kept=False)


async def _first_look(world: World, _chance: random.Random) -> None:
    """Controllers observe a cluster in which Services come and change; then they are to act."""
    user = User(world)
    user.expose("web", "80/TCP")
    user.pods("web", "10.244.1.5")
    await user.wait(2.0)
    user.expose("shop", "443/TCP")
    user.change_ports("web", "80/TCP", "8080/TCP")
    await user.wait(2.0)
    world.turn(acts=True)
    user.expose("late", "25/TCP")


async def _second_thought(world: World, _chance: random.Random) -> None:
    """Controllers act, are to observe while a Service is on its way and another one goes, and act again."""
    user = User(world)
    user.expose("web", "80/TCP")
    user.pods("web", "10.244.1.5")
    await user.wait(2.0)
    user.expose("shop", "80/TCP")
    await user.wait(0.1)
    world.turn(acts=False)
    user.delete("web")
    await user.wait(5.0)
    user.expose("mail", "25/TCP")
    await user.wait(TIMES.audit)
    world.turn(acts=True)


async def _leave(world: World, *, keep: bool) -> None:
    """Services of all kinds, one of them on its way out and held by somebody else; then everything is removed."""
    user = await _two_services(world)
    user.expose("theirs", "80/TCP", ours=False)
    user.set_status("theirs", "198.51.100.7")
    user.say("web")
    user.hold("shop")
    user.delete("shop")
    await user.wait(0.5)
    user.expose("late", "25/TCP")
    await user.wait(0.1)
    await world.uninstall(keep=keep)


async def _uninstall(world: World, _chance: random.Random) -> None:
    await _leave(world, keep=False)


async def _uninstall_keeping(world: World, _chance: random.Random) -> None:
    await _leave(world, keep=True)


async def _churn(world: World, chance: random.Random) -> None:
    """Anything, at any time: also by people who edit what is ours, and Services that are none of our business."""
    churn = Churn(User(world), chance)
    churn.begin()
    for _ in range(chance.randrange(2, 7)):
        await churn.wait(0.0, 0.01, 0.1, 1.0, 5.0, 20.0)
        if not churn.alive or chance.random() < 0.5:
            churn.expose()
        else:
            await chance.choice(churn.deeds)(chance.choice(churn.alive))


class Churn:
    """A user who cannot leave things alone. `alive` are the names of the Services that are there."""

    def __init__(self, user: User, chance: random.Random) -> None:
        self._user = user
        self._chance = chance
        self._made = 0
        self.alive: list[str] = []
        self.deeds = (
            self.delete,
            self.change,
            self.opt_out,
            self.edit,
            self.comment,
            self.hold,
            self.replace,
            self.unbind,
            self.meddle,
            self.kill,
            self.scale,
            self.scale,
            self.speak,
            self.restrict,
            self.relayer,
            self.move_nodes,
        )

    def begin(self) -> None:
        """Services of others, and now and then somebody who deletes the Lease."""
        for name in ("n1", "n2"):
            self._user.node(name)
        self._user.expose("foreign", "80/TCP", ours=False)
        self._user.set_status("foreign", "198.51.100.7")
        if self._chance.random() < 0.3:
            self._user.expose("given", "80/TCP")
            self._user.set_status("given", "198.51.100.8")
        if self._chance.random() < 0.2:
            asyncio.get_running_loop().call_later(self._chance.uniform(0.1, 20.0), self._user.delete_lease)

    async def wait(self, *seconds: float) -> None:
        await self._user.wait(self._chance.choice(seconds))

    def expose(self) -> None:
        name = f"{self._chance.choice(('', '', 'other/'))}{self._chance.choice('abc')}{self._made}"
        self._made += 1
        layer = self._chance.choice((None, None, "node", "cluster"))
        annotations = {names.LAYER: layer} if layer else {}
        policy = "Local" if self._chance.random() < 0.2 else "Cluster"
        self._user.expose(name, *_some_ports(self._chance), annotations=annotations, externalTrafficPolicy=policy)
        self.alive.append(name)

    async def delete(self, name: str) -> None:
        self._user.delete(name)
        self.alive.remove(name)

    async def change(self, name: str) -> None:
        self._user.change_ports(name, *_some_ports(self._chance))

    async def opt_out(self, name: str) -> None:
        self._user.annotate(name, names.MANAGED, self._chance.choice(("false", None)))

    async def edit(self, name: str) -> None:
        """Take away what is not theirs."""
        self._user.annotate(name, names.PORT, None)

    async def comment(self, name: str) -> None:
        self._user.annotate(name, "owner", "somebody")

    async def hold(self, name: str) -> None:
        """Another controller keeps it for a while."""
        self._user.hold(name)
        await self.wait(0.0, 1.0)
        await self.delete(name)
        await self.wait(1.0, 30.0)
        self._user.let_go(name)

    async def unbind(self, name: str) -> None:
        """Take our finalizers off, and perhaps our mark."""
        self._user.take_finalizers(name)
        if self._chance.random() < 0.5:
            self._user.annotate(name, names.MANAGED, None)

    async def meddle(self, name: str) -> None:
        """Write an address of others into a status that may be ours, or copy a Service, annotations and all."""
        if self._chance.random() < 0.5:
            self._user.set_status(name, "198.51.100.9")
        else:
            self._made += 1
            copy = f"{self._chance.choice(('', 'other/'))}copy{self._made}"
            ours = self._chance.random() < 0.7
            self._user.copy(name, copy, ours=ours)
            if ours:
                self.alive.append(copy)
            elif self._chance.random() < 0.5:
                self._user.delete(copy)

    async def kill(self, _: str) -> None:
        """Somebody kills the leader, and goes on with the Services as soon as there is one again."""
        await self._user.kill_leader()
        await self.wait(0.0, 0.05, 0.3)
        self.expose()

    async def scale(self, name: str) -> None:
        """Pods come and go."""
        pods = [f"10.244.{number}.1@n{number}" for number in range(1, self._chance.randrange(1, 5))]
        cut = self._chance.randrange(len(pods) + 1)
        self._user.pods(name, " ".join(pods[:cut]), " ".join(pods[cut:]))

    async def speak(self, name: str) -> None:
        """Somebody else writes a condition, or an operator tidies a gateway's list of addresses."""
        if self._chance.random() < 0.5:
            self._user.say(name)
        else:
            self._user.take_pairs()

    async def restrict(self, name: str) -> None:
        """Let in some clients only; or want what nobody does, and perhaps think better of it."""
        if self._chance.random() < 0.5:
            self._user.restrict(name, *self._chance.choice(((), ("192.0.2.0/24",), ("203.0.113.0/24", "192.0.2.0/24"))))
            return
        others = [shown for each in self.alive if (shown := self._user.shown(each)) and ":" not in shown]
        self._user.wish(name, self._chance.choice(("192.0.2.9", self._user.spare(), *others)))
        await self.wait(0.1, 5.0)
        if self._chance.random() < 0.5:
            self._user.wish(name, "")

    async def relayer(self, name: str) -> None:
        """Choose another layer, or one that is not there, and perhaps think better of it."""
        self._user.annotate(name, names.LAYER, self._chance.choice(("pod", "node", "cluster", "nodes", None)))
        await self.wait(0.1, 5.0)
        if self._chance.random() < 0.5:
            self._user.annotate(name, names.LAYER, None)

    async def move_nodes(self, _: str) -> None:
        """Nodes come, are ready or not, are excluded or not; or somebody guards pods for a while."""
        if self._chance.random() < 0.3:
            self._made += 1
            self._user.guard("shop", f"deny{self._made}", self._chance.choice(("", "a0", "b1")))
            await self.wait(0.1, 5.0)
            if self._chance.random() < 0.5:
                self._user.unguard("shop", f"deny{self._made}")
            return
        name = self._chance.choice(("n1", "n2", "n3"))
        self._user.node(name, ready=self._chance.random() < 0.7, excluded=self._chance.random() < 0.2)
        if self._chance.random() < 0.2:
            self._user.delete_node(name)

    async def replace(self, name: str) -> None:
        """Delete it and make another one, or lose all that is ours."""
        if self._chance.random() < 0.5:
            self._user.replace(name)
            return
        await self.delete(name)
        self.expose()


def _some_ports(chance: random.Random) -> list[str]:
    return chance.sample(("53/TCP", "53/UDP", "80/TCP", "443/TCP"), chance.choice((1, 1, 2)))


async def _churn_elsewhere(world: World, chance: random.Random) -> None:
    """The same where addresses are shared otherwise, are listed by an operator, or have no floating IPs."""
    world.share(chance.choice(("namespace", "cluster", "none")))
    if chance.random() < 0.5:
        world.without_floating_ips()
    else:
        world.list_addresses("198.51.100.10-198.51.100.19", "fd00:99::10-fd00:99::19")
    await _churn(world, chance)


SCENARIOS = {
    each.name: each
    for each in (
        Scenario("map", _map, addresses=1),
        Scenario("dns", _dns, addresses=1),
        Scenario("thief", _thief, addresses=2),
        Scenario("endpoints", _endpoints, addresses=1),
        Scenario("nodes", _nodes, addresses=1),
        Scenario("share", _share, addresses=2),
        Scenario("cluster", _cluster, addresses=3),
        Scenario("alone", _alone, addresses=2),
        Scenario("keys", _keys, addresses=4, depends=True),
        Scenario("adds", _adds, addresses=2),
        Scenario("unmap", _unmap, addresses=0),
        Scenario("move", _move, addresses=2),
        Scenario("restart", _restart, addresses=3),
        Scenario("dual", _dual),
        Scenario("wish", _wish, depends=True),
        Scenario("wish-later", _wish_later, depends=True),
        Scenario("replaced", _replaced, addresses=2),
        Scenario("replaced-wish", _replaced_wish, group=True, addresses=1, depends=True),
        Scenario("choose", _choose, addresses=2),
        Scenario("internal", _internal, addresses=0),
        Scenario("static", _static, depends=True),
        Scenario("static-changed", _static_changed, depends=True),
        Scenario("static-named", _static_named, addresses=1),
        Scenario("two-static-changed", _static_changed, controllers=2, depends=True),
        Scenario("two", _share, controllers=2, addresses=2),
        Scenario("two-unmap", _unmap, controllers=2, addresses=0),
        Scenario("drain", _drain, addresses=2),
        Scenario("gateway-added", _gateway_added, addresses=2),
        Scenario("gateway-removed", _gateway_removed, addresses=2),
        Scenario("gateway-lost", _gateway_lost, addresses=1),
        Scenario("gateway-back", _gateway_back, addresses=1),
        Scenario("two-gateway-removed", _gateway_removed, controllers=2, addresses=2),
        Scenario("group", _group, addresses=1, group=True),
        Scenario("group-given-up", _group_given_up, addresses=1, group=True),
        Scenario("two-group", _group, controllers=2, addresses=1, group=True),
        Scenario("first-look", _first_look, addresses=1, observes=True),
        Scenario("two-second-thought", _second_thought, controllers=2, addresses=2, depends=True),
        Scenario("uninstall", _uninstall, addresses=0),
        Scenario("uninstall-keeping", _uninstall_keeping, group=True),
        Scenario("again", _again, addresses=1),
        Scenario("lost", _lost, addresses=2),
        Scenario("lost-all", _lost_all, depends=True),
        Scenario("lost-plain", _lost_plain),
        Scenario("lost-shared", _lost_shared, depends=True),
        Scenario("taken-elsewhere", _taken_elsewhere, depends=True),
        Scenario("described", _described, depends=True),
        Scenario("gateway-remade", _gateway_remade),
        Scenario("keep", _keep),
        Scenario("kept", _kept, depends=True),
        Scenario("lease-back", _lease_back, addresses=1),
        Scenario("two-lease-gone", _lease_gone, controllers=2, addresses=1),
        Scenario("restored", _restored),
        Scenario("two-restored", _restored, controllers=2),
        Scenario("churn", _churn),
        Scenario("churn-group", _churn, group=True),
        Scenario("churn-elsewhere", _churn_elsewhere, controllers=2),
        Scenario("two-churn", _churn, controllers=2),
    )
}
