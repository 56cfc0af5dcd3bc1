"""Floating IPs that stay when nobody needs them any more, and for the Services of which namespaces. Their tags say so.

Such a one is for who asks for it, and may. Which was there before us (`mooring-found`) always stays.
"""

from mooring.model import names
from mooring.model.cloud import FloatingIp


def kept(floating_ip: FloatingIp | None) -> bool:
    """Whether it stays: it is no spare, that anybody who needs one is given."""
    return floating_ip is not None and names.KEEP_TAG in floating_ip.tags


def namespaces(floating_ip: FloatingIp) -> frozenset[str]:
    """Whose Services had it kept."""
    marked = (each for each in floating_ip.tags if each.startswith(names.NAMESPACE_TAG))
    return frozenset(each.removeprefix(names.NAMESPACE_TAG) for each in marked)


def for_others(floating_ip: FloatingIp | None, namespace: str) -> bool:
    """Whether it stays, and not for Services of this namespace."""
    if floating_ip is None or not kept(floating_ip):
        return False
    whose = namespaces(floating_ip)
    return bool(whose) and namespace not in whose


def not_yet(floating_ip: FloatingIp | None, namespace: str) -> bool:
    """Whether it is there, and does not say yet that it stays for this namespace."""
    said = {names.KEEP_TAG, f"{names.NAMESPACE_TAG}{namespace}"}
    return floating_ip is not None and not said.issubset(floating_ip.tags)


def for_nobody_else(floating_ip: FloatingIp | None, namespace: str) -> bool:
    """Whether it stays only because Services of this namespace said so, and may be given up when they say otherwise."""
    if floating_ip is None or not kept(floating_ip) or names.FOUND_TAG in floating_ip.tags:
        return False
    return namespaces(floating_ip) <= {namespace}
