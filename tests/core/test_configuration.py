"""The configuration: a row for each way to be wrong, the order of origins, and properties over any text."""

import json
import tomllib

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mooring.core import config_keys, configuration
from mooring.model.config import LABEL_LENGTH, Agent, Cluster, Config, Gateway, Log, OpenStack, Services, Vrrp
from mooring.model.settings import FromDefault, FromEnvironment, FromFile, Problem, Settings

SECTIONS = (
    "cluster, kubernetes, openstack, services, addresses, backends, gateways, tls, controller, agent, vrrp, "
    "forwarding, log"
)
NAMES = "lower-case letters, digits and inner dashes, at most 63 characters"
LEVELS = '"debug", "info", "warning", "error"'
ENDPOINTS = "an address or host name, a colon and a port"
ALSO = 'a list of texts such as "192.0.2.1 dev eth1"'
GATEWAY = "[gateways.gw1]\nagent = '192.0.2.1:9443'\nport = 'p1'\n"
KEYS = [key for section in config_keys.sections() for key in section.keys]


def settings(text: str, environment: dict[str, str] | None = None) -> Settings:
    answer = configuration.read(text, "m.toml", environment or {})
    assert isinstance(answer, Settings)
    return answer


def problems(text: str, environment: dict[str, str] | None = None) -> tuple[Problem, ...]:
    answer = configuration.read(text, "m.toml", environment or {})
    assert not isinstance(answer, Settings)
    return answer


ALSO_TWO = ("192.0.2.1 dev eth1", "fd00::1 dev br-ex")


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
        ("vrrp = { router_id = 0x10, interval = 1 }", Config(vrrp=Vrrp(router_id=16, interval=1.0))),
        ("vrrp.also = ['192.0.2.1 dev eth1', 'fd00::1 dev br-ex']", Config(vrrp=Vrrp(also=ALSO_TWO))),
        ("[gateways]", Config()),
        (GATEWAY, Config(gateways={"gw1": Gateway("192.0.2.1:9443", "p1")})),
        (
            "[gateways]\nb = { agent = '[fd00::1]:1', port = 'x' }\na = { port = 'y', agent = 'a.example.:65535' }",
            Config(gateways={"b": Gateway("[fd00::1]:1", "x"), "a": Gateway("a.example.:65535", "y")}),
        ),
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
            "vrrp.router_id = 300", "m.toml:1: vrrp.router_id: 300 is refused, allowed: 1 to 255", id="number too large"
        ),
        pytest.param(
            "vrrp.router_id = 51.0", "m.toml:1: vrrp.router_id: 51.0 is refused, allowed: 1 to 255", id="not whole"
        ),
        pytest.param(
            "vrrp.router_id = '51'",
            'm.toml:1: vrrp.router_id: the text "51" is refused, allowed: 1 to 255',
            id="text for a number",
        ),
        pytest.param(
            "vrrp.router_id = true",
            "m.toml:1: vrrp.router_id: a truth value is refused, allowed: 1 to 255",
            id="truth value for a number",
        ),
        pytest.param(
            "services.claim_unclassed = 1",
            "m.toml:1: services.claim_unclassed: a whole number is refused, allowed: true, false",
            id="number for a truth value",
        ),
        pytest.param(
            "vrrp.router_id = 0x" + "f" * 5000,
            "m.toml:1: vrrp.router_id: a whole number is refused, allowed: 1 to 255",
            id="number too long to be shown",
        ),
        pytest.param(
            "vrrp.interval = nan", "m.toml:1: vrrp.interval: nan is refused, allowed: 0.05 to 10", id="not a number"
        ),
        pytest.param(
            "vrrp.interval = 1" + "0" * 400,
            "m.toml:1: vrrp.interval: a whole number is refused, allowed: 0.05 to 10",
            id="more than any number",
        ),
        pytest.param(
            "vrrp.also = '192.0.2.1 dev eth1'",
            f'm.toml:1: vrrp.also: the text "192.0.2.1 dev eth1" is refused, allowed: {ALSO}',
            id="text for a list",
        ),
        pytest.param(
            "vrrp.also = ['192.0.2.1 dev eth1', 1]",
            f"m.toml:1: vrrp.also: a whole number is refused, allowed: {ALSO}",
            id="number in a list of texts",
        ),
        pytest.param(
            "[vrrp]\nalso = [\n '192.0.2.1 dev eth1',\n '999.1.1.1 dev eth0',\n]",
            f'm.toml:2: vrrp.also: "999.1.1.1 dev eth0" is refused, allowed: {ALSO}',
            id="no address in a list",
        ),
        pytest.param(
            "vrrp.address = '999.1.1.1'",
            'm.toml:1: vrrp.address: "999.1.1.1" is refused, allowed: an IPv4 address, best a link-local one',
            id="no address",
        ),
        pytest.param(
            "[[gateways]]",
            "m.toml:1: gateways: a list is refused, allowed: a table, [gateways.NAME]",
            id="gateways, a list",
        ),
        pytest.param(
            "[gateways]\nagent = '192.0.2.1:1'",
            'm.toml:2: gateways.agent: "192.0.2.1:1" is refused, allowed: a table, [gateways.NAME]',
            id="gateway without a name",
        ),
        pytest.param(
            GATEWAY.replace("gw1", "Gw_1"),
            f'm.toml:1: gateways.Gw_1: "Gw_1" is refused as a name, allowed: {NAMES}',
            id="gateway, wrong name",
        ),
        pytest.param(
            GATEWAY.replace("gw1", "a" * 64),
            f'm.toml:1: gateways.{"a" * 64}: "{"a" * 64}" is refused as a name, allowed: {NAMES}',
            id="gateway, name too long",
        ),
        pytest.param(
            GATEWAY + "prot = 'x'",
            'm.toml:4: gateways.gw1.prot: unknown key, did you mean "port"? allowed: agent, port',
            id="gateway, unknown key",
        ),
        pytest.param(
            GATEWAY + "[gateways.gw2]\nagent = '192.0.2.1:9443'\nport = 'p2'",
            'm.toml:5: gateways.gw2.agent: "192.0.2.1:9443" is refused: [gateways.gw1] has it already',
            id="gateways, two with one agent",
        ),
        pytest.param(
            GATEWAY + "[gateways.gw2]\nagent = 'gw2:1'",
            "m.toml:4: gateways.gw2.port: missing, allowed: an id, or a name that only one has",
            id="gateway, missing key",
        ),
        pytest.param(
            GATEWAY.replace("'p1'", "''"),
            'm.toml:3: gateways.gw1.port: "" is refused, allowed: an id, or a name that only one has',
            id="gateway, wrong value",
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


@pytest.mark.parametrize(
    ("variable", "text", "expected"),
    [
        ("MOORING_VRRP_ROUTER_ID", "7", Vrrp(router_id=7)),
        ("MOORING_VRRP_ROUTER_ID", " +7 ", Vrrp(router_id=7)),
        ("MOORING_VRRP_INTERVAL", "1", Vrrp(interval=1.0)),
        ("MOORING_VRRP_INTERVAL", "0.25", Vrrp(interval=0.25)),
        ("MOORING_VRRP_ALSO", "192.0.2.1 dev eth1 , fd00::1 dev br-ex", Vrrp(also=ALSO_TWO)),
        ("MOORING_VRRP_ALSO", " ", Vrrp()),
    ],
)
def test_numbers_and_lists_from_the_environment(variable: str, text: str, expected: Vrrp) -> None:
    assert settings("", {variable: text}).config == Config(vrrp=expected)


@pytest.mark.parametrize("claimed", [True, False])
def test_truth_values_from_file_and_environment_are_shown_so_that_they_can_be_read_again(claimed: bool) -> None:  # noqa: FBT001 - a column of the table
    text = str(claimed).lower()
    expected = Config(services=Services(claim_unclassed=claimed))
    given = settings(f"services.claim_unclassed = {text}")
    assert given.config == settings("", {"MOORING_SERVICES_CLAIM_UNCLASSED": f" {text}"}).config == expected
    shown = configuration.as_toml(given)
    assert f"\nclaim_unclassed = {text}  # m.toml:1\n" in shown
    assert settings(shown).config == expected


@pytest.mark.parametrize(
    ("variable", "text", "told"),
    [
        ("MOORING_VRRP_ROUTER_ID", "300", "vrrp.router_id: 300 is refused, allowed: 1 to 255"),
        ("MOORING_VRRP_ROUTER_ID", "many", 'vrrp.router_id: the text "many" is refused, allowed: 1 to 255'),
        ("MOORING_VRRP_ROUTER_ID", "1_0", 'vrrp.router_id: the text "1_0" is refused, allowed: 1 to 255'),
        ("MOORING_VRRP_ROUTER_ID", "", 'vrrp.router_id: the text "" is refused, allowed: 1 to 255'),
        ("MOORING_VRRP_INTERVAL", "inf", 'vrrp.interval: the text "inf" is refused, allowed: 0.05 to 10'),
        ("MOORING_VRRP_INTERVAL", "0.01", "vrrp.interval: 0.01 is refused, allowed: 0.05 to 10"),
        ("MOORING_SERVICES_CLAIM_UNCLASSED", "1", 'services.claim_unclassed: "1" is refused, allowed: true, false'),
        (
            "MOORING_SERVICES_CLAIM_UNCLASSED",
            "True",
            'services.claim_unclassed: "True" is refused, allowed: true, false',
        ),
        ("MOORING_VRRP_ALSO", "192.0.2.1 dev eth1,", f'vrrp.also: "" is refused, allowed: {ALSO}'),
    ],
)
def test_wrong_numbers_and_lists_in_the_environment(variable: str, text: str, told: str) -> None:
    [problem] = problems("", {variable: text})
    assert configuration.sentence(problem) == f"environment variable {variable}: {told}"


def test_every_key_of_a_gateway_that_is_missing_is_told() -> None:
    told = problems(GATEWAY + "\n[gateways.gw2]\n")
    assert [(problem.key, problem.origin) for problem in told] == [
        ("gateways.gw2.agent", FromFile("m.toml", 5)),
        ("gateways.gw2.port", FromFile("m.toml", 5)),
    ]


@pytest.mark.parametrize(
    ("endpoint", "fits"),
    [
        ("0.0.0.0:1", True),
        ("[::]:65535", True),
        ("localhost:80", True),
        ("gw-1.example.org.:80", True),
        ("1.2.3.4.example:80", True),
        ("127.0.0.1:65536", False),
        ("127.0.0.1:0", False),
        ("999.1.1.1:80", False),
        ("1.2.3:80", False),
        ("a.1:80", False),
        ("[fd00::1::2]:80", False),
        ("[1.2.3.4]:80", False),
        ("-a:80", False),
        ("a..b:80", False),
        ("." + ":80", False),
        ("a" * 64 + ":80", False),
        ("a." * 127 + "a:80", False),
        ("localhost", False),
        ("http://localhost:80", False),
    ],
)
@pytest.mark.parametrize("key", ["controller.monitoring", "agent.listen", "agent.monitoring"])
def test_where_to_listen(key: str, endpoint: str, fits: bool) -> None:  # noqa: FBT001 - a column
    told = [] if fits else [f'm.toml:1: {key}: "{endpoint}" is refused, allowed: {ENDPOINTS}']
    answer = configuration.read(f"{key} = '{endpoint}'", "m.toml", {})
    assert [configuration.sentence(each) for each in ([] if isinstance(answer, Settings) else answer)] == told


def test_an_agent_is_reached_at_an_endpoint() -> None:
    [problem] = problems(GATEWAY.replace(":9443", ":94430"))
    told = f'm.toml:2: gateways.gw1.agent: "192.0.2.1:94430" is refused, allowed: {ENDPOINTS}'
    assert configuration.sentence(problem) == told


def test_variables_of_others_are_left_alone() -> None:
    assert settings("", {"MOORING_LOG_PORT": "tcp://10.0.0.1:80", "LOG_LEVEL": "loud"}).config == Config()
    assert settings("", {"MOORING_GATEWAYS_GW1_AGENT": "x", "MOORING_GATEWAYS_NAME_AGENT": "x"}).config == Config()


def test_every_key_says_what_it_is_for_and_what_is_allowed() -> None:
    for section in config_keys.sections():
        assert section.description.endswith(".")
        for key in section.keys:
            assert key.description.endswith(".")
            assert key.allowed


plain = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


labels = st.text("az09-", min_size=1, max_size=LABEL_LENGTH).filter(lambda text: text.strip("-") == text)
ports = st.integers(1, 65535)
hosts = st.one_of(st.ip_addresses(v=4).map(str), st.ip_addresses(v=6).map(lambda address: f"[{address}]"))
endpoints = st.builds("{}:{}".format, hosts, ports)
also = st.builds("{} dev {}".format, st.ip_addresses(), st.text("aZ0_.-", min_size=1, max_size=15))
gateways = st.builds(Gateway, agent=endpoints, port=plain)
groups = st.builds(
    Vrrp,
    router_id=st.integers(1, 255),
    interval=st.floats(0.05, 10.0),
    address=st.ip_addresses(v=4).map(str),
    also=st.lists(also, max_size=3).map(tuple),
)


@given(cloud=plain, context=plain)
def test_what_is_shown_can_be_read_again(cloud: str, context: str) -> None:
    before = settings("", {"MOORING_OPENSTACK_CLOUD": cloud, "MOORING_KUBERNETES_CONTEXT": context})
    shown = configuration.as_toml(before)
    tomllib.loads(shown)
    assert settings(shown).config == before.config


@given(named=st.dictionaries(labels, gateways, max_size=3), vrrp=groups, listen=endpoints)
def test_every_kind_of_value_is_shown_so_that_it_can_be_read_again(
    named: dict[str, Gateway], vrrp: Vrrp, listen: str
) -> None:
    tables = [f"gateways.{name} = {toml(msgspec.structs.asdict(gateway))}" for name, gateway in named.items()]
    text = "\n".join([*tables, f"vrrp = {toml(msgspec.structs.asdict(vrrp))}", f"agent.listen = {toml(listen)}"])
    before = settings(text)
    assert before.config == Config(gateways=named, vrrp=vrrp, agent=Agent(listen=listen))
    assert list(before.config.gateways) == list(named)
    assert settings(configuration.as_toml(before)).config == before.config


@given(vrrp=groups)
def test_the_environment_says_the_same_as_the_file(vrrp: Vrrp) -> None:
    environment = {
        "MOORING_VRRP_ROUTER_ID": str(vrrp.router_id),
        "MOORING_VRRP_INTERVAL": format(vrrp.interval, ".17f"),
        "MOORING_VRRP_ADDRESS": vrrp.address,
        "MOORING_VRRP_ALSO": ",".join(vrrp.also),
    }
    assert settings("", environment).config.vrrp == msgspec.structs.replace(
        vrrp, interval=float(environment["MOORING_VRRP_INTERVAL"])
    )


def toml(value: object) -> str:
    """What an operator might write: an inline table, a list, JSON's scalars."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, tuple):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f") if isinstance(value, str) else repr(value)


def test_tables_of_gateways_and_their_absence_are_shown() -> None:
    assert "\n\n# no table [gateways.NAME] is given\n\n[tls]\n" in configuration.as_toml(settings(""))
    shown = configuration.as_toml(settings(GATEWAY))
    assert '\n\n[gateways.gw1]\nagent = "192.0.2.1:9443"  # m.toml:2\nport = "p1"  # m.toml:3\n\n[tls]\n' in shown
    assert "\nrouter_id = 51  # default\ninterval = 0.1  # default\n" in shown
    assert "\nalso = []  # default\n" in shown


STATIC = "addresses.static"
LISTED = "[addresses]\nstatic = ['192.0.2.10-192.0.2.40', '2001:db8::/120']\n"
BARE = "[gateways.gw1]\nagent = '192.0.2.1:9443'\n"


@pytest.mark.parametrize(
    ("text", "line", "key", "told"),
    [
        ("[addresses]\nstatic = ['192.0.2.1/24']\n" + BARE, 2, STATIC, '"192.0.2.1/24" (192.0.2.1/24 has host'),
        (BARE, 1, "gateways.gw1.port", "missing, allowed: an id, or a name that only one has"),
        (LISTED + GATEWAY, 5, "gateways.gw1.port", f"refused beside {STATIC}: OpenStack is not asked"),
        (LISTED + "network = 'lb'\n", 3, "addresses.network", f"refused beside {STATIC}"),
        (LISTED + "subnet_ipv6 = 'lb'\n", 3, "addresses.subnet_ipv6", f"refused beside {STATIC}"),
        (LISTED + "floating_network = 'p'\n", 3, "addresses.floating_network", f"refused beside {STATIC}"),
        (LISTED + "pairs_limit = 9\n", 3, "addresses.pairs_limit", f"refused beside {STATIC}"),
        (LISTED + "manage_security_group = true\n", 3, "addresses.manage_security_group", f"refused beside {STATIC}"),
        (
            "[addresses]\nnetwork = 'lb'\nfloating_networks_allowed = ['p']\n",
            3,
            "addresses.floating_networks_allowed",
            "refused without addresses.floating_network",
        ),
        (
            "[addresses]\nsubnet = 'lb'\nsubnet_ipv6 = 'lb'\n",
            3,
            "addresses.subnet_ipv6",
            "refused: it is addresses.subnet",
        ),
        (
            "[addresses]\nwishes = 'none'\nwishes_allowed = ['192.0.2.0/28']\n",
            3,
            "addresses.wishes_allowed",
            'refused beside addresses.wishes = "none"',
        ),
        (
            "[addresses]\nstatic = ['192.0.2.0/24', '192.0.2.9']\n",
            2,
            STATIC,
            "192.0.2.9 and 192.0.2.1-",
        ),
        ("[addresses]\nstatic = ['2001:db8::/64']\n", 2, STATIC, "18,446,744,073,709,551,615 addresses are refused"),
        (
            "[addresses]\nstatic = ['192.0.2.0/24']\n" + BARE,
            2,
            STATIC,
            "192.0.2.1 is of a gateway",
        ),
        (
            "[addresses]\nstatic = ['192.0.2.0/24']\n[vrrp]\nalso = ['192.0.2.1 dev eth1']\n",
            2,
            STATIC,
            "192.0.2.1 is of a gateway, by vrrp.also",
        ),
        (
            "[addresses]\nstatic = ['fd00::1']\n[gateways.gw1]\nagent = '[fd00::1]:9443'\n",
            2,
            STATIC,
            "fd00::1 is of a gateway",
        ),
        (
            "[addresses]\nstatic = ['192.0.2.40-192.0.2.10']\n",
            2,
            STATIC,
            '"192.0.2.40-192.0.2.10" (192.0.2.40 does not come before 192.0.2.10) is refused',
        ),
        (
            "[addresses]\nstatic = ['169.254.169.254']\n",
            2,
            STATIC,
            '"169.254.169.254" (it has addresses of 169.254.0.0/16, which no',
        ),
        (
            "[addresses]\nstatic = ['255.255.255.255']\n",
            2,
            STATIC,
            '"255.255.255.255" (it has addresses of 240.0.0.0/4, which no',
        ),
    ],
)
def test_what_does_not_go_together_with_a_list_of_addresses(text: str, line: int, key: str, told: str) -> None:
    [problem] = problems(text)
    assert (problem.origin, problem.key) == (FromFile("m.toml", line), key)
    assert problem.message.startswith(told)


def test_a_list_of_addresses_needs_nothing_else() -> None:
    config = settings(LISTED + BARE).config
    assert config.addresses.static == ("192.0.2.10-192.0.2.40", "2001:db8::/120")
    assert config.gateways["gw1"].port is None
    environment = {"MOORING_ADDRESSES_STATIC": "192.0.2.10, 192.0.2.12", "MOORING_ADDRESSES_NETWORK": "lb"}
    [problem] = problems(BARE, environment)
    assert problem.origin == FromEnvironment("MOORING_ADDRESSES_NETWORK")


@given(
    above=st.integers(0, 5),
    section=st.sampled_from([section.header for section in config_keys.sections()]).map(str.lower),
    key=st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="'"), max_size=12),
    form=st.sampled_from(
        ["[{s}]\n'{k}' = 1", "{s}.'{k}' = 1\n", "{s} = {{ '{k}' = 1 }}", "[{s}.'{k}']", "[[{s}.'{k}']]"]
    ),
)
def test_any_unknown_key_is_told_with_its_line(above: int, section: str, key: str, form: str) -> None:
    assume(f"{section}.{key}" not in {known.path.replace("NAME", "name") for known in KEYS})
    text = '# """\n' * above + form.format(s=section, k=key)
    problem = next(each for each in problems(text) if not each.message.startswith("missing"))
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
