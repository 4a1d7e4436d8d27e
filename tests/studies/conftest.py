"""Small studies of drawn portraits."""

from collections.abc import Callable
from typing import Any

import pytest

from facevalue import studies
from facevalue.protocol.study import Study


@pytest.fixture
def make() -> Callable[..., Study]:
    """Build StylisticBias with some settings changed."""

    def build(**options: Any) -> Study:
        return studies.build("stylisticbias", options)

    return build
