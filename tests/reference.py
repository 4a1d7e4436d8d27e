"""Published answers that stay outside the repository: tests that use them are skipped where they are absent."""

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).parents[2] / "shared" / "reference"


def reference(study: str, name: str) -> Path:
    """Path of a reference file of a study; skips the test where there is none.

    The folder is `../shared/reference` beside the repository, or what `FACEVALUE_REFERENCE` says.
    """
    path = Path(os.environ.get("FACEVALUE_REFERENCE", _BESIDE)) / study / name
    if not path.is_file():
        pytest.skip(f"Reference data of {study} ({name}) is not here; set FACEVALUE_REFERENCE to its folder.")
    return path
