"""Plugin of pytest: the fixture and the marker `facevalue_limits`, which hold runs against limits in a test.

It is loaded with pytest, whether a test uses it or not: nothing but pytest is imported before one does.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from facevalue.limits.gate import Gate

_MARKER = "facevalue_limits"


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line(
        "markers",
        f"{_MARKER}(limits, baseline=(), allow_incomplete=False): file of limits, or its tables, that "
        f"the fixture {_MARKER} holds runs against",
    )


@pytest.fixture
def facevalue_limits(request: pytest.FixtureRequest) -> "Callable[..., Gate]":
    """Check runs against limits: a function that takes runs as `facevalue.gate` does, and fails unless they lie within.

    Limits and baseline are those of the marker, or are given to the function. A file of limits is looked for in the
    folder of the test, then where pytest was started.
    """
    marker_limits, marker_baseline, marker_allows = _arguments(request.node.get_closest_marker(_MARKER))

    def check(runs: Any, limits: Any = None, *, baseline: Any = None, allow_incomplete: bool | None = None) -> "Gate":
        __tracebackhide__ = True
        import facevalue as fv  # noqa: PLC0415 - costs nothing to tests that use none of it
        from facevalue.limits.wording import explain_gate  # noqa: PLC0415

        if limits is None and (limits := marker_limits) is None:
            raise pytest.UsageError(f"Which limits? @pytest.mark.{_MARKER}('limits.toml'), or {_MARKER}(run, limits)")
        if isinstance(limits, str):
            limits = _path(limits, request.path.parent)
        gate = fv.gate(
            runs,
            limits,
            baseline=marker_baseline if baseline is None else baseline,
            allow_incomplete=marker_allows if allow_incomplete is None else allow_incomplete,
        )
        if not gate.within:
            pytest.fail(explain_gate(gate), pytrace=False)
        return gate

    return check


def _arguments(marker: pytest.Mark | None) -> tuple[Any, Any, Any]:
    """Limits and baseline that a marker names, and whether it allows runs that have not ended."""

    def arguments(
        limits: str | Sequence[Any] | None = None, *, baseline: Any = (), allow_incomplete: Any = False
    ) -> tuple[Any, Any, Any]:
        return limits, baseline, allow_incomplete

    if marker is None:
        return None, (), False
    try:
        return arguments(*marker.args, **marker.kwargs)
    except TypeError as error:
        raise pytest.UsageError(f"@pytest.mark.{_MARKER}: {error}") from None


def _path(name: str, folder: Path) -> Path:
    """A file of limits: in the folder of the test if it is there, else where pytest was started."""
    local = folder / name
    return local if local.is_file() else Path(name)
