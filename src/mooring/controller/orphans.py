"""Letting orphans go, from anywhere: the tag by which the controller that leads deletes them later, and nothing else.

Between what a person saw and what that person says to it, minutes may pass. So it is looked at again, and only what is
an orphan still, and was agreed on, is tagged. Who needs it after all is given it back by the controller.
"""

from typing import Any

from mooring.cloud.api import Cloud
from mooring.cloud.errors import CloudError
from mooring.cloud.kinds import FLOATING_IPS, PORTS, Kind
from mooring.controller import survey
from mooring.controller.survey import CannotLook, Sources
from mooring.core import orphans
from mooring.core.addresses import Ours
from mooring.model import names
from mooring.model.cloud import Port
from mooring.model.config import Config
from mooring.model.reports import TaggedReport


async def let_go(config: Config, agreed: frozenset[str]) -> tuple[TaggedReport, ...]:
    async with survey.opened(config) as sources:
        return await let_go_by(sources, agreed)


async def let_go_by(sources: Sources, agreed: frozenset[str]) -> tuple[TaggedReport, ...]:
    """Tag what was agreed on, by ids. What cannot be tagged does not keep others from it."""
    found = await survey.survey(sources)
    if why := orphans.why_not(found):
        raise CannotLook(f"Nothing was tagged, because not everything could be looked at again: {why}")
    return tuple([await _tag(sources.cloud, each) for each in orphans.to_tag(found) if each.id in agreed])


async def _tag(cloud: Cloud, what: Ours) -> TaggedReport:
    kind: Kind[Any, Any] = PORTS if isinstance(what, Port) else FLOATING_IPS
    try:
        await cloud.tag(kind, what.id, names.DELETING_TAG)
    except CloudError as error:
        return orphans.tagged(what, why=str(error))
    return orphans.tagged(what)
