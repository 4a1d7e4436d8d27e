"""What tests of statistics share with those of commands and of own studies."""

from tests.cli.conftest import facevalue  # noqa: F401
from tests.protocol.conftest import read  # noqa: F401
