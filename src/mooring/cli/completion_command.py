"""`mooring completion`: what a shell needs to complete our commands."""

import click
from click import shell_completion

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_MOORING_COMPLETE"


HELP = """Print the script that completes `mooring` in a shell.

\b
bash  mooring completion bash > /etc/bash_completion.d/mooring
zsh   mooring completion zsh > "${fpath[1]}/_mooring"
fish  mooring completion fish > ~/.config/fish/completions/mooring.fish

It works in the shells that are started after that.
"""  # \b: click leaves the lines below it as they are


@click.command(help=HELP)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    kind = shell_completion.get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"click does not know the shell {shell}.")
    root = ctx.find_root()
    click.echo(kind(root.command, {}, "mooring", VARIABLE).source())
