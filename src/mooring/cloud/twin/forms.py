"""The forms that values in requests may have: a value as it came goes in, the one that is stored comes out."""

import ipaddress
import re
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from mooring.cloud.twin.refusals import Refusal, bad_input, bad_request
from mooring.model.cloud import AddressPair, AddressRange

LONGEST = 255
UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
MAC = re.compile(r"([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}")
PROTOCOLS = frozenset({"any", "icmp", "icmpv6", "ipv6-icmp", "tcp", "udp", "sctp", "vrrp", "esp", "ah", "gre", "igmp"})
OCTET = range(256)

Convert = Callable[[str, Any], Any]


class WishedIp(Struct, frozen=True):
    """An address that a port should have: this one, any of this subnet, or this one of this subnet."""

    subnet_id: str = ""
    ip_address: str = ""


class WishedGateway(Struct, frozen=True):
    network_id: str
    more: tuple[str, ...]


def wrong(name: str, reason: str) -> Refusal:
    return bad_request(f"Invalid input for {name}. Reason: {reason}")


def anything(_: str, value: Any) -> Any:  # noqa: ANN401 - that is what it says
    return value


def optional(form: Convert) -> Convert:
    return lambda name, value: None if value is None else form(name, value)


def one_of(*allowed: str | int) -> Convert:
    def chosen(name: str, value: Any) -> str | int:  # noqa: ANN401 - as it came
        if value not in allowed:
            raise wrong(name, f"{value} is not in valid_values.")
        return value  # type: ignore[no-any-return]

    return chosen


def text(name: str, value: Any) -> str:  # noqa: ANN401 - as it came
    if not isinstance(value, str):
        raise wrong(name, f"'{value}' is not a valid string.")
    if len(value) > LONGEST:
        raise wrong(name, f"'{value}' exceeds maximum length of {LONGEST}.")
    return value


def boolean(_: str, value: Any) -> bool:  # noqa: ANN401 - as it came
    if isinstance(value, bool):
        return value
    if str(value).lower() in {"true", "1", "false", "0"}:
        return str(value).lower() in {"true", "1"}
    raise bad_input(f"'{value}' cannot be converted to boolean.")


def integer(name: str, value: Any) -> int:  # noqa: ANN401 - as it came
    try:
        return int(value)
    except (TypeError, ValueError):
        raise wrong(name, f"'{value}' is not an integer.") from None


def uuid(name: str, value: Any) -> str:  # noqa: ANN401 - as it came
    if not isinstance(value, str) or not UUID.fullmatch(value):
        raise wrong(name, f"'{value}' is not a valid UUID.")
    return value


def uuids(name: str, value: Any) -> tuple[str, ...]:  # noqa: ANN401 - as it came
    return tuple(sorted({uuid(name, each) for each in value}))


def mac(name: str, value: Any) -> str:  # noqa: ANN401 - as it came
    if not isinstance(value, str) or not MAC.fullmatch(value):
        raise wrong(name, f"'{value}' is not a valid MAC address.")
    return value.lower()


def address(name: str, value: Any) -> str:  # noqa: ANN401 - as it came
    try:
        return str(ipaddress.ip_address(value))
    except ValueError:
        raise wrong(name, f"'{value}' is not a valid IP address.") from None


def pools(name: str, value: Any) -> tuple[AddressRange, ...]:  # noqa: ANN401 - as it came
    return tuple(AddressRange(address(name, each["start"]), address(name, each["end"])) for each in value)


def tags(_: str, value: Any) -> tuple[str, ...]:  # noqa: ANN401 - as it came
    if any(not isinstance(each, str) or len(each) > LONGEST for each in value):
        raise bad_input(f"a tag exceeds maximum length of {LONGEST}.")
    for index, each in enumerate(value):
        if each in value[:index]:
            raise bad_input(f"Duplicate items in the list: '{each}'.")
    return tuple(sorted(value))


def fixed_ips(name: str, value: Any) -> tuple[WishedIp, ...]:  # noqa: ANN401 - as it came
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise wrong(name, f"Invalid data format for fixed IP: '{value}'.")
    wishes = []
    for each in value:
        subnet = uuid(name, each["subnet_id"]) if "subnet_id" in each else ""
        wishes.append(WishedIp(subnet, address(name, each["ip_address"]) if "ip_address" in each else ""))
    named = [wish.ip_address for wish in wishes if wish.ip_address]
    for index, each in enumerate(named):
        if each in named[:index]:
            raise wrong(name, f"Duplicate IP address '{each}'.")
    return tuple(wishes)


def address_pairs(_: str, value: Any) -> tuple[AddressPair, ...]:  # noqa: ANN401 - as it came
    pairs: dict[AddressPair, None] = {}
    for each in value:
        if "ip_address" not in each:
            raise Refusal(400, "AllowedAddressPairsMissingIP", "AllowedAddressPair must contain ip_address")
        pair = AddressPair(_prefix(each["ip_address"]), each.get("mac_address", ""))
        if pair in pairs:
            told = f"mac_address {pair.mac_address or None} ip_address {pair.ip_address}"
            text = f"Request contains duplicate address pair: {told}."
            raise Refusal(400, "DuplicateAddressPairInRequest", text)
        pairs[pair] = None
    return tuple(pairs)


def _prefix(value: str) -> str:
    """An address or a prefix, as it was written."""
    try:
        ipaddress.ip_network(value)
    except ValueError:
        raise bad_request(f"'{value}' is not a valid IP address") from None
    return value


def gateway(name: str, value: Any) -> WishedGateway | None:  # noqa: ANN401 - as it came
    if not value:
        return None
    return WishedGateway(uuid(name, value.get("network_id")), tuple(sorted(set(value) - {"network_id"})))


def protocol(_: str, value: Any) -> str | None:  # noqa: ANN401 - as it came
    if value is None:
        return None
    low = str(value).lower()
    if low in PROTOCOLS or (low.isdigit() and int(low) in OCTET):
        return None if low == "any" else low
    text = f"Security group rule protocol {value} not supported. Only protocol values {sorted(PROTOCOLS)} are."
    raise Refusal(400, "SecurityGroupRuleInvalidProtocol", text)
