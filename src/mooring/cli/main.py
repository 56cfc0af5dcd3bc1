"""The command `mooring` and its subcommands.

The lab is loaded only when somebody uses it: it needs packages that a gateway or a node does not have, and a command
that only prints its version should not wait for them.
"""

import importlib

import click

from mooring.cli import (
    agent_commands,
    completion_command,
    config_commands,
    daemon_commands,
    doctor_command,
    gateway_commands,
    manifests_command,
    orphans_command,
    pki_commands,
    plan_command,
    status_command,
    uninstall_command,
    who_command,
    why_command,
)

LAB_HELP = "A real Kubernetes on a real OpenStack, on this machine."


class LabUnavailableError(click.ClickException):
    """The packages of the extra `lab` are not installed."""

    exit_code = 2


class Commands(click.Group):
    """Lists `lab` by its one line of help; imports it when the command line goes on into it."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] == "lab":
            return "lab", lab_command(), args[1:]
        return super().resolve_command(ctx, args)


def lab_command() -> click.Group:
    try:
        commands = importlib.import_module("mooring.lab.commands")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] == "mooring":
            raise
        raise LabUnavailableError(f"{error.name} is missing. The lab needs: pip install 'mooring[lab]'") from error
    group: click.Group = commands.lab
    return group


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 96},
    epilog="Exit codes: 0 done, 1 failed, 2 wrong usage or configuration; others stand in a command's own help.",
)
@click.version_option(package_name="mooring", message="%(prog)s %(version)s")
def main() -> None:
    """Make a Kubernetes cluster fast to the OpenStack cloud that it runs on."""


main.add_command(config_commands.config)
main.add_command(pki_commands.pki)
main.add_command(daemon_commands.controller)
main.add_command(agent_commands.agent)
main.add_command(gateway_commands.gateway)
main.add_command(status_command.status)
main.add_command(why_command.why)
main.add_command(plan_command.plan)
main.add_command(who_command.who)
main.add_command(orphans_command.orphans)
main.add_command(uninstall_command.uninstall)
main.add_command(doctor_command.doctor)
main.add_command(manifests_command.manifests)
main.add_command(completion_command.completion)
main.add_command(click.Group("lab", help=LAB_HELP))
