"""The profile of an audit: nothing averaged, one level, blank where nothing is shown, disagreement told."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import facevalue as fv
from facevalue.errors import RunError, SettingError
from facevalue.measures.definitions import NO_INTERVENTION
from facevalue.protocol.facets import GroupName, Kinds
from facevalue.protocol.lookup import Condition, Estimate
from facevalue.report.profile.cells import (
    AGREE,
    NEITHER,
    OPPOSITE,
    UNLIKE,
    Contrast,
    Outcome,
    ProfileCell,
    QuestionColumn,
    Square,
    SquareMark,
    contrasts_of_models,
    kinds_of_question,
    rows_of_cells,
)
from facevalue.report.profile.page import comparison_rows, profile_answer, render
from facevalue.report.profile.profile import Profile, ProfiledStudy, judged_profile, profile_of
from facevalue.report.sections.sizes import ToldScale
from facevalue.runs.joined_runs import profile_runs
from facevalue.runs.kept_estimates import take_estimates
from facevalue.runs.stored_run import StoredRun
from tests.golden.cases import GOLDEN

NAMES = ("stylisticbias-exact", "vignette-places", "hiring-screen")
POINTS = ToldScale(100.0, "points")
DECISIONS = QuestionColumn("vignette", "Decisions", Kinds(people="two people", about="decision"))
TERMS = QuestionColumn("vignette", "Terms", Kinds(people="two people", about="stereotype"))
RATINGS = QuestionColumn("counterfactuals", "Ratings", Kinds(directness="implicit"))


def cell(
    column: QuestionColumn | None = DECISIONS,
    value: float | None = 0.2,
    outcome: Outcome = Outcome.FOUND,
    *,
    favour: int | None = None,
    sign: int | None = None,
    group: str = "women",
    model: str = "m",
    trait: str = "",
    versus: str = "",
) -> ProfileCell:
    way = 0 if not value else 1 if value > 0 else -1
    return ProfileCell(
        study="vignette", model=model, intervention="", column=column, group_name=GroupName("gender", group),
        trait=trait, versus=versus, estimate=Estimate("gap", model, value=value, mde=0.3, se=0.1), outcome=outcome,
        sign=way if sign is None else sign, favour=way if favour is None else favour, scale=POINTS, possible=1.0,
        text=f"{group}: {value}",
    )  # fmt: skip


def row(*cells: ProfileCell) -> object:
    return rows_of_cells(cells)[0]


# What a square says


def test_a_square_is_never_an_average() -> None:
    square = Square((cell(value=0.4), cell(value=-0.1, trait="rude")))
    assert square.mark == SquareMark.MIXED
    assert square.label == "+40 points"
    assert square.count == "2 of 2"


@pytest.mark.parametrize(
    ("cells", "mark"),
    [
        ([cell(value=0.2)], SquareMark.FOR),
        ([cell(value=-0.2)], SquareMark.AGAINST),
        ([cell(value=0.2, favour=0)], SquareMark.MORE),
        ([cell(value=-0.2, favour=0)], SquareMark.LESS),
        ([cell(value=0.2, favour=0, sign=0)], SquareMark.APART),
        ([cell(value=0.1, outcome=Outcome.UNDECIDED)], SquareMark.NONE),
        ([cell(value=0.1, outcome=Outcome.EQUIVALENT)], SquareMark.EQUAL),
        ([cell(value=None, outcome=Outcome.NOT_MEASURABLE)], SquareMark.UNMEASURED),
        ([cell(value=0.2), cell(value=0.1, outcome=Outcome.UNDECIDED)], SquareMark.FOR),
    ],
)
def test_each_mark_says_what_is_found_and_which_way(cells: Sequence[ProfileCell], mark: SquareMark) -> None:
    assert Square(tuple(cells)).mark == mark


def test_what_is_found_on_its_page_alone_is_marked_so_and_does_not_hide_what_holds() -> None:
    alone = Square((cell(value=0.3, outcome=Outcome.ON_PAGE),))
    assert (alone.mark, alone.is_of_page) == (SquareMark.FOR, True)
    both = Square((cell(value=0.3, outcome=Outcome.ON_PAGE), cell(value=-0.2)))
    assert (both.mark, both.is_of_page) == (SquareMark.AGAINST, False)


def test_nothing_found_says_how_much_could_have_been_missed() -> None:
    square = Square((cell(value=0.1, outcome=Outcome.UNDECIDED),))
    assert square.label == "up to 30 points"
    lost = replace(cell(value=0.1, outcome=Outcome.UNDECIDED), estimate=Estimate("gap", "m", value=0.1))
    assert Square((lost,)).label == "any"


def test_a_group_that_a_study_does_not_show_is_blank_and_not_zero() -> None:
    rows = rows_of_cells([cell(), cell(RATINGS, group="men")])
    women, men = rows
    assert RATINGS not in women.squares
    assert DECISIONS not in men.squares
    page = render(of([cell(), cell(RATINGS, group="men")]))
    assert page.count('<td class="blank">') == 2


def test_the_other_side_of_two_groups_is_the_same_test_told_of_the_other() -> None:
    told = cell(value=0.2, versus="men", group="women").mirror()
    assert told.group_name == GroupName("gender", "men")
    assert (told.versus, told.estimate.value, told.sign, told.favour, told.mirrored) == ("women", -0.2, -1, -1, True)
    assert len(of([cell(versus="men"), cell(versus="men").mirror()]).found_cells) == 1


# What stands side by side


def test_studies_that_disagree_are_said_to_and_not_averaged_away() -> None:
    (first,) = rows_of_cells([cell(DECISIONS, 0.3), cell(TERMS, -0.3)])
    assert first.disagrees
    (contrast,) = kinds_of_question([first])
    assert (contrast.first, contrast.second) == ("stereotype", "decision")
    assert contrast.rows[0].kind == OPPOSITE


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        (cell(DECISIONS, 0.3), cell(TERMS, 0.1), AGREE),
        (cell(DECISIONS, 0.3), cell(TERMS, 0.1, Outcome.UNDECIDED), "second"),
        (cell(DECISIONS, 0.3, Outcome.ON_PAGE), cell(TERMS, 0.1), "first"),
        (cell(DECISIONS, 0.3, Outcome.UNDECIDED), cell(TERMS, 0.1, Outcome.UNDECIDED), NEITHER),
        (cell(DECISIONS, 0.3, favour=0), cell(TERMS, 0.1), UNLIKE),
    ],
)
def test_two_kinds_of_question_are_read_together(first: ProfileCell, second: ProfileCell, kind: str) -> None:
    (contrast,) = kinds_of_question(rows_of_cells([first, second]))
    assert contrast.rows[0].kind == kind


def test_kinds_that_no_group_was_asked_both_ways_do_not_stand_side_by_side() -> None:
    assert kinds_of_question(rows_of_cells([cell(DECISIONS), cell(RATINGS, group="men")])) == []


def test_models_stand_side_by_side_question_by_question() -> None:
    contrast = contrasts_of_models(
        ("a", "b"), rows_of_cells([cell(value=0.3)]), rows_of_cells([cell(value=-0.3), cell(TERMS)])
    )
    assert [one.kind for one in contrast.rows] == [OPPOSITE]


def of(cells: Sequence[ProfileCell]) -> Profile:
    return Profile((ProfiledStudy("vignette", "", "", ("m",), 3),), tuple(cells))


def test_the_answer_names_the_largest_of_each_group() -> None:
    small = [cell(value=0.01, group=group) for group in ("a", "b", "c", "d")]
    sentences = profile_answer(of([*small, cell(value=0.5, group="a"), cell(value=0.4, group="b")]))
    assert sentences[1] == "The largest: a: 0.5 (vignette); b: 0.4 (vignette); c: 0.01 (vignette)."


def test_a_group_that_several_models_disagree_about_counts_once() -> None:
    cells = [
        cell(column, value, model=model, group=group)
        for model in ("m", "n")
        for group in ("a", "b")
        for column, value in ((DECISIONS, 0.3), (TERMS, -0.3))
    ]
    assert (
        profile_answer(of(cells))[-1] == "Some kinds of question favour and others disfavour a (gender) and b (gender)."
    )


def test_the_clearest_numbers_come_first_even_where_p_is_zero() -> None:
    cells = [cell(trait=f"t{number}") for number in range(20)]
    cells[19] = replace(cells[19], estimate=replace(cells[19].estimate, p=0.0))
    assert ">t19" in render(of(cells))


def test_texts_of_models_and_studies_are_escaped() -> None:
    hostile = cell(QuestionColumn("<script>", "<b>", Kinds()), group="<img src=x>", model="<i>", trait="<u>")
    page = render(of([hostile]))
    for text in ('<script>"', "<b>", "<img src", "<i>", "<u>"):
        assert text not in page.split("</header>")[1].split("<script>")[0]


# Profiles of runs


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("profile")
    for name in NAMES:
        shutil.unpack_archive(GOLDEN / f"{name}.tar.xz", place, filter="data")
    return place


@pytest.fixture(scope="module")
def made(folder: Path) -> Profile:
    return profile_of([StoredRun.open(folder / name) for name in NAMES])


@pytest.mark.slow
def test_every_study_contributes_whom_it_shows(made: Profile) -> None:
    by_study = {
        study.name: {c.group_name.dimension for c in made.cells if c.study == study.name and c.column}
        for study in made.studies
    }
    assert by_study == {
        "stylisticbias": {"visual cue"}, "vignette": {"age"}, "hiring-screen": {"visual cue", "gender"},
    }  # fmt: skip
    assert [condition.name for condition in made.conditions] == [
        "sim/default", "sim/default + debiasing", "sim/default + blank-image",
    ]  # fmt: skip


def test_only_what_its_own_page_finds_can_hold_among_all(made: Profile, folder: Path) -> None:
    for name in NAMES:
        pages = take_estimates([StoredRun.open(folder / name)])[0]  # which the profile keeps
        on_page = pages.filter(pl.col("verdict") == "difference found").height
        study = StoredRun.open(folder / name).study.name
        assert sum(c.outcome == Outcome.FOUND for c in made.cells if c.study == study and not c.mirrored) <= on_page


def test_one_run_alone_is_judged_like_its_own_page_or_more_kindly(folder: Path) -> None:
    studies = profile_runs([StoredRun.open(folder / "hiring-screen")])
    alone = judged_profile(studies, {})
    assert not alone.on_page or alone.found_cells


def test_the_level_of_an_audit_is_stricter_with_more_studies(made: Profile, folder: Path) -> None:
    alone = profile_of([StoredRun.open(folder / "hiring-screen")])
    q_alone = {_place(c): c.estimate.q_page for c in alone.cells if c.estimate.q_page is not None}
    q_among = {_place(c): c.estimate.q_page for c in made.cells if c.study == "hiring-screen"}
    assert q_alone
    assert all((q_among[place] or 1.0) >= q - 1e-12 for place, q in q_alone.items())


def _place(c: ProfileCell) -> tuple[str, str]:
    return c.estimate.measure, str(sorted(c.estimate.labels.items()))


def test_kept_estimates_are_read_and_not_taken_again(
    folder: Path, made: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert made.cells

    def refused(*_: object) -> None:
        raise AssertionError("estimates were taken again")

    monkeypatch.setattr("facevalue.runs.kept_estimates.estimate", refused)
    assert len(profile_of([StoredRun.open(folder / name) for name in NAMES]).cells) == len(made.cells)


def test_rows_are_numbers_and_null_is_not_zero(made: Profile) -> None:
    rows = comparison_rows(made)
    assert len(rows) == len(made.cells)
    assert all(r.value is None or r.low is None or r.low <= r.value <= (r.high or r.value) for r in rows)
    assert all(r.verdict in set(Outcome) for r in rows)
    found = [r for r in rows if r.verdict == Outcome.FOUND and r.direction]
    assert all(r.audit_low is None or r.audit_high is None or r.audit_low > 0 or r.audit_high < 0 for r in found)


def test_the_page_links_each_square_to_its_numbers(made: Profile) -> None:
    page = render(made)
    anchors = {part.partition('"')[0] for part in page.split('href="#g')[1:]}
    targets = {part.partition('"')[0] for part in page.split('id="g')[1:]}
    assert anchors <= targets
    assert "averaged" in page


@pytest.mark.slow
def test_python_and_command_say_the_same(folder: Path) -> None:
    places = [folder / name for name in NAMES]
    made = fv.profile(*places)
    out = folder / "profile.html"
    command = [sys.executable, "-m", "facevalue", "profile", *map(str, places), "--out", str(out)]
    printed = subprocess.run([*command, "--json"], check=True, capture_output=True, text=True, env={**os.environ})
    document = json.loads(printed.stdout)
    assert document["format"] == "facevalue-profile"
    assert " ".join(document["answer"]) == made.answer
    assert len(document["comparisons"]) == made.comparisons().height
    assert out.stat().st_size > 10_000


# What cannot be set side by side


def test_a_run_that_is_named_twice_is_refused(folder: Path) -> None:
    run = folder / "hiring-screen"
    with pytest.raises(RunError, match="is named twice: a profile counts each run once"):
        fv.profile(run, run)


def test_no_run_is_refused() -> None:
    with pytest.raises(RunError, match="no run to make a profile of"):
        fv.profile()


def test_runs_of_one_study_that_were_asked_otherwise_are_refused(folder: Path) -> None:
    shutil.unpack_archive(GOLDEN / "stylisticbias-sampled.tar.xz", folder, filter="data")
    with pytest.raises(RunError, match="were not asked the same"):
        fv.profile(folder / "stylisticbias-exact", folder / "stylisticbias-sampled")


def test_one_model_asked_the_same_twice_needs_names(folder: Path) -> None:
    shutil.copytree(folder / "hiring-screen", folder / "again")
    with pytest.raises(RunError, match="give each a name"):
        fv.profile(folder / "hiring-screen", folder / "again")


def test_a_run_of_another_version_is_refused(folder: Path) -> None:
    runs = [StoredRun.open(folder / "hiring-screen"), StoredRun.open(folder / "hiring-screen").rename("later")]
    other = replace(runs[1], folder=folder / "elsewhere", facts=replace(runs[1].facts, study_version=99))
    with pytest.raises(RunError, match="was asked in versions"):
        profile_runs([runs[0], other])


def test_a_run_without_answers_is_refused(tmp_path: Path) -> None:
    study = fv.study("stylisticbias", faces="1M", attributes="eyewear", scenario="polite", seeds=1)
    fv.run(study, "sim/refuser", tmp_path / "refused", progress=False)
    with pytest.raises(RunError, match="None of these runs has a valid answer"):
        fv.profile(tmp_path / "refused")


def test_a_page_has_the_ending_of_a_page(folder: Path) -> None:
    with pytest.raises(SettingError, match=r"profile.txt is not a \.html file"):
        fv.profile(folder / "hiring-screen").save("profile.txt")
    with pytest.raises(SettingError, match="profile: runs is"):
        fv.profile(3)  # type: ignore[arg-type]


def test_a_condition_is_called_by_model_and_intervention() -> None:
    assert Condition("m", "debiasing").name == "m + debiasing"


# What an intervention changes


def changed(value: float, change: float, *, is_changed: bool, trait: str = "") -> ProfileCell:
    of_change = Estimate(
        "gap", "m + sr", {"versus": NO_INTERVENTION}, value=change, low=change - 0.1, high=change + 0.1, se=0.05
    )
    return replace(cell(value=value, trait=trait), change=of_change, is_changed=is_changed)


def test_beside_an_intervention_stands_the_paired_change() -> None:
    plain = rows_of_cells([cell(value=0.3)])
    (pair,) = contrasts_of_models(("m", "m + sr"), plain, rows_of_cells([changed(0.1, -0.2, is_changed=True)])).rows
    assert pair.change == "\u221220 points [\u221230, \u221210], found on its page"
    (pair,) = contrasts_of_models(("m", "m + sr"), plain, rows_of_cells([changed(0.3, 0.01, is_changed=False)])).rows
    assert pair.change == "+1.0 point [\u22129, +11], not found among all of its page"
    contrast = contrasts_of_models(("m", "n"), plain, plain)
    assert (contrast.rows[0].change, contrast.has_changes) == ("", False)


def test_changes_of_several_traits_are_counted_and_never_averaged() -> None:
    cells = [changed(0.1, -0.2, is_changed=True), changed(0.1, 0.0, is_changed=False, trait="rude")]
    assert Square(tuple(cells)).change == (
        "1 of 2 changes found on its page, the clearest \u221220 points [\u221230, \u221210]"
    )  # fmt: skip
    assert Square((cells[1], cells[1])).change == "none of 2 changes found among all of its page"


def test_a_change_told_of_the_other_group_is_turned() -> None:
    turned = replace(changed(0.1, -0.2, is_changed=True), versus="men").mirror()
    assert turned.change is not None
    assert (turned.change.value, turned.change.low, turned.change.high) == pytest.approx((0.2, 0.1, 0.3))


def test_sides_are_called_as_they_are_called() -> None:
    assert Contrast("sim/Strong", "n", ()).heads == ("sim/Strong", "n")
    assert Contrast("explicit", "implicit", ()).heads == ("Explicit", "Implicit")


def test_a_run_with_an_intervention_says_what_it_changed(tmp_path: Path) -> None:
    study = fv.study("stylisticbias", faces="6M,6F", attributes=["eyewear"], scenario=["polite"], seeds=["1"])
    run = fv.run(study, "sim/strong@1", tmp_path / "run", interventions=["sr"], progress=False)
    profile = fv.profile(run)
    comparisons = profile.comparisons()
    plain, under = comparisons.filter(intervention=""), comparisons.filter(pl.col("intervention") != "")
    assert plain["change"].null_count() == plain.height
    assert under["change"].null_count() == 0
    joined = under.join(plain, on=["measure", "group", "trait", "question"], suffix="_plain")
    assert joined.height == under.height
    for row in joined.iter_rows(named=True):
        assert row["change"] == pytest.approx(row["value"] - row["value_plain"])
        assert row["change_low"] <= row["change"] <= row["change_high"]
    assert all(profile.side_by_side().filter(model="")["change"])
