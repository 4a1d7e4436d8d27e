"""What was asked, for the first screen: one stored question, and the pictures that it was asked about."""

import numpy as np
import polars as pl

from facevalue.errors import FaceValueError
from facevalue.protocol.lookup import Estimate
from facevalue.protocol.page import Page
from facevalue.report.blocks.view import View
from facevalue.report.data import AskedQuestion
from facevalue.report.findings import compared, upper
from facevalue.report.formatting import Titles
from facevalue.report.pictures import smaller
from facevalue.runs.pictures import shown
from facevalue.runs.stored import StoredRun
from facevalue.store.reader import collected, scan_responses

MOST, _SIDE = 4, 112
"""Pictures that are shown, and their longest side in pixels; a few kilobytes each."""
_APART = ("image", "path", "identity", "set", "seed")


def question_of(page: Page, run: StoredRun, view: View) -> AskedQuestion | None:
    """A stored question about what the clearest finding is of, or the first one; None where none was answered."""
    study = run.study
    trials = collected(run.folder, scan_responses(run.folder, 0, study.design.size - 1).select("trial"))["trial"]
    if trials.is_empty():
        return None
    first = _first_trials(run, trials.to_numpy().astype(np.int64))
    clearest = _clearest(page, view)
    rows = _chosen(run, clearest, first)
    trial = first[str(rows[-1]["image"])] if rows else int(trials[0])
    prompt = study.ask(study.design.trials([trial]))[0].prompt
    captions = _captions(rows, clearest, view.titles)
    pictures: list[tuple[str, bytes]] = []
    reason = ""
    for caption, number in zip(captions or [""], [first[str(row["image"])] for row in rows] or [trial], strict=True):
        look = shown(run, number)
        reason = look.why
        small = [picture for image in look.images if (picture := smaller(image.data, _SIDE)) is not None]
        pictures += [(caption if at == 0 else "", picture) for at, picture in enumerate(small)]
    return AskedQuestion(prompt, tuple(pictures[:MOST]), "" if pictures else reason)


def _clearest(page: Page, view: View) -> Estimate | None:
    """What the page speaks of first."""
    comparisons = compared(page, view)
    comparison = next((comparison for comparison in comparisons if comparison.moved), next(iter(comparisons), None))
    return None if comparison is None else next(iter(comparison.moved or comparison.rows))


def _first_trials(run: StoredRun, trials: "np.typing.NDArray[np.int64]") -> dict[str, int]:
    """A stored trial about each picture; empty where trials are not about one picture each."""
    design = run.study.design
    try:
        _, places = np.unique(design.stimulus_numbers(trials), return_index=True)
        frame = design.trials(trials[places], ["image"])
    except (FaceValueError, KeyError, pl.exceptions.PolarsError):
        return {}
    return dict(frame.select(pl.col("image").cast(pl.String), "trial").iter_rows()) if "image" in frame.columns else {}


def _chosen(run: StoredRun, e: Estimate | None, first: dict[str, int]) -> list[dict[str, str | None]]:
    """Rows of the manifest to show: a unit's base and what was changed, or levels of a set; the changed one last."""
    manifest, together = run.study.manifest, run.study.asked_together
    if not first or "image" not in manifest.columns:
        return []
    stimuli = manifest.filter(pl.col("image").cast(pl.String).is_in(list(first)))
    if not stimuli.height:
        return []
    levels = {} if e is None else {name: e[name] for name in e.labels if name in stimuli.columns}
    same = [pl.col(name).cast(pl.String) == level for name, level in levels.items()]
    about = stimuli.filter(*same) if same else stimuli
    row = next((about if about.height else stimuli).head(1).iter_rows(named=True))
    unit = next((name for name in together if name in stimuli.columns and row[name] is not None), "")
    if not unit:
        return [row]
    others = stimuli.filter(pl.col(unit) == row[unit], pl.col("image") != row["image"])
    factors = [name for name in stimuli.columns if name not in _APART and name != unit]
    lost = [name for name in factors if row[name] is not None]
    bases = others.filter(pl.any_horizontal(pl.col(name).is_null() for name in lost)) if lost else others.clear()
    if bases.height:
        return [next(bases.head(1).iter_rows(named=True)), row]
    return [*others.head(MOST - 1).iter_rows(named=True), row]


def _captions(rows: list[dict[str, str | None]], e: Estimate | None, titles: Titles) -> list[str]:
    """What the pictures differ in, for each of them: in what the finding is of, if they differ in that."""
    differing = [
        name for name in (rows[0] if rows else {}) if len({row[name] for row in rows}) > 1 and name not in _APART
    ]
    of_finding = [name for name in differing if e is not None and e[name] is not None]
    differing = [name for name in of_finding or differing if not (name == "attribute" and "variation" in differing)]

    def caption(row: dict[str, str | None]) -> str:
        texts = [
            titles.cue(row.get("attribute"), level) if name == "variation" else titles.get(name, level)
            for name in differing if (level := row[name]) is not None
        ]  # fmt: skip
        return upper(", ".join(texts)) or ("As it is" if differing else "")

    return [caption(row) for row in rows]
