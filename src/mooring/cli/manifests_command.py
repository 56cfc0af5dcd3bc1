"""`mooring manifests`: what has to be in the cluster, for `kubectl apply`.

What makes the objects is imported when they are made: it knows the controller, which no other command should wait for.
"""

import re
from typing import Literal

import click

LABEL = "[a-zA-Z0-9]+(?:-+[a-zA-Z0-9]+)*"
DOMAIN = rf"(?:{LABEL}(?:\.{LABEL})*|\[[0-9a-fA-F:]+\])(?::[0-9]+)?"
PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
REFERENCE = re.compile(
    rf"(?:{DOMAIN}/)?{PART}(?:/{PART})*(?::[a-zA-Z0-9_][a-zA-Z0-9_.-]{{0,127}})?(?:@[a-z0-9]+:[0-9a-f]{{32,}})?"
)
"""How registries name an image."""

HELP = """Print the Kubernetes objects that the controller needs.

\b
mooring manifests | kubectl apply -f -
mooring manifests --image registry.example.org/mooring:1 | kubectl apply -f -

The pods wait for what only you have: the ConfigMap mooring-config and the Secrets mooring-clouds and mooring-tls, all
in the namespace mooring-system. No secret is ever printed.
"""  # \b: click leaves the lines below it as they are


def _image(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    if value is not None and REFERENCE.fullmatch(value) is None:
        raise click.BadParameter(f"{value!r} is no image, allowed: REGISTRY/NAME:TAG or REGISTRY/NAME@DIGEST.")
    return value


@click.command(help=HELP)
@click.option(
    "--image",
    metavar="IMAGE",
    callback=_image,
    help="The image that the controller's pods run.  [default: localhost/mooring:VERSION, which is on no registry]",
)
@click.option(
    "--only",
    type=click.Choice(["rbac", "all"]),
    default="all",
    show_default=True,
    help="rbac: namespace, account and roles, for a controller that runs outside of the cluster.",
)
def manifests(image: str | None, only: Literal["rbac", "all"]) -> None:
    from mooring.manifests import controller, files  # noqa: PLC0415 - see the module's first lines

    if only == "rbac":
        if image is not None:
            raise click.UsageError("--image says what pods run, and --only rbac makes none.")
        objects = files.rbac()
    else:
        objects = tuple(each for part in files.everything(image or controller.IMAGE).values() for each in part)
    click.echo(files.text(objects), nl=False)
