"""Servers inside a process: they begin and end with a block, and leave signals alone."""

import asyncio
import re
import signal
from pathlib import Path

import aiohttp
import prometheus_client
import pytest

from mooring.wire import serving
from mooring.wire.serving import CannotListen, CannotServe, monitoring


def registry() -> prometheus_client.CollectorRegistry:
    made = prometheus_client.CollectorRegistry()
    prometheus_client.Counter("mooring_things", "Things.", registry=made).inc()
    return made


async def get(port: int, page: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/{page}") as response:
        return response.status, await response.text()


@pytest.mark.parametrize(("why_not", "status", "text"), [(None, 200, "ok\n"), ("not yet", 503, "not yet\n")])
def test_what_every_process_tells(why_not: str | None, status: int, text: str) -> None:
    async def scene() -> None:
        async with serving.serving(monitoring(registry(), lambda: why_not), "127.0.0.1:0") as port:
            assert await get(port, "healthz") == (200, "ok\n")
            assert await get(port, "readyz") == (status, text)
            assert "mooring_things_total 1.0" in (await get(port, "metrics"))[1]

    asyncio.run(scene())


def test_a_server_ends_with_its_block_and_leaves_signals_alone() -> None:
    before = signal.getsignal(signal.SIGTERM)

    async def scene() -> None:
        async with serving.serving(monitoring(registry(), lambda: None), "127.0.0.1:0") as port:
            assert signal.getsignal(signal.SIGTERM) is before
        with pytest.raises(aiohttp.ClientConnectorError):
            await get(port, "healthz")
        async with serving.serving(monitoring(registry(), lambda: None), f"127.0.0.1:{port}") as again:
            assert again == port

    asyncio.run(scene())


@pytest.mark.parametrize("listen", ["192.0.2.1:80", "[2001:db8::1]:80", "127.0.0.1:99999"])
def test_where_nobody_can_listen_is_said(listen: str) -> None:
    async def scene() -> None:
        async with serving.serving(monitoring(registry(), lambda: None), listen):
            pass

    with pytest.raises(CannotListen, match=f"^{re.escape(listen)} cannot be listened at"):
        asyncio.run(scene())


@pytest.mark.parametrize("lacking", [("ca.crt",), ("tls.crt",), ("tls.key",), ("ca.crt", "tls.key")])
def test_certificates_that_are_not_there_are_named_and_no_others(tmp_path: Path, lacking: tuple[str, ...]) -> None:
    files = [tmp_path / each for each in ("ca.crt", "tls.crt", "tls.key")]
    for each in files:
        if each.name not in lacking:
            each.touch()
    told = ", ".join(f"{tmp_path / each}: No such file or directory" for each in lacking)
    with pytest.raises(CannotServe, match=f"^the certificates cannot be used: {re.escape(told)}$"):
        serving.server_tls(*map(str, files))
