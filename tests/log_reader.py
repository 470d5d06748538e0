"""The log as it would be written, for tests that read it."""

import io
import logging
from collections.abc import Iterator

import pytest
import structlog

from app import logs


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """Everything logged, at the level that tells most; the logging of the tests themselves comes back afterwards."""
    stream = io.StringIO()
    root = logging.getLogger()
    before = root.handlers[:], root.level
    logs.configure(level="debug", style="json", stream=stream)
    yield stream
    root.handlers[:], root.level = before
    logging.captureWarnings(capture=False)
    structlog.reset_defaults()
