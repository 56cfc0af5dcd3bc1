"""Saying, from anywhere, which gateways are to give way: an annotation of the Lease that the leader follows."""

from mooring.controller import wiring
from mooring.controller.controller import LEASE
from mooring.core import roster
from mooring.kube.api import Api
from mooring.kube.errors import Conflict, KubeError, NotFound
from mooring.kube.kinds import LEASES
from mooring.model import names
from mooring.model.config import Config
from mooring.model.errors import StartRefused
from mooring.wire.calls import CountedCalls
from mooring.wire.patient import PatientTransport

TRIES = 10
"""Who leads writes on the same Lease, every few seconds."""
PATIENCE = 10.0


class CannotWrite(Exception):
    """The text says why and what to do."""


async def write(config: Config, name: str, *, drained: bool) -> None:
    try:
        ways = wiring.ways(config, None)
    except StartRefused as error:
        raise CannotWrite(str(error)) from error
    try:
        await write_to(Api(PatientTransport(ways.kube, CountedCalls(), patience=PATIENCE)), name, drained=drained)
    finally:
        await ways.close()


async def write_to(api: Api, name: str, *, drained: bool) -> None:
    """Let one name more or less stand there; the others stay."""
    try:
        for _ in range(TRIES):
            lease = await api.get(LEASES, LEASE)
            before = roster.load_names(lease.metadata.annotations.get(names.DRAINED, ""))
            wanted = before | {name} if drained else before - {name}
            if wanted == before:
                return
            note = {"metadata": {"annotations": {names.DRAINED: roster.dump_names(wanted) or None}}}
            try:
                await api.patch(LEASES, LEASE, note, version=lease.metadata.resource_version)
            except Conflict:
                continue
            return
    except NotFound as error:
        raise CannotWrite(
            f"There is no Lease {LEASE}, so no controller has ever led here. Start `mooring controller` first."
        ) from error
    except KubeError as error:
        raise CannotWrite(
            f"The Lease {LEASE} cannot be changed: {error}. It takes a user who may get and patch it."
        ) from error
    raise CannotWrite(f"The Lease {LEASE} was changed by others {TRIES} times meanwhile. Try it again.")
