"""What models of tests have in common."""

from collections.abc import Mapping

from facevalue.models.base import Capabilities


class PlainModel:
    """A model without settings, with nothing to close; what it replies is its own."""

    name = "plain"
    capabilities = Capabilities()

    def settings(self) -> Mapping[str, str | int | float | bool]:
        return {}

    def close(self) -> None:
        pass
