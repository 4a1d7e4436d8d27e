"""Galleries: stimuli of a few units, one of each level."""

import numpy as np
import polars as pl

from facevalue.protocol.examples import Gallery as Declared
from facevalue.report.blocks.forms import filled
from facevalue.report.data import Album
from facevalue.report.formatting import Titles
from facevalue.runs.pictures import shown
from facevalue.runs.stored import StoredRun
from facevalue.store.reader import trials_stored


def find_galleries(declared: Declared, run: StoredRun, titles: Titles) -> list[Album]:
    """The first unit of each level, with the first stimulus of each level of another factor."""
    manifest = run.study.manifest
    if declared.each not in manifest.columns:
        return []
    first = _first_trials(run)
    stimuli = manifest.filter(pl.col("image").is_in(list(first)))
    bases = stimuli.filter(pl.col(declared.each).is_null())
    bases = bases.unique(declared.by, keep="first", maintain_order=True) if declared.by in bases.columns else bases
    out = []
    for base in bases.head(declared.units).iter_rows(named=True):
        unit_rows = stimuli.filter(pl.col(declared.unit) == base[declared.unit])
        rows = unit_rows.unique(declared.each, keep="first", maintain_order=True).sort(
            pl.col(declared.each).is_not_null(),
            pl.col(declared.each).is_in(list(declared.last)).fill_null(value=False),
            maintain_order=True,
        )  # fmt: skip
        pictures = []
        for row in rows.iter_rows(named=True):
            look = shown(run, first[row["image"]])
            if look.images:
                pictures.append((_caption(declared, row, titles), look.images[0].data))
        if len(pictures) > 1:
            title = titles.get(declared.by, base[declared.by]) if base.get(declared.by) else base[declared.unit]
            out.append(Album(title, tuple(pictures)))
    return out


def _caption(declared: Declared, row: dict[str, str | None], titles: Titles) -> str:
    level = row[declared.each]
    if level is None:
        return declared.base
    if level in declared.controls:
        return declared.controls[level]

    def fill(name: str, _how: str) -> str | None:
        value = row.get(name)
        if value is None:
            return None
        return titles.variation(row.get("attribute"), value) if name == "variation" else titles.get(name, value)

    return filled(declared.caption, fill)


def _first_trials(run: StoredRun) -> dict[str, int]:
    """A trial about each stimulus that was asked about."""
    design = run.study.design
    stored = trials_stored(run.folder, design.size)
    _, places = np.unique(design.stimulus_numbers(stored), return_index=True)
    first = design.trials(stored[places], ["image"])
    return dict(first.select(pl.col("image").cast(pl.String), "trial").iter_rows())
