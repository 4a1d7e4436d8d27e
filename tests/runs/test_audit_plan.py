"""An audit's budget is dealt out so that no other split into whole units detects more."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from facevalue.errors import DataError, SettingError, UnknownNameError
from facevalue.runs.audits.plan import Prices, Rates, budget_of, check_currency, plan_of_budget, plan_of_samples
from facevalue.runs.audits.studies import AuditWishes, StudyPilot, StudySizes, studies_of
from tests.runs.own_studies import study_file


def sizes_of(files: list[str]) -> list[StudySizes]:
    built, left_out = studies_of(AuditWishes(tuple(files)))
    assert not left_out
    return [StudySizes(study, 0) for study in built]


def every_size(sizes: StudySizes) -> list[tuple[int, float]]:
    """All sizes of whole units, and what each detects."""
    by_requests = {}
    for sample in range(1, sizes.study.all_requests + 1):
        size = sizes.size_of_sample(sample)
        if size.requests:
            by_requests[size.requests] = size.points
    return sorted(by_requests.items())


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Files of three small studies."""
    folder = tmp_path_factory.mktemp("three")
    return [
        study_file(folder, "kind", 60, traits=2),
        study_file(folder, "warm", 90, seeds=2),
        study_file(folder, "able", 40, traits=3, seeds=1),
    ]


@pytest.fixture(scope="module")
def sizes(three: list[str]) -> list[list[tuple[int, float]]]:
    """All sizes of whole units of each, and what they detect."""
    return [every_size(sizes) for sizes in sizes_of(three)]


@pytest.mark.parametrize("budget", [70, 150, 260, 400])
def test_no_other_split_into_whole_units_detects_more_by_five_percent(
    three: list[str], sizes: list[list[tuple[int, float]]], budget: int
) -> None:
    plan = plan_of_budget(sizes_of(three), (), budget_of(str(budget)), Rates())
    assert plan.requests <= budget
    points = [study.points for study in plan.studies]
    assert None not in points
    best = min(
        max(effect for _, effect in split)
        for split in product(*sizes)
        if sum(requests for requests, _ in split) <= budget and all(np.isfinite(effect) for _, effect in split)
    )
    assert max(point for point in points if point is not None) <= 1.05 * best


def test_a_dearer_study_gets_fewer_requests_at_prices_than_by_requests(tmp_path: Path) -> None:
    files = [study_file(tmp_path, "kind", 200), study_file(tmp_path, "warm", 200, traits=4)]
    rates = Rates(Prices(1_000.0, 1_000.0, "usd"))
    sizes = sizes_of(files)
    each = rates.of_budget(budget_of("20usd"), sizes[0])
    plan = plan_of_budget(sizes, (), budget_of(f"{300 * each:.4f}usd"), rates)
    assert plan.cost is not None
    assert plan.cost <= 300 * each
    assert all(study.cost == pytest.approx(study.requests * rates.of_budget(budget_of("1usd"), of))
               for study, of in zip(plan.studies, sizes, strict=True))  # fmt: skip


def test_a_budget_too_small_for_any_verdict_names_the_smallest_that_is_not(tmp_path: Path) -> None:
    files = [study_file(tmp_path, "kind", 60), study_file(tmp_path, "warm", 60, traits=2)]
    with pytest.raises(DataError, match="too small for any verdict") as error:
        plan_of_budget(sizes_of(files), (), budget_of("4"), Rates())
    fewest = int(str(error.value).partition("any verdict: ")[2].split()[0])
    assert plan_of_budget(sizes_of(files), (), budget_of(str(fewest)), Rates()).studies
    with pytest.raises(DataError, match="too small"):
        plan_of_budget(sizes_of(files), (), budget_of(str(fewest - 1)), Rates())


def test_a_study_that_the_budget_does_not_reach_is_left_out_with_what_it_needs(tmp_path: Path) -> None:
    files = [study_file(tmp_path, "kind", 60), study_file(tmp_path, "warm", 60, traits=1, seeds=40)]
    plan = plan_of_budget(sizes_of(files), (), budget_of("60"), Rates())
    assert [study.name for study in plan.studies] == ["kind"]
    (omission,) = plan.left_out
    assert omission.what == "warm"
    assert "requests or more would be needed for it alone before it tells anything" in omission.why
    assert "beside the others" not in omission.why


def test_a_study_that_would_be_reached_alone_is_said_to_be_left_out_for_the_others(tmp_path: Path) -> None:
    files = [study_file(tmp_path, "kind", 60), study_file(tmp_path, "warm", 60, traits=1, seeds=40)]
    (omission,) = plan_of_budget(sizes_of(files), (), budget_of("60"), Rates()).left_out
    needed = int(omission.why.split(" requests")[0].split()[-1].replace(",", ""))
    (omission,) = plan_of_budget(sizes_of(files), (), budget_of(str(needed)), Rates()).left_out
    assert f"does not reach it beside the others: {needed:,} requests" in omission.why


def test_hours_need_a_rate(tmp_path: Path) -> None:
    sizes = sizes_of([study_file(tmp_path, "kind", 60)])
    with pytest.raises(SettingError, match="give --rate"):
        plan_of_budget(sizes, (), budget_of("1h"), Rates())
    assert sizes[0].pilot is None
    sizes[0].pilot = StudyPilot(None, np.nan, np.nan, np.nan)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="pilot of kind took less than a second"):
        Rates().of_budget(budget_of("1h"), sizes[0])
    sizes[0].pilot = None
    plan = plan_of_budget(sizes, (), budget_of("1min"), Rates(per_second=0.5))
    assert plan.requests == 30
    assert plan.hours == pytest.approx(1 / 60)


def test_without_a_budget_larger_sizes_say_what_they_detect(tmp_path: Path) -> None:
    sizes = sizes_of([study_file(tmp_path, "kind", 400)])
    plan = plan_of_samples(sizes, (), Rates(), {"kind": 20})
    offered = [size.points for size in plan.studies[0].sizes]
    assert [size.requests for size in plan.studies[0].sizes] == [80, 320, 800]
    assert offered == sorted(offered, key=lambda points: -(points or 0))


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ("", "A budget is written"),
        ("20 dollars", "A budget is written"),
        ("-5", "A budget is written"),
        ("0", "more than nothing"),
        ("2hours3", "A budget is written"),
        ("1e9", "A budget is written"),
        ("20€", "A budget is written"),
        ("nan", "A budget is written"),
    ],
)
def test_what_is_no_budget_is_told_in_a_sentence(budget: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        budget_of(budget)


def test_money_needs_prices_in_its_currency() -> None:
    with pytest.raises(SettingError, match="needs the prices of m, which FaceValue does not know: give --price-in"):
        check_currency(budget_of("20usd"), None, "m")
    with pytest.raises(SettingError, match="The budget is in USD and the prices of m are in EUR"):
        check_currency(budget_of("20usd"), Prices(1, 1, "eur"), "m")
    with pytest.raises(SettingError, match="no budget of money limits anything"):
        check_currency(budget_of("20usd"), Prices(0, 0), "m")


def test_two_studies_of_one_name_and_settings_of_no_study_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    files = (study_file(tmp_path, "kind", 60), study_file(tmp_path / "a", "kind", 60))
    with pytest.raises(SettingError, match="would both be called 'kind'"):
        studies_of(AuditWishes(files))
    with pytest.raises(UnknownNameError, match="Unknown study with settings 'knid'"):
        studies_of(AuditWishes(files[:1], settings={"knid": {}}))
    with pytest.raises(UnknownNameError, match="Unknown setting of kind 'peopel'"):
        studies_of(AuditWishes(files[:1], settings={"kind": {"peopel": "4"}}))


def test_studies_that_pictures_do_not_allow_are_named_with_why(tmp_path: Path) -> None:
    own = study_file(tmp_path, "kind", 60)
    built, left_out = studies_of(AuditWishes((own, "gras")))
    assert [study.name for study in built] == ["kind"]
    assert [(omission.what, "pictures of your own" in omission.why) for omission in left_out] == [("gras", True)]
    with pytest.raises(DataError, match=r"No study of the audit can be asked\. gras: "):
        studies_of(AuditWishes(("gras",)))
    (tmp_path / "pictures").mkdir()
    with pytest.raises(DataError, match=r"There are no pictures .*nowhere: --images names"):
        studies_of(AuditWishes(images=str(tmp_path / "nowhere")))
    with pytest.raises(DataError, match="has no list of its pictures"):
        studies_of(AuditWishes((own,), images=str(tmp_path / "pictures")))
