"""Registry of generators: from what the user types to an adapter, imported when first used; drawings need none.

Other packages add kinds of generators by entry points: in the group `facevalue.generators`, the kind ("acme" for
"acme/NAME") and a callable that takes what the user typed and `GeneratorOptions`, and returns a `PictureGenerator`.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any

from facevalue import plugins
from facevalue.errors import DataError, FaceValueError, ModelError, ModelSpecError, UnknownNameError
from facevalue.generators.base import (
    GeneratedPicture,
    GeneratorCapabilities,
    GeneratorOptions,
    PictureGenerator,
    PictureRequest,
)
from facevalue.printable import first_line, printable, quote
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


DRAWN = DrawnGenerator.name
KINDS = {DRAWN: "", "replay": "PATH", "diffusers": "FOLDER_OR_ID", "openai": "MODEL", "sim": "NAME"}
"""How generators of our own are written: a kind, a slash, and this."""
_ADAPTERS = {
    "replay": ("replay", "ReplayedPictures"),
    "diffusers": ("diffusers.adapter", "DiffusersGenerator"),
    "openai": ("images_api", "ImagesServer"),
    "http:": ("images_api", "ImagesServer"),
    "https:": ("images_api", "ImagesServer"),
}
_MEMBERS = ("name", "capabilities", "settings", "generate", "close")
_LONGEST = 300  # characters of a name


def load(spec: str, options: GeneratorOptions | None = None, drawings: Source | None = None) -> PictureGenerator:
    """Return the adapter for a generator or an editor.

    Parameters
    ----------
    spec:
        "drawn"; "replay/FOLDER"; "diffusers/FOLDER_OR_ID"; "http://HOST/v1#MODEL" or "https://..."; "openai/MODEL";
        "sim/NAME"; "KIND/NAME" for one of another package.
    options:
        How to reach or load it, and how it is to draw.
    drawings:
        FaceValue's own drawings of what is to be made, for "drawn".

    Raises
    ------
    UnknownNameError, ModelSpecError
        There is no such generator, or it does not take what it is told.
    """
    options = options or GeneratorOptions()
    kind, _, name = spec.partition("/")
    if spec == DRAWN:
        return DrawnGenerator(options, drawings)
    if kind in KINDS and not name:
        raise ModelSpecError(f"{spec!r} names no generator: write {kind}/{KINDS[kind]}.")
    if kind == "sim":
        from facevalue.generators.planted_editors import PlantedEditor  # noqa: PLC0415 - imported when asked for

        if options.settings or options.size:
            raise ModelSpecError(f"{spec} takes no settings and no size: its name says what it does.")
        options.check_elsewhere(spec)
        return PlantedEditor(spec)
    if kind in _ADAPTERS:
        module, member = _ADAPTERS[kind]
        adapter: PictureGenerator = getattr(import_module(f"facevalue.generators.{module}"), member)(spec, options)
        return adapter
    others = plugins.plugins(plugins.GENERATORS, KINDS)
    if kind in others:
        plugin = others[kind]
        try:
            return checked_generator(plugin.load()(spec, options))
        except FaceValueError:
            raise
        except (Exception, SystemExit) as error:  # whatever a stranger's package raises
            raise plugin.wrong(f"makes no generator of {spec!r}: {first_line(error)}") from error
    ours = [f"{kind}/{rest}" if rest else kind for kind, rest in KINDS.items()]
    raise UnknownNameError("generator", spec, [*ours, "http://HOST/v1#MODEL", *(f"{kind}/NAME" for kind in others)])


def kind_of(spec: str) -> Kind | None:
    """Kind of pictures that a generator makes, by its name alone: its adapter's `capabilities.kind`, for our own.

    Examples
    --------
    >>> kind_of("diffusers/folder").value, kind_of("acme/one").value
    ('synthetic', 'unstated')
    """
    kind = spec.partition("/")[0]
    if kind in _ADAPTERS and kind != "replay":
        return Kind.SYNTHETIC
    return {DRAWN: Kind.ILLUSTRATED, "sim": None}.get(kind, Kind.UNSTATED)


def checked_generator(candidate: Any) -> PictureGenerator:
    """Name what an object lacks to be a generator.

    Raises
    ------
    ModelError
        What is missing, or wrong.
    """
    if isinstance(candidate, type):
        raise ModelError(f"{candidate.__name__} is a class: pass an instance, {candidate.__name__}(...).")
    members = {name for kind in type(candidate).__mro__ for name in vars(kind)} | {*getattr(candidate, "__dict__", {})}
    if missing := [name for name in _MEMBERS if name not in members]:
        raise ModelError(
            f"{type(candidate).__name__} has no {' and no '.join(missing)}: a generator has "
            f"{', '.join(_MEMBERS[:-1])} and close."
        )
    name = candidate.name
    if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST or printable(name) != name:
        raise ModelError(
            f"The name of a generator is a text of up to {_LONGEST} printable characters, not {quote(name)}."
        )
    if not isinstance(candidate.capabilities, GeneratorCapabilities):
        raise ModelError(f"The capabilities of {name} are {quote(candidate.capabilities)}.")
    generator: PictureGenerator = candidate
    return generator
