"""What a plan of VIGNETTE detects, by pictures and people, and what pictures cannot tell apart."""

import numpy as np
import polars as pl
import pytest

from facevalue.errors import DataError
from facevalue.measures.power import clusters_needed
from facevalue.measures.proportions import effective_size, score_p
from facevalue.protocol.study import Study
from facevalue.runs.plan import detection
from facevalue.studies.vignette.analysis import analyse
from facevalue.studies.vignette.settings import SETTINGS
from facevalue.studies.vignette.study import DEFAULT, LEAD, build, pilot_spread
from facevalue.types import OptionValue
from tests.studies.vignette.framed import answers


def study(**options: OptionValue) -> Study:
    given: dict[str, OptionValue] = {setting.name: setting.default for setting in SETTINGS}
    return build({**given, "drawings": "none", **options})


AGE = study(dimension=["age"], gender=["male"], paradigm=["decision"])


def test_the_units_of_a_plan_are_an_identitys_pictures() -> None:
    plan = AGE.planned.precision
    assert plan is not None
    assert (plan.clusters, plan.cluster) == (75, "pictures of each identity")
    assert plan.items + 1 == plan.tests == AGE.manifest["identity"].n_unique()
    both = study(dimension=["age"], paradigm=["perception"]).planned.precision
    assert both is not None
    assert (both.clusters, both.tests) == (150, 4 * plan.tests)


def test_people_who_stand_in_several_pictures_are_the_units() -> None:
    plan = study(dimension=["age"], paradigm=["decision"], drawings="drawn").planned.precision
    assert plan is not None
    assert (plan.clusters, plan.cluster) == (8, "people of each identity")  # four men and four women


def test_a_sample_has_fewer_pictures_and_pairs() -> None:
    plan = AGE.planned.precision
    assert plan is not None
    clusters, items = plan.units(AGE.sample(600, 1, 1))
    assert 0 < clusters < plan.clusters
    assert 1 <= items < plan.items


def test_no_plan_speaks_of_identities_further_from_an_even_choice_than_they_can_be() -> None:
    few = study(dimension=["age"], paradigm=["decision"], activity=["cooking", "fishing"], gender=["male"])
    assert few.planned.precision is not None
    assert few.planned.precision.largest == 0.5
    chosen = {"requests": 1000, "sample": None, "seed": 0, "exact": False, "pilot": None}
    assert detection(few, effect=None, **chosen).detectable is None  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"at most 0\.5"):
        detection(few, effect=0.6, **chosen)  # type: ignore[arg-type]


def test_portraits_alone_have_no_plan() -> None:
    assert study(dimension=["age"], paradigm=["stereotype"]).planned.precision is None


def test_a_plan_says_what_one_picture_of_an_activity_cannot() -> None:
    found = detection(AGE, requests=1000, sample=None, seed=0, exact=False, effect=0.1, pilot=None)
    assert found.detectable is not None
    assert found.needed is not None
    assert found.level == pytest.approx(0.04 / found.tests)
    assert "picture and identity cannot be told apart" in found.advice
    assert "20 points in a single activity" in found.advice


def test_so_many_pictures_find_what_was_planned_as_often_as_planned() -> None:
    """The default's pictures (.5 logit), pairs (.3) and six decisions of each of eleven pairs."""
    rng = np.random.default_rng(2)
    effect, level, audits = 0.08, 0.04 / 12, 1500
    pictures = int(clusters_needed(DEFAULT.mean, effect, level))
    logit = 0.37 + rng.normal(0, 0.5, (audits, pictures, 1)) + rng.normal(0, 0.58, (audits, pictures, 11))
    share = (rng.binomial(6, 1 / (1 + np.exp(-logit))) / 6).mean(axis=2)
    mean, se = share.mean(axis=1), share.std(axis=1, ddof=1) / pictures**0.5
    assert mean.mean() - 0.5 == pytest.approx(effect, abs=0.005)
    assert share.std(axis=1, ddof=1).mean() == pytest.approx(DEFAULT.mean, rel=0.05)
    p = score_p(mean, effective_size(mean, se, np.full(audits, pictures)), np.full(audits, pictures - 1))
    assert 0.75 <= (p < level).mean() <= 0.9


def test_a_pilot_gives_the_spread_of_its_pictures() -> None:
    frame = answers(
        ("a", "b", "c", "d", "e"), tuple(f"doing {k}" for k in range(30)), ("male",), ("identity",), exact=True
    )
    rng = np.random.default_rng(4)
    effect = rng.normal(0, 0.1, (5, 30))
    place = {name: i for i, name in enumerate("abcde")}
    rows = frame.select(pl.col("identity_1", "identity_2", "activity").cast(pl.String)).rows()
    weight = [0.5 + effect[place[i], int(a[6:])] - effect[place[j], int(a[6:])] for i, j, a in rows]
    planted = frame.with_columns(weight=pl.Series(weight).clip(0, 1))
    found = pilot_spread(iter([planted]), "decision", "pilot")
    expected = 0.1 * (1 + 1 / 4) ** 0.5  # its own picture, and the mean of the four beside it
    assert found.mean == pytest.approx(expected, rel=0.15)
    assert found.items == pytest.approx(4, abs=0.01)
    assert found.source == "pilot"
    assert np.isnan(pilot_spread(iter([planted.clear()]), "decision", "x").mean)


@pytest.mark.parametrize(
    ("measure", "contrast", "paradigm", "lead"),
    [
        ("selection_gap", "identity", "decision", LEAD[0]),
        ("selection_gap", "identity", "perception", LEAD[1]),
        ("polarity", "portrait", "stereotype", LEAD[2]),
    ],
)
def test_a_run_of_one_paradigm_is_led_by_the_families_of_its_headline(
    measure: str, contrast: str, paradigm: str, lead: str
) -> None:
    frame = answers(contrasts=(contrast,))
    found = analyse({"m": iter([frame.filter(pl.col("paradigm").cast(pl.String) == paradigm)])})
    own = found.filter((pl.col("measure") == measure) & pl.col("gender").is_null())
    names = own["family"].drop_nulls().unique().to_list()
    assert f"{lead} (age, {contrast})" in names
    later = LEAD[: LEAD.index(lead)]
    assert not any(name.startswith(f"{other} (") for other in later for name in found["family"].drop_nulls())
