"""A logger that says nothing, for processes whose words nobody reads."""

import logging

import structlog
from structlog.typing import FilteringBoundLogger

SILENT: FilteringBoundLogger = structlog.wrap_logger(
    structlog.PrintLogger(), wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL)
)
