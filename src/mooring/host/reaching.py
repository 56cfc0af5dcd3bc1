"""Whether somebody is reached from here."""

import asyncio

from mooring.model.gateway import Backend

PATIENCE = 1.0


async def connects(target: Backend) -> bool:
    """Whether somebody takes a TCP connection there."""
    try:
        async with asyncio.timeout(PATIENCE):
            _, writer = await asyncio.open_connection(target.address, target.port)
    except OSError:  # a time-out is one too
        return False
    writer.transport.abort()  # it leaves nothing behind on either side
    return True
