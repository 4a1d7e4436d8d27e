"""Pictures that FaceValue draws itself, by what each shall show: the generator that needs no model and no network."""

import time
from collections.abc import Iterable, Iterator, Mapping

from facevalue.errors import DataError, ModelSpecError
from facevalue.generators.base import GeneratedPicture, GeneratorCapabilities, GeneratorOptions, PictureRequest
from facevalue.stimuli.base import Kind, Source
from facevalue.types import Status


class DrawnGenerator:
    """Draws what a study has made by its factors; the text has no part in it, and an edit is drawn anew.

    Parameters
    ----------
    drawings:
        FaceValue's own drawings of what is to be made; None where there are none.

    Raises
    ------
    ModelSpecError
        There are no drawings of it, or it is told what it does not take.
    """

    name = "drawn"
    capabilities = GeneratorCapabilities(edits=True, kind=Kind.ILLUSTRATED)

    def __init__(self, options: GeneratorOptions, drawings: Source | None) -> None:
        if options.settings or options.size:
            raise ModelSpecError("The generator 'drawn' takes no settings and no size: its drawings have their own.")
        options.check_elsewhere(self.name)
        if drawings is None:
            raise ModelSpecError(
                "There are no drawings of what this study has made. Name another generator: replay/PATH, "
                "diffusers/FOLDER_OR_ID, openai/MODEL or http://HOST/v1#MODEL."
            )
        self._drawings = drawings

    def settings(self) -> Mapping[str, str | int | float | bool]:
        """Settings: none, as only the request changes its pictures."""
        return {}

    def generate(self, requests: Iterable[PictureRequest]) -> Iterator[GeneratedPicture]:
        """Draw one after the other."""
        for request in requests:
            started = time.perf_counter()
            try:
                (image, *_) = self._drawings.stimulus(request.number, request.factors).load()
            except (DataError, LookupError, ValueError) as error:
                yield GeneratedPicture(request.number, Status.ERROR, error=f"It cannot be drawn: {error}")
                continue
            latency = (time.perf_counter() - started) * 1000
            yield GeneratedPicture(request.number, Status.OK, image, latency_ms=latency)

    def close(self) -> None:
        """Do nothing: there is nothing to release."""
