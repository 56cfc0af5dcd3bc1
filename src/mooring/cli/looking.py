"""What the commands that look at everything have in common: their options, and the survey.

What makes a survey is imported when one is made: it needs much that other commands do not. Who starts a command from
Python may hand other ways to the outside in as the context's object.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol, TypeAlias, TypeVar

import click
from msgspec import Struct

from mooring.cli import config_file
from mooring.core.surveyed import Survey
from mooring.model.config import Config
from mooring.model.errors import StartRefused
from mooring.model.reports import DoctorReport, Missing, StepReport, TaggedReport, UninstallReport

Look: TypeAlias = Callable[[Config], Awaitable[Survey]]
LetGo: TypeAlias = Callable[[Config, frozenset[str]], Awaitable[tuple[TaggedReport, ...]]]
Examine: TypeAlias = Callable[[Config], Awaitable[DoctorReport]]
T = TypeVar("T")


class Remover(Protocol):
    """What shows, and removes, everything of Mooring's."""

    async def look(self, *, patient: bool = False) -> UninstallReport: ...

    async def run(self) -> UninstallReport: ...


class Remove(Protocol):
    def __call__(
        self, config: Config, *, keep: bool, progress: Callable[[StepReport], None] = ...
    ) -> AbstractAsyncContextManager[Remover]: ...


class Ways(Struct, frozen=True):
    """Ways to the outside, each the real one where it is None."""

    look: Look | None = None
    let_go: LetGo | None = None
    examine: Examine | None = None
    remove: Remove | None = None


NOT_WELL = 3
HAS_STEPS = 4
MOST = 20
"""What one screen holds of one kind."""

json_option = click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="For people, or for programs.",
)
all_option = click.option("--all", "everything", is_flag=True, help="Show everything, however long it is.")


def survey(ctx: click.Context, path: Path | None, *, around: bool = False, counters: bool = False) -> Survey:
    """Look at everything; `around`: at what others have, too; `counters`: and at what gateways have counted.

    Ends the command where that is not possible.
    """
    from mooring.controller import survey as surveying  # noqa: PLC0415 - see the module's first lines

    real = surveying.look_closely if counters else surveying.look_around if around else surveying.look
    look: Look = ways(ctx).look or real
    return run(look(config_file.load_for("controller", path)))


def ways(ctx: click.Context) -> Ways:
    return ctx.obj or Ways()


def run(work: Awaitable[T]) -> T:
    """Let something that looks at the outside be done. Ends the command where Kubernetes does not answer."""
    from mooring.controller import survey as surveying  # noqa: PLC0415 - as above

    async def done() -> T:
        return await work

    # What libraries have to say about a server that does not answer is told in the survey already.
    logging.getLogger().addHandler(logging.NullHandler())
    try:
        return asyncio.run(done())
    except surveying.CannotLook as error:
        raise ended(error) from error


def ended(error: Exception) -> click.ClickException:
    """What ends a command that cannot look, or write: where that is by its configuration, the exit code says so."""
    by_configuration = isinstance(error.__cause__, StartRefused)
    return (config_file.NotUsableError if by_configuration else click.ClickException)(f"{str(error).rstrip('.')}.")


def missing_lines(missing: tuple[Missing, ...]) -> tuple[str, ...]:
    """A line for each cause: what is missing, and why."""
    causes: dict[str, list[str]] = {}
    for each in missing:
        causes.setdefault(each.why, []).append(each.what)
    return tuple(f"Missing: {', '.join(what)}: {why.rstrip('.')}." for why, what in causes.items())


def details(step: StepReport) -> str:
    return ", ".join(f"{name} {value}" for name, value in step.details.items())
