"""What intervals, tests and verdicts promise, where pictures, people and answers are difficult."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from facevalue.studies.vignette.calibration_kinds import KINDS, Kind, answers, audit, keep, truth

BY_NAME = {kind.name: kind for kind in KINDS}


def test_pictures_that_a_model_likes_are_no_differences_between_identities() -> None:
    """SD 1 logit, nothing else planted: over pairs, .87 of audits found something, and intervals covered .65."""
    kind = Kind("much", activities=8, pictures=1.0)
    found = keep(kind, 8)
    assert found.page <= 0.25  # .05 each: two or fewer in 99 of 100 times
    assert found.covers_gap is not None
    assert found.covers_gap >= 0.85  # of 48 intervals that go together by audits
    assert found.measurable == 1


def test_people_who_stand_in_all_pictures_are_no_differences_between_identities() -> None:
    """Four people, SD .5: over pairs, .68 of audits found something."""
    kind = Kind("people", activities=5, people=4, pictures=0.2, persons=0.5)
    found = keep(kind, 8)
    assert found.page <= 0.25
    assert found.covers_gap is not None
    assert found.covers_gap >= 0.85
    assert audit(kind, 0).filter(pl.col("measure") == "selection_gap")["clusters"].max() == 4


def test_fishers_test_finds_pictures_everywhere_and_decides_nothing() -> None:
    judged = pl.concat(audit(Kind("much", activities=8, pictures=1.0), seed) for seed in range(4))
    cells = judged.filter((pl.col("measure") == "log_odds") & (pl.col("paradigm") == "decision"))
    assert (cells["p_paper"] < 0.05).mean() > 0.2  # type: ignore[operator]
    assert (cells["p"] < 0.05).mean() < 0.15  # type: ignore[operator]
    assert "difference found" not in set(cells["verdict"])


def test_a_lone_effect_is_found_and_leads_the_page() -> None:
    judged = audit(BY_NAME["a lone effect"], 0)
    gaps = judged.filter((pl.col("measure") == "selection_gap") & pl.col("question").is_null())
    assert gaps.filter(pl.col("verdict") == "difference found")["identity"].to_list() == ["identity 0"]
    assert gaps["family"].unique().to_list() == ["identities, decision (any, identity)"]


def test_what_is_planted_is_what_so_many_pictures_show() -> None:
    kind = Kind("effects", activities=3000, effects=(0.8, 0.3, 0.0, 0.0, -0.3, -0.8))
    shares, beside = truth(kind)
    frame = answers(kind, 3)
    one = frame.group_by("identity_1", "identity_2").agg(share=pl.col("weight").mean()).sort("identity_1", "identity_2")
    places = np.triu_indices(6, 1)
    assert one["share"].to_numpy() == pytest.approx(beside[places], abs=0.02)
    assert shares.mean() == pytest.approx(0.5)


def test_three_pictures_of_an_identity_are_the_fewest_that_are_measured() -> None:
    assert keep(BY_NAME["three pictures of each"], 1).measurable == 1
    assert keep(replace(BY_NAME["three pictures of each"], activities=2), 1).measurable == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_NAME)
def test_promises_are_kept(name: str) -> None:
    found = keep(BY_NAME[name], 100)
    assert found.page <= 0.12  # .05 at most; 99.9% of 100 audits lie at or below
    for covers in (found.covers_gap, found.covers_paircomp, found.covers_spread):
        assert covers is None or covers >= 0.9
