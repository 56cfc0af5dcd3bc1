"""Who we are to the API server, over real files, programs and sockets; and that no error ever tells a secret."""

import asyncio
import base64
import gc
import json
import os
import sys
import textwrap
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mooring.kube import credentials
from mooring.kube.credentials import BadCredentials
from mooring.wire.http import NotSent, Request, Stream
from tests.kube.tiny_server import Asked, Line, TinyServer, authority, serving, speaking, write_kubeconfig
from tests.patience import until

GET = Request("test", "GET", "/api", seconds=5.0)
POST = Request("test", "POST", "/api", body=b'{"a": 1}', seconds=5.0)
SECRET = "precious-secret"  # noqa: S105 - of a server that lives for one test
V1 = "client.authentication.k8s.io/v1"


class Door:
    """A server that lets in who has the one good token."""

    def __init__(self, good: str) -> None:
        self.good = good

    async def __call__(self, asked: Asked, line: Line) -> None:
        inside = asked.headers.get("authorization") == self.good
        await line.answer(200 if inside else 401, b'{"message": "Unauthorized"}')


def header(folder: Path, user: dict[str, Any]) -> str | None:
    """What a user of a kubeconfig sends first."""
    made = credentials.access(str(write_kubeconfig(folder, "http://localhost", user=user)))
    return asyncio.run(made.credentials.header(refused=None))


def refusal(folder: Path, user: dict[str, Any]) -> str:
    """Why nothing was sent for this user of a kubeconfig; the secret is not in it, nor in what led to it."""

    async def scene() -> str:
        async with serving(Door("")) as server, speaking(write_kubeconfig(folder, server.url, user=user)) as transport:
            with pytest.raises(NotSent) as caught:
                await transport.send(POST)
            with pytest.raises(NotSent):
                await transport.open(GET)
            assert server.asked == []
            cause: BaseException | None = caught.value
            while cause is not None:
                assert SECRET not in repr(cause)
                cause = cause.__cause__
            return str(caught.value)

    return asyncio.run(scene())


def program(folder: Path, body: str, *, version: str = V1, **more: object) -> dict[str, Any]:
    """A user whose tokens come from a Python program."""
    file = folder / "give-token"
    file.write_text(f"#!{sys.executable}\n{textwrap.dedent(body)}")
    file.chmod(0o700)
    return {"exec": {"apiVersion": version, "command": str(file), **more}}


def printing(folder: Path, token: str) -> dict[str, Any]:
    return program(folder, f"print({json.dumps(msgspec.json.encode({'status': {'token': token}}).decode())})")


def test_a_certificate_alone_sends_no_header(tmp_path: Path) -> None:
    assert header(tmp_path, {}) is None


def test_a_token_of_the_kubeconfig_is_sent(tmp_path: Path) -> None:
    assert header(tmp_path, {"token": "abc"}) == "Bearer abc"
    assert header(tmp_path, {"token": "abc\n"}) == "Bearer abc"


def test_name_and_password_are_sent(tmp_path: Path) -> None:
    sent = header(tmp_path, {"username": "me", "password": "pass:wörd"})
    assert sent is not None
    assert base64.b64decode(sent.removeprefix("Basic ")).decode() == "me:pass:wörd"


def test_a_token_file_is_found_beside_the_kubeconfig_and_comes_first(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-file\n")
    assert header(tmp_path, {"tokenFile": "token", "token": "old"}) == "Bearer from-file"
    assert header(tmp_path, {"tokenFile": str(tmp_path / "token")}) == "Bearer from-file"


def rotate(file: Path, token: str | None) -> None:
    """Put another token into a file, or take the file away."""
    if token is None:
        file.unlink()
    else:
        file.write_text(token)


async def opened(stream: Stream) -> int:
    await stream.close()
    return stream.status


def with_token_file(folder: Path, first: str, door: Door, scene: Any) -> TinyServer:  # noqa: ANN401 - any coroutine
    """Play a scene with a server and the file that our token is in."""
    file = folder / "token"
    file.write_text(first)

    async def run() -> TinyServer:
        async with serving(door) as server:
            kubeconfig = write_kubeconfig(folder, server.url, user={"tokenFile": str(file)})
            async with speaking(kubeconfig) as transport:
                await scene(transport, file)
                return server

    return asyncio.run(run())


def test_a_token_that_is_refused_is_read_again_and_the_request_repeated_once(tmp_path: Path) -> None:
    door = Door("Bearer one")

    async def scene(transport: Any, file: Path) -> None:  # noqa: ANN401 - as above
        assert (await transport.send(POST)).status == 200
        rotate(file, "two")
        assert (await transport.send(POST)).status == 200  # nobody has refused the old one yet
        door.good = "Bearer two"
        assert (await transport.send(POST)).status == 200
        assert (await transport.send(POST)).status == 200
        rotate(file, "three")
        door.good = "Bearer three"
        assert await opened(await transport.open(GET)) == 200

    server = with_token_file(tmp_path, "one", door, scene)
    assert [token.removeprefix("Bearer ") for token in server.tokens] == ["one"] * 3 + ["two"] * 3 + ["three"]
    assert {asked.body for asked in server.asked if asked.method == "POST"} == {POST.body}


def test_a_token_that_is_refused_and_has_not_changed_is_an_answer(tmp_path: Path) -> None:
    async def scene(transport: Any, _: Path) -> None:  # noqa: ANN401 - as above
        assert (await transport.send(POST)).status == 401
        assert await opened(await transport.open(GET)) == 401

    assert with_token_file(tmp_path, "old", Door("Bearer new"), scene).tokens == ["Bearer old"] * 2


def test_two_tokens_that_are_refused_are_an_answer(tmp_path: Path) -> None:
    async def scene(transport: Any, file: Path) -> None:  # noqa: ANN401 - as above
        assert (await transport.send(GET)).status == 401
        rotate(file, "two")
        assert (await transport.send(GET)).status == 401

    assert with_token_file(tmp_path, "one", Door("none"), scene).tokens == ["Bearer one", "Bearer one", "Bearer two"]


def test_a_token_file_that_is_away_for_a_moment_is_not_sent_and_then_read(tmp_path: Path) -> None:
    door = Door("Bearer one")

    async def scene(transport: Any, file: Path) -> None:  # noqa: ANN401 - as above
        assert (await transport.send(GET)).status == 200
        door.good = "Bearer two"
        rotate(file, None)
        with pytest.raises(NotSent, match=f"{file} cannot be read: No such file"):
            await transport.send(GET)
        rotate(file, "two")
        assert (await transport.send(GET)).status == 200

    with_token_file(tmp_path, "one", door, scene)


@pytest.mark.parametrize(
    "content", [b"", b" \n", b"precious-secret\nand another", b"precious-secret\xff", "precious-secret€".encode()]
)
def test_a_token_file_that_holds_none_is_told(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "token"
    file.write_bytes(content)
    assert refusal(tmp_path, {"tokenFile": str(file)}) == f"the token's file {file} holds no token"


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
def test_a_credential_program_gives_the_token(tmp_path: Path, version: str) -> None:
    body = """\
        import json, os, sys
        info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
        words = [info["apiVersion"].split("/")[1], info["kind"], info["spec"]["interactive"], *sys.argv[1:]]
        words += [os.environ["FLAVOUR"], "PATH" in os.environ]
        token = "-".join(str(word) for word in words)
        print(json.dumps({"kind": "ExecCredential", "apiVersion": info["apiVersion"], "status": {"token": token}}))
    """
    more = {"args": ["get", "token"], "env": [{"name": "FLAVOUR", "value": "sweet"}]}
    user = program(tmp_path, body, version=f"client.authentication.k8s.io/{version}", **more)
    assert header(tmp_path, user) == f"Bearer {version}-ExecCredential-False-get-token-sweet-True"


def test_a_credential_program_is_asked_again_when_its_token_is_refused(tmp_path: Path) -> None:
    count = tmp_path / "count"
    user = program(
        tmp_path,
        f"""\
        from pathlib import Path
        count = Path("{count}")
        count.write_text(str(int(count.read_text() if count.exists() else "0") + 1))
        print('{{"status": {{"token": "t%s"}}}}' % count.read_text())
        """,
    )

    async def scene() -> None:
        door = Door("Bearer t1")
        async with serving(door) as server, speaking(write_kubeconfig(tmp_path, server.url, user=user)) as transport:
            everybody = await asyncio.gather(*(transport.send(GET) for _ in range(8)))
            assert {answer.status for answer in everybody} == {200}
            assert count.read_text() == "1"
            door.good = "Bearer t2"
            everybody = await asyncio.gather(*(transport.send(GET) for _ in range(8)))
            assert {answer.status for answer in everybody} == {200}
            assert count.read_text() == "2"
            door.good = "Bearer t99"
            assert (await transport.send(GET)).status == 401

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (f"print('{SECRET}'); raise SystemExit(3)", "failed with exit code 3"),
        (f"""print('{{"status": {{"token": "{SECRET}"}}}}'); raise SystemExit(1)""", "failed with exit code 1"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "failed with exit code -9"),
        ("", "gave no token"),
        (f"print('{SECRET}')", "gave no token"),
        ("print('[]')", "gave no token"),
        (f"""print('{{"status": {{"clientKeyData": "{SECRET}"}}}}')""", "gave no token"),
        ("""print('{"status": {"token": 7}}')""", "gave no token"),
        ("""print('{"status": {"token": ""}}')""", "holds no token"),
        (f"""print('{{"status": {{"token": "{SECRET}\\\\nmore"}}}}')""", "holds no token"),
        ("""import sys; sys.stdout.buffer.write(b'{"status": {"token": "\\xff"}}')""", "gave no token"),
        ("""print(input('password: '))""", "failed with exit code 1"),
    ],
)
def test_a_credential_program_that_gives_no_token_is_told(tmp_path: Path, body: str, why: str) -> None:
    user = program(tmp_path, body)
    assert refusal(tmp_path, user) == f"credential program {tmp_path / 'give-token'} {why}"


def test_a_credential_program_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    user = program(tmp_path, "", env=[{"name": "PASSWORD", "value": SECRET}], args=[SECRET])
    told = f"credential program {tmp_path / 'give-token'} cannot be started"
    (tmp_path / "give-token").chmod(0o600)
    assert refusal(tmp_path, user) == f"{told}: Permission denied"
    (tmp_path / "give-token").unlink()
    assert refusal(tmp_path, user) == f"{told}: No such file or directory"


def test_a_credential_program_of_a_version_to_come_is_told(tmp_path: Path) -> None:
    user = program(tmp_path, "", version="client.authentication.k8s.io/v7")
    assert "version client.authentication.k8s.io/v7 is not known" in refusal(tmp_path, user)


def test_a_credential_program_that_nobody_waits_for_any_more_is_ended(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    body = f"import os, pathlib, signal; pathlib.Path('{file}').write_text(str(os.getpid()) + '.'); signal.pause()"
    made = credentials.access(str(write_kubeconfig(tmp_path, "http://localhost", user=program(tmp_path, body))))

    async def scene() -> None:
        asking = asyncio.create_task(made.credentials.header(refused=None))
        await until(lambda: file.exists() and file.read_text().endswith("."))
        asking.cancel()
        await asyncio.wait([asking])
        assert asking.cancelled()
        await until(lambda: not Path(f"/proc/{file.read_text()[:-1]}").exists())

    asyncio.run(scene())


def bad(kubeconfig: Path, context: str | None = None) -> str:
    """Why a kubeconfig cannot be used: the text names the file and holds no secret."""
    with pytest.raises(BadCredentials) as caught:
        credentials.access(str(kubeconfig), context)
    text = str(caught.value)
    assert str(kubeconfig) in text
    assert SECRET not in text
    return text


def test_a_kubeconfig_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert bad(tmp_path / "none").endswith("not found")
    assert bad(tmp_path).endswith("not found")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (f"users: [{SECRET}\nclusters: {{", "it is not YAML, line 2"),
        (f"users:\n- token: '{SECRET}\n", "it is not YAML, line 3"),
        (f"token: *{SECRET}\n", "it is not YAML, line 1"),
        ("\x00", "it is not YAML"),
        ("", "it is no kubeconfig"),
        (SECRET, "it is no kubeconfig"),
        ("[1, 2]", "it is no kubeconfig"),
        ("{}", "there is no 'clusters'"),
        ("{clusters: [], contexts: []}", "No current context"),
        ("{clusters: [], contexts: [], current-context: a}", "Context 'a' not found"),
        ("{clusters: [], contexts: [{name: a, context: {cluster: c}}], current-context: a}", "there is no 'c'"),
        ("{clusters: 7, contexts: []}", "it is no kubeconfig"),
        (f"{{clusters: [], contexts: [], users: [{{name: u, user: {{token: [{SECRET}]}}}}]}}", "Expected `str"),
    ],
)
def test_a_kubeconfig_that_makes_no_sense_is_told(tmp_path: Path, content: str, why: str) -> None:
    file = tmp_path / "broken"
    file.write_text(content)
    assert why in bad(file)


def test_bytes_that_are_no_text_are_no_kubeconfig(tmp_path: Path) -> None:
    file = tmp_path / "broken"
    file.write_bytes(b"\xff\xfe\xfd")
    bad(file)


def test_a_context_that_is_unknown_is_told(tmp_path: Path) -> None:
    kubeconfig = write_kubeconfig(tmp_path, "https://localhost", user={"token": SECRET})
    assert "Context 'other' not found" in bad(kubeconfig, "other")
    assert credentials.access(str(kubeconfig), "tiny").server == "https://localhost"


@pytest.mark.parametrize("server", ["localhost:6443", "ftp://localhost", "https://", ""])
def test_a_server_that_is_no_address_is_told(tmp_path: Path, server: str) -> None:
    assert "is no address with http:// or https://" in bad(write_kubeconfig(tmp_path, server))


def test_a_token_of_two_lines_is_told(tmp_path: Path) -> None:
    text = bad(write_kubeconfig(tmp_path, "https://localhost", user={"token": f"{SECRET}\nmore"}))
    assert text.endswith("holds no token")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # lightkube leaves a file half-made
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("certificate-authority", "/nowhere/ca.crt"),
        ("certificate-authority", __file__),
        ("certificate-authority-data", base64.b64encode(SECRET.encode()).decode()),
        ("certificate-authority-data", "no base64"),
    ],
)
def test_an_authority_that_cannot_be_read_is_told(tmp_path: Path, field: str, value: str) -> None:
    kubeconfig = write_kubeconfig(tmp_path, "https://localhost")
    content = json.loads(kubeconfig.read_text())
    content["clusters"][0]["cluster"][field] = value
    kubeconfig.write_text(json.dumps(content))
    assert "a certificate or key that it names cannot be read" in bad(kubeconfig)
    gc.collect()


def test_a_client_certificate_without_its_key_is_told(tmp_path: Path) -> None:
    ours = authority(tmp_path / "ours")
    pair, other = ours.issue("client", "mooring"), ours.issue("other", "other")
    for key in (str(other.key), str(tmp_path / "none"), str(tmp_path)):
        user = {"client-certificate": str(pair.certificate), "client-key": key}
        kubeconfig = write_kubeconfig(tmp_path, "https://localhost", user=user, authority=ours.certificate)
        assert "a certificate or key that it names cannot be read" in bad(kubeconfig)


def test_certificates_may_stand_in_the_kubeconfig(tmp_path: Path) -> None:
    ours = authority(tmp_path / "ours")
    pair = ours.issue("client", "mooring")
    user = {
        "client-certificate-data": base64.b64encode(pair.certificate.read_bytes()).decode(),
        "client-key-data": base64.b64encode(pair.key.read_bytes()).decode(),
    }
    made = credentials.access(str(write_kubeconfig(tmp_path, "https://localhost", user=user)))
    assert asyncio.run(made.credentials.header(refused=None)) is None


def test_the_environment_says_which_kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kubeconfig = write_kubeconfig(tmp_path, "https://there")
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    assert credentials.access().server == "https://there"
    kubeconfig.write_text(f"[{SECRET}")
    with pytest.raises(BadCredentials, match=f"{os.environ['KUBECONFIG']} cannot be used: it is not YAML"):
        credentials.access()
