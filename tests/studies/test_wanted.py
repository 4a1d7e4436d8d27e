"""Measures that are wanted alone are the very same as among all others."""

from functools import cache
from typing import Any

import polars as pl
import pytest

from facevalue import studies
from facevalue.measures.cluster_bootstrap import values_only
from facevalue.measures.definitions import measures_wanted
from facevalue.protocol.study import Study
from tests.studies.modscan.asked import simulated
from tests.studies.visbias.simulated import answered

SMALL: dict[str, dict[str, Any]] = {
    "stylisticbias": {"faces": "6", "scenario": ["polite", "wealthy"], "attributes": ["eyewear"], "seeds": ["1"]},
    "vignette": {"dimension": ["age"], "gender": ["male"], "activity": ["cooking"], "contrast": ["identity"]},
    "modscan": {"faces": 1, "scenarios": ["persona"], "per_persona": 1, "instances": ["art lover", "slob"]},
}


@cache
def asked(name: str) -> tuple[Study, pl.DataFrame]:
    """A small study, and what two models answered."""
    study = studies.build(name, SMALL[name])
    return study, simulated(study) if name == "modscan" else answered(study)


def taken(name: str, *wanted: str) -> pl.DataFrame:
    """Estimates, without intervals: of these measures at least, or of all."""
    study, answers = asked(name)
    models = ("one",) if name == "stylisticbias" else ("one", "two")  # what compares its models is always taken
    with values_only(), measures_wanted(wanted or None):
        return study.analyse({model: iter([answers]) for model in models})


@pytest.mark.parametrize("name", SMALL)
def test_measures_are_the_same_whether_others_are_taken_or_not(name: str) -> None:
    whole = taken(name)
    measures = sorted(set(whole["measure"]))
    assert len(measures) > 10
    for start in range(3):  # those that one step takes stand in different parts, as their names begin alike
        some = pl.col("measure").is_in(measures[start::3])
        assert taken(name, *measures[start::3]).filter(some).equals(whole.filter(some))


@pytest.mark.parametrize("name", SMALL)
def test_what_nobody_wants_is_left_out(name: str) -> None:
    of_some, of_all = (taken(name, *wanted).select("measure", "score").n_unique() for wanted in (["none of these"], []))
    assert of_some < of_all / 3


def test_all_is_wanted_again_after_an_error() -> None:
    with pytest.raises(KeyError), measures_wanted(["shift"]):
        raise KeyError
    assert taken("modscan")["measure"].n_unique() > 10
