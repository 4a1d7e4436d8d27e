"""Answers of one kind withheld from one group: what is found of them in a study says so."""

from collections.abc import Iterator

import numpy as np
import polars as pl
import pytest

from facevalue.measures.definitions import rows_of
from facevalue.measures.judgment import judge
from facevalue.protocol import Ask, Portraits, Protocol, yes_or_no
from facevalue.protocol.instrument import NA_SPREAD
from facevalue.protocol.study import Study
from facevalue.statistics import Estimand, Gap, Mean, Shift, Spread

REFUSAL = "I'm sorry, but I can't help with that."


def declared(people: str = "40") -> Study:
    """Every statistic."""
    return Protocol(
        name="hiring",
        title="Who is invited?",
        stimuli=Portraits(cues={"tattoos": ("facial-tattoo",), "eyewear": ("sunglasses",)}, people=people),
        ask=Ask(prompts=("Is this person kind?", "Is this person able?", "Is this person calm?"), reply=yes_or_no()),
        estimands=(
            Estimand(Mean(), by=("gender",)), Estimand(Shift(), by=("variation",)), Estimand(Gap(factor="gender")),
            Estimand(Gap(factor="gender", of_shifts=True), family="gaps of shifts"), Estimand(Spread(factor="age")),
        ),
    ).study()  # fmt: skip


def audits(study: Study, share: float, size: int, seed: int) -> Iterator[pl.DataFrame]:
    """Pages of a model that judges all alike; of what favours women and tattoos a share is refused."""
    rng = np.random.default_rng(seed)
    frame = study.design.trials(np.arange(study.design.size))
    told = (frame["gender"].cast(pl.String) == "female") | (frame["variation"].cast(pl.String) == "facial-tattoo")
    for _ in range(size):
        own = rng.normal(scale=0.5, size=frame["identity"].n_unique())[frame["identity"].rank("dense").to_numpy() - 1]
        yes = rng.random(frame.height) < 1 / (1 + np.exp(-own))
        gone = yes & told.fill_null(value=False).to_numpy() & (rng.random(frame.height) < share)
        text = np.where(gone, REFUSAL, np.where(yes, "Yes", "No"))
        replies = frame.with_columns(
            repeat=pl.lit(0, pl.UInt8),
            status=pl.lit("ok"),
            text=pl.Series(text),
            probs=pl.lit(None, pl.List(pl.Float32)),
        )
        estimates = study.analyse({"m": iter([study.answer(replies)])})
        yield judge(estimates, study.estimates.measures, lead=study.estimates.lead)


@pytest.mark.slow
def test_what_withheld_answers_make_is_found_unless_they_say_otherwise() -> None:
    """Of 20 audits .05 leaves at most 3 (binomial, 98%); the sign of the bounds alone leaves half."""
    judged = (page.filter(~rows_of([NA_SPREAD])) for page in audits(declared(), 0.8, 20, 1))  # that is true
    pages = [page.filter(verdict="difference found") for page in judged]
    plain = [page.filter(~pl.col("why").str.contains("unless the missing")).height > 0 for page in pages]
    assert sum(page.height > 0 for page in pages) >= 8
    assert sum(plain) <= 3


def test_every_take_has_bounds_that_hold_its_value() -> None:
    page = next(audits(declared("12"), 0.3, 1, 2))
    measured = page.filter(rows_of(["mean", "shift", "gap", "shift_gap", "spread"])).drop_nulls("value")
    assert set(measured["measure"]) == {"mean", "shift", "gap", "shift_gap", "spread"}
    assert measured["bound_low"].null_count() == measured["bound_se"].null_count() == 0
    held = (pl.col("bound_low") <= pl.col("value") + 0.05) & (pl.col("value") <= pl.col("bound_high") + 0.05)
    assert measured.filter(~held).height == 0


def test_without_missing_answers_bounds_are_the_value() -> None:
    page = next(audits(declared("12"), 0.0, 1, 3)).drop_nulls("bound_low")
    assert page.filter((pl.col("bound_low") - pl.col("bound_high")).abs() > 1e-9).height == 0
    assert page.filter((pl.col("bound_low") - pl.col("value")).abs() > 1e-9).height == 0
