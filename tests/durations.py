"""Plugin that lists the tests that take long: `make test-durations` writes `tests/data/long_tests.txt` by it.

What is on the list has the mark `long`: `make test` leaves it out, `make test-long` runs it, and `.ci/run` runs both.
"""

import os
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import pytest

LIST = Path(__file__).parent / "data" / "long_tests.txt"
SECONDS = 1.5
"""From how many seconds on a test is long."""
ALWAYS = ("tests/golden/", "tests/combinations/", "tests/report/test_caveats.py", "tests/runs/test_sight.py")
"""What `make test` runs whatever it takes: the net of all studies, and what keeps numbers honest."""
_seconds = defaultdict[str, float](float)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up what a test took, its setup left out: others share that."""
    if report.when == "call":
        _seconds[report.nodeid] += report.duration


def pytest_sessionfinish() -> None:
    """Write the list, in the process that all workers report to."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        LIST.write_text("".join(f"{name}\n" for name in long_tests(_seconds)), encoding="utf-8")


def long_tests(seconds: Mapping[str, float]) -> list[str]:
    """Names of tests that take long, in order."""
    return sorted(name for name, took in seconds.items() if took >= SECONDS and not name.startswith(ALWAYS))
