"""Breaking a lab on purpose: signals to parts, pulled cables."""

import signal
from pathlib import Path

from mooring.lab import lifecycle, topology, waiting
from mooring.lab.errors import LabError
from mooring.lab.lab import Lab


def signal_number(name: str) -> int:
    """A signal by its number or its name, with or without SIG."""
    word = name.upper().removeprefix("SIG")
    try:
        return signal.Signals(int(word)).value if word.isdecimal() else signal.Signals[f"SIG{word}"].value
    except (KeyError, ValueError):
        known = ", ".join(each.name.removeprefix("SIG") for each in signal.Signals)
        raise LabError(f"there is no signal {name}", hint=f"there are: {known}") from None


def kill(lab: Lab, part: str, number: int) -> None:
    """Send a signal to a part's process. KILL goes to its children too: one that lives on would hide the fault."""
    shared = lifecycle.find(lab, part).shared
    lab.processes.signal(part, number, whole_group=number == signal.SIGKILL and not shared)
    if number == signal.SIGKILL:  # whoever looks next should find it dead
        waiting.until(lambda: not lab.processes.alive(part), seconds=10, what=f"{part} to end")


def freeze(lab: Lab, part: str, number: int) -> None:
    """Stop or continue a part with all that it started."""
    shared = lifecycle.find(lab, part).shared
    lab.processes.signal(part, number, whole_group=not shared)


def cut(lab: Lab, host: str, link: str) -> None:
    """Pull a cable; remembered until it is healed."""
    far_host, far_link = _far_end(lab, host, link)
    _marker(lab, host, link).touch()
    lab.hosts.set_link(far_host, far_link, up=False)


def heal(lab: Lab, host: str | None = None) -> list[str]:
    """Plug pulled cables in again; returns which."""
    if host is not None:
        known_host(lab, host)
    healed = []
    for marker in sorted(lab.place.run.glob("*.cut")):
        name, link = marker.stem.split("+")
        if host in (None, name):
            far_host, far_link = _far_end(lab, name, link)
            lab.hosts.set_link(far_host, far_link, up=True)
            marker.unlink()
            healed.append(f"{name} {link}")
    return healed


def links(lab: Lab) -> dict[tuple[str, str], tuple[str, str]]:
    """Every cable that can be pulled: (host, interface) -> (host, interface) of its far end."""
    found = {(cable.host, cable.interface): ("wire", cable.far_end) for cable in lab.spec.cables()}
    if lab.place.topology.exists():
        for host, port in topology.load(lab).ports.items():
            chassis = lab.spec.chassis_of(host) if host in lab.spec.gateway_names else host
            found[host, "eth0" if host in lab.spec.gateway_names else "ovn0"] = (chassis, port.tap)
    return found


def known_host(lab: Lab, host: str) -> None:
    """Refuse a host that the lab does not have."""
    if host not in lab.spec.hosts:
        raise LabError(f"lab {lab.spec.name} has no host {host}", hint=f"there are: {', '.join(lab.spec.hosts)}")


def _far_end(lab: Lab, host: str, link: str) -> tuple[str, str]:
    known_host(lab, host)
    ends = links(lab)
    if (host, link) not in ends:
        own = ", ".join(interface for each, interface in ends if each == host)
        raise LabError(f"host {host} has no link {link} that can be cut", hint=f"there are: {own or 'none'}")
    return ends[host, link]


def _marker(lab: Lab, host: str, link: str) -> Path:
    return lab.place.run / f"{host}+{link}.cut"
