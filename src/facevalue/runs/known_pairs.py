"""Known pairs of pictures: sources beside themselves as another encoder writes them, which nobody has edited."""

import io
from collections.abc import Callable, Iterable, Iterator, Sequence

import PIL.Image
import polars as pl

from facevalue.errors import DataError
from facevalue.inspection.inspector import Inspector
from facevalue.models._pictures import picture
from facevalue.protocol.making import PATH
from facevalue.statistics.sets import OTHER_PATH
from facevalue.stimuli.images import ImageFiles
from facevalue.types import Image

Watched = Callable[[Sequence[str]], Iterable[str]]
"""From names to the same, shown as they are gone through."""
MOST_OF_GROUP = 40
"""Sources of each group that are written anew."""
_QUALITY, _SMALLER = 85, 0.96  # of the JPEG, and how much smaller its sides are


def rewritten_sources(
    table: pl.DataFrame, group: pl.Series, files: ImageFiles, inspector: Inspector, watched: Watched
) -> pl.DataFrame:
    """Quantities of sources against themselves, written anew a little smaller: a row each, with `path` and `group`.

    `table`, `group`: of all pictures. Those that cannot be decoded are left out.
    """
    sources = table.select(PATH, OTHER_PATH).with_columns(group.alias("group")).filter(pl.col(OTHER_PATH).is_null())
    some = sources.group_by("group", maintain_order=True).head(MOST_OF_GROUP)
    groups = dict(some.select(PATH, "group").iter_rows())
    rows = list(_rows(groups, files, inspector, watched))
    return pl.DataFrame(rows, infer_schema_length=None) if rows else pl.DataFrame({PATH: [], "group": []})


def _rows(
    groups: dict[str, str], files: ImageFiles, inspector: Inspector, watched: Watched
) -> Iterator[dict[str, float | str | None]]:
    for name in watched(list(groups)):
        try:
            source = Image(files.read(name), "")
            again = rewritten(picture(source, name))
        except DataError:
            continue
        yield {**inspector.inspected(again, source), PATH: name, "group": groups[name]}


def rewritten(picture: PIL.Image.Image) -> Image:
    """A picture as JPEG, its sides 4% smaller: about what a service does that hands a picture on."""
    size = (max(round(picture.width * _SMALLER), 1), max(round(picture.height * _SMALLER), 1))
    buffer = io.BytesIO()
    picture.resize(size, PIL.Image.Resampling.BICUBIC).save(buffer, "JPEG", quality=_QUALITY)
    return Image(buffer.getvalue(), "image/jpeg")
