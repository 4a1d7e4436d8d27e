"""Audits of the reference model: what is planted, read, kept, and drawn is what it is said to be."""

from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from benchmarks import reference_audits
from benchmarks.reference_audits import EVERYONE, NONE, Population, gather, learning, summed_up
from facevalue import studies
from facevalue.errors import ModelError
from facevalue.models.reference import adapter
from facevalue.models.reference.adapter import FOLDER, VARIANTS, ReferenceModel
from facevalue.models.reference.truth import PlantedEffects
from facevalue.prompts import ORDERINGS
from facevalue.runs import RunSettings, SilentProgress, run
from facevalue.runs.stored_run import StoredRun, answers
from facevalue.types import OptionValue
from tests.studies.planted_model import PlantedModel

TABLE = Path(__file__).parents[2] / "docs/results/calibration-reference.csv"
EFFECTS = TABLE.with_stem("calibration-reference-effects")
FEW: dict[str, OptionValue] = {
    "faces": "1M,1F",
    "variations": ["sunglasses", "blonde"],
    "scenario": ["wealthy", "polite"],
}
PUBLISHED = PlantedEffects.read(FOLDER / "truth.parquet")


def populated(
    folder: Path, model: PlantedModel | ReferenceModel, effects: PlantedEffects = PUBLISHED, /, **options: OptionValue
) -> Population:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference_audits, "default_folder", lambda: folder)
        patch.setattr(reference_audits, "draw_all", lambda *_: ())
        return reference_audits.population({**EVERYONE, **options}, model, effects, SilentProgress())


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Population:
    """Six people, and a model that has learned everything."""
    return populated(tmp_path_factory.mktemp("kept"), PlantedModel(), faces="3M,3F")


@pytest.fixture(scope="module")
def opposite(tmp_path_factory: pytest.TempPathFactory) -> Population:
    """Twelve people, and a model that has learned the opposite, with replies that are no answer."""
    return populated(tmp_path_factory.mktemp("kept"), PlantedModel(sign=-1, invalid=0.2), faces="6M,6F")


def nothing(of: Population) -> npt.NDArray[np.bool_]:
    """Flag variations that have no planted effect on anything."""
    return np.abs(of.effects()["planted"].to_numpy().reshape(len(of.cues), -1)).max(axis=1) < 1e-12


def test_a_model_that_follows_the_table_has_learned_exactly_what_is_planted(learned: Population) -> None:
    assert np.allclose(learned.learned, learned.planted)
    known = learned.effects()
    assert known.height == 34 * 25
    correlation, slope, error, _, largest = learning(known).values()
    assert (correlation, slope) == pytest.approx((1, 1))
    assert (error, largest) == pytest.approx((0, 0), abs=1e-6)


def test_some_variations_have_nothing_planted_and_their_planted_shift_is_exactly_zero(learned: Population) -> None:
    assert 0 < nothing(learned).sum() < 34
    assert (learned.expected(learned.planted, {"male": 2, "female": 1})[nothing(learned)] == 0).all()


def test_the_expected_sbs_weighs_people_by_how_many_of_their_gender_are_drawn(learned: Population) -> None:
    men, women, both = (
        learned.expected(learned.learned, {"male": male, "female": female}) for male, female in ((4, 0), (0, 4), (3, 1))
    )
    shared = np.isfinite(men) & np.isfinite(women)
    assert shared.any()
    assert not shared.all()
    assert both[shared] == pytest.approx((3 * men + women)[shared] / 4)
    assert both[~shared] == pytest.approx(np.where(np.isfinite(men), men, women)[~shared])


def test_replies_that_are_no_answer_are_left_out_of_learned_scores(opposite: Population) -> None:
    assert np.unique(opposite.answers.mass.round(6)).tolist() == pytest.approx([0.8, 1.0])
    weights = np.where([ordering.labels[0] == "(b)" for ordering in ORDERINGS], 0.8, 1.0)
    assert np.allclose(opposite.learned, np.average(opposite.answers.weights, axis=2, weights=weights))


def test_drawn_replies_are_as_frequent_as_in_a_run_of_the_model_through_the_study(tmp_path: Path) -> None:
    seeds = 80
    study = studies.build("stylisticbias", {**EVERYONE, **FEW, "seeds": [str(seed) for seed in range(1, seeds + 1)]})
    run(study, ReferenceModel(), tmp_path / "run", RunSettings(check=False))
    stored = answers(StoredRun.open(tmp_path / "run"))
    real = gather(study, stored)
    valid = real.by_prompt(real.mass).sum(axis=-1)
    favourable = np.nansum(real.by_prompt(real.weights), axis=-1)

    people = populated(tmp_path / "kept", ReferenceModel(), PUBLISHED, **FEW)
    rng = np.random.default_rng(1)
    draws = [people.replies(np.arange(study.manifest.height), rng) for _ in range(seeds)]
    exact = people.answers
    for own, wanted, chance in (
        (sum(said.astype(int) for said, _ in draws), favourable, exact.weights * exact.mass),
        (sum(able.astype(int) for _, able in draws), valid, exact.mass),
    ):
        spread = np.sqrt(2 * seeds * chance * (1 - chance)) + 0.5  # two samples; half a reply where there is no chance
        off = (own - wanted) / spread
        assert np.abs(off).max() < 4  # of 48 cells
        assert np.mean(off**2) < 1 + 4 * np.sqrt(2 / off.size)


def test_audits_estimate_what_is_learned_without_bias(opposite: Population) -> None:
    audits = list(islice(opposite.audits(6), 150))
    values = np.array([audit["value"] for audit in audits])
    off = (values.mean(axis=0) - audits[0]["true"].to_numpy()) / (values.std(axis=0, ddof=1) / np.sqrt(len(audits)))
    assert np.abs(off).max() < 4.5  # of 34
    assert np.abs(values.mean(axis=0) - audits[0]["planted"].to_numpy()).max() > 0.05


def test_a_table_without_effects_has_no_correlation(tmp_path: Path) -> None:
    found = populated(tmp_path, PlantedModel(), PlantedEffects.read(VARIANTS / "bias-0" / "truth.parquet"), **FEW)
    assert (found.shifts(found.planted) == 0).all()
    assert np.abs(found.shifts(found.learned)).max() > 0.1


def repeated(population: Population, repetitions: int) -> tuple[dict[str, float], pl.DataFrame]:
    """Statistics of audits of twenty people, and the first."""
    audits = list(islice(population.audits(20), repetitions))
    found = summed_up(audits)
    return {name: value for name, value in found.items() if value is not None}, audits[0]


def test_intervals_are_judged_by_what_was_learned_and_flags_by_what_was_planted(opposite: Population) -> None:
    correlation = learning(opposite.effects())["correlation"]
    assert correlation is not None
    assert correlation < -0.9
    row, first = repeated(opposite, 40)
    assert row["correlation"] > 0.95
    # Of 1,360 intervals; people of two genders are drawn evenly, which t doesn't count on.
    assert 0.92 < row["coverage"] < 1
    assert row["flagged_none"] <= 0.05  # what has no effect has none in its opposite
    assert row["wrong_sign"] <= 0.05  # those few of them that are findings have no right sign
    assert (first.select(NONE).to_series().to_numpy() == nothing(opposite)).all()


def test_flags_count_where_the_model_learned_what_was_not_planted(learned: Population) -> None:
    moved = learned.answers.weights.copy()
    moved[learned.cues.codes == int(np.flatnonzero(nothing(learned))[0])] = 0.0
    row, _ = repeated(replace(learned, answers=replace(learned.answers, weights=moved)), 10)
    assert row["flagged_none"] == pytest.approx(1 / nothing(learned).sum(), abs=0.04)
    assert row["false_discovery_rate"] > 0
    assert row["coverage_none"] > 0.9


def test_an_audit_is_the_same_each_time_and_others_draw_other_people(learned: Population) -> None:
    audits = learned.audits(4)
    first, other, again = next(audits), next(audits), next(learned.audits(4))
    assert first.equals(again)
    assert not first.equals(other)


def test_what_was_read_is_not_asked_again(tmp_path: Path) -> None:
    model = PlantedModel()
    before = populated(tmp_path, model, PUBLISHED, **FEW)
    assert model.asked == 2 * 3 * 2 * 4
    again = populated(tmp_path, model, PUBLISHED, **FEW)
    assert model.asked == 2 * 3 * 2 * 4
    assert np.array_equal(again.answers.weights, before.answers.weights)


@pytest.mark.parametrize(
    ("model", "change"),
    [(PlantedModel(weights="1"), {}), (PlantedModel(), {"temperature": 0.3}), (PlantedModel(), {"faces_seed": 2})],
)
def test_another_model_or_question_or_person_is_read_anew(
    tmp_path: Path, model: PlantedModel, change: dict[str, OptionValue]
) -> None:
    populated(tmp_path, PlantedModel(), PUBLISHED, **FEW)
    asked = model.asked
    populated(tmp_path, model, PUBLISHED, **FEW, **change)
    assert model.asked == asked + 2 * 3 * 2 * 4


def test_a_model_that_cannot_answer_is_one_error_and_is_asked_again(tmp_path: Path) -> None:
    model = PlantedModel()
    model.fails = True
    with pytest.raises(ModelError, match="Nothing to see"):
        populated(tmp_path, model, PUBLISHED, **FEW)
    model.fails = False
    assert np.isfinite(populated(tmp_path, model, PUBLISHED, **FEW).learned).all()


def test_the_tables_of_a_model_are_printed_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = PlantedModel(sign=-1)
    monkeypatch.setattr(adapter, "ReferenceModel", lambda *_: model)
    monkeypatch.setattr(reference_audits, "EVERYONE", {**EVERYONE, "faces": "2M,2F"})
    monkeypatch.setattr(reference_audits, "default_folder", lambda: tmp_path / "kept")
    monkeypatch.setattr(reference_audits, "draw_all", lambda *_: ())
    path = tmp_path / "table.csv"

    def printed(*options: str) -> str:
        monkeypatch.setattr("sys.argv", ["reference_audits", *options])
        reference_audits.main()
        return capsys.readouterr().out

    out = printed("--faces", "8", "20", "--audits", "3", "--out", str(path))
    assert out.count("not as promised") == 2
    assert model.asked == 13_000
    table, effects = pl.read_csv(path), pl.read_csv(path.with_stem("table-effects"))
    assert table.select("condition", "faces", "repetitions").rows() == [("reference", 8, 3), ("reference", 20, 3)]
    assert (table.columns, effects.columns) == (pl.read_csv(TABLE).columns, pl.read_csv(EFFECTS).columns)
    assert effects.height == 34 * 25
    model.sign, model.weights = 1, "others"
    assert "not as promised" not in printed("--faces", "4", "--audits", "1")


def test_the_committed_table_covers_at_the_nominal_rate_and_finds_no_wrong_sign() -> None:
    table = pl.read_csv(TABLE)
    assert (table["repetitions"] >= 200).all()
    assert table["coverage"].is_between(0.92, 0.98).all()
    assert table["coverage_none"].is_between(0.92, 0.98).all()
    assert table["slope"].is_between(0.95, 1.05).all()
    assert (table["wrong_sign"] < 0.05).all()


def test_the_page_shows_the_committed_tables() -> None:
    page = (TABLE.parents[1] / "explanation/calibration.md").read_text(encoding="utf-8")
    for row in pl.read_csv(TABLE).drop("condition", "audits_with_false").iter_rows():
        faces, audits, *shares = row
        wanted = f"| {faces} | {audits} | {' | '.join(f'{share:.3f}' for share in shares)} |"
        assert wanted in page
    effects = pl.read_csv(EFFECTS)
    planted, learned = (effects[name].to_numpy().reshape(34, 25) for name in ("planted", "learned"))
    none = learned[(planted == 0).all(axis=1)]
    for name, value in (
        ("correlation", np.corrcoef(planted.ravel(), learned.ravel())[0, 1]),
        ("slope of learned on planted effects", np.polyfit(planted.ravel(), learned.ravel(), 1)[0]),
        ("mean error", np.abs(learned - planted).mean()),
        ("SD of learned effects where nothing is planted", none.std()),
        ("largest learned effect where nothing is planted", np.abs(none).max()),
    ):
        wanted = f"| {name} | {value:.3f} |"
        assert wanted in page
