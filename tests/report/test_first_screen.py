"""The first screen: what was asked, the answer with changes first, one chart, and what to do next."""

import html
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import polars as pl
import pytest

from facevalue import report
from facevalue.measures.definitions import NO_INTERVENTION
from facevalue.report import charts
from facevalue.report.data import AskedQuestion
from facevalue.report.page_builder import build_page
from facevalue.report.sections.cards import MOST
from facevalue.report.sections.findings import list_comparisons, most_named, strongest, without_answer
from facevalue.report.sections.headline import HeadlineKind
from facevalue.stimuli.base import Kind
from tests.report import made, test_visbias, vignette_made
from tests.report.test_headline import UNKNOWN

EVIL = "<script>alert('x')</script>\u202e & {{ 7 * 7 }} " + "very " * 200
PAGES: dict[str, Callable[[], report.ReportData]] = {
    "found": made.data,
    "judged": lambda: made.data(estimates=made.judged()),
    "models": lambda: made.data(("model-a", "model-b")),
    "many models": lambda: made.data(tuple("abcdefg")),
    "one cue": lambda: made.data(estimates=made.judged(made.estimates(cues={("a", "b"): 0.2}, groups={}))),
    "nothing measurable": lambda: made.data(estimates=made.estimates(cues=dict.fromkeys(made.CUES))),
    "no estimate": lambda: made.data(estimates=made.estimates().clear()),
    "refused": lambda: made.data(runs=(made.run(planned=40, asked=40, valid=0, refused=40),)),
    "identities": vignette_made.data,
    "tasks": test_visbias.data,
    "interventions": test_visbias.VARIANTS["interventions"],
    "changes": lambda: made.data(estimates=changed()),
}


def changed() -> pl.DataFrame:
    """A cap of which an intervention takes 39 points, and another that changes nothing."""
    frame = made.judged(made.estimates(cues={("accessories", "cap"): 0.532, ("tattoos", "small"): 0.01}, groups={}))
    cue = (pl.col("measure") == "shift") & pl.col("variation").is_not_null() & pl.col("scenario").is_null()
    rows, is_cap = frame.filter(cue), pl.col("variation") == "cap"
    value = pl.when(is_cap).then(-0.393).otherwise(0.0)
    change = rows.with_columns(
        pl.lit(NO_INTERVENTION).alias("versus"), pl.lit("debiasing").alias("intervention"), value.alias("value"),
        (value - 0.05).alias("low"), (value + 0.05).alias("high"), pl.lit(0.08).alias("mde"),
        pl.when(is_cap).then(pl.lit("difference found")).otherwise(pl.lit("inconclusive")).alias("verdict"),
    )  # fmt: skip
    after = rows.with_columns(pl.col("value") + value, pl.lit("debiasing").alias("intervention"))
    idle = change.with_columns(
        pl.lit("blank-image").alias("intervention"), pl.lit("inconclusive").alias("verdict"), pl.lit(0.0).alias("value")
    )
    missing = change.head(1).with_columns(
        pl.lit("missing_share").alias("measure"), pl.lit("share").alias("unit"), pl.lit(0.31).alias("value"),
        *(pl.lit(None, pl.String).alias(name) for name in ("attribute", "variation")),
    )  # fmt: skip
    return pl.concat([frame, after, change, idle, missing])


def first_screen(data: report.ReportData) -> str:
    """The HTML above the table of contents, without what unfolds and without what is said of a value in a tooltip."""
    page = report.render(data)
    page = page[page.index("<h1>") : page.index('<nav aria-label="Contents">')]
    page = re.sub(r'<details class="precisely">.*?</details>', "", page, flags=re.DOTALL)
    return re.sub(r"<title>.*?</title>|<svg.*?</svg>|title=\"[^\"]*\"", "", page, flags=re.DOTALL)


@pytest.mark.parametrize("name", PAGES)
def test_every_first_screen_has_an_answer_in_plain_words_and_something_to_do(name: str) -> None:
    data = PAGES[name]()
    screen = first_screen(data)
    text = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", screen)).split())
    assert not [word for word in UNKNOWN if word in text.lower()], text
    assert not re.search(r"\b(nan|NaN|inf|None|null)\b", text)
    ready = build_page(data)
    assert ready.answer.sentence in text
    links = set(re.findall(r'href="#([^"]+)"', screen[screen.index('class="sentence"') :].partition("</p>")[0]))
    assert links <= {section.id for section in ready.sections}
    assert bool(links) == ("more difference" in ready.answer.sentence)
    assert 1 <= len(ready.steps) <= MOST
    sections = {"trust", *(section.id for section in ready.sections)}
    assert all(not step.anchor or step.anchor in sections for step in ready.steps)


@pytest.mark.parametrize("name", PAGES)
def test_what_the_sentence_names_stands_in_a_chart_in_its_unit(name: str) -> None:
    ready = build_page(PAGES[name]())
    views = [ready.view.narrow(model) for model in ready.view.numbers.plain]
    named = [
        finding
        for view in views
        for finding in strongest([*list_comparisons(ready.page, view), *without_answer(view)], most_named(view))
    ]
    if ready.chart is None:
        assert not named or ready.answer.verdict is HeadlineKind.NO_ANSWER
        return
    panels = ready.chart.panels
    drawn = [(row.of, panel.what) for panel in panels for row in panel.rows]
    assert len(drawn) <= 6
    assert all((e, comparison.scale(e).unit) in drawn for comparison, e in named[:6])
    assert not named or all(comparison.describe_difference(e) in ready.answer.sentence for comparison, e in named[:3])


def test_what_an_intervention_changed_stands_first_before_and_after() -> None:
    sentence = build_page(made.data(estimates=changed())).answer.sentence
    assert sentence.startswith(
        "Debiasing: Cap (accessories) from +53 to +14: −39 points [−44, −34]; missing answers rose by 31 points. "
        "Blank-image: no change was found (changes of up to about 8.0 points would have gone unnoticed). "
        "Without them: Cap "
        "(accessories): judged more favourably by 53 points"
    )


def test_more_needed_follows_from_the_square_of_what_could_be_missed() -> None:
    frame = made.judged(made.estimates(cues={("a", f"cue-{n}"): 0.02 for n in range(6)}, groups={}), margin=None)
    steps = {}
    for mde in (0.2, 0.4, 0.05):
        data = made.data(
            estimates=frame.with_columns(pl.lit(mde).alias("mde"), pl.lit(60, pl.UInt64).alias("clusters"))
        )
        steps[mde] = build_page(data).steps[0].text
    assert steps[0.2] == "To detect differences of 10 points, ask about 180 more people for each comparison (60 now)."
    assert steps[0.4] == "To detect differences of 10 points, ask about 900 more people for each comparison (60 now)."
    assert (
        steps[0.05] == "To detect differences half this size, ask about 180 more people for each comparison (60 now)."
    )


@pytest.mark.parametrize(
    ("faces", "kind", "step"),
    [
        (60, Kind.PHOTOGRAPHS, "There is enough data to act on the difference found for Cap (accessories)."),
        (60, Kind.ILLUSTRATED, "Check in photographs whether the difference found for Cap (accessories) holds."),
        (
            9,
            Kind.PHOTOGRAPHS,
            "Confirm the difference found for Cap (accessories) first: 9 people are too few to act on.",
        ),
    ],
)
def test_a_finding_is_to_be_acted_on_where_enough_photographs_show_it(faces: int, kind: Kind, step: str) -> None:
    frame = made.judged(made.estimates(cues={("accessories", "cap"): 0.5}, groups={}), margin=None)
    data = made.data(estimates=frame.with_columns(pl.lit(faces, pl.UInt64).alias("clusters")), kind=kind)
    assert build_page(data).steps[0].text.startswith(step)


def test_nothing_is_enough_to_act_on_where_the_card_on_faces_counts_too_few() -> None:
    small = [("tattoos", size) for size in ("small", "large")]
    cues = {("accessories", "cap"): 0.5, **dict.fromkeys(small, 0.01)}
    frame = made.judged(made.estimates(cues={**cues}, groups={}), margin=None)
    clusters = pl.when(pl.col("variation") == "cap").then(60).otherwise(9).cast(pl.UInt64)
    page = build_page(made.data(estimates=frame.with_columns(clusters.alias("clusters")), kind=Kind.PHOTOGRAPHS))
    assert next(card.value for card in page.cards if card.name == page.page.units.name) == "9"
    assert page.steps[0].text.startswith(
        "Confirm the difference found for Cap (accessories) first: 9 people are too few to act on."
    )


def test_a_question_and_its_pictures_are_shown_small_and_escaped() -> None:
    picture = made.picture(700)
    question = AskedQuestion(EVIL, tuple((EVIL, picture) for _ in range(4)))
    data = made.data(question=question, runs=(made.run(EVIL),), estimates=made.estimates((EVIL,)))
    screen = first_screen(data)
    assert "<script>" not in screen
    assert html.escape(EVIL.strip()[:27], quote=False).replace("'", "&#39;") in screen
    pictures = re.findall(r"data:image/webp;base64,([^\"]*)", screen)
    assert len(pictures) == 4
    assert all(len(data_) * 3 / 4 <= 15_000 for data_ in pictures)


def test_why_no_picture_is_shown_is_said() -> None:
    screen = first_screen(made.data(question=AskedQuestion("Who?", (), "no picture: it is not there any more")))
    assert "it is not there any more" in screen
    assert "<img" not in screen


def test_facts_are_people_pictures_answers_and_days() -> None:
    days = [datetime(2026, 11, day, tzinfo=UTC) for day in (20, 22)]
    runs = tuple(replace(made.run(f"m{n}"), started=day) for n, day in enumerate(days))
    text = html.unescape(first_screen(made.data(("m0", "m1"), runs=runs)))
    assert "60 people · 360 pictures · m0: 970 answers to 1,000 questions" in text
    assert "20 November 2026 to 22 November 2026" in text


def test_two_hundred_groups_fit_the_chart() -> None:
    cues: dict[tuple[str, str], float | None] = {("a", f"cue-{n}"): 0.05 + n / 1000 for n in range(200)}
    chart = build_page(made.data(estimates=made.estimates(cues=cues, groups={}))).chart
    assert chart is not None
    (panel,) = chart.panels
    assert len(panel.rows) == 6
    assert panel.title == "Judgments, in points: 6 of 200"
    assert panel.rows[0].value == "+25"


def test_labels_of_an_axis_that_have_no_room_on_a_phone_are_hidden_there() -> None:
    over = charts.scale(-42, 66, 6)
    labels = [f"{value:+.0f}" if value else "0" for value in over.ticks]
    svg = str(charts.axis(over, labels))
    hidden = re.findall(r'class="tick( apart)?">([^<]+)', svg)
    assert hidden == [(" apart", "-25"), ("", "0"), (" apart", "+25"), ("", "+50")]
    few = str(charts.axis(charts.scale(-10, 10, 3), ["−10", "0", "+10"]))
    assert "apart" not in few
    long = str(charts.axis(over, [f"{value:+,.0f},000,000" if value else "0" for value in over.ticks]))
    assert len(re.findall("<text", long)) < len(labels)  # nor is there room for all of these on a screen
