"""Stored answers without and with what was changed: which pair of replies is the example."""

import polars as pl
import pytest

from facevalue.protocol.contents import Compared
from facevalue.protocol.look import Of
from facevalue.report.stored_answers import closest_pair

DECLARED = Compared(
    of=Of("shift", ("attribute",)), within="scenario", score="weight", option="kind", bases=lambda *_: ["base"]
)


def judged(faces: int) -> pl.DataFrame:
    """Answers about faces that are all alike, each with a base and a hat, in two orderings."""
    rows = [
        {"identity": f"face {face}", "image": image, "ordering": ordering, "repeat": 0, "weight": weight}
        for face in range(faces)
        for ordering in (0, 1)
        for image, weight in (("base", 0.0), (f"hat {face}", float(ordering)))
    ]
    texts = pl.Series("text", ["yes"] * len(rows))
    return pl.DataFrame(rows).with_columns(texts, pl.lit(None).alias("probs")).with_row_index("trial")


@pytest.mark.parametrize("seed", range(20))
def test_among_equals_the_first_trial_is_the_example_in_whatever_order_answers_come(seed: int) -> None:
    answers = judged(9)
    chosen = closest_pair(DECLARED, answers.sample(fraction=1.0, shuffle=True, seed=seed), ["base"], 0.5)
    assert chosen is not None
    assert (chosen["identity"], chosen["trial_base"], chosen["trial"]) == ("face 0", 2, 3)
    assert (chosen["phi_base"], chosen["phi"]) == (0.0, 0.5)


def test_the_unit_closest_to_the_mean_is_the_example() -> None:
    answers = judged(3).with_columns(
        pl.when(pl.col("image") == "hat 2").then(1.0).otherwise(pl.col("weight")).alias("weight")
    )
    chosen = closest_pair(DECLARED, answers, ["base"], 0.9)
    assert chosen is not None
    assert chosen["identity"] == "face 2"


def test_without_both_stimuli_there_is_no_example() -> None:
    assert closest_pair(DECLARED, judged(2).filter(pl.col("image") != "base"), ["base"], 0.5) is None
