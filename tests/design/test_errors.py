"""What users get wrong, and what they are told."""

import numpy as np
import polars as pl
import pytest

from facevalue.design import Block, Design, Factor, Pairs
from facevalue.errors import DataError, UnknownNameError

FACE = Factor("face", ("f1", "f2", "f3"), {"age": ("young", "elderly", None)})
DESIGN = Design(
    (
        Block("single", (FACE,), (Factor("question", ("kind", "rich")),), {"setting": "alone"}),
        Block("paired", (Pairs(Factor("identity", ("man", "woman", "child"))),), constants={"setting": "pair"}),
    )
)


def test_factors() -> None:
    with pytest.raises(DataError, match="Factor 'face' has no levels"):
        Factor("face", ())
    with pytest.raises(DataError, match="names the level 'a' twice"):
        Factor("face", ("a", "b", "a"))
    with pytest.raises(DataError, match="Attribute 'age' has 1 values for 2 levels"):
        Factor("face", ("a", "b"), {"age": ("young",)})
    with pytest.raises(DataError, match="Pairs of 'face' need two levels; there is only 'a'"):
        Pairs(Factor("face", ("a",)))


def test_blocks_and_designs() -> None:
    with pytest.raises(DataError, match="'face' twice"):
        Block("all", (FACE, FACE))
    with pytest.raises(DataError, match="'age' twice"):
        Block("all", (FACE,), constants={"age": "old"})
    with pytest.raises(DataError, match="reserved name"):
        Block("all", (Factor("trial", ("1",)),))
    with pytest.raises(DataError, match="The design has no blocks: nothing is left to ask"):
        Design(())
    with pytest.raises(DataError, match="same name"):
        Design((Block("all", (FACE,)), Block("all", (FACE,))))
    wide = tuple(map(str, range(2**16)))
    with pytest.raises(DataError, match=r"2\^54 trials or more"):
        Design((Block("all", tuple(Factor(name, wide) for name in "abcd")),))


@pytest.mark.parametrize("numbers", [[-1], [9], [0, 10**12]])
def test_numbers_outside_the_design(numbers: list[int]) -> None:
    with pytest.raises(DataError, match="run from 0 to 8"):
        DESIGN.trials(numbers)


@pytest.mark.parametrize("numbers", [[[0, 1], [2, 3]], [0.5], ["1"], np.zeros((2, 1), dtype=int), 3])
def test_what_is_no_array_of_numbers(numbers: object) -> None:
    with pytest.raises(DataError, match="one-dimensional array of integers"):
        DESIGN.trials(numbers)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="one-dimensional array of integers"):
        DESIGN.stimulus_numbers(numbers)  # type: ignore[arg-type]


def test_unknown_names_come_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown factor 'quesiton'\. Did you mean 'question'"):
        DESIGN.trials([0], ["quesiton"])
    with pytest.raises(UnknownNameError, match=r"Unknown factor 'agee'\. Did you mean 'age'"):
        DESIGN.select_levels({"agee": ["young"]})
    with pytest.raises(UnknownNameError, match=r"Unknown age 'elderley'\. Did you mean 'elderly'"):
        DESIGN.select_levels({"age": ["young", "elderley"]})
    with pytest.raises(UnknownNameError, match=r"Unknown setting 'alnoe'\. Did you mean 'alone'"):
        DESIGN.select_levels({"setting": ["alnoe"]})


def test_members_of_a_pair_are_selected_together() -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown factor 'identity_1'\. Did you mean 'identity'"):
        DESIGN.select_levels({"identity_1": ["man"]})
    assert DESIGN.select_levels({"identity": ["man", "woman"], "setting": ["pair"]}).size == 1
    with pytest.raises(DataError, match="nothing is left to ask"):
        DESIGN.select_levels({"identity": ["man"], "setting": ["pair"]})


def test_rows_that_are_no_trial() -> None:
    row = {"block": "paired", "identity_1": "man", "identity_2": "man"}
    with pytest.raises(DataError, match=r"No trial of the design has these levels: .*'identity_1': 'man'"):
        DESIGN.numbers(pl.DataFrame([row]))
    with pytest.raises(UnknownNameError, match=r"Unknown identity_2 'womann'\. Did you mean 'man' or 'woman'"):
        DESIGN.numbers(pl.DataFrame([row | {"identity_2": "womann"}]))
    with pytest.raises(DataError, match="No trial of the design"):
        DESIGN.numbers(pl.DataFrame({"block": ["neither"]}))
