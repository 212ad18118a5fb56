"""How the bot logs: one JSON object a line, events with ids, never message texts or tokens."""

import logging
import sys

import structlog

from bot.masking import hide_secrets


def configure(*, level: int = logging.INFO) -> None:
    """Sends our log and that of libraries to standard error as JSON lines."""
    shared: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        _without_secrets,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(level),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("bot").setLevel(level)
    logging.getLogger("handlers").setLevel(level)
    logging.getLogger("jobs").setLevel(level)


def _without_secrets(
    _logger: object, _method: str, event: structlog.types.EventDict
) -> structlog.types.EventDict:
    """The event without anything that looks like a secret, since errors quote other programs."""
    return {name: hide_secrets(each) if isinstance(each, str) else each
            for name, each in event.items()}  # fmt: skip
