"""From run folders to StylisticBias's examples: faces without and with the strongest cues."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from facevalue.measures.verdicts import Verdict
from facevalue.protocol.study import Study
from facevalue.report.data import Example, Gallery, PromptExample
from facevalue.report.estimates import ALPHA
from facevalue.report.formatting import Titles
from facevalue.report.stored_examples import said
from facevalue.report.stylisticbias.gallery import PLAIN, galleries
from facevalue.report.stylisticbias.titles import wording
from facevalue.runs.pictures import shown
from facevalue.runs.stored import StoredRun, first_valid
from facevalue.stimuli.drawn import CONTROL
from facevalue.store import read_responses
from facevalue.studies.stylisticbias.aggregate import Faces
from facevalue.types import Image, Option

_EXAMPLES = 4


def prompts(study: Study) -> tuple[PromptExample, ...]:
    """One scenario in every ordering: the innermost prompts of the first stimulus."""
    frame = study.design.trials(np.arange(min(4, study.design.size)))
    questions = study.ask(frame)
    titles = Titles(wording(), study.titles)
    return tuple(
        PromptExample(
            titles.poles(q.factors.get("scenario")), f"ordering {q.factors.get('ordering')}", q.prompt, q.system
        )
        for q in questions
    )


def examples(runs: Sequence[StoredRun], estimates: pl.DataFrame) -> list[Example | Gallery]:
    """The strongest cues, findings first, each in its strongest scenario, on the face closest to the mean shift.

    After them, what faces and cues look like.
    """
    measured = estimates.filter((pl.col("measure") == "sbs") & pl.col("value").is_not_null())["model"].unique()
    run = next((r for r in runs if r.model in measured.to_list()), runs[0])
    own = estimates.filter((pl.col("model") == run.model) & (pl.col("measure") == "sbs") & pl.col("group").is_null())
    cues = own.filter(pl.col("variation").is_not_null() & pl.col("scenario").is_null() & pl.col("value").is_not_null())
    judged = pl.col("verdict") if "verdict" in own.columns else pl.lit(None, pl.String)
    found = pl.when(judged.is_null()).then(pl.col("q") < ALPHA).otherwise(judged == Verdict.DIFFERENCE.value)
    found = found.fill_null(value=False)
    cues = cues.sort(found, pl.col("value").abs(), descending=True).head(_EXAMPLES)
    out: list[Example | Gallery] = []
    for cue in cues.iter_rows(named=True):
        same = (pl.col("attribute") == cue["attribute"]) & (pl.col("variation") == cue["variation"])
        by_scenario = own.filter(
            same & pl.col("scenario").is_not_null() & (pl.col("value").sign() == np.sign(cue["value"]))
        )
        if not by_scenario.height:
            continue
        strongest = by_scenario.sort(pl.col("value").abs(), descending=True).row(0, named=True)
        example = _example(run, cue["attribute"], cue["variation"], strongest["scenario"], strongest["value"])
        if example is not None:
            out.append(example)
    return [*out, *galleries(run)]


def _example(run: StoredRun, attribute: str, variation: str, scenario: str, shift: float) -> Example | None:
    study, bases = run.study, _bases(run.study, attribute, variation)
    numbers = _numbers(study, attribute, variation, scenario, bases)
    if not numbers.size:
        return None
    stored = read_responses(run.folder, int(numbers.min()), int(numbers.max()))
    stored = stored.filter(pl.col("trial").is_in(numbers))
    factors = study.design.trials(stored["trial"].to_numpy())
    rows = pl.concat([factors, stored.drop("trial")], how="horizontal")
    rows = rows.with_columns(*study.answer(rows).select("weight", "na").get_columns(), pl.col("repeat").alias("reply"))
    judged = first_valid(rows, study.repeats).filter(pl.col("weight").is_not_null())
    pairs = _pairs(judged, bases)
    if not pairs.height:
        return None
    chosen = pairs.sort((pl.col("shift") - shift).abs()).row(0, named=True)
    question = study.ask(factors.filter(pl.col("trial") == chosen["trial"]).head(1))[0]
    looks = [shown(run, int(chosen[name])) for name in ("trial_base", "trial")]
    base, variant = (look.images[0] if look.images else None for look in looks)
    texts = [
        said(chosen[f"{name}"], chosen[p], question.options)
        for name, p in (("text_base", "probs_base"), ("text", "probs"))
    ]
    return Example(
        title=f"{study.titles.get('variation', {}).get(f'{attribute}/{variation}', variation)}: {scenario}",
        base_image=base.data if base else None,
        variant_image=variant.data if variant else None,
        media_type=(variant or base or Image(b"", "image/png")).media_type,
        attribute=attribute,
        variation=variation,
        scenario=scenario,
        prompt=question.prompt,
        base_answer=texts[0],
        variant_answer=texts[1],
        base_phi=chosen["phi_base"],
        variant_phi=chosen["phi"],
        base_choice=_choice(chosen["weight_base"], question.options),
        variant_choice=_choice(chosen["weight"], question.options),
        model=run.model,
        base_title=PLAIN if any(name in bases for name in _controls(study)) else "Base face",
        no_picture=next((look.why for look in looks if not look.images), ""),
    )


def _bases(study: Study, attribute: str, variation: str) -> list[str]:
    """The pictures that those of a variation are compared with."""
    faces = Faces(study.manifest)
    cue = (pl.col("attribute") == attribute) & (pl.col("variation") == variation)
    shown = study.manifest[faces.varied].select(cue.fill_null(value=False)).to_series().to_numpy()
    rows = faces.base_of[shown]
    return study.manifest["image"][rows[rows >= 0]].to_list()


def _controls(study: Study) -> list[str]:
    return study.manifest.filter(pl.col("attribute") == CONTROL[0])["image"].to_list()


def _numbers(study: Study, attribute: str, variation: str, scenario: str, bases: list[str]) -> np.ndarray:
    """Trials about one variation and its bases in one scenario."""
    wanted = []
    for block, offset in zip(study.design.blocks, study.design.offsets, strict=False):
        constant = block.constants.get("attribute")
        if constant not in (None, CONTROL[0], attribute):
            continue
        local = np.arange(len(block), dtype=np.int64)
        frame = study.design.trials(local + offset, ["image", "attribute", "variation", "scenario"])
        keep = (pl.col("scenario") == scenario) & (
            pl.col("image").is_in(bases) | ((pl.col("attribute") == attribute) & (pl.col("variation") == variation))
        )
        wanted.append(frame.filter(keep)["trial"].to_numpy().astype(np.int64))
    return np.concatenate(wanted) if wanted else np.zeros(0, dtype=np.int64)


def _pairs(judged: pl.DataFrame, bases: list[str]) -> pl.DataFrame:
    """A row per identity that has both pictures: their scores, and one reply to the same prompt."""
    base, varied = (judged.filter(pl.col("image").is_in(bases) == b) for b in (True, False))
    scores = [part.group_by("identity").agg(pl.col("weight").mean().alias("phi")) for part in (base, varied)]
    both = (
        scores[1]
        .join(scores[0], on="identity", suffix="_base")
        .with_columns((pl.col("phi") - pl.col("phi_base")).alias("shift"))
    )
    keys = ["identity", "ordering", "repeat"]
    replies = varied.select(*keys, "trial", "text", "probs", "weight").join(
        base.select(*keys, "trial", "text", "probs", "weight"), on=keys, suffix="_base"
    )
    # Show a prompt on which the pictures were told apart, if there is one, so that the example says what happened.
    telling = replies.sort((pl.col("weight") - pl.col("weight_base")).abs(), descending=True).unique(
        "identity", keep="first", maintain_order=True
    )
    return both.join(telling, on="identity")


def _choice(weight: float, options: Sequence[Option]) -> str:
    """The wording of the option that a reply chose: the favourable one has all the weight, or none."""
    if weight not in (0.0, 1.0):
        return ""
    return next((o.text for o in options if (o.level == "favourable") == (weight == 1.0)), "")
