"""A configuration that changes while a controller runs: other gateways, another place, new certificates.

It is read anew on SIGHUP, and as soon as its file, or one of the certificates, has changed. What is wrong is refused as
a whole: what was in force stays so, and is said until a file comes that is right.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import prometheus_client
from msgspec import Struct
from structlog.typing import FilteringBoundLogger

from mooring.controller.wiring import AgentWays
from mooring.model.config import Config
from mooring.model.errors import StartRefused

LOOK_EVERY = 5.0
FOLLOWED = ("gateways", "addresses", "tls")
"""The sections that are followed, beside `controller.reconcile`; all else counts from the next start."""


class Source(Struct, frozen=True):
    """Where a configuration comes from. `load` raises StartRefused with what is wrong."""

    file: Path
    load: Callable[[], Config]

    def written(self) -> int:
        """When it was written last; 0 while there is none."""
        with contextlib.suppress(OSError):
            return self.file.stat().st_mtime_ns
        return 0


class Reloading:
    """`use` finds what a configuration names, and goes on with it; what cannot be asked for is asked for again."""

    def __init__(  # noqa: PLR0913 - what is in force, where it comes from, and who goes on with it
        self,
        config: Config,
        source: Source,
        agents: AgentWays,
        use: Callable[[Config], Awaitable[None]],
        *,
        registry: prometheus_client.CollectorRegistry,
        log: FilteringBoundLogger,
    ) -> None:
        self._config = config
        self._source = source
        self._agents = agents
        self._use = use
        self._log = log
        self._refused = refused(registry)
        self._written = source.written()
        self.asked = asyncio.Event()

    async def run(self, *, every: float = LOOK_EVERY) -> None:
        """Until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.asked.wait(), every)
            await self.look()

    async def look(self) -> None:
        """Read it anew, if somebody asked for it or it was written since."""
        written = self._source.written()
        wanted = self.asked.is_set() or written != self._written
        self.asked.clear()
        self._written = written
        try:
            config = self._source.load() if wanted else self._config
            if await self._agents.renew(config.tls):
                self._log.info("certificates renewed")
            if wanted:
                await self._follow(config)
        except StartRefused as error:
            self._refused.set(1)
            self._log.error("configuration refused; what was in force stays", why=str(error))

    async def _follow(self, config: Config) -> None:
        kept = {each: getattr(self._config, each) for each in config.__struct_fields__ if each not in FOLLOWED}
        kept["controller"] = msgspec.structs.replace(kept["controller"], reconcile=config.controller.reconcile)
        later = [each for each, value in kept.items() if getattr(config, each) != value]
        if later:
            self._log.warning("these sections count from the next start", sections=later)
        followed = msgspec.structs.replace(config, **kept)
        await self._use(followed)
        self._refused.set(0)
        self._config = followed
        told = {"gateways": sorted(config.gateways), "reconcile": config.controller.reconcile}
        self._log.info("configuration read anew", **told)


def refused(registry: prometheus_client.CollectorRegistry) -> prometheus_client.Gauge:
    return prometheus_client.Gauge(
        "mooring_config_refused",
        "1 while the configuration's file, or a certificate, is wrong and the one before it is in force.",
        registry=registry,
    )
