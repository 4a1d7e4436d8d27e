"""Small studies of drawn portraits."""

from collections.abc import Callable
from typing import Any

import pytest

from facevalue import studies
from facevalue.protocol.study import Study
from facevalue.runs.kept_estimates import take_estimates


@pytest.fixture(autouse=True)
def estimates_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Estimates that a test takes of a run stay in its folder, for its page and for what is asked of it next."""
    monkeypatch.setattr("facevalue.api.run.estimate", take_estimates)


@pytest.fixture
def make() -> Callable[..., Study]:
    """Build StylisticBias with some settings changed."""

    def build(**options: Any) -> Study:
        return studies.build("stylisticbias", options)

    return build
