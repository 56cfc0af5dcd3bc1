"""kopf: a handler for every event of Services, standalone, logs at WARNING so that it does not pay for lines.

kopf keeps no objects of its own unless asked to; so does this one.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import kopf  # type: ignore[import-not-found]

from bench.clients import cost

REST = 7.0
"""Until the workers of the first objects have ended (kopf lets them idle for five seconds)."""


async def events(kubeconfig: str, number: int) -> Mapping[str, float]:
    logging.getLogger().setLevel(logging.WARNING)
    handled = 0

    async def handle(**_: Any) -> None:  # noqa: ANN401 - kopf calls with whatever it has
        nonlocal handled
        handled += 1

    kopf.on.event("services")(handle)
    ready = asyncio.Event()
    operator = asyncio.create_task(kopf.operator(standalone=True, clusterwide=True, ready_flag=ready))
    await ready.wait()
    await cost.until(lambda: handled >= number)
    found = await cost.events(kubeconfig, lambda: handled, rest=REST)
    operator.cancel()
    await asyncio.wait([operator])
    return found


if __name__ == "__main__":
    cost.run(events=events)
