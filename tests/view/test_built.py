"""The committed page of the viewer is what its sources build."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VIEWER = ROOT / "viewer"
STATIC = ROOT / "src/facevalue/view/static"


def test_the_page_is_built_from_its_sources_to_the_byte(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None or not (VIEWER / "node_modules").is_dir():
        pytest.skip("Node or viewer/node_modules is missing: `make viewer` installs what building the page needs.")
    subprocess.run([node, "build.mjs", "--out", tmp_path], cwd=VIEWER, check=True, capture_output=True)
    built = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    committed = {path.name: path.read_bytes() for path in STATIC.iterdir()}
    assert sorted(built) == sorted(committed)
    assert built == committed, "`make viewer` builds the page anew."


def test_the_lock_names_no_host() -> None:
    assert '"resolved"' not in (VIEWER / "package-lock.json").read_text(encoding="utf-8")
