"""The order of asking: units whole and at random times, so that time is no cause of what differs between them."""

import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue import studies
from facevalue.design import Design, Order, units
from facevalue.errors import ModelError
from facevalue.models import load
from facevalue.protocol.study import Study
from facevalue.protocol.toml_tables import builtin
from facevalue.protocol.variants import add_interventions
from facevalue.runs import RunSettings, run
from facevalue.runs.requests import Index, TrialNumbers
from facevalue.store import read_manifest, read_responses
from facevalue.store.shards import write_shard
from facevalue.types import OptionValue
from tests.design.strategies import designs
from tests.runs.tiny import TinyModel, fails, for_a_while, keys, tiny_study

FACES: dict[str, OptionValue] = {
    "faces": "24",
    "scenario": ["polite", "wealthy"],
    "attributes": ["eyewear", "tattoos"],
    "seeds": ["1"],
}


def asked(study: Study, seed: int = 0, sample: Sequence[int] | None = None, step: int = 100) -> Index:
    numbers = TrialNumbers(study.design.size) if sample is None else TrialNumbers.select(np.array(sample))
    pieces = list(Order(study.design, study.asked_together, seed, numbers.chosen).pieces(step))
    return numbers.take(np.concatenate(pieces)) if pieces else np.zeros(0, dtype=np.int64)


def runs(levels: pl.Series) -> int:
    """In how many pieces levels come; as many as there are levels, if each comes in one."""
    return int((levels != levels.shift(1)).fill_null(value=True).sum())


def vignette(**options: Any) -> Study:
    few: dict[str, OptionValue] = {
        "dimension": ["socioeconomic"],
        "drawings": "none",
        "activity": ["cooking", "reading-a-book"],
    }
    return studies.build("vignette", {**few, **options})


@given(designs(), st.booleans(), st.integers(1, 9), st.data())
def test_every_trial_once_and_the_stimuli_of_a_unit_take_turns(
    design: Design, together: bool, step: int, data: st.DataObject
) -> None:
    columns = tuple(data.draw(st.permutations(design.columns)))[:2] if together else ()
    study = type(base := tiny_study())(**{**vars(base), "design": design, "asked_together": columns})
    sample = data.draw(st.none() | st.lists(st.integers(0, design.size - 1), min_size=1, max_size=20, unique=True))
    order = asked(study, sample=sample, step=step)
    assert sorted(order) == (list(range(design.size)) if sample is None else sorted(sample))
    assert np.array_equal(order, asked(study, sample=sample, step=1000))
    firsts = np.unique(design.stimulus_numbers(np.sort(order)), return_index=True)[1]  # a stimulus is of one unit
    stimuli = design.stimulus_numbers(order)
    unit = units(design, columns, np.sort(order)[firsts])[np.searchsorted(np.unique(stimuli), stimuli)]
    assert runs(unit) == unit.n_unique()
    frame = pl.DataFrame({"unit": unit, "stimulus": stimuli})
    for mine in frame.partition_by("unit"):
        turns = mine.with_columns(turn=pl.int_range(pl.len()).over("stimulus"), many=pl.len().over("stimulus"))
        assert (turns.select(pl.col("turn") / pl.col("many")).to_series().diff().drop_nulls() >= 0).all()


def test_the_pictures_of_a_face_are_asked_one_question_after_the_other() -> None:
    study = studies.build("stylisticbias", FACES)
    frame = study.design.trials(asked(study)).with_columns(
        question=pl.concat_str(*[column.name for axis in study.design.blocks[0].prompt for column in axis.columns()])
    )
    for face in frame.partition_by("identity"):
        assert runs(face["question"]) == face["question"].n_unique() > 2
        assert runs(face["image"]) > face["image"].n_unique()
    first = frame.unique("identity", keep="first", maintain_order=True)["question"]
    assert first.n_unique() > 2  # each face begins with another question
    leading = frame.filter(pl.col("question") != pl.col("question").shift(1))["attribute"]
    assert leading.is_null().mean() < 0.5  # type: ignore[operator]


def test_base_and_variations_of_a_face_are_asked_together_at_random_times() -> None:
    study = studies.build("stylisticbias", {**FACES, "faces": "400"})
    frame = study.design.trials(asked(study), ["identity", "image", "attribute", "variation"])
    assert runs(frame["identity"]) == frame["identity"].n_unique() == 400
    shown = frame.unique("image", keep="first", maintain_order=True).with_row_index("place")
    whose = shown.with_columns(pl.int_range(pl.len()).over("identity").alias("turn"))
    first = whose.filter(pl.col("turn") == 0)["attribute"]
    chance = shown["attribute"].is_null().mean()
    assert isinstance(chance, float)
    assert first.is_null().mean() == pytest.approx(chance, abs=0.06)  # the base leads no more often than any other
    # No variation comes earlier in the run than others: places are uniform, with an SD of 1/sqrt(12) of the run.
    mean = shown.group_by("attribute", "variation").agg(pl.col("place").mean(), n=pl.len())
    z = (mean["place"] / shown.height - 0.5) / (12 * mean["n"]) ** -0.5
    assert float(z.abs().max()) < 3  # type: ignore[arg-type]
    assert not np.array_equal(asked(study), asked(study, seed=1))
    assert np.array_equal(asked(study), asked(study, step=7))


def test_no_identity_activity_contrast_or_side_of_pairs_comes_first() -> None:
    study = vignette()
    order = asked(study)
    assert sorted(order) == list(range(study.design.size))
    frame = study.design.trials(order).with_row_index("place")
    pairs = frame.unique(["block", "identity_1", "identity_2", "activity_1", "activity_2", "identity", "activity"],
                         keep="first", maintain_order=True).with_row_index("turn")  # fmt: skip
    for column in ("gender", "contrast", "identity_1", "identity_2", "activity"):
        mean = pairs.drop_nulls(column).group_by(column).agg(pl.col("turn").mean(), n=pl.len())
        z = (mean["turn"] / pairs.height - 0.5) / (12 * mean["n"]) ** -0.5
        assert float(z.abs().max()) < 4, column  # type: ignore[arg-type]


def test_a_pair_is_asked_together_with_and_without_its_picture() -> None:
    study = vignette(shown=["picture", "text"], contrast=["identity"], paradigm=["decision"])
    for sample in (None, study.sample(900, 1, 1).tolist()):
        frame = study.design.trials(asked(study, sample=sample))
        shown = frame.select(pl.concat_str("gender", "identity_1", "identity_2", "activity", separator=" ")).to_series()
        assert runs(shown) == shown.n_unique()
        firsts = frame.filter(shown != shown.shift(1))["shown"]
        assert 0.3 < (firsts == "text").mean() < 0.7  # type: ignore[operator]


def test_a_pair_and_its_swapped_negation_are_neighbours_and_groups_take_turns() -> None:
    study = studies.build("visbias", {"forms": 8})
    frame = study.design.trials(asked(study))
    pair = frame["pair"].drop_nulls()
    assert runs(pair) == pair.n_unique()
    halves = frame.drop_nulls("pair").unique(["pair", "order"], keep="first", maintain_order=True)
    assert 0.4 < (halves["order"].gather_every(2) == "swapped").mean() < 0.6  # type: ignore[operator]
    shown = frame.drop_nulls("image")
    whose = (
        shown.select(pl.coalesce(pl.col("set", "image").cast(pl.String))).to_series()
        if "set" in shown.columns
        else shown["image"]
    )
    whole = frame.with_row_index("place").drop_nulls("image")["place"].diff().drop_nulls()
    assert runs(whose) == whose.n_unique() < int((whole > 1).sum()) + whose.n_unique()  # pairs and forms in between
    names = units(study.design, study.asked_together, frame["trial"].to_numpy().astype(np.int64))
    ranked = frame.with_columns(unit=names).unique("unit", keep="first", maintain_order=True).with_row_index("turn")
    for task, mine in ranked.group_by("task"):
        z = (mine["turn"].to_numpy().mean() / ranked.height - 0.5) * (12 * mine.height) ** 0.5
        assert abs(z) < 3, task


def test_conditions_are_asked_together() -> None:
    plain = studies.build("stylisticbias", FACES)
    done = [builtin()["cipher"], builtin()["no-image"]]
    frame = (study := add_interventions(plain, done)).design.trials(asked(study))
    assert runs(frame["identity"]) == frame["identity"].n_unique()
    study = add_interventions(vignette(paradigm=["decision"], contrast=["identity"]), done)
    frame = study.design.trials(asked(study))
    pairs = frame.select(pl.concat_str("gender", "identity_1", "identity_2", "activity", separator=" ")).to_series()
    assert runs(pairs) == pairs.n_unique()


def test_thirty_million_pairs_need_no_memory() -> None:
    study = studies.build("vignette", {"drawings": "none"})
    assert study.design.stimulus_offsets[-1] > 20_000_000
    tracemalloc.start()
    order = Order(study.design, study.asked_together, 0)
    pieces = order.pieces(2_048)
    assert sum(next(pieces).size for _ in range(20)) > 20 * 1_900
    assert tracemalloc.get_traced_memory()[1] < 20e6
    tracemalloc.stop()


def test_a_run_that_ends_early_holds_whole_units_at_random(tmp_path: Path) -> None:
    study = studies.build("stylisticbias", {**FACES, "faces": "40"})
    with pytest.raises(ModelError):
        run(study, TinyModel(for_a_while(500, fails(ModelError))), tmp_path, RunSettings(check=False))
    said = study.design.trials(read_responses(tmp_path)["trial"].to_numpy().astype(np.int64))
    there = said.group_by("identity").agg(n=pl.len(), gender=pl.col("gender").first())
    whole = study.design.trials(np.arange(study.design.size)).group_by("identity").len("whole")
    joined = there.join(whole, on="identity")
    assert (joined["n"] < joined["whole"]).sum() <= 1
    assert joined["gender"].n_unique() == 2


def test_a_run_begun_in_the_order_of_trials_goes_on_and_asks_nothing_twice(tmp_path: Path) -> None:
    study = tiny_study(faces=40, seeds=(1, 2), reasks=1)
    run(study, whole := TinyModel(), tmp_path / "whole")
    done = read_responses(tmp_path / "whole")
    with pytest.raises(ModelError):
        run(study, TinyModel(for_a_while(0, fails(ModelError))), tmp_path / "old")
    write_shard(
        tmp_path / "old", 1, done.head(77), read_manifest(tmp_path / "old").id
    )  # as an earlier version stored: no times
    rest = TinyModel()
    summary = run(study, rest, tmp_path / "old")
    before = set(done.head(77).select("trial", "repeat").rows())
    assert not before & set(keys(rest.asked))
    assert len(rest.asked) == len(whole.asked) - 77 == summary.asked
    assert read_responses(tmp_path / "old").equals(done)


@pytest.mark.parametrize("settings", [RunSettings(), RunSettings(exact=True), RunSettings(sample=900, seed=3)])
def test_an_interrupted_run_ends_with_the_estimates_of_one_in_one_go(tmp_path: Path, settings: RunSettings) -> None:
    study = studies.build("stylisticbias", FACES)
    run(study, load("sim/default"), tmp_path / "one", settings)

    class Breaks(TinyModel):
        name = "sim/default"

        def respond(self, requests):  # type: ignore[no-untyped-def]
            for count, response in enumerate(load("sim/default").respond(requests)):
                if count == 333:
                    raise ModelError
                yield response

    first = Breaks(facts=load("sim/default").settings(), probabilities="full", images_per_request=2)
    first.name = "sim/default"
    with pytest.raises(ModelError):
        run(study, first, tmp_path / "two", settings)
    summary = run(study, load("sim/default"), tmp_path / "two", settings)
    assert summary.skipped == 333
    assert read_responses(tmp_path / "two").equals(read_responses(tmp_path / "one"))
