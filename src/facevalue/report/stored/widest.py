"""Sets whose replies' scores lie farthest apart, each whole."""

from itertools import islice

import polars as pl

from facevalue.protocol.examples import WidestSets
from facevalue.report.blocks.forms import filled
from facevalue.report.blocks.view import View
from facevalue.report.data import WholeSet
from facevalue.report.pictures import smaller
from facevalue.runs.pictures import shown
from facevalue.runs.stored import StoredRun, answers

_CHUNKS = 8
"""Chunks of a million answers that are searched."""
_LONGEST, _SIDE = 280, 288
"""Characters of a reply, and pixels of a picture, that are kept."""


def find_widest(declared: WidestSets, run: StoredRun, view: View) -> list[WholeSet]:
    """The sets with the widest range of scores among the replies that share prompt and draw."""
    best = pl.DataFrame()
    for chunk in islice(answers(run), _CHUNKS):
        score = next((name for name in chunk.columns if name.startswith(declared.score)), None)
        if score is None:
            return []
        scored = chunk.filter(pl.col(score).is_not_null())
        keys = [
            name for name in (*declared.same, "draw", "repeat", "intervention", declared.unit) if name in scored.columns
        ]
        text = [pl.col(name).cast(pl.String) for name in keys if scored[name].dtype == pl.Enum]
        ranges = scored.with_columns(text).group_by(keys, maintain_order=True).agg(
            _range=pl.col(score).max() - pl.col(score).min(), _count=pl.len(), _trials=pl.col("trial"),
_who=pl.col(declared.member).cast(pl.String), _scores=pl.col(score),
            _said=pl.col(declared.text),
        ).filter((pl.col("_count") > 1) & (pl.col("_range") > 0))  # fmt: skip
        best = pl.concat([best, ranges], how="diagonal").sort("_range", descending=True, maintain_order=True)
        best = best.unique(declared.unit, keep="first", maintain_order=True).head(declared.most)
    return [_whole(declared, run, view, row) for row in best.iter_rows(named=True)]


def _whole(declared: WidestSets, run: StoredRun, view: View, row: dict[str, object]) -> WholeSet:
    def fill(name: str, _how: str) -> str | None:
        return None if row.get(name) is None else view.title(name, str(row[name]))

    replies = zip(*(row[f"_{name}"] for name in ("who", "scores", "said", "trials")), strict=True)
    return WholeSet(
        filled(declared.title, fill),
        tuple(
            (view.title(declared.member, member), score, _short(text), _picture(run, trial))
            for member, score, text, trial in replies
        ),
        run.model,
    )


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _picture(run: StoredRun, trial: int) -> bytes | None:
    images = shown(run, trial).images
    return smaller(images[0].data, _SIDE) if images else None
