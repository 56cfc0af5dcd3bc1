"""`mooring pki`: the certificates by which controller and agents know each other.

What makes certificates is imported when one is made: no other command should wait for it.
"""

import datetime as dt
from pathlib import Path
from typing import Literal

import click

from mooring.cli.config_file import NotUsableError

FOLDER = Path("/etc/mooring/pki")
LONGEST = 36500  # days: a hundred years

folder_option = click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=FOLDER,
    show_default=True,
    metavar="DIR",
    help="The folder of the authority.",
)


@click.group()
def pki() -> None:
    """Make the certificates of controller and agents."""


@pki.command()
@folder_option
@click.option(
    "--days",
    type=click.IntRange(1, LONGEST),
    default=3650,
    show_default=True,
    metavar="N",
    help="How long the authority is valid.",
)
def init(folder: Path, days: int) -> None:
    """Make an authority that signs certificates.

    Writes ca.crt and ca.key to the folder. Who has ca.key can command every gateway: keep it off them.
    """
    from mooring.host import certificates  # noqa: PLC0415 - see the module's first lines

    try:
        end = certificates.Authority(folder).found(dt.timedelta(days=days))
    except certificates.CertificateError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"Made the authority {folder / 'ca.crt'}, valid until {end:%Y-%m-%d}.")
    click.echo(f"Keep {folder / 'ca.key'} secret, and off the gateways.")


@pki.command()
@click.argument("role", type=click.Choice(["controller", "agent"]))
@click.argument("name")
@click.option(
    "--address",
    "addresses",
    multiple=True,
    metavar="ADDRESS",
    help="An IP address or host name at which the agent is reached. Repeatable; an agent needs one.",
)
@folder_option
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where to write.  [default: NAME in the folder of the authority]",
)
@click.option(
    "--days",
    type=click.IntRange(1, LONGEST),
    default=365,
    show_default=True,
    metavar="N",
    help="How long the certificate is valid; never longer than the authority.",
)
def issue(  # noqa: PLR0913 - one for each option
    role: Literal["controller", "agent"],
    name: str,
    *,
    addresses: tuple[str, ...],
    folder: Path,
    out: Path | None,
    days: int,
) -> None:
    """Make the certificate of a controller or of an agent.

    Writes tls.crt, tls.key and ca.crt, for /etc/mooring/tls of the host that it is for. A controller's certificate
    cannot be used by an agent, nor an agent's to command others.
    """
    if role == "agent" and not addresses:
        raise click.UsageError("An agent needs --address: the IP address or host name at which it is reached.")
    from mooring.host import certificates  # noqa: PLC0415 - see the module's first lines

    target = out or folder / name
    try:
        end = certificates.Authority(folder).issue_to(
            target, certificates.Role(role), name, addresses=addresses, life=dt.timedelta(days=days)
        )
    except certificates.NotPossible as error:
        raise NotUsableError(str(error)) from error
    except certificates.CertificateError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"Made {target / 'tls.crt'} for {role} {name}, valid until {end:%Y-%m-%d}.")
    click.echo(f"Copy tls.crt, tls.key and ca.crt from {target} to /etc/mooring/tls where the {role} runs.")
