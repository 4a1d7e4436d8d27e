"""Maps of attention that `facevalue attention` writes, as pictures beside the answers."""

import io
import re
from pathlib import Path
from typing import NamedTuple

from PIL import Image, PngImagePlugin, UnidentifiedImageError

from facevalue.store.files import write_whole

FOLDER = "attention"
"""Where the maps of a run lie in its folder, if no other place is named."""
MOST = 64
"""Maps of a trial that are listed."""
_MODEL = "model"
_KIND = re.compile(r"trial-\d+-(attention|heads|word|relevancy)(?:-(\d{1,3}))?(?:-picture-(\d{1,3}))?\.png")
_ORDER = ("attention", "heads", "word", "relevancy")
_NAME = 200  # characters of a model's name


class AttentionMap(NamedTuple):
    """A map of a trial.

    `kind`: "attention", "heads", "word" or "relevancy"; `option`: number of the option, or word, from 1, else 0;
    `picture`: number of the picture that it lies over, from 1; 0 where the trial has one.
    """

    kind: str
    option: int
    picture: int
    path: Path

    @property
    def model(self) -> str:
        """Name of the model whose attention it is, as the file states; empty where it does not."""
        try:
            with Image.open(self.path) as image:
                text = image.info.get(_MODEL, "")
        except (OSError, ValueError, SyntaxError, UnidentifiedImageError, Image.DecompressionBombError):
            return ""
        return text[:_NAME] if isinstance(text, str) else ""


def write_map(path: Path, picture: Image.Image, model: str) -> None:
    """Write a map as PNG, with the name of the model that it is of."""
    facts, buffer = PngImagePlugin.PngInfo(), io.BytesIO()
    facts.add_itxt(_MODEL, model)
    picture.save(buffer, "PNG", pnginfo=facts)
    write_whole(path, buffer.getvalue())


def trials_with_maps(run_folder: Path) -> set[int]:
    """Trials of which maps lie in a run folder."""
    return {
        int(path.name.split("-")[1])
        for path in (run_folder / FOLDER).glob("trial-*-*.png")
        if _KIND.fullmatch(path.name)
    }


def maps_of(run_folder: Path, trial: int) -> tuple[AttentionMap, ...]:
    """Maps of a trial that lie in a run folder: mean attention, heads, words, then relevancy by option."""
    maps = []
    for path in (run_folder / FOLDER).glob(f"trial-{trial}-*.png"):
        if match := _KIND.fullmatch(path.name):
            maps.append(AttentionMap(match[1], int(match[2] or 0), int(match[3] or 0), path))
    return tuple(sorted(maps, key=lambda of: (_ORDER.index(of.kind), of.option, of.picture))[:MOST])
