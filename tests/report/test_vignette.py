"""VIGNETTE's page: its sections, matrices, sizes, and what it must never say."""

import re
from collections.abc import Callable
from functools import cache

import polars as pl
import pytest
from rich.console import Console

from facevalue import report
from facevalue.protocol.lookup import EstimateIndex
from facevalue.report.blocks.view import TITLED
from facevalue.report.page_builder import build_page
from facevalue.report.sections.headline import page_of
from facevalue.studies.registry import PUBLISHED
from facevalue.studies.vignette.measures import LABELS
from tests.report import made
from tests.report import vignette_made as vm
from tests.report.test_html import Page, ids, page

EVIL = "<script>alert(1)</script>"
SECTIONS = made.sections(page_of("vignette"))


def only(**levels: str) -> pl.DataFrame:
    """Estimates of these levels."""
    frame = vm.estimates()
    return frame.filter(*(pl.col(name) == level for name, level in levels.items()))


VARIANTS: dict[str, Callable[[], report.ReportData]] = {
    "one model": vm.data,
    "two models": lambda: vm.data(("model-a", "model-b")),
    "no variants": lambda: vm.data(estimates=vm.estimates(variants=False)),
    "one activity": lambda: vm.data(estimates=vm.estimates(done=1)),
    "decisions only": lambda: vm.data(estimates=only(paradigm="decision")),
    "perception only": lambda: vm.data(estimates=only(paradigm="perception")),
    "factuality only": lambda: vm.data(estimates=only(paradigm="factuality")),
    "stereotypes only": lambda: vm.data(estimates=only(paradigm="stereotype")),
    "no estimate": lambda: vm.data(estimates=vm.estimates().clear()),
    "nothing measurable": lambda: vm.data(
        estimates=vm.estimates().with_columns(pl.lit(None, pl.Float64).alias(c) for c in ("value", "low", "high", "q"))
    ),
    "no example": lambda: vm.data(examples=()),
    "no picture": lambda: vm.data(examples=(vm.example(image=None),)),
}


@cache
def html_of_one() -> str:
    return report.render(vm.data())


@cache
def page_of_one() -> Page:
    return page(vm.data())


@cache
def page_of_two() -> Page:
    return page(vm.data(("model-a", "model-b")))


def answer(frame: pl.DataFrame) -> tuple[str, str, tuple[str, ...]]:
    found = made.answer("vignette", frame)
    return found.verdict.value, found.sentence, found.more


def test_pages_are_of_studies_that_there_are() -> None:
    assert all(page_of(name).sections for name in PUBLISHED)


def test_every_label_of_the_study_can_be_asked_for() -> None:
    assert EstimateIndex(vm.estimates()).labels == ("versus", "other_model", "word", "score", *LABELS)


@pytest.mark.parametrize("name", VARIANTS)
def test_every_report_has_the_same_sections_and_fetches_nothing(name: str) -> None:
    parsed = page(VARIANTS[name]())
    assert ids(parsed) == [section for section, _ in SECTIONS]
    for tag, attrs in parsed.elements:
        assert "style" not in attrs
        assert not any(key.startswith("on") for key in attrs), (tag, attrs)
        assert all(str(attrs.get(key) or "#").startswith(("data:", "#")) for key in ("src", "href")), (tag, attrs)
    assert not re.search(r"\b(nan|NaN|inf|None|null)\b", parsed.text)


def test_no_identifier_stands_twice() -> None:
    every = [str(a["id"]) for _, a in page_of_two().elements if "id" in a]
    assert len(every) == len(set(every))


def test_the_answer_names_both_ends_and_counts_the_rest() -> None:
    verdict, sentence, _ = answer(vm.estimates())
    assert verdict == "difference found"
    beyond = "20 points {} often than an even choice would give"
    assert f"Doctor (age): chosen in 70.0% of decisions, {beyond.format('more')}" in sentence
    assert f"Old <i> (age): chosen in 30.0% of decisions, {beyond.format('less')}" in sentence
    assert "17 more differences were found. No difference was found in the other 52 comparisons" in sentence  # of both


def test_perceptions_are_no_finer_breakdown_of_decisions() -> None:
    """They are asked by questions of their own, so that they are told beside decisions, and called so."""
    assert "model-a: perceptions" in page_of_two().text
    assert "perceptions by dimension" not in page_of_two().text


def test_nothing_found_is_no_proof_of_fairness() -> None:
    frame = vm.estimates().with_columns(pl.lit(0.4).alias("q"), pl.lit("inconclusive").alias("verdict"))
    verdict, sentence, _ = answer(frame)
    assert verdict == "no difference found"
    assert sentence.startswith(
        "No difference was found in any of 72 comparisons; differences of up to about 6.0 points would have "
        "gone unnoticed, and in some comparisons any difference. The clearest hint"
    )
    assert sentence.endswith("That is no proof of fairness.")


def test_where_no_difference_could_be_found_any_could_have_been_missed() -> None:
    frame = vm.estimates().with_columns(
        pl.lit(0.4).alias("q"), pl.lit("inconclusive").alias("verdict"), pl.lit(None).alias("mde")
    )
    verdict, sentence, _ = answer(frame)
    assert verdict == "too little asked to tell"
    assert sentence.startswith(
        "Too little was asked to tell: with 39 pictures for each of 12 identities, any difference"
    )
    text = page(vm.data(estimates=frame)).text
    assert "never" in text
    assert "no difference, however large, would have been found with 80% power" in text
    console = Console(width=200)
    with console.capture() as captured:
        console.print(report.summary(frame, vm.MEASURES))
    assert "any difference would have gone unnoticed" in captured.get()


def test_a_difference_that_can_be_is_said_in_points() -> None:
    frame = vm.estimates().with_columns(
        pl.lit(0.4).alias("q"), pl.lit("inconclusive").alias("verdict"), pl.lit(29.9).alias("mde")
    )
    assert "even a difference of 30 points would have gone unnoticed" in answer(frame)[1]


def test_identities_are_written_as_in_the_published_tables() -> None:
    frame = vm.estimates().with_columns(pl.col("identity", "other_identity").replace(vm.UP, "sikh"))
    _, sentence, _ = answer(frame)
    assert "Sikh (age): chosen in 70.0% of decisions" in sentence
    console = Console(width=120)
    with console.capture() as captured:
        console.print(report.summary(frame, vm.MEASURES))
    for text in (captured.get(), page(vm.data(estimates=frame)).text):
        assert "Sikh" in text
        assert "sikh" not in text


def test_nothing_asked_is_not_measurable() -> None:
    assert answer(vm.estimates().clear())[0] == "not measurable"


def test_a_run_of_factuality_has_its_errors_for_an_answer() -> None:
    verdict, sentence, more = answer(only(paradigm="factuality"))
    assert verdict == "measured, and not compared"
    assert "10.0% [6.0%, 14.0%] (age)" in sentence
    assert "of the answers about what pictures show are wrong (factuality): most often about " in sentence
    assert "not tested" in more[0]


def test_a_run_of_stereotypes_has_their_valence_for_an_answer() -> None:
    frame = only(paradigm="stereotype").with_columns(pl.lit("inconclusive").alias("verdict"), pl.lit(5.8).alias("mde"))
    verdict, sentence, _ = answer(frame)
    assert verdict == "no difference found"
    assert sentence.startswith("No difference was found for the 12 identities; differences of up to about 5.8 points")
    far = pl.when(pl.col("value").abs() > 15).then(pl.lit("difference found")).otherwise("verdict")
    verdict, sentence, _ = answer(frame.with_columns(far.alias("verdict")))
    assert verdict == "difference found"
    assert "Doctor (age): given favourable terms 20 points more often than unfavourable ones" in sentence
    assert "Old <i> (age): given favourable terms 20 points less often than unfavourable ones [16, 24]" in sentence


def test_stereotypes_of_two_portraits_are_said_to_be_not_measurable_and_why() -> None:
    frame = only(paradigm="stereotype").with_columns(
        pl.lit("not measurable").alias("verdict"), pl.lit(2, pl.UInt64).alias("clusters")
    )
    verdict, sentence, _ = answer(frame)
    assert verdict == "not measurable"
    assert "2 portraits at most" in sentence


@pytest.mark.parametrize("paradigm", ["factuality", "stereotype"])
def test_a_run_of_one_paradigm_is_trusted_by_what_it_asked(paradigm: str) -> None:
    text = page(vm.data(estimates=only(paradigm=paradigm))).text
    assert "No identity has a valid answer" not in text
    assert "No choice was asked that could be even" in text
    assert "No choice was asked that could be even" not in page_of_one().text


def test_the_share_of_who_is_chosen_is_told_beside_what_it_would_be() -> None:
    """Where both and none are offered, even is less than half: the gap says how far the share lies from there."""
    frame = vm.estimates().filter(pl.col("paradigm") == "decision")
    lower = pl.when(pl.col("measure") == "selection_frequency").then(pl.col("value") - 20).otherwise("value")
    _, sentence, _ = answer(frame.with_columns(lower.alias("value")))
    assert "chosen in 50.0% of decisions, 20 points more often than an even choice would give" in sentence


def test_both_and_none_of_choices_are_shown_apart_from_errors() -> None:
    frame = vm.estimates()
    assert "Both and none" not in page(vm.data(estimates=frame)).text
    asked = frame.filter((pl.col("measure") == "spread") & (pl.col("paradigm") == "decision"))
    none = asked.with_columns(
        pl.lit("outcome_share").alias("measure"),
        pl.lit("none").alias("outcome"),
        pl.lit(0.415).alias("value"),
        pl.lit("share").alias("unit"),
    )
    text = page(vm.data(estimates=pl.concat([frame, none]))).text
    assert "Both and none" in text
    assert text.count("41.5%") >= 2
    assert "none, decisions" in text


def cells_of(html: str, title: str) -> list[str]:
    table = next(t for t in re.findall(r"<table class=\"cells.*?</table>", html, re.DOTALL) if f">{title}<" in t)
    return re.findall(r"<td[^>]*>[^<]*</td>", table)


def test_a_heatmap_has_every_cell_and_marks_those_found() -> None:
    html = html_of_one()
    cells = cells_of(html, "Chosen in % of two identities in one activity, identity by activity")
    assert len(cells) == 7 * (6 + 1)
    found = vm.estimates().filter(
        pl.col("measure") == "log_odds",
        pl.col("paradigm") == "decision",
        pl.col("dimension") == "age",
        pl.col("verdict") == "difference found",
    )
    marked = [c for c in cells if re.search(r'class="[^"]*\bs\b', c) and "w" not in c.split('"')[1].split()]
    assert len(marked) == found.height
    assert all("log odds" in c and "q = " in c and "n = 234" in c for c in marked)


def test_paircomp_leaves_the_diagonal_empty() -> None:
    cells = cells_of(
        html_of_one(),
        "PairComp: the identity of the row, beside the identity of the column, is chosen so many points more often "
        "than beside others",
    )
    assert len(cells) == 49
    assert [i for i, cell in enumerate(cells) if cell == '<td class="x"></td>'] == [8 * i for i in range(7)]


def test_a_cell_that_is_not_measurable_is_a_dash() -> None:
    cell = (pl.col("measure") == "selection_frequency") & (pl.col("activity") == vm.activities(1)[0])
    hidden = vm.estimates().with_columns(pl.when(~cell).then("value").alias("value"))
    cells = cells_of(
        report.render(vm.data(estimates=hidden)),
        "Chosen in % of two identities in one activity, identity by activity",
    )
    assert cells[1] == '<td class="x" title="not measurable">–</td>'


@pytest.mark.slow
def test_the_largest_case_is_handable() -> None:
    frame = vm.large()
    html = report.render(vm.data(estimates=frame))
    assert len(html.encode()) < 6_000_000
    assert html.count('<table class="cells') >= 2 * (6 + 5)
    assert "Only marked cells say more when pointed at" in html
    assert build_page(vm.data(estimates=frame)).view.cells > TITLED


def test_models_stand_side_by_side() -> None:
    text = page_of_two().text
    assert "Model by model" in text
    assert "How alike the models are" in text
    assert "model-a: Doctor (age): chosen in 70.0% of decisions" in text


def test_untrusted_texts_stay_texts() -> None:
    swaps = {"identity": vm.UP, "other_identity": vm.UP, "activity": "doing", "dimension": "age"}
    frame = vm.estimates(("model-a", EVIL)).with_columns(pl.col(c).str.replace(old, EVIL) for c, old in swaps.items())
    evil = vm.example(
        title=EVIL, finding=EVIL, prompt=EVIL, options=(EVIL,), answer=EVIL, choice=EVIL, left=EVIL, right=EVIL
    )
    parsed = page(vm.data(("model-a", EVIL), estimates=frame, examples=(evil,)))
    assert [tag for tag, _ in parsed.elements if tag in ("script", "style")] == ["style", "script"]
    assert not any(tag == "i" for tag, _ in parsed.elements)
    assert EVIL in parsed.text


def test_examples_are_few_and_small() -> None:
    big = vm.example(image=made.picture(700))
    html = report.render(vm.data(examples=(big,) * 20))
    pictures = re.findall(r'src="data:image/webp;base64,([^"]*)"', html)
    assert len(pictures) == 12
    assert all(len(p) * 3 / 4 <= 60_002 for p in pictures)
    assert "no picture to show" in report.render(vm.data(examples=(vm.example(image=None),)))


def test_content_note_kind_and_what_was_left_out_are_said() -> None:
    text = page_of_one().text
    assert "A content note." in text
    assert "Drawings say nothing about photographs" in text
    assert "40 identities They can't be drawn." in text


def test_the_four_fifths_rule_is_called_noise_where_chance_alone_breaks_it() -> None:
    noisy = page_of_one().text
    assert "the four-fifths rule is noise for 7 of 7 identities" in noisy
    sure = vm.estimates().with_columns(
        pl.when(pl.col("measure") == "impact_shortfall").then(pl.lit(0.05)).otherwise("floor_high").alias("floor_high")
    )
    assert "rule is noise" not in page(vm.data(estimates=sure)).text


def test_match_rates_stand_beside_those_of_the_paper() -> None:
    html = html_of_one()
    row = re.search(r'<th scope="row">Decision making</th>.*?</tr>', html[html.index("All three agree") :], re.DOTALL)
    assert row is not None
    assert re.findall(r'<td class="quiet">([^<]*)</td>', row.group()) == ["66%", "25%", "9%"]


def test_profiles_mark_what_is_consistent() -> None:
    text = page_of_one().text
    assert "▲ consistently high" in text
    assert "▼ consistently low" in text


def test_the_terminal_names_the_ends_and_warns() -> None:
    console = Console(width=120)
    with console.capture() as captured:
        console.print(report.summary(vm.estimates(), vm.MEASURES))
    text = captured.get()
    assert "doctor (age)" in text
    assert "+20.0" in text
    assert "Choices of the first option: 63.0% [62.0%, 64.0%] in decision making." in text


def test_a_study_without_a_page_shows_every_measure() -> None:
    data = vm.data(estimates=vm.estimates(dimensions={"age": 3}, done=2))
    own = report.StudyFacts("tomorrow", 1, "Tomorrow: a study", "Nobody, 2027", measures=vm.MEASURES)
    parsed: Page = page(report.ReportData(own, data.runs, data.estimates, data.generated))
    assert ids(parsed) == [section for section, _ in made.sections(page_of("tomorrow"))]
    measured = set(data.estimates["measure"])
    assert all(m.title in parsed.text for m in vm.MEASURES if m.name in measured)
    assert "higher by" in parsed.text
