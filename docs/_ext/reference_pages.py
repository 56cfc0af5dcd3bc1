"""Sphinx extension: the parts of the reference that the source itself tells.

A page holds a marker such as `<!-- generated: configuration -->`, and gets the text in its place when it is read. So
the reference cannot fall behind the source.
"""

import functools
from collections.abc import Callable, Iterator, Mapping

import click
import reference_metrics
from sphinx.application import Sphinx

from mooring.cli.main import lab_command, main
from mooring.core import config_keys, config_values, reporting, telling
from mooring.core.config_keys import Key
from mooring.model import names as names_of_ours
from mooring.model.kubernetes import Condition, Service
from mooring.model.reasons import Reason
from mooring.model.steps import Tell

WIDTH = 96

NAMES: Mapping[str, tuple[str, str]] = {
    "MANAGED": (
        "annotation of a Service",
        'Mooring writes `"true"` when it takes a Service on, and removes it later. `"false"`, by its owner, opts out.',
    ),
    "PORT": (
        "annotation of a Service",
        "The ids of the Neutron ports that carry it, one for each family, if they bear our mark; or listed addresses.",
    ),
    "ADDRESSES": (
        "annotation of a Service",
        "The addresses that its owner wants, one for each family; `spec.loadBalancerIP` says the same for one.",
    ),
    "SUBNET": (
        "annotation of a Service",
        "The subnet that its address is to come from, one for each family, of those in `addresses.subnets_allowed`.",
    ),
    "FLOATING_NETWORK": (
        "annotation of a Service",
        "The network of its floating IP, of those in `addresses.floating_networks_allowed`; or `none`: it gets none.",
    ),
    "INTERNAL": (
        "annotation of a Service",
        'Of the OpenStack cloud provider: `"true"` is read as `none` in place of a network of floating IPs. Only read.',
    ),
    "MANAGED_BY_CAH": (
        "annotation of a Service",
        'Of ch-k8s-lbaas: by `"true"` two claim the Service; `"false"` opts out who has no class. Only read.',
    ),
    "SHARING_KEY": (
        "annotation of a Service",
        "Any text. Services share an address only with those that have the same text, or none as they have none.",
    ),
    "KEEP": (
        "annotation of a Service",
        'With `"true"` its floating IP stays in the project when no Service needs it any more.',
    ),
    "BACKEND": (
        "annotation of a Service",
        "Its owner's choice of a back end where it has no class; disagreeing with a class is refused. Only read.",
    ),
    "LAYER": (
        "annotation of a Service",
        "Its owner writes `pod`, `node` or `cluster`: where packets enter the cluster, instead of `backends.layer`.",
    ),
    "SOURCE_RANGES": (
        "annotation of a Service",
        "Kubernetes' own: the networks that may call it, where `spec.loadBalancerSourceRanges` is empty. Only read.",
    ),
    "EPOCH": ("annotation of the controllers' Lease", "Grows with each leader; gateways refuse an older one."),
    "GATEWAYS": (
        "annotation of the controllers' Lease",
        "The gateways that may use addresses, and where their agents listen: whom to take them from. Not for people.",
    ),
    "DRAINED": (
        "annotation of the controllers' Lease",
        "The names of gateways that are to give way, with commas between them; `mooring gateway drain` writes it.",
    ),
    "FINALIZER": (
        "finalizer of a Service",
        "Holds a Service that is deleted until no gateway serves it any more.",
    ),
    "CLEANUP_FINALIZER": (
        "finalizer of a Service",
        "Kubernetes' own, for tools that look for it. Others may take it off; Mooring does not rely on it.",
    ),
    "GATEWAY_CLASS": ("`spec.loadBalancerClass` of a Service", "The Services that Mooring serves by its gateways."),
    "GATEWAY_BACKEND": (
        "value of that annotation",
        "The back end of the gateways; what asks for another one is not served by them.",
    ),
    "TAG": (
        "tag of a port or floating IP",
        "For people and their filters. It comes a moment after the object; what counts is the mark.",
    ),
    "DELETING_TAG": (
        "tag of a port or floating IP",
        "Nobody needs it: it is given to nobody any more, and deleted later.",
    ),
    "INTERNAL_OWNER": (
        "`device_owner` of a port",
        "It is to have no floating IP. Part of the call that makes the port: do not change it.",
    ),
    "FOUND_TAG": (
        "tag of a floating IP",
        "It was in the project before a Service asked for it: it is given back, whatever an annotation says.",
    ),
    "NAMESPACE_TAG": (
        "beginning of a tag of a floating IP",
        "The namespace that it is kept for follows; no other one gets it, unless `addresses.wishes` says so.",
    ),
    "KEEP_TAG": (
        "tag of a floating IP",
        "It is given back, not deleted: somebody had it before Mooring, or the owner of a Service wants to keep it.",
    ),
    "SERVICE_NAME": ("label of an EndpointSlice", "Kubernetes' own: the Service that it belongs to. Only read."),
    "EXCLUDED": (
        "label of a node",
        "Kubernetes' own: whatever its value, no packets are sent to that node with the layer `node`. Only read.",
    ),
    "ACCEPTED": ("condition of a Service", "Whether it is Mooring's to serve."),
    "ALLOCATED": ("condition of a Service", "Whether it has an address."),
    "PROGRAMMED": ("condition of a Service", "Whether packets reach it."),
    "SHARED": ("condition of a Service", "It has its address with its sharing key, which is the message."),
}
"""Where each name stands, and what it means. The names themselves are in `mooring.model.names`."""

WELL = {
    Reason.ACCEPTED,
    Reason.ALLOCATED,
    Reason.ADDRESS_RETIRED,
    Reason.ADDRESS_UNMARKED,
    Reason.PROGRAMMED,
    Reason.NO_ENDPOINTS,
    Reason.CLAIMED_TWICE,
    Reason.ANNOTATION_IGNORED,
}
"""Reasons of a condition that is True."""


def configuration() -> str:
    """Every section and key of the configuration file."""
    lines: list[str] = []
    for section in config_keys.sections():
        lines += [f"## [{section.header}]", "", section.description, ""]
        for key in section.keys:
            lines += [f"### {key.path}", "", *_key(key), ""]
    return "\n".join(lines)


def _key(key: Key) -> Iterator[str]:
    yield key.description
    yield ""
    yield f"- Allowed: {key.allowed}"
    yield f"- Default: {_default(key)}"
    yield f"- Environment: {'none, only the file' if key.variable is None else f'`{key.variable}`'}"


def _default(key: Key) -> str:
    if key.required:
        return "none, it is required"
    return "not set" if key.default is None else f"`{config_values.as_toml(key.default)}`"


def commands() -> str:
    """Every command's own help, the groups before their commands."""
    lines: list[str] = []
    for path, command in _walk("mooring", main):
        context = click.Context(command, info_name=path, terminal_width=WIDTH, **main.context_settings)
        lines += [f"## {path}", "", "```text", command.get_help(context), "```", ""]
    return "\n".join(lines)


def _walk(path: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name, inner in sorted(command.commands.items()):
            yield from _walk(f"{path} {name}", lab_command() if (path, name) == ("mooring", "lab") else inner)


def names() -> str:
    """Every name that Mooring writes into objects of others, or reads there."""
    lines = ["| name | what it is | meaning |", "|---|---|---|"]
    for constant, (place, meaning) in NAMES.items():
        lines.append(f"| `{getattr(names_of_ours, constant)}` | {place} | {meaning} |")
    return "\n".join(lines)


def warnings() -> str:
    """The reasons that become an event, by the very function that decides it."""
    return "\n".join(f"- [{reason.value}](reasons.md#{reason.value.lower()})" for reason in Reason if _warned(reason))


def _warned(reason: Reason) -> bool:
    if reason in reporting.LEAVING:  # who is not served has no conditions
        return False
    condition = Condition(names_of_ours.ACCEPTED, "True" if reason in WELL else "False", reason.value)
    return bool(telling.news(Service(), Tell((condition,))))


PARTS: Mapping[str, Callable[[], str]] = {
    "configuration": configuration,
    "commands": commands,
    "names": names,
    "warnings": warnings,
    "metrics of the controller": functools.partial(reference_metrics.page, "controller"),
    "metrics of the agent": functools.partial(reference_metrics.page, "agent"),
}


def fill_in(_app: Sphinx, _page: str, source: list[str]) -> None:
    for name, text in PARTS.items():
        marker = f"<!-- generated: {name} -->"
        if marker in source[0]:
            source[0] = source[0].replace(marker, text())


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", fill_in)
    return {"parallel_read_safe": True}
