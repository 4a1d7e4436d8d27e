"""Units: what a run is cut into, always the same, and what their keys hang on."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from facevalue.design import Block, Design, Factor, units
from facevalue.protocol.study import Study
from facevalue.runs.settings import RunSettings
from facevalue.runs.storage.units import UnitPlan, answers_per_unit
from facevalue.store.remote import KEY
from facevalue.types import Sampling
from tests.runs.tiny import TinySource, tiny_study


def plan(study: Study, run: str = "run", asked_of: int = 1, answers: int = 40, **settings: Any) -> UnitPlan:
    return UnitPlan(study, RunSettings(**settings), run, asked_of, answers)


def two_blocks(faces: int, prompts: int) -> Design:
    face, more = (Factor(name, tuple(f"{name}{i}" for i in range(faces))) for name in ("face", "pair"))
    scenario = Factor("scenario", tuple(f"s{i}" for i in range(prompts)))
    return Design((Block("one", (face,), (scenario,)), Block("two", (face, more), (scenario,))))


@given(
    faces=st.integers(1, 30),
    prompts=st.integers(1, 30),
    seeds=st.integers(1, 3),
    answers=st.integers(1, 400),
    sample=st.none() | st.integers(1, 500),
    seed=st.integers(0, 5),
    blocks=st.booleans(),
    together=st.booleans(),
)
def test_pieces_partition_the_requests_and_cut_nothing_that_is_asked_together_in_two(
    faces: int, prompts: int, seeds: int, answers: int, sample: int | None, seed: int, blocks: bool, together: bool
) -> None:
    study = tiny_study(faces, prompts, seeds=tuple(range(seeds)))
    if blocks:
        study = replace(study, design=two_blocks(faces, prompts))
    if together:
        study = replace(study, asked_together=("face",))
    if blocks or sample is None or sample // seeds > faces * prompts:
        sample = None
    made = plan(study, answers=answers, sample=sample, seed=seed)
    pieces = list(made.pieces())
    trials = np.concatenate([piece.trials for piece in pieces])
    assert sorted(trials.tolist()) == made.numbers.numbers_at(0, made.numbers.size).tolist()
    place = 0
    for piece in pieces:
        assert (piece.first, piece.last) == (place, place + piece.trials.size - 1)
        place += piece.trials.size
    most = max(answers // seeds, 1)
    assert all(piece.trials.size <= most for piece in pieces)
    asked = [units(study.design, study.asked_together, piece.trials) for piece in pieces]
    if pl.concat(asked).value_counts()["count"].max() <= most:  # type: ignore[operator]
        assert sum(names.n_unique() for names in asked) == pl.concat(asked).n_unique(), "nothing is cut in two"


def test_a_plan_is_always_the_same() -> None:
    one, two = (plan(tiny_study(50), sample=90, seed=3) for _ in range(2))
    keys = [one.plain_unit(piece).key for piece in one.pieces()]
    assert keys == [two.plain_unit(piece).key for piece in two.pieces()]
    assert all(KEY.fullmatch(key) for key in keys)
    assert len(set(keys)) == len(keys) > 1


def test_whatever_changes_what_is_asked_changes_the_key() -> None:
    def key(made: UnitPlan, generation: int = 0, left_out: int = 0) -> str:
        piece = next(made.pieces())
        unit = made.plain_unit(piece)
        wanted = unit.wanted.copy()
        wanted[:left_out] = False
        return made.unit(piece, wanted, 0, generation).key

    study = tiny_study(50)
    keys = [
        key(plan(study)),
        key(plan(tiny_study(50, wording="Is he"))),
        key(plan(tiny_study(50, source=TinySource("v2")))),
        key(plan(tiny_study(50, seeds=(12,)))),
        key(
            plan(
                replace(
                    study,
                    draws=replace(study.draws, sampling=Sampling(0.7)),
                )
            )
        ),
        key(
            plan(
                replace(
                    study,
                    draws=replace(study.draws, constrain=True),
                )
            )
        ),
        key(plan(study, exact=True)),
        key(plan(study, asked_of=2)),
        key(plan(study, run="another")),
        key(plan(study, seed=1)),
        key(plan(study), generation=1),
        key(plan(study), left_out=1),
    ]
    assert len(set(keys)) == len(keys)


def test_units_are_neither_tiny_nor_too_much_to_lose() -> None:
    assert [answers_per_unit(n) for n in (1, 10**6, 10**7, 10**8)] == [1_024, 1_024, 10_000, 16_384]


@given(sizes=st.lists(st.integers(1, 400), min_size=2, max_size=4, unique=True), seed=st.integers(0, 5))
def test_a_run_that_grew_keeps_its_units_and_cuts_what_was_added_by_itself(sizes: list[int], seed: int) -> None:
    study = tiny_study(20, 20)
    first, *larger = sorted(sizes)
    before, grown = list(plan(study, sample=first, seed=seed).pieces()), [first]
    for sample in larger:
        bigger = UnitPlan(study, RunSettings(sample=sample, seed=seed), "run", 1, 40, grown)
        pieces = list(bigger.pieces())
        assert [(piece.first, piece.last) for piece in pieces[: len(before)]] == [(p.first, p.last) for p in before]
        assert all((new.trials == old.trials).all() for new, old in zip(pieces, before, strict=False))
        trials = np.concatenate([piece.trials for piece in pieces])
        assert sorted(trials.tolist()) == bigger.numbers.numbers_at(0, bigger.numbers.size).tolist()
        before, grown = pieces, [*grown, sample]
