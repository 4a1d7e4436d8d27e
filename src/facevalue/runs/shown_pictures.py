"""Pictures that a run showed, for people: each as it was shown, with what the run says that it shows."""

from collections.abc import Mapping

import polars as pl

from facevalue.errors import DataError
from facevalue.protocol.making import IMAGE, PATH, PROMPT, SOURCE
from facevalue.protocol.making_study import MAKING
from facevalue.protocol.picture_questions import SHOWN
from facevalue.runs.picture_ratings import PictureSet
from facevalue.runs.pictures import load_shown
from facevalue.runs.stored_run import StoredRun, answers

PICTURES = (IMAGE, "image_1", "image_2")
"""Columns of answers that say which pictures were shown."""
_VARIATION, _IDENTITY, _SET = "variation", "identity", "set"
_NO_FACTORS = (IMAGE, PATH, _IDENTITY, _SET, "seed", "source", "prompt")
"""Columns of a manifest that say nothing of who is shown."""


def pictures_of(run: StoredRun) -> PictureSet:
    """The pictures of a run: those that it made, or those that it showed."""
    return PictureSet.from_run(run) if run.study.name == MAKING else shown_pictures(run)


def shown_pictures(run: StoredRun) -> PictureSet:
    """The pictures that answers of a run are about, with questions of ours.

    Where one differs from others by one thing, it stands beside the first of them: a face without the variation, or
    the first of its set.

    Raises
    ------
    DataError
        Its trials do not show single pictures of a list.
    """
    trials = _trials(run)
    listed = run.study.manifest.filter(pl.col(IMAGE).is_in(list(trials)))
    if not listed.height:
        raise DataError(
            f"{run.place} ({run.study.name}) shows no single pictures of a list: review those it joins where they were "
            "made, in a folder of `facevalue make`."
        )
    unit = next(name for name in (_SET, _IDENTITY, IMAGE) if name in listed.columns)
    factors = [name for name in listed.columns if name not in _NO_FACTORS and listed[name].dtype == pl.String]
    sources = _sources(listed, unit)
    titles = run.study.about.titles
    rows = {row[IMAGE]: row for row in listed.iter_rows(named=True)}
    prompts = [_describe_picture(row, rows.get(sources.get(image, "")), factors, titles) for image, row in rows.items()]
    table = listed.select(*dict.fromkeys((IMAGE, unit, *factors))).with_columns(
        pl.col(IMAGE).alias(PATH),
        pl.Series(SOURCE, [sources.get(image) for image in rows], pl.String),
        pl.Series(PROMPT, prompts, pl.String),
    )

    def load(image: str) -> bytes:
        picture = load_shown(run.plain(), trials[image])
        if len(picture.images) != 1:
            raise DataError(f"{image}: {picture.why or 'it was shown with others'}.")
        return picture.images[0].data

    groups = tuple(name for name in factors if name not in (_VARIATION, "attribute"))
    return PictureSet(run.folder, table, unit, groups, SHOWN, run.study.about.content_note, load)


def _trials(run: StoredRun) -> dict[str, int]:
    """A trial that showed each picture."""
    trials: dict[str, int] = {}
    for chunk in answers(run.plain()):
        if IMAGE not in chunk.columns:
            return {}
        first = chunk.select("trial", pl.col(IMAGE).cast(pl.String)).drop_nulls().unique(IMAGE, keep="first")
        for trial, image in first.iter_rows():
            trials.setdefault(image, trial)
    return trials


def _sources(listed: pl.DataFrame, unit: str) -> dict[str, str]:
    """Beside which picture each stands that differs from it by one thing."""
    if _VARIATION in listed.columns:
        bases = dict(listed.filter(pl.col(_VARIATION).is_null()).select(unit, IMAGE).iter_rows())
        edits = listed.filter(pl.col(_VARIATION).is_not_null())
    else:
        bases = dict(listed.unique(unit, keep="first", maintain_order=True).select(unit, IMAGE).iter_rows())
        edits = listed.filter(~pl.col(IMAGE).is_in(list(bases.values())))
    return {image: bases[of] for of, image in edits.select(unit, IMAGE).iter_rows() if of in bases}


def _describe_picture(
    row: Mapping[str, str | None],
    source: Mapping[str, str | None] | None,
    factors: list[str],
    titles: Mapping[str, Mapping[str, str]],
) -> str:
    """Describe who and what a picture is said to show; for one beside another, how it differs from that."""
    telling = [name for name in factors if row[name] is not None and (source is None or row[name] != source[name])]
    words = []
    for name in telling:
        level, of_factor = str(row[name]), titles.get(name, {})
        key = f"{row.get('attribute')}/{level}"
        words.append(f"{name.replace('_', ' ')}: {of_factor.get(key, of_factor.get(level, level))}")
    return "; ".join(words)
