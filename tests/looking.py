"""The commands that look at everything, started with a survey of a simulated world."""

from pathlib import Path

import click.testing
from click.testing import CliRunner

from mooring.cli.looking import Look, Ways
from mooring.cli.main import main
from mooring.controller.survey import CannotLook
from mooring.core.surveyed import Survey
from mooring.model.config import Config

WHOLE = "[addresses]\nnetwork = 'n'\n[gateways.g1]\nagent = 'g1:9443'\nport = 'p1'\n"


def seeing(survey: Survey) -> Look:
    async def look(_: Config) -> Survey:
        return survey

    return look


async def blind(_: Config) -> Survey:
    raise CannotLook("Kubernetes cannot be looked at: no route to host. See that it runs")


def mooring(look: Look, folder: Path, *arguments: str, config: str = WHOLE) -> click.testing.Result:
    file = folder / "mooring.toml"
    file.write_text(config)
    return CliRunner().invoke(main, [*arguments, "--config", str(file)], obj=Ways(look))
