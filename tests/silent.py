"""Loggers that say nothing, for processes whose words nobody reads."""

import logging
import sys
from collections.abc import Callable

import structlog
from structlog.typing import EventDict, FilteringBoundLogger

SILENT: FilteringBoundLogger = structlog.wrap_logger(
    structlog.PrintLogger(), wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL)
)


def hearing(event: str, told: Callable[[str], None]) -> FilteringBoundLogger:
    """Says nothing either; `told` hears of one event."""

    def hear(_logger: object, _method: str, found: EventDict) -> EventDict:
        if found["event"] == event:
            told(str({**found, "why": sys.exc_info()[1]}))
        raise structlog.DropEvent

    logger: FilteringBoundLogger = structlog.wrap_logger(
        structlog.PrintLogger(),
        processors=[hear],
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR),
    )
    return logger
