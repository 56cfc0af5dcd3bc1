"""OpenStack's services on the control plane: MariaDB, Keystone, Neutron, Octavia and its driver agent, all behind TLS.

The databases come from the golden copy where there is one; else they are made, which takes most of a first start.
"""

import base64
import os
import secrets
from functools import partial
from pathlib import Path

from mooring.lab import golden, processes, servers, topology
from mooring.lab.lab import Lab
from mooring.lab.parts import Part
from mooring.lab.place import DATA
from mooring.lab.spec import Spec
from mooring.lab.templates import write

PORTS = {"keystone": 5000, "neutron": 9696, "octavia": 9876}
# The lab listens only in namespaces of its own and on the machine's leg into them; the golden copy holds these.
PASSWORD = "mooring-lab"  # noqa: S105 - known to everybody, by intention
LOAD_BALANCER_ROLES = ("member", "admin", "observer", "global_observer", "quota_admin")


def parts(spec: Spec) -> list[Part]:
    """Each service after its own database.

    The driver agent asks Neutron for its version once, when it starts, and Octavia its drivers for the agent's sockets.
    """
    chassis = tuple(f"ovn-controller-{name}" for name in spec.chassis_names)
    services = ("openstack-environment", "certificates", "cables", "mariadb")
    return [
        Part(
            "databases",
            golden.restore,
            needs=("debian-packages", "openstack-environment", "ovs-binaries"),
            group="openstack",
            process=False,
        ),
        Part("mariadb", start_mariadb, needs=("databases", "cables"), group="openstack"),
        Part("keystone-schema", prepare_keystone, needs=services, group="openstack", process=False),
        Part("neutron-schema", prepare_neutron, needs=services, group="openstack", process=False),
        Part("octavia-schema", prepare_octavia, needs=services, group="openstack", process=False),
        Part("keystone", partial(start_service, name="keystone"), needs=("keystone-schema",), group="openstack"),
        Part("identities", make_identities, needs=("keystone",), group="openstack", process=False),
        Part(
            "neutron", partial(start_service, name="neutron"), needs=("neutron-schema", "ovn-northd"), group="openstack"
        ),
        Part("topology", topology.ensure, needs=("neutron", "identities", *chassis), group="openstack", process=False),
        Part("golden-copy", keep_golden, needs=("topology", "octavia-schema"), group="openstack", process=False),
        Part("octavia-driver-agent", start_driver_agent, needs=("golden-copy",), group="octavia"),
        Part("octavia", partial(start_service, name="octavia"), needs=("octavia-driver-agent",), group="octavia"),
    ]


def url(lab: Lab, service: str) -> str:
    """Where a service is."""
    return f"https://{lab.control}:{PORTS[service]}"


def configure(lab: Lab) -> None:
    """Write all configuration files."""
    values = {
        "RUN": lab.place.run,
        "DATA": lab.place.data,
        "CA": lab.authority.certificate,
        "DISTRIBUTED": lab.spec.distributed_fips,
        "SERVICE_PASSWORD": PASSWORD,
        "ADMIN_PASSWORD": PASSWORD,
        "MOORING_PASSWORD": PASSWORD,
        **{service.upper(): url(lab, service) for service in PORTS},
    }
    for template in sorted((DATA / "openstack/etc").iterdir()):
        write(f"openstack/etc/{template.name}", lab.place.etc / template.name, values)
    paste = lab.openstack("python").parent.parent / "etc/neutron/api-paste.ini"
    (lab.place.etc / "api-paste.ini").write_bytes(paste.read_bytes())


def start_mariadb(lab: Lab) -> None:
    """The database server, reached by a Unix socket only."""
    configure(lab)
    settings = f"--defaults-file={lab.place.etc / 'my.cnf'}"
    if not (lab.place.data / "mariadb/mysql").exists():
        processes.run(["mariadb-install-db", settings, "--auth-root-authentication-method=normal", "--skip-test-db"])
    socket = lab.socket("mariadb")
    socket.unlink(missing_ok=True)
    lab.spawn("mariadb", ["mariadbd", settings], host="control")
    lab.wait("mariadb", partial(servers.listens, socket), seconds=60, what="MariaDB to listen")


def sql(lab: Lab, statement: str) -> str:
    """Carry out SQL as the administrator."""
    return processes.run(
        [
            "mariadb",
            "--no-defaults",
            "--user=root",
            f"--socket={lab.socket('mariadb')}",
            "--batch",
            "--execute",
            statement,
        ]
    )


def prepare_keystone(lab: Lab) -> None:
    """Keystone's database, keys, and first user; or the golden one, told where it now lives."""
    if golden.used(lab):
        for service, port in PORTS.items():
            moved = f"REGEXP_REPLACE(url, '^https://[0-9.]+:{port}', '{url(lab, service)}')"
            sql(lab, f"UPDATE keystone.endpoint SET url = {moved}")  # noqa: S608 - every word of it is ours
        return
    _create_database(lab, "keystone")
    for folder in ("fernet", "credential"):
        (lab.place.data / folder).mkdir(mode=0o700, exist_ok=True)
        for number in "01":
            key = lab.place.data / folder / number
            key.touch(mode=0o600)
            key.write_bytes(base64.urlsafe_b64encode(secrets.token_bytes(32)))
    manage = ["keystone-manage", "--config-file", str(lab.place.etc / "keystone.conf")]
    _run(lab, *manage, "db_sync")
    urls = [f"--bootstrap-{kind}-url={url(lab, 'keystone')}/v3" for kind in ("public", "internal", "admin")]
    _run(lab, *manage, "bootstrap", f"--bootstrap-password={PASSWORD}", "--bootstrap-region-id=RegionOne", *urls)


def prepare_neutron(lab: Lab) -> None:
    """Neutron's database; a golden one must forget the process that it last belonged to."""
    if golden.used(lab):
        sql(lab, "DELETE FROM neutron.ovn_hash_ring")
        return
    _create_database(lab, "neutron")
    files = [word for name in ("neutron.conf", "ml2_conf.ini") for word in ("--config-file", str(lab.place.etc / name))]
    _run(lab, "neutron-db-manage", *files, "upgrade", "heads")


def prepare_octavia(lab: Lab) -> None:
    """Octavia's database."""
    if not golden.used(lab):
        _create_database(lab, "octavia")
        _run(lab, "octavia-db-manage", "--config-file", str(lab.place.etc / "octavia.conf"), "upgrade", "head")


def start_service(lab: Lab, *, name: str) -> None:
    """Keystone, Neutron or Octavia, as a WSGI application behind TLS."""
    pair = lab.authority.issue(name, name, addresses=[lab.control], names=["control"])
    words = ["--config-file", str(lab.place.etc / "octavia.conf")] if name == "octavia" else []
    serve: list[str | Path] = [
        lab.openstack("python"),
        DATA / "openstack/serve.py",
        f"{name}.wsgi.api",
        lab.control,
        str(PORTS[name]),
    ]
    lab.spawn(name, [*serve, pair.certificate, pair.key, *words], host="control", env=_environment(lab))
    path = "/v3" if name == "keystone" else "/"
    lab.wait(
        name,
        lambda: servers.answers(url(lab, name) + path, ca=lab.authority.certificate),
        seconds=240,
        what=f"{name} to answer",
    )


def start_driver_agent(lab: Lab) -> None:
    """Octavia's driver agent. Nobody may connect to its sockets just to look: it would wait for a word for ever."""
    for socket in (lab.place.run / "octavia").glob("*.sock"):
        socket.unlink()
    serve: list[str | Path] = [
        lab.openstack("python"),
        DATA / "openstack/serve.py",
        "driver-agent",
        "--config-file",
        lab.place.etc / "octavia.conf",
    ]
    lab.spawn("octavia-driver-agent", serve, host="control", env=_environment(lab))
    socket = lab.place.run / "octavia/get.sock"
    lab.wait("octavia-driver-agent", socket.exists, seconds=120, what="the driver agent to listen")


def make_identities(lab: Lab) -> None:
    """Projects, users, roles and the catalogue."""
    if golden.used(lab):
        return
    identity = topology.connect(lab).identity
    roles = {role.name: role for role in identity.roles()}
    for name in LOAD_BALANCER_ROLES:
        roles[f"load-balancer_{name}"] = identity.create_role(name=f"load-balancer_{name}")
    users = {
        "neutron": ("service", ("admin", "service")),
        "octavia": ("service", ("admin", "service")),
        "mooring": ("mooring", ("member", "load-balancer_member")),
    }
    projects = {name: identity.create_project(name=name, domain_id="default") for name in ("service", "mooring")}
    for user, (project, granted) in users.items():
        made = identity.create_user(
            name=user, password=PASSWORD, domain_id="default", default_project_id=projects[project].id
        )
        for role in granted:
            identity.assign_project_role_to_user(projects[project], made, roles[role])
    admin, admins = identity.find_user("admin"), identity.find_project("admin")
    identity.assign_project_role_to_user(admins, admin, roles["load-balancer_admin"])
    for service, kind in (("neutron", "network"), ("octavia", "load-balancer")):
        made = identity.create_service(name=service, type=kind)
        for interface in ("public", "internal", "admin"):
            identity.create_endpoint(
                service_id=made.id, interface=interface, region_id="RegionOne", url=url(lab, service)
            )


def keep_golden(lab: Lab) -> None:
    """Keep a copy of databases and objects for the next start; the database server rests while it is copied."""
    if golden.used(lab) or golden.exists(lab.spec):
        return
    lab.processes.stop("mariadb", seconds=30)
    golden.keep(lab)
    start_mariadb(lab)


def _create_database(lab: Lab, name: str) -> None:
    sql(lab, f"CREATE DATABASE IF NOT EXISTS {name} CHARACTER SET utf8mb3")


def _run(lab: Lab, program: str, *argv: str) -> None:
    processes.run([lab.openstack(program), *argv], env=_environment(lab))


def _environment(lab: Lab) -> dict[str, str]:
    for folder in ("octavia", "lock", "tmp"):
        (lab.place.run / folder).mkdir(exist_ok=True)
    neutron_calls = lab.ovs("ovsdb-client").parent
    programs = (lab.openstack("python").parent, neutron_calls, os.environ.get("PATH", ""), "/usr/sbin", "/sbin")
    return {
        "PYTHONWARNINGS": "ignore",
        "OCTAVIA_SOCKETS": str(lab.place.run / "octavia"),
        "TMPDIR": str(lab.place.run / "tmp"),
        "PATH": ":".join(map(str, programs)),
        "OS_KEYSTONE_CONFIG_DIR": str(lab.place.etc),
        "OS_KEYSTONE_CONFIG_FILES": "keystone.conf",
        "OS_NEUTRON_CONFIG_DIR": str(lab.place.etc),
        "OS_NEUTRON_CONFIG_FILES": "neutron.conf;ml2_conf.ini",
        "ASGI_WORKERS": "1",
    }
