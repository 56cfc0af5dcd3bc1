"""The configuration: a row for each way to be wrong, the order of origins, and properties over any text."""

import tomllib

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mooring.core import config_keys, configuration
from mooring.model.config import (
    Cluster,
    Config,
    FromDefault,
    FromEnvironment,
    FromFile,
    Log,
    OpenStack,
    Problem,
    Settings,
)

SECTIONS = "cluster, kubernetes, openstack, log"
NAMES = "lower-case letters, digits and inner dashes, at most 63 characters"
LEVELS = '"debug", "info", "warning", "error"'
KEYS = [key for section in config_keys.sections() for key in section.keys]


def settings(text: str, environment: dict[str, str] | None = None) -> Settings:
    answer = configuration.read(text, "m.toml", environment or {})
    assert isinstance(answer, Settings)
    return answer


def problems(text: str, environment: dict[str, str] | None = None) -> tuple[Problem, ...]:
    answer = configuration.read(text, "m.toml", environment or {})
    assert not isinstance(answer, Settings)
    return answer


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Config()),
        ("[log]\n", Config()),
        ("log.level = 'debug'", Config(log=Log(level="debug"))),
        (
            '[log]\nformat = "json"\n[cluster]\nname = "a-1"',
            Config(cluster=Cluster(name="a-1"), log=Log(format="json")),
        ),
        ("openstack = { cloud = 'x', clouds_file = '/y' }", Config(openstack=OpenStack(cloud="x", clouds_file="/y"))),
    ],
)
def test_valid_texts(text: str, expected: Config) -> None:
    assert settings(text).config == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "\n[logs]\n",
            f'm.toml:2: logs: unknown section, did you mean "log"? allowed: {SECTIONS}',
            id="section, near",
        ),
        pytest.param("x = 1", f"m.toml:1: x: unknown section, allowed: {SECTIONS}", id="section, far"),
        pytest.param('"a b" = 1', f'm.toml:1: "a b": unknown section, allowed: {SECTIONS}', id="section, quoted"),
        pytest.param(
            "log = 1", "m.toml:1: log: a whole number is refused, allowed: a table, [log]", id="section, no table"
        ),
        pytest.param("[[log]]", "m.toml:1: log: a list is refused, allowed: a table, [log]", id="section, a list"),
        pytest.param(
            "[log]\nLevle = 1",
            'm.toml:2: log.Levle: unknown key, did you mean "level"? allowed: level, format',
            id="key, near",
        ),
        pytest.param(
            "[log]\n'x.y' = 1", 'm.toml:2: log."x.y": unknown key, allowed: level, format', id="key, far and quoted"
        ),
        pytest.param("[log]\nlevel = 'loud'", f'm.toml:2: log.level: "loud" is refused, allowed: {LEVELS}', id="value"),
        pytest.param(
            "[log]\nlevel = 1", f"m.toml:2: log.level: a whole number is refused, allowed: {LEVELS}", id="whole number"
        ),
        pytest.param("[log]\nlevel = 1.5", f"m.toml:2: log.level: a number is refused, allowed: {LEVELS}", id="number"),
        pytest.param(
            "[log]\nlevel = true", f"m.toml:2: log.level: a truth value is refused, allowed: {LEVELS}", id="truth value"
        ),
        pytest.param("[log]\nlevel = []", f"m.toml:2: log.level: a list is refused, allowed: {LEVELS}", id="list"),
        pytest.param("[log.level]", f"m.toml:1: log.level: a table is refused, allowed: {LEVELS}", id="table"),
        pytest.param(
            "log.level = 07:00:00", f"m.toml:1: log.level: a date or time is refused, allowed: {LEVELS}", id="time"
        ),
        pytest.param(
            'cluster.name = "a\\n"',
            f'm.toml:1: cluster.name: "a\\n" is refused, allowed: {NAMES}',
            id="pattern",
        ),
        pytest.param(
            "openstack.cloud = ''",
            'm.toml:1: openstack.cloud: "" is refused, allowed: a name, not empty',
            id="empty name",
        ),
        pytest.param(
            "kubernetes.kubeconfig = ''",
            'm.toml:1: kubernetes.kubeconfig: "" is refused, allowed: the path of a file',
            id="empty path",
        ),
        pytest.param(
            "[log]\nlevel = 'info'\nlevel = 'info'", "m.toml:3: log.level: given twice, first on line 2", id="key twice"
        ),
        pytest.param("[log]\n[cluster]\n[log]", "m.toml:3: log: given twice, first on line 1", id="section twice"),
        pytest.param(
            "log = { level = 'info', level = 'info' }",
            "m.toml:1: log.level: given twice, first on line 1",
            id="inline key twice",
        ),
        pytest.param("[log]\nlevel = debug", "m.toml:2: log.level: not valid TOML: Invalid value", id="no quotes"),
        pytest.param("[log]\n?", "m.toml:2: not valid TOML: Invalid statement", id="no statement"),
        pytest.param("[log]\n\nlevel = '''", "m.toml:3: log.level: not valid TOML: Expected \"'''\"", id="no end"),
        pytest.param("a = " + "[" * 5000, "m.toml:1: nested too deeply, or a number too long, to be read", id="deep"),
        pytest.param(
            "a = " + "9" * 5000, "m.toml:1: nested too deeply, or a number too long, to be read", id="long number"
        ),
    ],
)
def test_each_way_to_be_wrong(text: str, expected: str) -> None:
    assert [configuration.sentence(problem) for problem in problems(text)] == [expected]


def test_all_problems_are_told_at_once_in_the_order_of_the_text() -> None:
    text = "[openstack]\nclod = 'x'\n[log]\nlevel = 'loud'\nformat = 'xml'\n[lgo]\n"
    told = problems(text, {"MOORING_LOG_FORMAT": "yaml"})
    assert [configuration.sentence(problem).split(": ")[:2] for problem in told] == [
        ["m.toml:2", "openstack.clod"],
        ["m.toml:4", "log.level"],
        ["m.toml:5", "log.format"],
        ["m.toml:6", "lgo"],
        ["environment variable MOORING_LOG_FORMAT", "log.format"],
    ]


@pytest.mark.parametrize(
    ("text", "environment", "value", "origin"),
    [
        ("", {}, "info", FromDefault()),
        ("\nlog.level = 'error'", {}, "error", FromFile("m.toml", 2)),
        ("", {"MOORING_LOG_LEVEL": "debug"}, "debug", FromEnvironment("MOORING_LOG_LEVEL")),
        ("log.level = 'error'", {"MOORING_LOG_LEVEL": "debug"}, "debug", FromEnvironment("MOORING_LOG_LEVEL")),
    ],
)
def test_the_environment_goes_before_the_file_and_the_file_before_the_default(
    text: str, environment: dict[str, str], value: str, origin: object
) -> None:
    [setting] = [one for one in settings(text, environment).list if (one.section, one.key) == ("log", "level")]
    assert (setting.value, setting.origin) == (value, origin)
    assert settings(text, environment).config.log.level == value


def test_variables_of_others_are_left_alone() -> None:
    assert settings("", {"MOORING_LOG_PORT": "tcp://10.0.0.1:80", "LOG_LEVEL": "loud"}).config == Config()


def test_every_key_says_what_it_is_for_and_what_is_allowed() -> None:
    for section in config_keys.sections():
        assert section.description.endswith(".")
        for key in section.keys:
            assert key.description.endswith(".")
            assert key.allowed


plain = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@given(cloud=plain, context=plain)
def test_what_is_shown_can_be_read_again(cloud: str, context: str) -> None:
    before = settings("", {"MOORING_OPENSTACK_CLOUD": cloud, "MOORING_KUBERNETES_CONTEXT": context})
    shown = configuration.as_toml(before)
    tomllib.loads(shown)
    assert settings(shown).config == before.config


@given(
    above=st.integers(0, 5),
    section=st.sampled_from([section.name for section in config_keys.sections()]),
    key=st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="'"), max_size=12),
    form=st.sampled_from(
        ["[{s}]\n'{k}' = 1", "{s}.'{k}' = 1\n", "{s} = {{ '{k}' = 1 }}", "[{s}.'{k}']", "[[{s}.'{k}']]"]
    ),
)
def test_any_unknown_key_is_told_with_its_line(above: int, section: str, key: str, form: str) -> None:
    assume(f"{section}.{key}" not in {known.path for known in KEYS})
    text = '# """\n' * above + form.format(s=section, k=key)
    [problem] = problems(text)
    assert problem.key.startswith(f"{section}.")
    assert problem.origin == FromFile("m.toml", above + (2 if "\n'" in form else 1))
    assert problem.message.startswith("unknown key")


@given(
    st.one_of(st.text(), st.text(alphabet="log.leve=[]{}\"'\\,#\n 1t", max_size=60)), st.dictionaries(plain, st.text())
)
def test_no_text_and_no_environment_is_too_odd(text: str, environment: dict[str, str]) -> None:
    answer = configuration.read(text, "m.toml", environment)
    if not isinstance(answer, Settings):
        assert answer
        assert all(configuration.sentence(problem) for problem in answer)
