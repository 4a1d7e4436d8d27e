"""What was shown: a base face of each gender, and one example of each attribute (Figure 13)."""

import numpy as np
import polars as pl

from facevalue.report.data import Gallery
from facevalue.report.formatting import Titles
from facevalue.report.stylisticbias.titles import wording
from facevalue.runs.pictures import shown
from facevalue.runs.stored import StoredRun
from facevalue.stimuli.drawn import CONTROL
from facevalue.store.reader import collected, scan_responses

FACES = 2
PLAIN = "Full body, plain clothes"


def galleries(run: StoredRun) -> list[Gallery]:
    """The first face of each gender that was asked about, with the first variation of each attribute.

    Parameters
    ----------
    run:
        Only pictures that were shown in it are taken.
    """
    manifest = run.study.manifest
    titles = Titles(wording(), run.study.titles)
    first = _first_trials(run)
    asked = manifest.filter(pl.col("image").is_in(list(first)))
    bases = asked.filter(pl.col("attribute").is_null())
    bases = bases.unique("gender", keep="first", maintain_order=True) if "gender" in bases.columns else bases
    out = []
    for base in bases.head(FACES).iter_rows(named=True):
        own = asked.filter(pl.col("identity") == base["identity"])
        rows = own.unique("attribute", keep="first", maintain_order=True).sort(
            pl.col("attribute").is_not_null(), pl.col("attribute") == "fashion_style", maintain_order=True
        )
        pictures = []
        for row in rows.iter_rows(named=True):
            look = shown(run, first[row["image"]])
            if look.images:
                pictures.append((_caption(row, titles), look.images[0].data))
        if len(pictures) > 1:
            who = titles.get("gender", base["gender"]) if base.get("gender") else base["identity"]
            out.append(Gallery(who, tuple(pictures)))
    return out


def _caption(row: dict[str, str | None], titles: Titles) -> str:
    if row["attribute"] is None:
        return "Base face"
    if row["attribute"] == CONTROL[0]:
        return PLAIN
    return f"{titles.get('attribute', row['attribute'])}: {titles.variation(row['attribute'], row['variation'])}"


def _first_trials(run: StoredRun) -> dict[str, int]:
    """A trial about each picture that was asked about."""
    design = run.study.design
    stored = collected(run.folder, scan_responses(run.folder, 0, design.size - 1).select("trial"))["trial"]
    _, places = np.unique(design.stimulus_numbers(stored.to_numpy().astype(np.int64)), return_index=True)
    first = design.trials(stored.to_numpy()[places], ["image"])
    return dict(first.select(pl.col("image").cast(pl.String), "trial").iter_rows())
