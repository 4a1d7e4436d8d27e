"""What may be said of estimates: verdicts, detectable effects, declared families and margins."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import stats

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.definitions import NO_INTERVENTION, Measure
from facevalue.measures.estimates import estimate_schema
from facevalue.measures.families import parse_preregistration
from facevalue.measures.judgment import judge
from facevalue.measures.paired_changes import RANDOM_GROUPS, degrees_of_freedom
from facevalue.measures.power import minimum_detectable

SBS = Measure("shift", "shift", "mean", "probability", "identity", "FaceValue", paired=True, comparison=True)
VS = Measure("spread", "spread", "sd", "probability", "identity", "FaceValue", signed=False, comparison=True)
SCHEMA = estimate_schema(["attribute", "variation", "scenario", "dimension", "group"])
KL = Measure(
    "attribute_shift",
    "shift",
    "kl",
    "nat",
    "form",
    "",
    signed=False,
    comparison=True,
    squared=True,
    limits=(0.0, float("inf")),
)
RATE = Measure("na_rate", "missing", "share", "share", "identity", "FaceValue")
MEASURES = (SBS, VS, RATE)


def row(**values: object) -> dict[str, object]:
    base: dict[str, object] = {
        "study": "s", "measure": "shift", "model": "m", "value": 0.1, "low": 0.05, "high": 0.15, "level": 0.95,
        "se": 0.025, "n": 100, "clusters": 40, "p": 0.001, "q": 0.002, "family": "variations", "unit": "probability",
        "method": "t", "source": "x",
    }  # fmt: skip
    return base | values


def table(*rows: dict[str, object]) -> pl.DataFrame:
    return pl.DataFrame([{name: r.get(name) for name in SCHEMA} for r in rows], schema=SCHEMA)


def verdict(estimates: pl.DataFrame, **kwargs: object) -> str | None:
    return judge(estimates, MEASURES, **kwargs)["verdict"][0]  # type: ignore[arg-type]


def test_a_small_q_is_a_difference_found() -> None:
    assert verdict(table(row())) == "difference found"


def test_a_large_q_without_margin_is_inconclusive_and_says_why() -> None:
    judged = judge(table(row(q=0.6)), MEASURES)
    assert judged["verdict"][0] == "inconclusive"
    assert "margin" in judged["why"][0]


def test_a_narrow_interval_within_the_margin_is_equivalent() -> None:
    small = row(value=0.001, low=-0.004, high=0.006, se=0.0025, q=0.7, clusters=200)
    judged = judge(table(small), MEASURES, margins={"shift": 0.02})
    assert judged["verdict"][0] == "equivalent within the margin"
    assert judged["declared"].to_list() == [False]
    assert judged["margin"].to_list() == [0.02]


@pytest.mark.parametrize(
    "values",
    [
        {"value": None, "low": None, "high": None, "se": None, "q": None, "n": 0, "clusters": 0},
        {"low": None, "high": None, "se": None, "q": None, "clusters": 1},
        {"value": 0.2, "low": 0.2, "high": 0.2, "se": 0.0, "q": None},
    ],
    ids=["no answers", "one cluster", "zero variance"],
)
def test_what_cannot_be_judged_is_not_measurable_and_says_why(values: dict[str, object]) -> None:
    judged = judge(table(row(**values)), MEASURES)
    assert judged["verdict"][0] == "not measurable"
    assert judged["why"][0]
    assert judged["mde"][0] is None


def test_chance_gives_no_more_than_there_can_be_and_no_floor_is_no_number() -> None:
    floors = judge(table(row(floor=0.1, floor_high=1.68), row(floor=0.1, floor_high=0.2), row()), MEASURES)[
        "floor_high"
    ]
    assert floors.to_list() == [1.0, 0.2, None]


def test_an_unsigned_measure_must_rise_above_its_floor() -> None:
    below = row(measure="spread", value=0.05, floor=0.04, floor_high=0.06)
    above = row(measure="spread", value=0.09, floor=0.04, floor_high=0.06)
    assert verdict(table(below)) == "inconclusive"
    assert verdict(table(above)) == "difference found"


def test_a_rate_is_no_comparison_and_gets_no_verdict() -> None:
    judged = judge(table(row(measure="na_rate", q=None, p=None, family=None)), MEASURES)
    assert judged["verdict"][0] is None
    assert judged["mde"][0] is None


def test_the_detectable_effect_grows_with_the_family() -> None:
    one = judge(table(row()), MEASURES)["mde"][0]
    many = judge(table(*(row(variation=f"v{i}") for i in range(30))), MEASURES)["mde"][0]
    assert 0.025 * 2.8 < one < 0.025 * 3.0
    assert many > 1.2 * one


def test_declared_families_are_judged_strictly_and_declared_margins_are_marked() -> None:
    text = (
        b'[margin]\nshift = 0.02\n[[family]]\nname = "caps"\nmeasure = "shift"\n[family.where]\nvariation = ["cap"]\n'
    )
    declared = parse_preregistration(text)
    estimates = table(row(variation="cap", p=0.04, q=0.3), row(variation="beanie", p=0.04, q=0.3))
    judged = judge(estimates, MEASURES, declared, {"shift": 0.5})
    assert judged["kind"].to_list() == ["confirmatory", "exploratory"]
    assert judged["q"].to_list() == [0.04, 0.3]
    assert judged["margin"].to_list() == [0.02, 0.02]
    assert judged["declared"].to_list() == [True, True]


def test_a_family_that_selects_nothing_is_an_error() -> None:
    text = b'[[family]]\nname = "hats"\nmeasure = "shift"\n[family.where]\nvariation = ["hat"]\n'
    with pytest.raises(UnknownNameError, match="cap"):
        judge(table(row(variation="cap")), MEASURES, parse_preregistration(text))


def test_a_margin_of_zero_or_for_no_measure_is_an_error() -> None:
    with pytest.raises(DataError, match="above zero"):
        judge(table(row()), MEASURES, margins={"shift": 0.0})
    with pytest.raises(UnknownNameError, match="shift"):
        judge(table(row()), MEASURES, margins={"shifft": 0.1})


def test_a_margin_beyond_what_there_can_be_is_refused_and_that_of_an_earlier_run_is_none() -> None:
    with pytest.raises(DataError, match=r"never lies further than 1 from zero.*Name one below 1, .* 5 points"):
        judge(table(row()), MEASURES, margins={"shift": 5.0})
    declared = parse_preregistration(b"[margin]\nshift = 5.0\n")
    judged = judge(table(row(q=0.9)), MEASURES, declared)
    assert judged["margin"].to_list() == [None]
    assert judged["verdict"].to_list() == ["inconclusive"]


@pytest.mark.parametrize(("groups", "high"), [(20, None), (20, 100.0), (7, None)], ids=["all", "at a limit", "few"])
def test_changes_by_the_jackknife_have_the_degrees_of_freedom_of_their_groups(groups: int, high: float | None) -> None:
    """100 clusters make no more of it than the groups they were dealt into."""
    se = 0.5
    reach = float(stats.t.ppf(0.975, groups - 1)) * se
    own = row(value=0.1, low=0.1 - reach, high=min(0.1 + reach, high or 1.0), se=se, clusters=100, q=0.8)
    own |= {"family": None, "versus": NO_INTERVENTION, "detail": f"{groups} {RANDOM_GROUPS} face"}
    judged = judge(table(own), (replace(SBS, unit="SD"),), margins={"shift": 5.0})
    assert judged["mde"][0] == pytest.approx(float(minimum_detectable(se, groups - 1)))
    assert judged["mde"][0] > float(minimum_detectable(se, 99))


def test_the_change_in_missing_answers_keeps_the_degrees_of_freedom_of_its_clusters() -> None:
    own = row(measure="missing_share", versus=NO_INTERVENTION, family=None, clusters=100, detail="over clusters")
    assert degrees_of_freedom(table(own)).tolist() == [99.0]


@pytest.mark.parametrize(
    ("measure", "se", "n"),
    [
        (SBS, 0.4, 40),
        (replace(SBS, unit="pp", limits=(-50.0, 50.0)), 20.0, 40),
        (replace(SBS, unit="pp"), 40.0, 40),
        (replace(KL, signed=True, squared=False), 0.9, 10),
    ],
    ids=["probability", "points from an even choice", "points", "ten forms"],
)
def test_an_effect_beyond_the_largest_possible_value_is_none_that_could_be_detected(
    measure: Measure, se: float, n: int
) -> None:
    own = row(measure=measure.name, unit=measure.unit, se=se, n=n, q=0.6)
    assert judge(table(own), (measure,))["mde"].to_list() == [None]
    precise = judge(table(own | {"se": se / 10}), (measure,))["mde"][0]
    assert precise == pytest.approx(float(minimum_detectable(se / 10, 39)))


def test_a_log_odds_ratio_beyond_what_so_many_answers_can_show_is_none_that_could_be_detected() -> None:
    """From an even choice to always is ln(21) of twenty answers; six degrees of freedom made it 120."""
    ratio = replace(SBS, unit="log odds")
    own = row(unit="log odds", value=0.3, low=-2.0, high=2.6, se=0.95, n=20, clusters=7, q=0.6)
    few, many = (judge(table(own | {"n": n}), (ratio,))["mde"][0] for n in (20, 400))
    assert few is None
    assert many == pytest.approx(float(minimum_detectable(0.95, 6)))


def test_rounding_is_no_variance() -> None:
    """Equal units differ by rounding alone: no effect is said to be sure to be found, and none to be ruled out."""
    own = row(value=0.1, low=0.1 - 1e-16, high=0.1 + 1e-16, se=4e-17, q=0.6)
    judged = judge(table(own), MEASURES, margins={"shift": 0.2})
    assert judged["mde"].to_list() == [None]
    assert judged["verdict"].to_list() == ["not measurable"]


def test_few_units_that_do_not_move_are_not_equivalent_as_one_that_does_may_not_have_been_met() -> None:
    """One face in twenty that moves all the way makes a shift of .05; a third of samples of twenty have none."""
    still = [
        row(value=0.0, low=-0.004, high=0.004, se=1e-5, q=0.9, clusters=n, variation=f"{n}") for n in (20, 148, 149)
    ]
    judged = judge(table(*still), MEASURES, margins={"shift": 0.02})
    assert judged["verdict"].to_list() == ["inconclusive", "inconclusive", "equivalent within the margin"]


@pytest.mark.parametrize("faces", [60, 160, 500])
@pytest.mark.parametrize("margin", [0.02, 0.05, 0.1])
def test_a_mean_at_the_margin_is_not_called_equivalent_whatever_share_of_faces_makes_it(
    faces: int, margin: float
) -> None:
    """Few faces that move all the way or less far, the others not at all, or by half of the margin."""
    rng = np.random.default_rng(1)
    audits = 1500
    for size, rest, noise in ((1.0, 0.0, 0.01), (1.0, 0.5, 0.01), (0.4, 0.0, 0.01), (0.4, 0.5, 0.05), (1.0, 0.0, 0.1)):
        still = rest * margin
        share = (margin - still) / (size - still)
        far = rng.random((audits, faces)) < share
        shifts = np.where(far, size, np.clip(still + noise * rng.standard_normal(far.shape), -1, 1))
        values, errors = shifts.mean(axis=1), shifts.std(axis=1, ddof=1) / np.sqrt(faces)
        rows = [
            row(value=v, low=-1.0, high=1.0, se=e, q=0.9, clusters=faces) for v, e in zip(values, errors, strict=True)
        ]
        judged = judge(table(*rows), MEASURES, margins={"shift": margin})
        # .05, and two standard errors of a share of 1,500
        assert (judged["verdict"] == "equivalent within the margin").to_numpy().mean() < 0.062


def test_two_units_detect_nothing_that_there_is() -> None:
    """A test with one degree of freedom wants an effect of dozens of standard errors."""
    judged = judge(table(row(se=0.08, clusters=2, q=0.6)), MEASURES)
    assert judged["mde"].to_list() == [None]


def test_the_reason_that_a_study_gives_is_the_reason_that_is_told() -> None:
    own = row(
        value=None,
        low=None,
        high=None,
        se=None,
        q=None,
        n=0,
        clusters=0,
        method="none",
        detail="not measurable: only one group",
    )
    assert judge(table(own), MEASURES)["why"].to_list() == ["Not measurable: only one group."]


def test_an_effect_that_the_test_cannot_reach_has_no_detectable_size() -> None:
    """A permutation test of 999 resamples gives no p below .001, and .05/100 asks for one."""
    rows = [row(variation=f"v{i}", p=0.001, q=0.1, p_least=0.001) for i in range(100)]
    judged = judge(table(*rows), MEASURES)
    assert judged["mde"].null_count() == 100
    assert judged["verdict"].unique().to_list() == ["inconclusive"]
    assert "too small" in judged["why"][0]
    assert judge(table(*rows[:10]), MEASURES)["mde"].null_count() == 0


def test_a_finding_that_missing_answers_could_turn_round_says_so() -> None:
    turned = judge(table(row(bound_low=-0.02, bound_high=0.2)), MEASURES)
    assert turned["verdict"][0] == "difference found"
    assert "unless the missing answers" in turned["why"][0]
    by_chance = judge(table(row(bound_low=0.02, bound_high=0.2)), MEASURES)
    assert "unless the missing answers" in by_chance["why"][0]  # .02 with a standard error of .025 may be none at all
    kept = judge(table(row(bound_low=0.085, bound_high=0.12)), MEASURES)
    assert "missing answers" not in kept["why"][0]


def test_the_page_holds_its_families_together_and_the_lead_first() -> None:
    lead, other = (
        row(q=0.6, p=0.6, family="lead"),
        row(q=0.03, p=0.03, family="other", measure="spread", floor_high=0.01),
    )
    alone = judge(table(other), MEASURES)
    assert alone["verdict"][0] == "difference found"
    judged = judge(table(lead, other), MEASURES, lead=("lead",))
    assert judged["verdict"].to_list() == ["inconclusive", "inconclusive"]
    assert "the page" in judged["why"][1]
    assert judged["q"].to_list() == [0.6, 0.03]
    assert judged["q_page"][1] == pytest.approx(0.15)


def test_each_model_has_a_page_of_its_own() -> None:
    judged = judge(table(row(model="a"), row(model="b", q=0.03)), MEASURES, lead=("variations",))
    assert judged["verdict"].to_list() == ["difference found"] * 2


def test_many_declared_families_of_one_test_share_one_level() -> None:
    """Twenty families of one test, each at .05, would find something in two audits of three."""
    text = "".join(
        f'[[family]]\nname = "f{i}"\nmeasure = "shift"\n[family.where]\nvariation = ["v{i}"]\n' for i in range(20)
    )
    rows = [row(variation=f"v{i}", p=0.03 if i else 0.001, q=0.3) for i in range(20)]
    judged = judge(table(*rows), MEASURES, parse_preregistration(text.encode()))
    assert judged["verdict"].to_list() == ["difference found"] + ["inconclusive"] * 19


def test_what_is_declared_over_recorded_answers_is_not_declared_before_them() -> None:
    text = (
        b'[margin]\nshift = 0.02\n[[family]]\nname = "caps"\nmeasure = "shift"\n[family.where]\nvariation = ["cap"]\n'
    )
    judged = judge(table(row(variation="cap")), MEASURES, parse_preregistration(text).too_late())
    assert judged["kind"].to_list() == ["exploratory"]
    assert judged["declared"].to_list() == [False]


@pytest.mark.parametrize("alpha", ["0.6", "0.21", "0", "-1", "nan", "inf", "1e400"])
def test_a_level_that_confirms_nothing_is_an_error(alpha: str) -> None:
    for text in (f"alpha = {alpha}\n[margin]\nshift = 0.02\n",
                 f'[[family]]\nname = "a"\nmeasure = "shift"\nalpha = {alpha}\n'):  # fmt: skip
        with pytest.raises(DataError, match=r"alpha is .* not above 0\.2"):
            parse_preregistration(text.encode())
