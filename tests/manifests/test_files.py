"""The objects that we print: the files in deploy/ are the same, and each of them fits the others."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from mooring.cli.main import main
from mooring.controller import permissions
from mooring.controller.permissions import Permission
from mooring.core import config_keys
from mooring.kube.kinds import SERVICES
from mooring.manifests import access, controller, files
from mooring.manifests.objects import NAMESPACE, Object
from tests.source_copy import ROOT

FOLDER = ROOT / "deploy" / "kubernetes"
ALL = [each for part in files.everything().values() for each in part]


def of_kind(kind: str, objects: list[Object] | tuple[Object, ...] = tuple(ALL)) -> Object:
    [found] = [each for each in objects if each["kind"] == kind]
    return found


def pod() -> Any:  # noqa: ANN401 - as the API takes it
    return of_kind("Deployment")["spec"]["template"]["spec"]


def container() -> Any:  # noqa: ANN401 - as above
    [found] = pod()["containers"]
    return found


def decoded(text: str) -> list[Any]:
    return [msgspec.yaml.decode(each) for each in text.split("---\n")]


@pytest.mark.parametrize("name", sorted(files.written()))
def test_the_files_in_deploy_are_what_is_printed(name: str) -> None:
    told = f"deploy/kubernetes/{name} is not what the source says; write it anew with `make manifests`"
    assert (FOLDER / name).read_text() == files.written()[name], told


def test_every_generated_file_is_a_resource_of_the_base() -> None:
    base = msgspec.yaml.decode((FOLDER / "kustomization.yaml").read_bytes())
    assert base["resources"] == list(files.written())
    assert {file.name for file in FOLDER.glob("*.yaml")} == {*files.written(), "kustomization.yaml"}


def test_the_text_is_the_objects_written_out_and_always_the_same() -> None:
    text = files.text(ALL)
    assert decoded(text) == ALL
    assert "&" not in text  # nothing is written once and referred to
    again = [each for part in files.everything().values() for each in part]
    assert files.text(again) == text


def test_every_right_of_the_table_is_in_a_role_and_no_other() -> None:
    rules = [
        (each["metadata"].get("namespace", ""), group, resource, verb, tuple(rule.get("resourceNames", ())))
        for each in ALL
        if each["kind"] in {"ClusterRole", "Role"}
        for rule in each["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]
    table = [
        (row.namespace, row.kind.group, row.resource, verb, row.names)
        for row in permissions.CONTROLLER
        for verb in row.verbs
    ]
    assert sorted(rules) == sorted(table)


def test_rights_in_another_namespace_are_a_role_there() -> None:
    rows = (Permission(SERVICES, ("get",)), Permission(SERVICES, ("patch",), namespace="shop"))
    made = access.objects(rows)
    role, binding = of_kind("Role", made), of_kind("RoleBinding", made)
    assert role["metadata"]["namespace"] == binding["metadata"]["namespace"] == "shop"
    assert binding["subjects"] == of_kind("ClusterRoleBinding", made)["subjects"]


def test_roles_are_bound_to_the_account_that_the_pods_have() -> None:
    account = of_kind("ServiceAccount")["metadata"]
    assert pod()["serviceAccountName"] == account["name"]
    for kind in ("ClusterRole", "Role"):
        binding = of_kind(f"{kind}Binding")
        assert binding["roleRef"]["kind"] == kind
        assert binding["roleRef"]["name"] == of_kind(kind)["metadata"]["name"]
        assert binding["subjects"] == [
            {"kind": "ServiceAccount", "name": account["name"], "namespace": account["namespace"]}
        ]


def test_a_namespace_comes_before_what_is_in_it() -> None:
    assert ALL[0] == of_kind("Namespace")
    assert ALL[0]["metadata"]["name"] == NAMESPACE
    assert {each["metadata"].get("namespace", NAMESPACE) for each in ALL} == {NAMESPACE}


def test_selectors_find_the_pods() -> None:
    labels = of_kind("Deployment")["spec"]["template"]["metadata"]["labels"]
    [term] = pod()["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    selectors = (
        of_kind("Deployment")["spec"]["selector"],
        of_kind("PodDisruptionBudget")["spec"]["selector"],
        term["podAffinityTerm"]["labelSelector"],
    )
    assert all(each == {"matchLabels": labels} for each in selectors)


def test_the_container_runs_a_command_that_there_is() -> None:
    command, option, file = container()["args"]
    assert option in [each for parameter in main.commands[command].params for each in parameter.opts]
    [mount] = container()["volumeMounts"]
    assert Path(file).parent == Path(mount["mountPath"])


def test_the_environment_sets_keys_that_there_are_and_the_probes_ask_where_it_listens() -> None:
    known = {key.variable: key for section in config_keys.sections() for key in section.keys}
    values = {each["name"]: each["value"] for each in container()["env"]}
    assert set(values) <= set(known)
    [port] = container()["ports"]
    assert values["MOORING_CONTROLLER_MONITORING"] == f"0.0.0.0:{port['containerPort']}"
    assert str(known["MOORING_CONTROLLER_MONITORING"].default).endswith(f":{port['containerPort']}")
    probes = [container()[f"{kind}Probe"]["httpGet"] for kind in ("liveness", "readiness")]
    assert probes == [{"path": path, "port": port["name"]} for path in ("/healthz", "/readyz")]


def test_certificates_are_where_the_configuration_looks_for_them() -> None:
    [volume] = pod()["volumes"]
    secrets = {each["secret"]["name"]: each["secret"] for each in volume["projected"]["sources"] if "secret" in each}
    [mount] = container()["volumeMounts"]
    assert mount["name"] == volume["name"]
    paths = {f"{mount['mountPath']}/{each['path']}" for each in secrets[controller.TLS]["items"]}
    assert paths == {key.default for section in config_keys.sections() if section.name == "tls" for key in section.keys}


def test_nothing_secret_is_printed() -> None:
    assert {"Secret", "ConfigMap"}.isdisjoint(each["kind"] for each in ALL)


def test_the_pods_keep_to_the_level_that_their_namespace_demands() -> None:
    assert of_kind("Namespace")["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    assert pod()["securityContext"]["runAsNonRoot"] is True
    assert container()["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def mooring(*arguments: str) -> str:
    run = CliRunner().invoke(main, ["manifests", *arguments])
    assert run.exit_code == 0
    return run.output


def test_the_command_prints_everything() -> None:
    assert decoded(mooring()) == ALL
    assert mooring("--only", "all") == mooring()


@pytest.mark.parametrize(
    "image",
    [
        "registry.example.org/mooring:7",
        "mooring",
        "[2001:db8::1]:5000/a/b_c/mooring__x:v1.2-rc_1",
        f"localhost:5000/mooring:7@sha256:{'0af' * 20}0123",
        controller.IMAGE,
    ],
)
def test_the_command_takes_an_image(image: str) -> None:
    [deployment] = [each for each in decoded(mooring("--image", image)) if each["kind"] == "Deployment"]
    [only] = deployment["spec"]["template"]["spec"]["containers"]
    assert only["image"] == image


@pytest.mark.parametrize(
    "image",
    ["", "a b", "a\nb", "registry.example.org/Mooring", "mooring:", "mooring@sha256:1", "https://r.org/m", "-x"],
)
def test_what_is_no_image_is_refused(image: str) -> None:
    run = CliRunner().invoke(main, ["manifests", f"--image={image}"])
    assert run.exit_code == 2
    assert f"{image!r} is no image, allowed: REGISTRY/NAME:TAG" in run.stderr


def test_the_command_prints_what_a_controller_outside_of_the_cluster_needs() -> None:
    assert decoded(mooring("--only", "rbac")) == list(files.rbac())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [(["--only", "crds"], "'crds' is not one of"), (["--only", "rbac", "--image", "x"], "--only rbac makes none")],
)
def test_wrong_usage(arguments: list[str], told: str) -> None:
    run = CliRunner().invoke(main, ["manifests", *arguments])
    assert run.exit_code == 2
    assert told in run.stderr


def test_the_help_shows_how_it_is_used_and_the_image_that_is_run() -> None:
    shown = CliRunner().invoke(main, ["manifests", "--help"]).output
    assert "mooring manifests | kubectl apply -f -\n" in shown
    assert controller.IMAGE.partition(":")[0] in shown
