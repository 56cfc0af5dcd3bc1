"""Kinds that a definition describes: pruned, filled in and checked by its schema."""

from tests.contract.kube.bodies import CONTRACT_KINDS, DEFINITIONS, definition, plain, port
from tests.contract.kube.world import GROUP, Answer, World, without


async def _port(at: World, **spec: object) -> Answer:
    return await at.post(at.ports, port(at.unique("a"), **spec))


async def _done(at: World) -> None:
    await at.delete(f"{at.ports}/{at.unique('a')}")


async def defaults_are_filled_in(at: World) -> None:
    answer = await _port(at, inner={}, list=[{"key": "a"}])
    assert answer.body["spec"] == {
        "node": "n1",
        "mode": "a",
        "filled": {"size": 1},
        "inner": {"size": 1},
        "list": [{"key": "a", "value": 3}],
    }
    await _done(at)


async def what_the_schema_does_not_know_is_pruned(at: World) -> None:
    body = port(at.unique("a"), nonsense=1, list=[{"key": "a", "nonsense": 1}], anything={"x": {"y": [1]}})
    answer = await at.made(at.ports, body | {"nonsense": 1})
    assert "nonsense" not in answer.body
    assert "nonsense" not in answer.body["spec"]
    assert answer.body["spec"]["list"] == [{"key": "a", "value": 3}]
    assert answer.body["spec"]["anything"] == {"x": {"y": [1]}}
    await _done(at)


async def null_is_kept_only_where_it_may_stand(at: World) -> None:
    answer = await _port(at, maybe=None, count=None, mode=None, filled=None)
    assert answer.body["spec"] == {"node": "n1", "mode": "a", "maybe": None, "filled": {"size": 1}}
    await _done(at)


async def values_keep_the_schema(at: World) -> None:
    wrong: tuple[tuple[str, object, str], ...] = (
        ("node", None, "spec.node"),
        ("node", "", "spec.node"),
        ("node", "x" * 11, "spec.node"),
        ("node", "A", "spec.node"),
        ("node", 1, "spec.node"),
        ("mode", "c", "spec.mode"),
        ("count", 0, "spec.count"),
        ("count", 11, "spec.count"),
        ("count", "1", "spec.count"),
        ("count", True, "spec.count"),
        ("share", 0, "spec.share"),
        ("share", "a", "spec.share"),
        ("on", "true", "spec.on"),
        ("maybe", 1, "spec.maybe"),
        ("anything", [], "spec.anything"),
        ("target", 1.5, "spec.target"),
        ("texts", {"a": 1}, "spec.texts.a"),
        ("list", [{"value": 1}], "spec.list[0].key"),
        ("list", [], "spec.list"),
        ("list", [{"key": "a"}] * 3, "spec.list"),
        ("list", {}, "spec.list"),
        ("when", "nonsense", "spec.when"),
    )
    for field, value, blamed in wrong:
        answer = await _port(at, **{field: value})
        assert (answer.status, answer.reason, answer.fields) == (422, "Invalid", {blamed}), (field, value)
    right = {"count": 2.0, "share": 0.5, "on": False, "target": "80", "texts": {}, "when": "2026-01-01T00:00:00Z"}
    assert (await _port(at, **right)).status == 201
    await _done(at)


async def what_is_required_stays_required(at: World) -> None:
    answer = await at.post(at.ports, without(port(at.unique("a")), "spec"))
    assert (answer.status, answer.fields) == (422, {"spec"})
    await _port(at)
    path = f"{at.ports}/{at.unique('a')}"
    assert (await at.patch(path, {"spec": {"node": None}})).fields == {"spec.node"}
    assert (await at.patch(path, {"spec": None})).fields == {"spec"}
    assert (await at.patch(path, {"spec": {"mode": None}})).body["spec"]["mode"] == "a"
    await _done(at)


async def the_head_must_fit(at: World) -> None:
    body = port(at.unique("a"))
    assert (await at.post(at.ports, without(body, "kind"))).status == 400
    assert (await at.post(at.ports, body | {"apiVersion": f"{GROUP}/v2"})).status == 400
    answer = await at.post(at.ports, body | {"kind": "Other"})
    assert (answer.status, answer.fields) == (422, {"kind"})


async def generations_count_the_spec(at: World) -> None:
    created = await at.made(at.ports, port(at.unique("a")) | {"metadata": {"name": at.unique("a"), "generation": 9}})
    path = f"{at.ports}/{at.unique('a')}"
    changes = ({"spec": {"count": 2}}, {"spec": {"count": 2}}, {"metadata": {"labels": {"a": "b"}}}, {"spec": {"x": 1}})
    counted = [created.meta["generation"]]
    counted += [(await at.patch(path, change)).meta["generation"] for change in changes]
    assert counted == [1, 2, 2, 2, 2]
    await _done(at)


async def cluster_scoped_objects_have_no_namespace(at: World) -> None:
    answer = await at.made(at.ports, port("x") | {"metadata": {"name": at.unique("a"), "namespace": "default"}})
    assert "namespace" not in answer.meta
    assert (await at.get(f"/apis/{GROUP}/v1/namespaces/default/contractports/{at.unique('a')}")).status == 404
    await _done(at)


async def items_of_a_list_say_their_kind(at: World) -> None:
    await at.made(at.plains, plain("a"))
    answer = await at.get(at.plains)
    assert answer.body["kind"] == "ContractPlainList"
    assert [(item["kind"], item["apiVersion"]) for item in answer.body["items"]] == [("ContractPlain", f"{GROUP}/v1")]


async def a_definition_tells_that_it_is_established(at: World) -> None:
    answer = await at.get(f"{DEFINITIONS}/{CONTRACT_KINDS[0]['metadata']['name']}")
    conditions = {each["type"]: each["status"] for each in answer.body["status"]["conditions"]}
    assert (conditions["Established"], conditions["NamesAccepted"]) == ("True", "True")
    names = answer.body["spec"]["names"]
    assert (names["singular"], names["listKind"]) == ("contractport", "ContractPortList")
    assert answer.body["status"]["acceptedNames"] == names
    assert answer.body["status"]["storedVersions"] == ["v1"]


async def a_definition_has_the_name_of_its_kind(at: World) -> None:
    body = definition("others", "Other", scope="Cluster", status=True)
    answer = await at.post(DEFINITIONS, body | {"metadata": {"name": f"wrong.{GROUP}"}})
    assert answer.status == 422
    assert "metadata.name" in answer.fields
    answer = await at.post(DEFINITIONS, body | {"spec": body["spec"] | {"scope": "Nonsense"}})
    assert answer.status == 422
    assert "spec.scope" in answer.fields
