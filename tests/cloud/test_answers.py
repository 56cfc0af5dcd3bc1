"""What becomes of answers that are not what was hoped for."""

import asyncio
import json

import pytest

from mooring.cloud import errors
from mooring.cloud.api import Cloud
from mooring.cloud.kinds import PORTS
from mooring.model.cloud import PortId, ProjectId
from mooring.wire.http import NoAnswer, NotSent, Request, Response

PORT = PortId("5a5a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a5a")


class Always:
    """A transport that knows one answer."""

    def __init__(self, answer: Response | Exception) -> None:
        self._answer = answer
        self.sent: list[Request] = []

    async def send(self, request: Request) -> Response:
        self.sent.append(request)
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def said(status: int, kind: str = "", **headers: str) -> Response:
    body = json.dumps({"NeutronError": {"type": kind, "message": "because", "detail": ""}}).encode()
    return Response(status, headers, body)


def error_of(answer: Response | Exception, *, write: bool) -> errors.CloudError:
    cloud = Cloud(Always(answer))
    call = cloud.update(PORTS, PORT, {"name": "x"}, revision=1) if write else cloud.get(PORTS, PORT)
    with pytest.raises(errors.CloudError) as error:
        asyncio.run(call)
    return error.value


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (said(400, "InvalidInput"), errors.Refused),
        (said(401), errors.Unauthorized),
        (said(403, "PolicyNotAuthorized"), errors.Forbidden),
        (said(404, "PortNotFound"), errors.NotFound),
        (said(404, "ExternalGatewayForFloatingIPNotFound"), errors.Conflict),
        (said(405), errors.Refused),
        (said(409, "IpAddressInUse"), errors.Conflict),
        (said(409, "OverQuota"), errors.QuotaExceeded),
        (said(409, "IpAddressGenerationFailure"), errors.NoMoreAddresses),
        (said(412, "RevisionNumberConstraintFailed"), errors.RevisionMismatch),
        (said(422), errors.Refused),
        (said(429), errors.TooManyRequests),
        (said(500), errors.ServerFault),
        (said(503), errors.ServerFault),
        (Response(302), errors.BadAnswer),
        (Response(404, {}, b"<html>nothing here</html>"), errors.NotFound),
        (NotSent("refused"), errors.Unreachable),
    ],
    ids=str,
)
def test_each_answer_is_one_error(answer: Response | Exception, expected: type[errors.CloudError]) -> None:
    for write in (False, True):
        assert type(error_of(answer, write=write)) is expected


@pytest.mark.parametrize(
    ("answer", "of_read", "of_write"),
    [
        (NoAnswer("cut"), errors.Unreachable, errors.Unknown),
        (said(408), errors.ServerFault, errors.Unknown),
        (Response(502, {}, b""), errors.ServerFault, errors.Unknown),
        (Response(504, {}, b"<html>"), errors.ServerFault, errors.Unknown),
        (Response(200, {}, b""), errors.BadAnswer, errors.Unknown),
        (Response(200, {}, b'{"port": {"id": 5}}'), errors.BadAnswer, errors.Unknown),
        (Response(200, {}, b'{"port": {"id": "x"}}'), errors.BadAnswer, errors.Unknown),
        (Response(200, {}, b'{"network": {"id": "x"}}'), errors.BadAnswer, errors.Unknown),
        (Response(200, {}, b"{}"), errors.BadAnswer, errors.Unknown),
        (Response(200, {}, b"<html>"), errors.BadAnswer, errors.Unknown),
    ],
    ids=str,
)
def test_what_cannot_be_read_may_have_happened(
    answer: Response | Exception, of_read: type[errors.CloudError], of_write: type[errors.CloudError]
) -> None:
    assert type(error_of(answer, write=False)) is of_read
    assert type(error_of(answer, write=True)) is of_write


def test_the_text_names_the_call_the_object_and_the_reason() -> None:
    error = error_of(said(409, "IpAddressInUse"), write=True)
    assert str(error) == f"update ports (/v2.0/ports/{PORT}): 409 because"
    assert error.type == "IpAddressInUse"


def test_a_wish_for_patience_is_kept() -> None:
    error = error_of(said(429, **{"retry-after": "7"}), write=True)
    assert isinstance(error, errors.TooManyRequests)
    assert error.retry_after == 7


def test_quotas_and_extensions_must_be_there() -> None:
    cloud = Cloud(Always(Response(200, {}, b"{}")))
    with pytest.raises(errors.BadAnswer):
        asyncio.run(cloud.quota(ProjectId("p")))
    with pytest.raises(errors.BadAnswer):
        asyncio.run(cloud.extensions())


def test_what_a_call_is_called_has_no_names_of_objects() -> None:
    door = Always(said(404))
    cloud = Cloud(door)
    for call in (
        cloud.get(PORTS, PORT),
        cloud.create_many(PORTS, [{}]),
        cloud.update(PORTS, PORT, {}, revision=None),
        cloud.delete(PORTS, PORT, revision=3),
        cloud.tag(PORTS, PORT, "t"),
        cloud.untag(PORTS, PORT, "t"),
    ):
        with pytest.raises(errors.NotFound):
            asyncio.run(call)
    assert [request.what for request in door.sent] == [
        "get ports",
        "create many ports",
        "update ports",
        "delete ports",
        "tag ports",
        "untag ports",
    ]


def test_a_list_that_never_holds_still_is_given_up() -> None:
    class Gone(Always):
        async def send(self, request: Request) -> Response:
            if any(name == "marker" for name, _ in request.query):
                return said(404, "PortNotFound")
            return await super().send(request)

    page = (
        b'{"ports":[{"id":"a","network_id":"n","project_id":"p","revision_number":1}],"ports_links":[{"rel":"next"}]}'
    )
    door = Gone(Response(200, {}, page))
    with pytest.raises(errors.BadAnswer, match="faster"):
        asyncio.run(Cloud(door).list(PORTS))
    assert len(door.sent) == 5
