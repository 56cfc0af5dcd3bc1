"""What always holds for Neutron's twin, whatever is asked of it and in whatever order."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.cloud.api import Cloud
from mooring.cloud.kinds import PORTS
from mooring.cloud.twin.neutron import ADMIN, NeutronTwin, counted_ids
from mooring.cloud.twin.state import Caller
from mooring.model.cloud import PortId, ProjectId
from mooring.wire.http import Request, Response

MEMBER = Caller(ProjectId("a" * 32))
LIMITS = {"port": 6, "floatingip": 3}
ADDRESSES = [f"10.9.0.{last}" for last in range(8)]
KINDS = ("networks", "subnets", "ports", "routers", "floatingips", "security-groups", "security-group-rules")

DEEDS = (
    *("port", "bare", "wish", "two", "bulk", "rename", "move", "pairs"),
    *("tag", "untag", "delete", "floating", "join", "part", "bump"),
)
POOL = {f"10.9.0.{last}" for last in range(2, 7)}

Step = tuple[str, int, int, int]

steps = st.lists(
    st.tuples(
        st.sampled_from(DEEDS),
        st.integers(0, 7),
        st.integers(0, 7),
        st.integers(-1, 3),
    ),
    max_size=40,
)


class Played:
    """A twin with a small network behind a router, and everything that it ever answered."""

    def __init__(self) -> None:
        self.twin = NeutronTwin(counted_ids(), lambda: 1_800_000_000.0, limits=LIMITS, address_pairs=2)
        self.answers: list[Response] = []
        self.outside = self.made("networks", {"network": {"router:external": True}}, who=ADMIN)
        self._subnet(self.outside, "203.0.113.0/29", who=ADMIN)
        self.network = self.made("networks", {"network": {}})
        self.subnet = self._subnet(self.network, "10.9.0.0/29")
        self.router = self.made("routers", {"router": {"external_gateway_info": {"network_id": self.outside}}})
        self.ask("PUT", f"routers/{self.router}/add_router_interface", {"subnet_id": self.subnet})

    def _subnet(self, network: str, cidr: str, *, who: Caller = MEMBER) -> str:
        return self.made("subnets", {"subnet": {"network_id": network, "ip_version": 4, "cidr": cidr}}, who=who)

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,  # noqa: ANN401 - whatever can be JSON
        *,
        who: Caller = MEMBER,
        revision: int = -1,
    ) -> Response:
        encoded = b"" if body is None else json.dumps(body).encode()
        headers = {} if revision < 0 else {"if-match": f"revision_number={revision}"}
        response = self.twin.handle(Request("x", method, f"/v2.0/{path}", headers=headers, body=encoded), who)
        self.answers.append(response)
        return response

    def made(self, collection: str, body: Any, *, who: Caller = MEMBER) -> str:  # noqa: ANN401 - as above
        [made] = json.loads(self.ask("POST", collection, body, who=who).body).values()
        return str(made["id"])

    def all(self, collection: str) -> list[dict[str, Any]]:
        request = Request("list", "GET", f"/v2.0/{collection}")
        [found, *_] = json.loads(self.twin.handle(request, ADMIN).body).values()
        return list(found)

    def everything(self) -> dict[str, list[dict[str, Any]]]:
        return {collection: self.all(collection) for collection in KINDS}

    def play(self, step: Step) -> Response | None:
        what, a, b, revision = step
        ports = [port["id"] for port in self.all("ports") if port["project_id"] == MEMBER.project]
        floating = [each["id"] for each in self.all("floatingips")]
        port = ports[a % len(ports)]
        path = f"ports/{port}"
        pairs = [{"ip_address": ADDRESSES[i]} for i in range(b % 4)]
        base = {"network_id": self.network}
        wish = [{"ip_address": ADDRESSES[b]}]
        another = [{"ip_address": ADDRESSES[a]}]
        some = floating[b % len(floating)] if floating else "none"
        deeds: dict[str, Callable[[], Response | None]] = {
            "port": lambda: self.ask("POST", "ports", {"port": base}),
            "wish": lambda: self.ask("POST", "ports", {"port": base | {"fixed_ips": wish}}),
            "bare": lambda: self.ask("POST", "ports", {"port": base | {"fixed_ips": []}}),
            "two": lambda: self.ask("POST", "ports", {"port": base | {"fixed_ips": [*wish, *another]}}),
            "bulk": lambda: self.ask("POST", "ports", {"ports": [base, base | {"fixed_ips": wish}]}),
            "rename": lambda: self.ask("PUT", path, {"port": {"name": f"n{b}"}}, revision=revision),
            "move": lambda: self.ask("PUT", path, {"port": {"fixed_ips": wish}}, revision=revision),
            "pairs": lambda: self.ask("PUT", path, {"port": {"allowed_address_pairs": pairs}}, revision=revision),
            "tag": lambda: self.ask("PUT", f"{path}/tags/t{b}"),
            "untag": lambda: self.ask("DELETE", f"{path}/tags/t{b}"),
            "delete": lambda: self.ask("DELETE", path, revision=revision),
            "floating": lambda: self.ask("POST", "floatingips", {"floatingip": {"floating_network_id": self.outside}}),
            "join": lambda: self.ask("PUT", f"floatingips/{some}", {"floatingip": {"port_id": port}}),
            "part": lambda: self.ask("DELETE", f"floatingips/{some}"),
            "bump": lambda: self.twin.bump(PortId(port)),
        }
        return deeds[what]()


def addresses(played: Played) -> list[tuple[str, str]]:
    ports = played.all("ports")
    return [(fixed["subnet_id"], fixed["ip_address"]) for port in ports for fixed in port.get("fixed_ips", [])]


@given(steps)
@settings(max_examples=100, deadline=None)
def test_no_address_is_given_twice_and_no_quota_passed(plan: list[Step]) -> None:
    played = Played()
    for step in plan:
        played.play(step)
        taken = addresses(played)
        assert len(set(taken)) == len(taken)
        quota = json.loads(played.ask("GET", f"quotas/{MEMBER.project}/details.json").body)["quota"]
        mine = [port for port in played.all("ports") if port["project_id"] == MEMBER.project]
        assert quota["port"]["used"] == len(mine) <= LIMITS["port"]
        assert quota["floatingip"]["used"] == len(played.all("floatingips")) <= LIMITS["floatingip"]


@given(steps)
@settings(max_examples=100, deadline=None)
def test_what_changes_has_a_greater_revision_and_what_was_refused_changes_nothing(plan: list[Step]) -> None:
    played = Played()
    for step in plan:
        before = played.everything()
        answer = played.play(step)
        after = played.everything()
        if answer is not None and answer.status >= 400:
            assert after == before
        for collection in KINDS:
            earlier = {each["id"]: each for each in before[collection]}
            for each in after[collection]:
                was = earlier.get(each["id"], each)
                assert each == was or each["revision_number"] > was["revision_number"]


@given(steps)
@settings(max_examples=100, deadline=None)
def test_an_address_that_is_refused_is_taken_and_one_that_is_given_was_the_lowest(plan: list[Step]) -> None:
    played = Played()
    for step in plan:
        before = {address for _, address in addresses(played)}
        answer = played.play(step)
        if answer is not None and b"IpAddressAlreadyAllocated" in answer.body and step[0] != "bulk":
            wished = {ADDRESSES[step[2]], ADDRESSES[step[1] if step[0] == "two" else step[2]]}
            assert wished & before
        if answer is not None and b"IpAddressGenerationFailure" in answer.body and step[0] == "port":
            assert before >= POOL
        if answer is not None and answer.status == 201 and step[0] == "port":
            [fixed] = json.loads(answer.body)["port"]["fixed_ips"]
            assert fixed["ip_address"] == min(POOL - before)


@given(steps)
@settings(max_examples=20, deadline=None)
def test_the_same_requests_get_the_same_bytes(plan: list[Step]) -> None:
    one, two = Played(), Played()
    for step in plan:
        one.play(step)
        two.play(step)
    assert one.answers == two.answers
    assert one.everything() == two.everything()


def test_a_bump_spoils_a_decision_that_was_made_before_it() -> None:
    played = Played()
    port = played.made("ports", {"port": {"network_id": played.network}})
    played.twin.bump(PortId(port))
    assert played.ask("DELETE", f"ports/{port}", revision=1).status == 412
    assert played.ask("DELETE", f"ports/{port}", revision=2).status == 204


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "nothing", 404),
        ("GET", "extensions/x", 404),
        ("GET", "ports/x/y", 404),
        ("PATCH", "ports/x", 405),
        ("DELETE", "ports", 404),
        ("POST", "ports", 400),
        ("PUT", "ports/x", 400),
        ("GET", "quotas", 403),
    ],
)
def test_what_leads_nowhere_is_told(method: str, path: str, status: int) -> None:
    assert Played().ask(method, path).status == status


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'{"port": []}',
        b'{"ports": 5}',
        b'{"ports": [5]}',
        b'{"port": {"network_id": null}}',
        b'{"port": {"network_id": "%(network)s", "allowed_address_pairs": [5]}}',
        b'{"port": {"network_id": "%(network)s", "allowed_address_pairs": 5}}',
        b'{"port": {"network_id": "%(network)s", "security_groups": 5}}',
        b'{"port": {"network_id": "%(network)s", "fixed_ips": [{"subnet_id": 5}]}}',
        b'{"port": {"network_id": "%(network)s", "tags": 5}}',
    ],
    ids=str,
)
def test_a_body_of_any_form_is_answered(body: bytes) -> None:
    played = Played()
    filled = body.replace(b"%(network)s", played.network.encode())
    response = played.twin.handle(Request("x", "POST", "/v2.0/ports", body=filled), MEMBER)
    assert response.status == 400
    for path in (f"routers/{played.router}/add_router_interface", f"routers/{played.router}/tags"):
        assert played.twin.handle(Request("x", "PUT", f"/v2.0/{path}", body=filled), MEMBER).status == 400


def test_its_transport_is_one_for_the_typed_interface() -> None:
    played = Played()
    ports = asyncio.run(Cloud(played.twin.transport(MEMBER)).list(PORTS, network_id=played.network))
    assert [port.device_owner for port in ports] == ["network:router_interface"]
    everybodys = asyncio.run(Cloud(played.twin.as_admin).list(PORTS))
    assert {port.device_owner for port in everybodys} == {"network:router_interface", "network:router_gateway"}
