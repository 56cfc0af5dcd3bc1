"""Whether an agent can start with what was configured: keys that are right one by one, and do not go together.

Looks at [vrrp], [forwarding] and [agent] only, whose defaults are fine; so it holds for a controller's file too. Knows
nothing of the host.
"""

import re

from mooring.core import config_values, configuration, vrrp
from mooring.model.config import Config
from mooring.model.settings import FromDefault, Settings

LONGEST = "keepalived.reload"
"""Of the files in the agent's folder that keepalived's configuration names, the one with the longest name."""
KEY = re.compile(r"\b(vrrp|forwarding|agent)\.([a-z_]+)")


def problem(config: Config) -> str | None:
    """What an agent refuses to start with; None, if there is nothing. The keys that it is about are named in it."""
    return vrrp.problem(config.vrrp, config.forwarding.snat) or _problem_of_state(config.agent.state)


def line(settings: Settings) -> str | None:
    """The same, behind the place of the first key in it that somebody has set."""
    found = problem(settings.config)
    if found is None:
        return None
    origins = {(each.section, each.key): each.origin for each in settings.list}
    named = (origins.get((key[1], key[2]), FromDefault()) for key in KEY.finditer(found))
    places = [configuration.place(each) for each in named if not isinstance(each, FromDefault)]
    return ": ".join([*places[:1], found])


def _problem_of_state(state: str) -> str | None:
    """A path that does not begin at the root gets there by a folder that is not known here."""
    if vrrp.PATH.fullmatch(f"{'' if state.startswith('/') else '/'}{state}/{LONGEST}"):
        return None
    return (
        f"agent.state = {config_values.as_toml(state)} is refused: keepalived's configuration names files in it, whose "
        "paths may have letters, digits and the characters _ . / - only, and not more than 200 of them"
    )
