"""Estimates, runs and whole reports made by hand for tests: small, fast, and with known answers."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import polars as pl
from PIL import Image

from facevalue.measures.definitions import WITHOUT_NOISE, key_of
from facevalue.measures.estimates import estimate_schema
from facevalue.measures.verdicts import FOUND_UNLESS
from facevalue.protocol.lookup import EstimateIndex
from facevalue.protocol.page import Page
from facevalue.report import DataStatement, Example, PromptExample, ReportData, RunFacts, StudyFacts
from facevalue.report.blocks.view import View, reading
from facevalue.report.formatting import Titles
from facevalue.report.html import LAST
from facevalue.report.page_builder import DEFAULT
from facevalue.report.sections.answer import answer_of_page
from facevalue.report.sections.findings import PageComparisons
from facevalue.report.sections.headline import Headline, page_of
from facevalue.stimuli.base import Kind
from facevalue.studies.stylisticbias.measures import LABELS, MEASURES
from facevalue.studies.vignette.measures import MEASURES as vignette_measures
from facevalue.studies.visbias.measures import MEASURES as visbias_measures
from facevalue.types import Sampling

CUES = {
    ("fashion_style", "formal"): 0.12,
    ("facial_hair", "full-beard"): 0.06,
    ("eyewear", "sunglasses"): 0.01,
    ("hair_style", "messy"): -0.05,
    ("fashion_style", "worn-distressed"): -0.166,
}
SCENARIOS = {"competent": 0.02, "trustworthy": -0.01, "wealthy": 0.05, "peaceful": 0.001}
SCHEMA = estimate_schema(LABELS)
GROUPS = {"gender": ("male", "female"), "age": ("elderly", "young", "middle-aged")}
FLOOR = 0.02
POOLED = "(all models)"
MEASURES_OF = {"stylisticbias": MEASURES, "vignette": vignette_measures, "visbias": visbias_measures}


def row(measure: str, model: str, value: float | None, **rest: Any) -> dict[str, Any]:
    """One row of the table; an interval of ±0.015 unless told otherwise."""
    known = {m.key: m for m in MEASURES}[key_of(measure, rest.get("score"))]
    none = value is None
    out: dict[str, Any] = dict.fromkeys(SCHEMA)
    out |= {"study": "stylisticbias", "measure": measure, "model": model, "value": value, "level": 0.95}
    out |= {"low": None if none else value - 0.015, "high": None if none else value + 0.015}  # type: ignore[operator]
    out |= {
        "n": 1200,
        "clusters": 60,
        "unit": known.unit,
        "source": known.source,
        "method": "bootstrap",
        "detail": "over clusters",
    }
    return out | rest


def rows(
    model: str, cues: dict[tuple[str, str], float | None], groups: dict[str, tuple[str, ...]], *, gain: float = 1.0
) -> Iterator[dict[str, Any]]:
    """Everything that is estimated of one model."""

    def signed(value: float | None, **labels: Any) -> Iterator[dict[str, Any]]:
        real = value is not None and abs(value) > FLOOR
        q = None if value is None else 1e-5 if real else 0.4
        yield row("shift", model, value, p=q, q=q, family="f", **labels)
        size = None if value is None else abs(value)
        yield row("abs_shift", model, size, floor=FLOOR / 2, floor_high=FLOOR, p=q, **labels)
        yield row("abs_shift_corrected", model, size, **labels)

    measured = {k: None if v is None else gain * v for k, v in cues.items()}
    known = [v for v in measured.values() if v is not None]
    mean = sum(known) / len(known) if known else None
    yield from signed(mean)
    for (attribute, variation), value in measured.items():
        yield from signed(value, attribute=attribute, variation=variation)
        for dimension, names in groups.items():
            for i, group in enumerate(names):
                if (attribute, group) != ("facial_hair", "female"):
                    moved = None if value is None else value * (1 - i)
                    labels = {"attribute": attribute, "variation": variation, "dimension": dimension, "group": group}
                    q = None if moved is None else 1e-5
                    yield row("shift", model, moved, p=q, q=q, family="t", **labels)
            labels = {"attribute": attribute, "variation": variation, "dimension": dimension}
            gap = {**labels, "group": names[0], "other_group": names[1]}
            q = None if value is None else 1e-5 if attribute == "fashion_style" else 0.4
            yield row("shift_gap", model, None if value is None else value / 2, p=q, q=q, family="g", **gap)
            yield row("reversal_depth", model, -0.01 if known else None, **labels)
        for scenario in SCENARIOS:
            yield from signed(value, attribute=attribute, variation=variation, scenario=scenario)
    for attribute in dict.fromkeys(a for a, _ in cues):
        yield from signed(mean, attribute=attribute)
        for category in ("personality", "socioeconomic"):
            yield from signed(mean, attribute=attribute, category=category)
        for dimension in groups:
            yield row("shift_over_groups", model, mean, attribute=attribute, dimension=dimension)
    for category in ("personality", "interpersonal", "behavioral", "socioeconomic"):
        yield from signed(mean, category=category)
        yield row("mean_abs_shift", model, 0.07 if known else None, category=category, floor=0.02, floor_high=0.03)
    for scenario, value in SCENARIOS.items():
        yield from signed(gain * value if known else None, scenario=scenario)
        size = gain * 2 * abs(value) if known else None
        yield row("mean_abs_shift", model, size, scenario=scenario, floor=0.02, floor_high=0.03)
    yield row("variations_to_80", model, 3.0 if known else None, low=2.0, high=4.0, floor=4.2, floor_high=5.0)
    for dimension, names in groups.items():
        yield row("spread", model, 0.06 if known else None, dimension=dimension, floor=0.02, floor_high=0.03)
        yield row("spread", model, 0.047 if known else None, dimension=dimension, score=WITHOUT_NOISE)
        share = row("significant_share", model, 0.72 if known else None, dimension=dimension, n=25)
        yield share | {"low": None, "high": None, "method": "none", "detail": "a tally of tests"}
        for scenario in SCENARIOS:
            yield row("spread", model, 0.06 if known else None, dimension=dimension, scenario=scenario, q=0.01)
            for group in names:
                yield row("mean", model, 0.5 if known else None, dimension=dimension, scenario=scenario, group=group)
    yield row("cohens_d", model, 0.4 if known else None)
    if model == POOLED:
        for i, scenario in enumerate(SCENARIOS):
            yield row("model_variance", model, 1e-4 * (i + 1), scenario=scenario, floor=1e-5, floor_high=2e-4)
        for (attribute, variation), value in measured.items():
            size = None if value is None else abs(value) + 0.01
            yield row("abs_shift_models", model, size, attribute=attribute, variation=variation)
        return
    for score in ("zero", "large"):
        yield row("shift_share", model, 0.3 if known else None, floor=0.2, floor_high=0.22, score=score)
    yield row("response_bias", model, 0.01 if known else None, score="position")
    yield row("response_bias", model, -0.09 if known else None, score="letter")
    for measure in ("na_rate", "refusal_rate"):
        rate = 0.03 if known else 1.0
        yield row(measure, model, rate)
        for dimension, names in groups.items():
            for group in names:
                yield row(measure, model, rate, dimension=dimension, group=group)


def estimates(
    models: Sequence[str] = ("model-a",),
    cues: dict[tuple[str, str], float | None] | None = None,
    groups: dict[str, tuple[str, ...]] | None = None,
) -> pl.DataFrame:
    """A table of estimates."""
    cues = dict(CUES) if cues is None else cues
    groups = GROUPS if groups is None else groups
    out = [r for i, model in enumerate(models) for r in rows(model, cues, groups, gain=1 - 0.2 * i)]
    if len(models) > 1:
        out += rows(POOLED, cues, groups, gain=0.9)
        for one in models:
            for other in models:
                if one != other:
                    bare = {
                        "low": None,
                        "high": None,
                        "method": "none",
                        "detail": "one reason",
                        "floor": 0.2,
                        "floor_high": 0.5,
                    }
                    out.append(row("model_slope", one, 0.8, other_model=other) | bare)
                    out.append(row("model_slope", one, 0.85, other_model=other, score=WITHOUT_NOISE))
                    for category in (None, "personality", "socioeconomic"):
                        out.append(row("attenuation", one, 0.39, other_model=other, category=category) | bare)
                        out.append(
                            row("attenuation", one, 0.41, other_model=other, category=category, score=WITHOUT_NOISE)
                        )
                if one < other:
                    out.append(row("model_correlation", one, 0.9, other_model=other) | bare)
                    out.append(row("model_correlation", one, 0.94, other_model=other, score=WITHOUT_NOISE))
    return pl.DataFrame(out, schema=SCHEMA)


def judged(
    frame: pl.DataFrame | None = None, *, margin: float | None = 0.02, declared: bool = True, family: str | None = None
) -> pl.DataFrame:
    """The estimates with what may be said of them: strong shifts found, far within the margin equivalent."""
    frame = estimates() if frame is None else frame
    value, size = pl.col("value"), pl.col("value").abs()
    compared = pl.col("measure").is_in(["shift", "spread"])
    same = size <= 0.25 * margin if margin else pl.lit(value=False)
    verdict = (
        pl.when(value.is_null()).then(pl.lit("not measurable"))
        .when(size > 0.04).then(pl.lit("difference found"))
        .when(same).then(pl.lit("equivalent within the margin"))
        .otherwise(pl.lit("inconclusive"))
    )  # fmt: skip
    shift = pl.col("measure") == "shift"
    is_cue = shift & pl.col("variation").is_not_null() & pl.col("scenario").is_null() & pl.col("group").is_null()
    kind: pl.Expr = pl.when(pl.col("family").is_not_null()).then(pl.lit("exploratory"))
    name = pl.col("family")
    if family is not None:
        chosen = is_cue & (pl.col("attribute") == family)
        kind = pl.when(chosen).then(pl.lit("confirmatory")).otherwise(kind)
        name = pl.when(chosen).then(pl.lit(family)).otherwise(name)
    return frame.with_columns(
        pl.when(compared).then(verdict).alias("verdict"),
        pl.when(is_cue & (verdict == "difference found") & (size < 0.055))
        .then(pl.lit(FOUND_UNLESS))
        .when(compared)
        .then(pl.lit("A reason."))
        .alias("why"),
        pl.when(compared & value.is_not_null()).then(pl.lit(0.031)).alias("mde"),
        pl.when(shift).then(pl.lit(margin, pl.Float64)).alias("margin"),
        pl.when(shift & pl.lit(margin is not None)).then(pl.lit(declared)).alias("declared"),
        pl.when(is_cue).then(value - pl.when(size > 0.04).then(size / 2).otherwise(size + 0.01)).alias("page_low"),
        pl.when(is_cue).then(value + pl.when(size > 0.04).then(size / 2).otherwise(size + 0.01)).alias("page_high"),
        pl.when(is_cue).then(value - 0.055).alias("bound_low"),
        pl.when(is_cue).then(value + 0.055).alias("bound_high"),
        kind.alias("kind"),
        name.alias("family"),
    )


def answer(study: str, frame: pl.DataFrame, models: Sequence[str] = ()) -> Headline:
    """What a study's page says of estimates, in one sentence."""
    page = page_of(study)
    index = EstimateIndex(frame, models, reading(page), MEASURES_OF[study])
    view = View(index, Titles(page.titles), MEASURES_OF[study], conditions=page.conditions)
    return answer_of_page(PageComparisons(page, view))


def sections(page: Page) -> list[tuple[str, str]]:
    """Identifiers and titles of a page's sections, in order."""
    own = ((section.id, section.title) for section in page.sections or DEFAULT)
    return [("answer", "Answer"), ("trust", "How far to trust it"), *own, *LAST]


def picture(size: int = 512) -> bytes:
    """A picture that compresses badly enough to test the size of reports."""
    image = Image.effect_noise((size, size), 60).convert("RGB")
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def example(**changes: Any) -> Example:
    """An example with pictures."""
    image = picture(64)
    made = Example(
        "Worn clothing, wealthy or poor", image, image, "image/png", "fashion_style", "worn-distressed", "wealthy",
        "Is the person wealthy?", "(a)", "(b)", 0.9, 0.1, "model-a",
    )  # fmt: skip
    return replace(made, **changes)


def run(model: str = "model-a", **changes: Any) -> RunFacts:
    """A complete, sampled run."""
    made = RunFacts(
        model,
        folder="run-a",
        settings={"url": "http://localhost/v1", "api_key": "sk-very-secret"},
        sampling=Sampling(0.2, 1.0, 16),
        seeds=(1, 2, 3),
        exact=False,
        planned=1000,
        asked=1000,
        valid=970,
        refused=30,
        errors=0,
        started=datetime(2026, 11, 20, 9, 0, tzinfo=UTC),
        ended=datetime(2026, 11, 20, 10, 0, tzinfo=UTC),
        versions={"facevalue": "0.1.0"},
    )
    return replace(made, **changes)


def data(models: Sequence[str] = ("model-a",), **changes: Any) -> ReportData:
    """Everything a report needs."""
    study = StudyFacts(
        "stylisticbias", 1, "StylisticBias: one face", "The paper, 2026", "A content note.", {"faces": "60"}, MEASURES
    )
    made = ReportData(
        study=study,
        runs=tuple(run(model) for model in models),
        estimates=changes.pop("estimates", None) if "estimates" in changes else estimates(models),
        generated=datetime(2026, 11, 21, 12, 0, tzinfo=UTC),
        kind=Kind.ILLUSTRATED,
        statement=DataStatement(360, 60, {"gender": {"male": 30, "female": 30}}, "drawn", "Apache-2.0", "the drawing"),
        prompts=(PromptExample("Wealthy or poor", "ordering 1", "Is the person (a) wealthy or (b) poor?"),),
        examples=(example(),),
        facevalue_version="0.1.0",
    )
    return replace(made, **changes)
