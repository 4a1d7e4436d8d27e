"""Log files: what happened during a run, and when; no key, prompt or picture."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import click

from facevalue.errors import FaceValueError
from facevalue.printable import printable


@contextmanager
def log_to_file(path: Path | None) -> Iterator[None]:
    """Append to a file what the package says of its work; nowhere if it is None."""
    if path is None:
        yield
        return
    try:
        handler = logging.FileHandler(path, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise click.BadParameter(f"{path} cannot be written: {error.strerror}.", param_hint="--log") from None
    handler.setFormatter(_OneLine())
    logger = logging.getLogger("facevalue")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    except FaceValueError as error:
        logger.error("%s", error)
        raise
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        handler.close()


class _OneLine(logging.Formatter):
    """A line for each message, whatever a server said."""

    def format(self, record: logging.LogRecord) -> str:
        """Time in UTC, level and message."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        return f"{time} {record.levelname} {' '.join(printable(record.getMessage()).split())}"
