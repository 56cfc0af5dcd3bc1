"""How a port gets its addresses: those that it wishes, or one of each family. A refusal leaves nothing taken."""

from mooring.cloud.twin import addresses, refusals
from mooring.cloud.twin.forms import WishedIp
from mooring.cloud.twin.networks import STATELESS
from mooring.cloud.twin.refusals import Refusal
from mooring.cloud.twin.state import State
from mooring.model.cloud import FixedIp, Network, Subnet

V4, V6 = 4, 6


def take_usual(state: State, network: Network, mac: str) -> tuple[FixedIp, ...]:
    """One address of each family that the network has, and one of each subnet whose hosts give them to themselves."""
    subnets = [state.subnets.rows[subnet] for subnet in network.subnets]
    taken: list[FixedIp] = []
    for version in (V4, V6):
        family = [each for each in subnets if each.ip_version == version and each.ipv6_address_mode not in STATELESS]
        if family:
            taken.append(_any_of(state, network, family, taken))
    stateless = [subnet for subnet in subnets if subnet.ipv6_address_mode in STATELESS]
    taken += [_exactly(state, each, addresses.from_mac(state.books[each.id].network, mac)) for each in stateless]
    return tuple(taken)


def take_wished(
    state: State, network: Network, wishes: tuple[WishedIp, ...], *, router: bool = False
) -> tuple[FixedIp, ...]:
    if wishes and not network.subnets:
        raise refusals.bad_input("IP allocation requires subnets for network.")
    taken: list[FixedIp] = []
    # those that ask for one address come first: nobody else may be given it
    for wish in sorted(wishes, key=lambda wish: not wish.ip_address):
        try:
            taken.append(_wished(state, network, wish, router=router))
        except Refusal:
            release(state, tuple(taken))
            raise
    return tuple(taken)


def release(state: State, fixed_ips: tuple[FixedIp, ...]) -> None:
    for fixed in fixed_ips:
        state.books[fixed.subnet_id].release(fixed.ip_address)


def retake(state: State, fixed_ips: tuple[FixedIp, ...]) -> None:
    """Take back what was released a moment ago."""
    for fixed in fixed_ips:
        state.books[fixed.subnet_id].take(fixed.ip_address)


def _wished(state: State, network: Network, wish: WishedIp, *, router: bool) -> FixedIp:
    subnet = _subnet(state, network, wish, router=router)
    if wish.ip_address:
        return _exactly(state, subnet, wish.ip_address)
    return _any_of(state, network, [subnet], [])


def _subnet(state: State, network: Network, wish: WishedIp, *, router: bool) -> Subnet:
    if wish.subnet_id:
        subnet = state.subnets.get(wish.subnet_id)
        if subnet.network_id != network.id:
            told = f"Failed to create port on network {network.id}"
            raise refusals.bad_input(f"{told}, because fixed_ips included invalid subnet {subnet.id}.")
        if wish.ip_address and not state.books[subnet.id].holds(wish.ip_address, router=router):
            text = f"IP address {wish.ip_address} is not a valid IP for the specified subnet."
            raise Refusal(400, "InvalidIpForSubnet", text)
        return subnet
    for each in network.subnets:
        if state.books[each].holds(wish.ip_address, router=router):
            return state.subnets.rows[each]
    text = f"IP address {wish.ip_address} is not a valid IP for any of the subnets on the specified network."
    raise Refusal(400, "InvalidIpForNetwork", text)


def _exactly(state: State, subnet: Subnet, address: str) -> FixedIp:
    if not state.books[subnet.id].take(address):
        text = f"IP address {address} already allocated in subnet {subnet.id}"
        raise Refusal(409, "IpAddressAlreadyAllocated", text)
    return FixedIp(subnet.id, address)


def _any_of(state: State, network: Network, subnets: list[Subnet], taken: list[FixedIp]) -> FixedIp:
    for subnet in subnets:
        address = state.books[subnet.id].take_lowest()
        if address is not None:
            return FixedIp(subnet.id, address)
    release(state, tuple(taken))
    text = f"No more IP addresses available on network {network.id}."
    raise Refusal(409, "IpAddressGenerationFailure", text)
