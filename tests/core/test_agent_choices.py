"""What an agent refuses to start with, and where it was set. [vrrp] alone is judged in test_vrrp.py."""

import pytest

from mooring.core import agent_choices, configuration
from mooring.model.config import Agent, Config, Forwarding, Vrrp
from mooring.model.settings import Settings

SPREAD = Vrrp(mode="spread", instances=2)
ROOM = 200 - len(agent_choices.LONGEST) - 1


def settings(text: str, **environment: str) -> Settings:
    read = configuration.read(text, "m.toml", environment)
    assert isinstance(read, Settings)
    return read


@pytest.mark.parametrize(
    "config",
    [
        Config(),
        Config(vrrp=SPREAD),
        Config(forwarding=Forwarding(snat="never")),
        Config(agent=Agent(state="state/of_gw-1.d/")),
        Config(agent=Agent(state="/" + "x" * ROOM)),
    ],
)
def test_no_problem(config: Config) -> None:
    assert agent_choices.problem(config) is None


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (Config(vrrp=Vrrp(mode="spread")), 'vrrp.mode = "spread" needs vrrp.instances'),
        (Config(vrrp=SPREAD, forwarding=Forwarding(snat="never")), "their way back is one address"),
        (Config(vrrp=Vrrp(peers=("192.0.2.12",))), "vrrp.peers needs vrrp.source_address"),
        (Config(vrrp=Vrrp(peers=("192.0.2.12",), source_address="192.0.2.12")), "it is this gateway itself"),
        (Config(vrrp=Vrrp(address="224.0.0.18")), 'vrrp.address = "224.0.0.18" is refused'),
        (Config(agent=Agent(state="/var/lib/my state")), 'agent.state = "/var/lib/my state" is refused'),
        (Config(agent=Agent(state="/state\n}")), 'agent.state = "/state\\n}" is refused'),
        (Config(agent=Agent(state="sch\u00f6n")), "may have letters, digits and the characters _ . / - only"),
        (Config(agent=Agent(state="/" + "x" * (ROOM + 1))), "not more than 200 of them"),
    ],
)
def test_each_problem(config: Config, told: str) -> None:
    assert told in str(agent_choices.problem(config))


@pytest.mark.parametrize(
    ("text", "environment", "begins"),
    [
        ("[vrrp]\nmode = 'spread'", {}, "m.toml:2: vrrp.mode"),
        ("[vrrp]\ninstance = 1", {}, "m.toml:2: vrrp.instances and vrrp.instance"),
        ("[vrrp]\nmode = 'single'", {"MOORING_VRRP_MODE": "spread"}, "environment variable MOORING_VRRP_MODE: vrrp.m"),
        ("[agent]\nstate = 'a b'", {}, 'm.toml:2: agent.state = "a b"'),
    ],
)
def test_the_place_is_that_of_the_first_key_that_somebody_set(
    text: str, environment: dict[str, str], begins: str
) -> None:
    assert str(agent_choices.line(settings(text, **environment))).startswith(begins)


def test_what_is_well_has_no_line() -> None:
    assert agent_choices.line(settings("")) is None
