"""What an operator can configure, as frozen data, with the sentence that documents each key.

The structs are the only list of keys: reading, checking, `mooring config show` and the reference page all follow them.
A field's type decides what is allowed; where the type alone does not tell a person, `allowed` in its Meta does.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

# Kubernetes' own rule for labels: it fits wherever a name has to stand later, in tags, labels and host names.
LABEL = r"\A[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z"

PATH = {"allowed": "the path of a file"}
NAME = {"allowed": "a name, not empty"}


class Cluster(Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[
        str,
        Meta(
            pattern=LABEL,
            max_length=63,
            description="What people call this cluster; it stands in the names of what is made in OpenStack.",
            extra={"allowed": "lower-case letters, digits and inner dashes, at most 63 characters"},
        ),
    ] = "kubernetes"


class Kubernetes(Struct, frozen=True, forbid_unknown_fields=True):
    kubeconfig: (
        Annotated[
            str,
            Meta(
                min_length=1,
                description="The kubeconfig to use; without it the pod's ServiceAccount, then `KUBECONFIG`.",
                extra=PATH,
            ),
        ]
        | None
    ) = None
    context: (
        Annotated[
            str,
            Meta(min_length=1, description="The context to use; without it the kubeconfig's own.", extra=NAME),
        ]
        | None
    ) = None


class OpenStack(Struct, frozen=True, forbid_unknown_fields=True):
    cloud: (
        Annotated[
            str,
            Meta(min_length=1, description="The entry of clouds.yaml to use; without it `OS_CLOUD`.", extra=NAME),
        ]
        | None
    ) = None
    clouds_file: (
        Annotated[
            str,
            Meta(
                min_length=1,
                description="The clouds.yaml to use; without it `OS_CLIENT_CONFIG_FILE`, then the usual places.",
                extra=PATH,
            ),
        ]
        | None
    ) = None


class Log(Struct, frozen=True, forbid_unknown_fields=True):
    level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Meta(description="The least severe messages that are written."),
    ] = "info"
    format: Annotated[
        Literal["text", "json"],
        Meta(description="Lines for people, or one JSON object per line for machines."),
    ] = "text"


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    cluster: Annotated[Cluster, Meta(description="The cluster as a whole.")] = Cluster()
    kubernetes: Annotated[Kubernetes, Meta(description="How the Kubernetes API is reached.")] = Kubernetes()
    openstack: Annotated[OpenStack, Meta(description="How OpenStack is reached.")] = OpenStack()
    log: Annotated[Log, Meta(description="What the daemons write about their work.")] = Log()


class FromDefault(Struct, frozen=True, tag="default"):
    pass


class FromFile(Struct, frozen=True, tag="file"):
    file: str
    line: int


class FromEnvironment(Struct, frozen=True, tag="environment"):
    variable: str


Origin = FromDefault | FromFile | FromEnvironment


class Setting(Struct, frozen=True):
    """One key's value in force and where it comes from."""

    section: str
    key: str
    value: str | None
    origin: Origin


class Problem(Struct, frozen=True):
    """One thing that is wrong with the configuration. A problem of the text as a whole has an empty key."""

    origin: FromFile | FromEnvironment
    key: str
    message: str


class Settings(Struct, frozen=True):
    """A configuration without problems."""

    config: Config
    list: tuple[Setting, ...]
