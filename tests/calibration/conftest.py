"""A small study of one's own, whose answers are planted."""

from pathlib import Path

import pytest

from facevalue.protocol.protocol import Protocol
from facevalue.studies import protocol

TEXT = """
name = "lab"
title = "Who looks like a scientist?"
[pictures]
kind = "portraits"
people = "12"
[pictures.cues]
eyewear = ["thick-rimmed"]
accessories = ["cap", "headscarf"]
[prompt]
text = "Is this person the {role} of a laboratory? Answer with only {options}."
[factor.role]
levels = ["head", "technician"]
[answer]
kind = "yes-no"
favourable = "yes"
[[estimand]]
statistic = "shift"
by = ["variation"]
[[estimand]]
statistic = "gap"
factor = "gender"
[[estimand]]
statistic = "gap"
factor = "role"
[[estimand]]
statistic = "spread"
factor = "age"
"""


@pytest.fixture(scope="session")
def lab_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Cues and groups of twelve people, judged by yes and no."""
    path: Path = tmp_path_factory.mktemp("lab") / "lab.toml"
    path.write_text(TEXT)
    return str(path)


@pytest.fixture(scope="session")
def lab(lab_file: str) -> Protocol:
    return protocol(lab_file)
