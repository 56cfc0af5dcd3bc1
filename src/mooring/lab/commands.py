"""`mooring lab ...`: the lab on the command line."""

import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console

from mooring.lab import doctor as checks
from mooring.lab import faults, lifecycle, processes, progress, report
from mooring.lab.errors import LabError, PartError, tail
from mooring.lab.lab import open_lab
from mooring.lab.place import place_of
from mooring.lab.spec import Spec

INTERRUPTED = 130  # what a shell answers for a program that was interrupted

NAME = click.option(
    "--name",
    default="lab",
    show_default=True,
    envvar="MOORING_LAB",
    show_envvar=True,
    help="Which lab; several can run side by side.",
)


class _Explaining(click.Group):
    """Shows what goes wrong as what it is, without a traceback."""

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - click's own signature
        with explained():
            return super().invoke(ctx)


@contextmanager
def explained() -> Iterator[None]:
    """Tell people what happened, the end of the log, and what to do; then end the program."""
    try:
        yield
    except LabError as error:
        click.echo(f"mooring lab: {error.what}", err=True)
        for line in error.log_tail() if isinstance(error, PartError) else []:
            click.echo(f"    {line}", err=True)
        if error.hint:
            click.echo(f"what to do: {error.hint}", err=True)
        sys.exit(1)
    except OSError as error:
        click.echo(f"mooring lab: {error}", err=True)
        remedy = "run it as root" if os.geteuid() else "see that the disk has room and can be written"
        click.echo(f"what to do: {remedy}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        click.echo(
            "\nmooring lab: interrupted. Of the same --name, `down` removes what was started, `up` begins anew",
            err=True,
        )
        sys.exit(INTERRUPTED)


@click.group(cls=_Explaining)
def lab() -> None:
    """A whole Kubernetes-on-OpenStack world on this machine, made of real programs."""


@lab.command()
@NAME
@click.option("--nodes", type=int, help="Worker nodes.  [default: 2]")
@click.option("--gateways", type=int, help="Gateway hosts.  [default: 2]")
@click.option(
    "--without", multiple=True, metavar="PART", help="Leave out a part or group, and what needs it. Repeatable."
)
@click.option(
    "--assets",
    type=click.Path(exists=True, file_okay=False),
    help="Folder with ready binaries of Kubernetes, etcd and CoreDNS.",
)
@click.option("--distributed-fips", is_flag=True, help="Floating IPs on the nodes' own chassis instead of on x1.")
def up(name: str, **options: Any) -> None:  # noqa: ANN401 - what click made of the words
    """Bring a lab up; a second time: start again what has died. Without options, it keeps those that it has."""
    given = {key: value for key, value in options.items() if value is not None and value != () and value is not False}
    if "without" in given:
        given["without"] = tuple(sorted(given["without"]))
    if "assets" in given:
        given["assets"] = str(Path(given["assets"]).resolve())
    spec = Spec(name=name, **given)
    lifecycle.refuse_nonsense(spec)
    if place_of(name).spec.exists():
        there = open_lab(name).spec
        spec = msgspec.structs.replace(spec, mooring=there.mooring) if given else there
    announce_loss(name)
    with progress.progress() as watcher:
        took = lifecycle.up(spec, watcher)
    if not took:
        click.echo(f"Lab {name} is up already.")
        for line in report.advice(report.observe(open_lab(name))):
            click.echo(line)
        return
    click.echo("\nWhere the time went (each part waited for the one above):")
    Console().print(progress.times(took))
    click.echo(f"\nLab {name} is up after {max(each.began + each.seconds for each in took):.1f} s. Look around:")
    click.echo(f'  eval "$({sys.argv[0]} lab env --name {name})"')
    click.echo("  kubectl get pods --all-namespaces --output=wide; openstack network list")
    click.echo(f"  mooring lab status --name {name}; mooring lab exec --name {name} client -- ip address")


def announce_loss(name: str) -> None:
    """Say before it happens that a lab cannot be mended."""
    if place_of(name).spec.exists() and (lost := lifecycle.lost_hosts(open_lab(name))):
        click.echo(f"Hosts of lab {name} have died ({', '.join(lost)}): it is made anew, with nothing in it.", err=True)


@lab.command()
@NAME
@click.option("--all", "everything", is_flag=True, help="All labs of this machine.")
def down(name: str, *, everything: bool) -> None:
    """End a lab and remove all that it left."""
    for each in lifecycle.names() if everything else [name]:
        there = lifecycle.down(each)
        click.echo(f"Lab {each} is gone." if there else f"There is no lab {each}.")


@lab.command()
@NAME
@click.option(
    "--controller",
    type=click.Choice(["host", "pod"]),
    default="host",
    show_default=True,
    help="Controllers as processes on the gateways, or as pods in the cluster.",
)
def deploy(name: str, controller: str) -> None:
    """Install Mooring in a lab: an agent on each gateway, and controllers."""
    with progress.progress() as watcher:
        took = lifecycle.deploy(open_lab(name), controller, watcher)
    click.echo(f"Mooring is in lab {name}." if took else f"Mooring is in lab {name} already.")
    click.echo(f'  eval "$({sys.argv[0]} lab env --name {name})"; mooring status')


@lab.command()
@NAME
def undeploy(name: str) -> None:
    """Take Mooring out of a lab; what it made in Kubernetes and OpenStack stays."""
    with progress.progress() as watcher:
        lifecycle.deploy(open_lab(name), "", watcher)
    click.echo(f"Mooring is no longer in lab {name}.")


@lab.command()
@NAME
def reset(name: str) -> None:
    """Make a lab anew, with the options that it has now and fresh databases."""
    spec = open_lab(name).spec
    lifecycle.down(name)
    with progress.progress() as watcher:
        lifecycle.up(spec, watcher)
    click.echo(f"Lab {name} is as new.")


@lab.command()
@NAME
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="For people or programs.",
)
@click.option("--all", "everything", is_flag=True, help="All labs of this machine, a line each.")
def status(name: str, output: str, *, everything: bool) -> None:
    """Which parts run, where, since when, with how much memory. Exit code 1: not all of them run."""
    if everything:
        for each in lifecycle.names():
            click.echo(report.line(each))
        return
    seen = report.observe(open_lab(name))
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(seen)).decode())
    else:
        Console().print(report.table(seen))
    sys.exit(0 if seen.whole else 1)


@lab.command()
@NAME
def env(name: str) -> None:
    """Print shell exports: eval "$(mooring lab env)"."""
    for key, value in report.environment(open_lab(name)).items():
        click.echo(f"export {key}={shlex.quote(value)}")


@lab.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@NAME
@click.argument("host")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True)
def exec(name: str, host: str, command: tuple[str, ...]) -> None:  # noqa: A001 - the word that users of docker and kubectl know
    """Run a command in a host: client, control, x1, n1, gw1, ..., wire."""
    there = open_lab(name)
    faults.known_host(there, host)
    program = command[1:] if command[0] == "--" else command
    if not program:
        raise click.UsageError("Missing argument 'COMMAND...'.")
    words = [*there.hosts.enter(host), *program]
    environment = processes.environment(report.environment(there) | report.environment_in(there, host))
    there.cage.enter("exec")  # what is left running in a host ends with the lab
    os.execvpe(words[0], words, environment)  # noqa: S606 - no shell is wanted


@lab.command()
@NAME
@click.option("-n", "--lines", default=50, show_default=True, help="How many, counted from the end.")
@click.option("-f", "--follow", is_flag=True, help="Go on showing what is written.")
@click.argument("part")
def logs(name: str, part: str, lines: int, *, follow: bool) -> None:
    """Show what a part wrote."""
    there = open_lab(name)
    file = there.place.log_of(part)
    if not file.exists():
        known = ", ".join(sorted(each.stem for each in there.place.log.glob("*.log")))
        raise LabError(f"there is no log of a part {part}", hint=f"there are: {known}; for pods: kubectl logs")
    if follow:
        os.execvp("tail", ["tail", "-n", str(lines), "-F", str(file)])  # noqa: S606 - no shell is wanted
    click.echo("\n".join(tail(file, lines)))


@lab.command()
def doctor() -> None:
    """What this machine lacks for a lab. Exit code 1: something that the lab cannot install by itself."""
    findings = checks.examine()
    Console().print(checks.table(findings))
    sys.exit(0 if all(each.ok or each.will_be_installed for each in findings) else 1)


@lab.command()
@NAME
@click.argument("part")
def restart(name: str, part: str) -> None:
    """End a part and start it again."""
    with progress.progress() as watcher:
        took = lifecycle.restart(open_lab(name), part, watcher)
    click.echo(f"{part} is up again after {took[0].seconds:.1f} s.")


@lab.command()
@NAME
@click.option("--signal", "signal_name", default="KILL", show_default=True, help="TERM, KILL, HUP, ...")
@click.argument("part")
def kill(name: str, part: str, signal_name: str) -> None:
    """Send a signal to a part, for tests of faults. KILL goes to its children too; containers outlive containerd."""
    faults.kill(open_lab(name), part, faults.signal_number(signal_name))
    click.echo(f"{part} was sent {signal_name}.")


def _fault(word: str, act: Callable[..., None], text: str) -> None:
    @lab.command(word, help=text)
    @NAME
    @click.argument("part")
    def command(name: str, part: str) -> None:
        act(open_lab(name), part)


_fault(
    "pause",
    lambda there, part: faults.freeze(there, part, signal.SIGSTOP),
    "Stop a part and all that it started (SIGSTOP).",
)
_fault("resume", lambda there, part: faults.freeze(there, part, signal.SIGCONT), "Let a paused part go on (SIGCONT).")


@lab.command()
@NAME
@click.option("--link", required=True, help="Which interface of the host, e.g. eth0.")
@click.argument("host")
def cut(name: str, host: str, link: str) -> None:
    """Pull a host's cable: the far end goes down, the host sees no carrier."""
    faults.cut(open_lab(name), host, link)
    click.echo(f"{host} {link} is cut off.")


@lab.command()
@NAME
@click.argument("host", required=False)
def heal(name: str, host: str | None) -> None:
    """Plug all pulled cables in again, of one host or of all."""
    healed = faults.heal(open_lab(name), host)
    for each in healed:
        click.echo(f"{each} is connected again.")
    if not healed:
        click.echo("No cable was pulled.")
