"""Two runs of studies with several scores, and of what has no direction: spreads, similarities, tallies, flips."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

import facevalue as fv
from facevalue.errors import DataError
from facevalue.measures.definitions import Measure
from facevalue.measures.estimates import estimate_schema
from facevalue.measures.judges import JUDGED_BY
from facevalue.measures.paired_changes import Deletion, reduce_estimates
from facevalue.models.base import Capabilities
from facevalue.protocol.offers import CellComparison
from facevalue.runs.comparisons.cells import deepest_breakdowns
from facevalue.runs.comparisons.models import compare_estimates
from facevalue.types import Request, Response, Status
from tests.measure_keys import by_key
from tests.protocol.conftest import Reader
from tests.runs.left_out import GROUPS, UNITS, declared

PICTURES = """
name = "small"
[pictures]
kind = "portraits"
people = "24"
[pictures.cues]
eyewear = ["thick-rimmed"]
[sampling]
seeds = [1, 2]
"""
RATINGS = (
    PICTURES
    + """
[prompt]
text = "Rate this person, on lines of their own."
[answer]
kind = "ratings"
low = 1
high = 7
[answer.scales]
warmth = "How warm?"
competence = "How able?"
years = "How old?"
[[estimand]]
statistic = "mean"
by = ["variation"]
scores = ["warmth", "competence"]
[[estimand]]
statistic = "shift"
by = ["variation"]
"""
)
KINDS = (
    PICTURES
    + """
[prompt]
text = "Is this person {trait}? Answer with only {options}."
[factor.trait]
levels = ["kind", "lazy", "rich"]
[answer]
kind = "yes-no"
[[estimand]]
statistic = "spread"
factor = "gender"
[[estimand]]
statistic = "tally"
factor = "gender"
[[estimand]]
statistic = "flip"
"""
)
LISTS = (
    PICTURES
    + """
[prompt]
text = "Name three values of this person."
[answer]
kind = "list"
[[estimand]]
statistic = "similarity"
"""
)


def two_runs(read: Reader, tmp_path: Path, text: str, *models: str) -> tuple[fv.Run, fv.Run]:
    read(text)
    first, second = (
        fv.run(tmp_path / "small.toml", model, tmp_path / f"run{k}", progress=False)
        for k, model in enumerate(models or ("sim/strong@1", "sim/strong@2"))
    )
    return first, second


def test_every_score_is_compared_by_name_in_its_own_unit(read: Reader, tmp_path: Path) -> None:
    first, second = two_runs(read, tmp_path, RATINGS)
    found = fv.compare(first, second)
    assert set(by_key(found.cells)["measure"]) == {"shift.warmth", "shift.competence", "shift.years"}
    assert {"mean.warmth", "mean.competence"} <= set(by_key(found.pairs[0].agreement.also)["measure"])
    assert found.cells["unit"].unique().to_list() == ["points"]
    assert found.overall["score"].n_unique() == 3
    assert found.cells["p"].null_count() == 0
    assert json.dumps(found.pairs[0].agreement.json())


TRAITS = ("kind", "brave", "honest", "wise", "calm", "generous")
LISTED = """
name = "listed"
[pictures]
kind = "manifest"
manifest = "people.csv"
unit = "image"
[prompt]
text = "Is this person {trait}? Answer with only {options}."
[factor.trait]
levels = ["kind", "brave", "honest", "wise", "calm", "generous"]
[answer]
kind = "yes-no"
[[estimand]]
statistic = "spread"
factor = "race"
[[estimand]]
statistic = "gap"
factor = "gender"
[[estimand]]
statistic = "gap"
factor = "race"
[[estimand]]
statistic = "gap"
factor = "race"
by = ["trait"]
[[estimand]]
statistic = "mean"
by = ["trait"]
[sampling]
seeds = [1]
"""


class Deciding:
    """A model that affirms so many of six traits of people of either race."""

    capabilities = Capabilities()

    def __init__(self, name: str, north: int, south: int) -> None:
        self.name, self.affirmed = f"deciding/{name}", {"north": north, "south": south}

    def settings(self) -> Mapping[str, str | int | float | bool]:
        return {}

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        for request in requests:
            at = next(at for at, trait in enumerate(TRAITS) if trait in request.question.prompt)
            number = int(str(request.stimulus.factors["number"]))
            affirmed = (
                self.affirmed[str(request.stimulus.factors["race"])] + number // 4 % 3 - 1
            )  # people differ by one
            yes = (at + number // 4) % 6 < affirmed
            yield Response(request.trial, request.repeat, Status.OK, "Yes" if yes else "No")

    def close(self) -> None:
        pass


def test_a_gap_that_is_gone_is_found_though_means_are_the_same(tmp_path: Path) -> None:
    rows = [f"{k}.png,{k},{'female' if k // 2 % 2 else 'male'},{'north' if k % 2 else 'south'}" for k in range(48)]
    (tmp_path / "people.csv").write_text("\n".join(["path,number,gender,race", *rows]))
    (tmp_path / "listed.toml").write_text(LISTED)
    for k in range(48):
        Image.new("RGB", (16, 16), (5 * k, 100, 200)).save(tmp_path / f"{k}.png")
    models = Deciding("biased", 4, 2), Deciding("fair", 3, 3)
    runs = [
        fv.run(tmp_path / "listed.toml", model, tmp_path / f"run{k}", progress=False) for k, model in enumerate(models)
    ]
    found = fv.compare(*runs)
    assert [measure.name for measure in found.pairs[0].agreement.measures] == ["gap"]
    (race,) = found.cells.filter(pl.col("race").is_not_null()).iter_rows(named=True)  # no cell by trait
    assert abs(race["first"]) == pytest.approx(1 / 3, abs=1e-9)
    assert (abs(race["second"]), race["verdict"]) == (pytest.approx(0, abs=1e-9), "difference found")
    (gender,) = found.cells.filter(pl.col("gender").is_not_null()).iter_rows(named=True)
    assert gender["verdict"] != "difference found"
    assert "mean" in set(found.pairs[0].agreement.also["measure"])


@pytest.mark.slow
def test_what_has_no_direction_is_compared_without_a_mean(read: Reader, tmp_path: Path) -> None:
    found = fv.compare(*two_runs(read, tmp_path, KINDS))
    cells = {row["measure"]: row for row in found.cells.iter_rows(named=True)}
    assert set(cells) == {"spread", "tally", "flip"}
    assert all(row["low"] <= row["delta"] <= row["high"] for row in cells.values())
    assert cells["spread"]["p"] is not None
    assert cells["flip"]["p"] is not None
    assert cells["tally"]["p"] is None
    (note,) = (note for note in found.pairs[0].agreement.notes if "tally" in note)
    assert "Noise" in note


@pytest.mark.slow
def test_similarities_are_compared(read: Reader, tmp_path: Path) -> None:
    found = fv.compare(*two_runs(read, tmp_path, LISTS))
    assert set(found.cells["measure"]) == {"similarity", "similarity_lost"}
    assert found.cells["p"].null_count() == 0


@pytest.mark.slow
def test_beside_a_mean_they_stand_besides(read: Reader, tmp_path: Path) -> None:
    found = fv.compare(*two_runs(read, tmp_path, KINDS + '[[estimand]]\nstatistic = "mean"\nby = ["trait"]\n'))
    assert found.cells["trait"].to_list() == ["kind", "lazy", "rich"]
    assert set(found.pairs[0].agreement.also["measure"]) >= {"spread", "tally", "flip"}


MEASURES = tuple(
    Measure("mean", f"Score {k}", "", "points" if k else "share", "person", "", limits=(-3.0, 3.0), score=f"{k}")
    for k in range(10)
)
STUDY = declared("own", MEASURES, CellComparison(tuple(m.key for m in MEASURES)), ("cue",))


def table(values: np.ndarray, n: int = 400) -> pl.DataFrame:
    """Means of ten scores by three cues."""
    rows = [
        {"study": "own", "model": "m", "measure": "mean", "score": f"{score}", "unit": "points", "cue": f"c{cue}",
         "low": 0.0, "value": float(values[score, cue]), "se": 0.02, "n": n, "clusters": 40}
        for score in range(10) for cue in range(3)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=estimate_schema(("cue",)), strict=False)


def found_anything(rng: np.random.Generator, effect: float = 0.0) -> bool:
    """Compare two equal models, whose scores hang together, on 20 groups of units."""
    common = rng.normal(0, 0.2, (GROUPS, 1, 1))
    groups = common + rng.normal(0, 0.2, (GROUPS, 10, 3)) + effect * (np.arange(10) == 0)[:, None]
    without = (
        Deletion("units 3", reduce_estimates(table(np.zeros((10, 3)), 380)),
                 reduce_estimates(table((groups.sum(axis=0) - group) / (GROUPS - 1), 380)))
        for group in groups
    )  # fmt: skip
    tables = table(np.zeros((10, 3))), table(groups.mean(axis=0))
    return bool(compare_estimates(STUDY, tables, without, UNITS).differing.height)


@pytest.mark.slow
def test_equal_models_of_ten_scores_differ_in_anything_in_one_of_twenty_comparisons() -> None:
    rng = np.random.default_rng(5)
    assert np.mean([found_anything(rng) for _ in range(60)]) <= 0.12  # .05 and two and a half standard errors


@pytest.mark.slow
def test_a_score_that_differs_among_ten_is_found() -> None:
    rng = np.random.default_rng(6)
    assert np.mean([found_anything(rng, effect=0.4) for _ in range(10)]) >= 0.9


def test_what_people_alone_say_is_not_compared() -> None:
    means = pl.DataFrame(
        {"measure": ["mean"] * 3, "score": [None] * 3, "cue": ["a", "b", "a"], JUDGED_BY: [None, None, "people"]}
    )
    assert deepest_breakdowns(means)["cue"].to_list() == ["a", "b"]


def test_a_margin_of_scores_in_several_units_is_refused() -> None:
    tables = table(np.zeros((10, 3))), table(np.zeros((10, 3)))
    with pytest.raises(
        DataError, match=r"A margin is in one unit, and the scores have several: mean\.0 \(share\), mean\.1"
    ):
        compare_estimates(STUDY, tables, iter(()), UNITS, margin=0.1)
