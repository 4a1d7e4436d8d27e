"""Statistics that VIGNETTE's authors released, from answers with the counts behind them."""

import csv
import json
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.optimize import linprog

from facevalue.measures.definitions import measures_wanted
from facevalue.studies.vignette.analysis import analyse
from tests.measure_keys import by_key
from tests.studies.vignette.framed import DECISION, LABELS, chunks, drawn

RELEASED = Path(__file__).parents[2] / "data" / "vignette"
GENDERS = ("male", "female")
CONTROLS = ("irrelevant 1", "irrelevant 2", "irrelevant 3")


def scores(name: str) -> dict[str, float]:
    """A released table of a score by identity; "little" and "little person" are one."""
    with (RELEASED / f"{name}.csv").open() as file:
        return {row["Descriptor"].replace("little person", "little"): float(list(row.values())[1] or 0)
                for row in csv.DictReader(file)}  # fmt: skip


def matrix(name: str) -> dict[tuple[str, str], float]:
    """A released table of identities beside others, without the diagonal."""
    with (RELEASED / f"{name}.csv").open() as file:
        return {
            (row[""], other): float(value)
            for row in csv.DictReader(file)
            for other, value in row.items()
            if other not in ("", row[""])
        }


def answered(
    dimension: str, identities: list[str], activities: int, prompts: list[dict[str, str]], weight: Any
) -> dict[tuple[str, str | None, str], dict[str, Any]]:
    """Estimates of answers to prompts about all pairs: `weight` says what part of them the first of a pair gets."""
    rows: list[dict[str, Any]] = []
    weights: list[float] = []
    for at, gender in enumerate(GENDERS):
        for first, second in combinations(identities, 2):
            for number in range(activities):
                shown = {"gender": gender, "dimension": dimension, "contrast": "identity", "identity_1": first,
                         "identity_2": second, "activity": f"a{number}", "repeat": 0}  # fmt: skip
                rows += [{**shown, **prompt} for prompt in prompts]
                weights += [weight(first, second, at * activities + number, prompt) for prompt in prompts]
    schema = {**dict.fromkeys(LABELS, pl.String()), "repeat": pl.UInt8()}
    frame = drawn(pl.DataFrame(rows, schema=schema), seed=1, exact=False, missing=0.0)
    given = frame.with_columns(pl.Series("weight", weights), na=pl.lit(None, pl.String))
    measures = ["selection_frequency.as released", "paircomp", "selection_frequency"]
    with measures_wanted(measures):
        table = analyse({"m": chunks(given, 4000)})
    table = by_key(table)
    whole = table.filter(pl.col("measure").is_in(measures), pl.col("gender").is_null(), pl.col("activity").is_null())
    return {
        (row["measure"], row["question"], " ".join(filter(None, (row["identity"], row["other_identity"])))): row
        for row in whole.iter_rows(named=True)
    }


@pytest.mark.parametrize("dimension", ["religion", "age"])
def test_paircomp_and_its_p_are_the_released_ones(dimension: str) -> None:
    counts = json.loads((RELEASED / "counts.json").read_text())[dimension]
    pairs: Mapping[str, int] = counts["A"]
    table = answered(
        dimension, sorted(counts["T"]), 75, [{"paradigm": "perception", "question": "struggle", "prompt": "struggle"}],
        lambda first, second, picture, _: float(picture < pairs[f"{first}|{second}"]),
    )  # fmt: skip
    differences, p = matrix(f"{dimension}_diff"), matrix(f"{dimension}_pvals")
    assert len(differences) == {"religion": 132, "age": 72}[dimension]
    for (who, beside), difference in differences.items():
        row = table["paircomp", "struggle", f"{who} {beside}"]
        assert row["value"] == pytest.approx(100 * difference, abs=1e-9)
        assert row["p_paper"] == pytest.approx(p[who, beside], rel=1e-9)
    for who, score in scores(f"{dimension}_perc").items():
        assert table["selection_frequency.as released", "struggle", who]["value"] == pytest.approx(score, abs=1e-9)


def shares_of(score: Mapping[str, float], *, shared: bool) -> dict[tuple[str, str], float]:
    """Shares of pairs that add up to the scores: of two that split their answers, or that share each of them."""
    names, couples = sorted(score), list(combinations(sorted(score), 2))
    rows = np.zeros((len(names), len(couples)))
    given = np.array([score[name] / 100 * (len(names) - 1) for name in names])
    for column, (first, second) in enumerate(couples):
        rows[names.index(first), column] = 1
        rows[names.index(second), column] = 1 if shared else -1
        given[names.index(second)] -= 0 if shared else 1
    low, high = (0.01, 0.99) if shared else (0.05, 0.95)
    solved = np.asarray(linprog(np.zeros(len(couples)), A_eq=rows, b_eq=given, bounds=(low, high)).x)
    return dict(zip(couples, solved, strict=True))


@pytest.mark.parametrize("dimension", ["religion", "age"])
def test_decisions_pool_the_roles_of_another_kind_of_time_as_the_release_does(dimension: str) -> None:
    score = scores(f"{dimension}_dec")
    pairs = shares_of(score, shared=False)
    prompts = [
        {"paradigm": "decision", "question": name, "prompt": f"decision {name}"} for name in (*DECISION, *CONTROLS)
    ]

    def weight(first: str, second: str, _: int, prompt: dict[str, str]) -> float:
        return pairs[first, second] + (0.04 if prompt["question"] in CONTROLS else -0.02)

    table = answered(dimension, sorted(score), 2, prompts, weight)
    off = [abs(table["selection_frequency", None, who]["value"] - value) for who, value in score.items()]
    assert max(off) > 0.5, "what is asked of the picture's own role alone is another number"
    for who, value in score.items():
        assert table["selection_frequency.as released", None, who]["value"] == pytest.approx(value, abs=1e-6)


def test_factuality_credits_both_people_of_a_pair_as_the_release_does() -> None:
    score = scores("religion_fact")
    pairs = shares_of(score, shared=True)
    prompts = [
        {"paradigm": "factuality", "question": "doing", "about": about, "prompt": f"doing {about}"} for about in "12"
    ]
    aside = {"1": 0.005, "2": -0.005}
    table = answered(
        "religion", sorted(score), 2, prompts,
        lambda first, second, _, prompt: pairs[first, second] + aside[prompt["about"]],
    )  # fmt: skip
    for who, value in score.items():
        assert table["selection_frequency.as released", None, who]["value"] == pytest.approx(value, abs=1e-6)
