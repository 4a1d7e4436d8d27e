"""axe finds nothing on a page, light or dark; `make gallery` looks at pages of every kind of run."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from facevalue import report
from tests.browser import CHROMIUM, chromium
from tests.report import made

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine: axe did not run"),
    pytest.mark.skipif(find_spec("axe_core_python") is None, reason="no axe on this machine"),
]


@pytest.mark.parametrize(
    ("width", "dark"),
    [(1280, False), pytest.param(1280, True, marks=pytest.mark.slow), pytest.param(500, False, marks=pytest.mark.slow)],
)
def test_axe_finds_nothing_with_every_section_open(tmp_path: Path, width: int, dark: bool) -> None:
    target = tmp_path / "report.html"
    report.write(target, made.data(("model-a", "model-b")))
    with chromium(tmp_path / "profile") as browser:
        browser.open(target, width=width, dark=dark)
        browser.run("for (const part of document.querySelectorAll('details')) part.open = true")
        assert browser.axe() == []
