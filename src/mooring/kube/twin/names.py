"""What names, labels and finalizers may look like."""

import functools
import re
from collections.abc import Iterator, Mapping

from mooring.kube.twin.answers import Fault, invalid

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
WORD = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
PORT_NAME = re.compile(r"(?=.*[a-z])(?!.*--)[a-z0-9]([-a-z0-9]*[a-z0-9])?")

LABEL_LENGTH = 63
SUBDOMAIN_LENGTH = 253
PORT_NAME_LENGTH = 15
ANNOTATIONS_SIZE = 256 * 1024
STANDARD_FINALIZERS = frozenset({"kubernetes", "orphan", "foregroundDeletion"})

BAD_LABEL = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-'"
BAD_SUBDOMAIN = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'"
BAD_WORD = "name part must consist of alphanumeric characters, '-', '_' or '.'"
BAD_VALUE = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.'"


def is_label(text: str) -> bool:
    """A name without dots, as namespaces, Services and ports have it."""
    return len(text) <= LABEL_LENGTH and LABEL.fullmatch(text) is not None


def is_subdomain(text: str) -> bool:
    return len(text) <= SUBDOMAIN_LENGTH and SUBDOMAIN.fullmatch(text) is not None


def is_port_name(text: str) -> bool:
    """The name of a container's port, as a target of a Service."""
    return len(text) <= PORT_NAME_LENGTH and PORT_NAME.fullmatch(text) is not None


@functools.lru_cache(maxsize=4096)
def is_qualified(text: str) -> bool:
    """A word, perhaps with a domain and a slash before it: keys of labels and annotations, finalizers."""
    domain, slash, word = text.rpartition("/")
    if slash and not is_subdomain(domain):
        return False
    return len(word) <= LABEL_LENGTH and WORD.fullmatch(word) is not None


def is_label_value(text: str) -> bool:
    return not text or (len(text) <= LABEL_LENGTH and WORD.fullmatch(text) is not None)


def label_faults(field: str, labels: Mapping[str, str]) -> Iterator[Fault]:
    for key, value in labels.items():
        if not is_qualified(key):
            yield invalid(field, key, BAD_WORD)
        if not is_label_value(value):
            yield invalid(field, value, BAD_VALUE)


def annotation_faults(field: str, annotations: Mapping[str, str]) -> Iterator[Fault]:
    for key in annotations:
        if not is_qualified(key.lower()):
            yield invalid(field, key, BAD_WORD)
    if sum(map(len, annotations)) + sum(map(len, annotations.values())) > ANNOTATIONS_SIZE:
        yield Fault("FieldValueTooLong", field, f"Too long: may not be more than {ANNOTATIONS_SIZE} bytes")


def finalizer_faults(field: str, finalizers: list[str], *, with_domain: bool) -> Iterator[Fault]:
    for number, finalizer in enumerate(finalizers):
        if not is_qualified(finalizer):
            yield invalid(field, finalizer, BAD_WORD)
        if with_domain and "/" not in finalizer and finalizer not in STANDARD_FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            yield invalid(f"{field}[{number}]", finalizer, why)
