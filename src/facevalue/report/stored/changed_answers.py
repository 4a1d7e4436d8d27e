"""Stored answers about one unit's stimulus without and with what was changed, behind the strongest findings."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.protocol import Study
from facevalue.protocol.examples import Compared
from facevalue.protocol.look import Of
from facevalue.protocol.lookup import Estimate
from facevalue.report.blocks.view import View
from facevalue.report.data import Example
from facevalue.runs.pictures import load_shown
from facevalue.runs.reply_counts import reply_text
from facevalue.runs.stored_run import StoredRun, first_valid
from facevalue.store import read_responses
from facevalue.types import Image, Option


def find_compared(declared: Compared, runs: Sequence[StoredRun], view: View) -> list[Example]:
    """The strongest changes of each model, findings first, each on the unit closest to the mean."""
    answered = [run for run in runs if any(e.value is not None for e in view.rows(declared.of, run.model))]
    limit = max(1, declared.most // max(len(answered), 1))
    return [
        example
        for run in answered[: declared.most]
        for example in _of_model(declared, run, view.narrow(run.model))[:limit]
    ]


def _of_model(declared: Compared, run: StoredRun, view: View) -> list[Example]:
    of = declared.of
    strongest = sorted((e for e in view.rows(of) if e.value is not None), key=lambda e: not view.found(e))
    out = []
    for e in strongest[: declared.most]:
        levels = {name: e[name] for name in of.labels}
        same = view.narrow(bound=levels).rows(Of(of.measure, (*of.by, declared.within), order="size"))
        alike = [row for row in same if row.value is not None and np.sign(row.value) == np.sign(e.value or 0.0)]
        example = _example(declared, run, view, alike[0]) if alike else None
        if example is not None:
            out.append(example)
    return out


def _example(declared: Compared, run: StoredRun, view: View, e: Estimate) -> Example | None:
    study, within = run.study, e[declared.within] or ""
    levels = {name: e[name] or "" for name in declared.of.labels}
    bases = declared.bases(study.manifest, levels)
    numbers = _numbers(declared, study, levels, within, bases)
    if not numbers.size:
        return None
    stored = read_responses(run.folder, trials=numbers)
    factors = study.design.trials(stored["trial"].to_numpy())
    rows = pl.concat([factors, stored.drop("trial")], how="horizontal")
    rows = rows.with_columns(
        *study.answer(rows).select(declared.score, "na").get_columns(), pl.col("repeat").alias("reply")
    )
    judged = first_valid(rows, study.repeats).filter(pl.col(declared.score).is_not_null())
    chosen = closest_pair(declared, judged, bases, e.value or 0.0)
    if chosen is None:
        return None
    question = study.ask(factors.filter(pl.col("trial") == chosen["trial"]).head(1))[0]
    looks = [load_shown(run, int(chosen[name])) for name in ("trial_base", "trial")]
    base, variant = (look.images[0] if look.images else None for look in looks)
    texts = [
        reply_text(chosen[text], chosen[probs], question.options)
        for text, probs in (("text_base", "probs_base"), ("text", "probs"))
    ]
    attribute, variation = [*levels.values(), ""][:2]
    return Example(
        title=view.said(declared.title, e),
        base_image=base.data if base else None,
        variant_image=variant.data if variant else None,
        media_type=(variant or base or Image(b"", "image/png")).media_type,
        attribute=attribute,
        variation=variation,
        scenario=within,
        prompt=question.prompt,
        base_answer=texts[0],
        variant_answer=texts[1],
        base_phi=chosen["phi_base"],
        variant_phi=chosen["phi"],
        base_choice=_choice(declared, chosen[f"{declared.score}_base"], question.options),
        variant_choice=_choice(declared, chosen[declared.score], question.options),
        model=run.model,
        base_title=_base_title(declared, study, bases),
        no_picture=next((look.why for look in looks if not look.images), ""),
    )


def _base_title(declared: Compared, study: Study, bases: Sequence[str]) -> str:
    """Return the title of the stimuli without the change: that of a control, if they are one."""
    first = declared.of.labels[0]
    levels = study.manifest.filter(pl.col("image").is_in(list(bases)))[first].drop_nulls().unique()
    return next((title for level, title in declared.controls.items() if level in levels), declared.base)


def _numbers(
    declared: Compared, study: Study, levels: Mapping[str, str], within: str, bases: Sequence[str]
) -> npt.NDArray[np.int64]:
    """Trials about one change and its bases at one level within."""
    trials = []
    changed = pl.all_horizontal(pl.col(name) == level for name, level in levels.items()).fill_null(value=False)
    first, level = next(iter(levels.items()))
    for block, offset in zip(study.design.blocks, study.design.offsets, strict=False):
        if block.constants.get(first) not in (None, level, *declared.controls):
            continue
        local = np.arange(len(block), dtype=np.int64)
        frame = study.design.trials(local + offset, ["image", *levels, declared.within])
        keep = (pl.col(declared.within) == within) & (pl.col("image").is_in(list(bases)) | changed)
        trials.append(frame.filter(keep)["trial"].to_numpy().astype(np.int64))
    return np.concatenate(trials) if trials else np.zeros(0, dtype=np.int64)


def closest_pair(declared: Compared, judged: pl.DataFrame, bases: Sequence[str], shift: float) -> dict[str, Any] | None:
    """Two replies to one prompt about a unit's stimulus with and without the change, of the unit closest to a shift.

    Of units that are equally close, and of replies that tell the two stimuli equally well apart, the first trial is
    shown: the same answers give the same example, in whatever order they come.
    """
    base, varied = (judged.filter(pl.col("image").is_in(list(bases)) == b) for b in (True, False))
    unit = declared.unit
    scores = [frame.group_by(unit).agg(pl.col(declared.score).mean().alias("phi")) for frame in (base, varied)]
    units = scores[1].join(scores[0], on=unit, suffix="_base")
    keys = [name for name in (unit, *declared.same, "repeat") if name in judged.columns]
    columns = [*keys, "trial", "text", "probs", declared.score]
    replies = varied.select(columns).join(base.select(columns), on=keys, suffix="_base")
    distance = (pl.col("phi") - pl.col("phi_base") - shift).abs()
    told_apart = (
        pl.col(declared.score) - pl.col(f"{declared.score}_base")
    ).abs()  # so that the example says what happened
    pairs = units.join(replies, on=unit).sort(
        distance.round(12), -told_apart.round(12), "trial", "trial_base", "repeat"
    )
    return pairs.row(0, named=True) if pairs.height else None


def _choice(declared: Compared, score: float, options: Sequence[Option]) -> str:
    """The wording of the option that a reply chose, if any: the one that is scored has all the weight, or none."""
    if score not in (0.0, 1.0):
        return ""
    return next((o.text for o in options if (o.level == declared.option) == (score == 1.0)), "")
