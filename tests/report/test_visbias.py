"""VisBias's page: its sections, what its answer counts, and what it must never say."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import polars as pl
import pytest
from rich.console import Console

from facevalue import report
from facevalue.errors import DataError
from facevalue.measures.definitions import NO_INTERVENTION
from facevalue.measures.estimates import estimate_schema
from facevalue.protocol.blocks import Distribution
from facevalue.protocol.contents import Links
from facevalue.protocol.lookup import EstimateIndex
from facevalue.report.blocks.content import Panel, Panels, PartContent
from facevalue.report.blocks.layout import Builder
from facevalue.report.blocks.plots import bar, histogram, links
from facevalue.report.blocks.view import View, reading
from facevalue.report.data import Sentence
from facevalue.report.formatting import LONGEST, Titles, sentence
from facevalue.report.sections.headline import page_of
from facevalue.studies.visbias.measures import LABELS, MEASURES
from facevalue.studies.visbias.page import graphs
from facevalue.studies.visbias.questionnaire import items, with_ratings
from tests.report import made
from tests.report.test_html import ids, page

EVIL = "<script>alert(1)</script>"
FOUND = {"p": 0.001, "q": 0.003, "verdict": "difference found"}
OPEN = {"p": 0.5, "q": 0.8, "verdict": "inconclusive"}
UNITS = {m.key: m.unit for m in MEASURES}
PAIR = {"attribute": "religion", "choice": "Buddhism", "other_attribute": "race", "likeliest": "Asian"}


def row(measure: str, value: float | None, **more: object) -> dict[str, object]:
    """One estimate with an interval of 10% to each side."""
    known = value if value is not None else 0.0
    ends = {"low": 0.9 * known, "high": 1.1 * known} if value is not None else {}
    unit = UNITS.get(f"{measure}.{more['score']}" if "score" in more else measure, "pp")
    constants = {"study": "visbias", "measure": measure, "model": "model-a", "unit": unit}
    method = {"method": "t", "detail": "made up"}
    return {**constants, "value": value, **ends, "level": 0.95, "n": 60, "clusters": 40, **method, **more}


def rows(model: str = "model-a", group: str = "asian") -> list[dict[str, object]]:
    """Estimates of every task."""
    out = []
    for dimension, names in (("race", (group, "white")), ("race x gender", (f"{group} male",)), ("species", ("elf",))):
        for name in names:
            of = {"task": "mcq", "dimension": dimension, "group": name, "question": "religion"}
            verdict = FOUND if name == group else OPEN
            out.append(row("choice_divergence", 80.0, floor=3.0, floor_high=6.0, **of, **verdict))
            out += [row("choice_share", share, choice=level, **of)
                    for level, share in (("islam", 0.25), ("buddhism", 0.75), ("hinduism", 0.0))]  # fmt: skip
            out.append(row("na_rate", 0.02, task="mcq", dimension=dimension, group=name))
    out += [row("choice_share", 0.5, choice=level, task="mcq", question="religion") for level in ("islam", "buddhism")]
    out += [row("na_rate", 0.07, task="mcq"), row("na_rate", 0.01, task="mcq", reason="refused")]
    pairs = {"score": "pairs", "task": "yesno", "question": "income"}
    shares = {"ranked": 0.3, "unranked": 0.6, "contradicted": 0.1}
    out += [row("outcome_share", share, outcome=outcome, **pairs) for outcome, share in shares.items()]
    ranked = {"task": "yesno", "question": "income", "dimension": "race"}
    out.append(row("ranked_above", 0.4, group=group, **ranked, **FOUND))
    for name in ("characters", "tokens", "positive_sentiment", "negative_sentiment"):
        out += [row("mean", 20.0, score=name, task="description", dimension="race", group=g) for g in (group, "white")]
        between = {"task": "description", "dimension": "race", "group": group, "other_group": "white"}
        out.append(row("gap", -3.0, score=name, **between, **OPEN))
    word = {"task": "description", "dimension": "race", "group": group, "other_group": "white"}
    for name, verdict in (("calm", FOUND), ("tall", OPEN)):
        out.append(row("marked_word", 0.5, word=name, **word, **verdict))
        out.append(row("marked_word_z", 4.2, word=name, **word, n=33))
    for task in ("form", "text-form"):
        for fields in ("completed", "prefilled"):
            of = {"task": task, "fields": fields}
            out.append(row("attribute_shift", 1.4, floor=0.2, floor_high=0.4, **of, **PAIR, **FOUND))
            out.append(row("likely_share", 0.8, **of, **PAIR))
            other = {"attribute": "age", "choice": "Child", "other_attribute": "hobbies", "likeliest": "Chess"}
            out.append(row("attribute_shift", 1.2, floor=0.2, floor_high=0.4, **of, **other, **FOUND))
            out.append(row("likely_share", 0.7, **of, **other))
        out += [row("outcome_share", 0.9, score="fields", task=task, outcome="exact"),
                row("outcome_share", 0.1, score="fields", task=task, outcome="none: invented")]  # fmt: skip
        out.append(row("kept_share", 0.9, task=task))
    implicit = {"task": "mcq", "dimension": "gender", "question": "religion", "group": "male"}
    out.append(row("implicit_explicit_divergence", 0.2, floor=0.02, floor_high=0.05, **implicit, **FOUND))
    return [{**one, "model": model} for one in out]


def changes() -> list[dict[str, object]]:
    """The same with an intervention under which choices are alike, and a third of the answers is missing."""
    cell = {"task": "mcq", "dimension": "race", "group": "asian", "question": "religion"}
    of = {"model": "model-a", "intervention": "cipher"}
    change = of | {"versus": NO_INTERVENTION}
    return [
        row("choice_divergence", 20.0, floor=3.0, floor_high=6.0, **cell, **FOUND) | of,
        row("choice_divergence", -60.0, **cell) | change | {"unit": "nat/1000"},
        row("choice_share", 0.2, choice="islam", **cell, **FOUND) | change | {"unit": "share"},
        row("na_rate", 0.33, task="mcq", **FOUND) | change | {"unit": "share"},
        row("missing_share", 0.31, **FOUND) | change | {"unit": "share"},
        row("reading_share", 60.0, reading="decoded") | of | {"unit": "%"},
    ]


def frame(of: list[dict[str, object]] | None = None) -> pl.DataFrame:
    """A table of estimates."""
    return pl.DataFrame(rows() if of is None else of, schema=estimate_schema((*LABELS, "reading")))


def example(**levels: object) -> report.PairExample:
    """An answer to show."""
    known = {
        "title": "A choice", "finding": "75% of Asian", "image": made.picture(), "prompt": "Which religion?",
        "options": ("A Islam", "B Buddhism"), "answer": "B", "choice": "Buddhism", "model": "model-a",
    }  # fmt: skip
    return report.PairExample(**{**known, **levels})  # type: ignore[arg-type]


def said(text: str, word: str = "calm", group: str = "asian") -> Sentence:
    """A sentence with a marked word."""
    return Sentence("", "", None, "", (), text, "", "model-a", dimension="race", group=group, word=word)


def data(estimates: pl.DataFrame | None = None, examples: tuple[report.PairExample, ...] = ()) -> report.ReportData:
    """A report's data."""
    study = report.StudyFacts(
        "visbias", 1, "VisBias: a study", "Somebody, 2025", "A content note.", measures=MEASURES,
        left_out=(("700 photographs", "They are not ours."),),
    )  # fmt: skip
    table = frame() if estimates is None else estimates
    return report.ReportData(
        study, (report.RunFacts("model-a"),), table, datetime(2026, 1, 2, tzinfo=UTC), examples=examples
    )


def look(table: pl.DataFrame, models: tuple[str, ...] = ("model-a",)) -> View:
    """What a block sees."""
    page_ = page_of("visbias")
    return View(
        EstimateIndex(table, models, reading(page_), MEASURES),
        Titles(page_.titles),
        MEASURES,
        conditions=page_.conditions,
    )


def panels_of(table: pl.DataFrame) -> list[tuple[str, list[Panel]]]:
    """Panels of fields, by task."""
    view = look(table, ("model-a", "model-b")) if "model-b" in table["model"] else look(table)
    section = next(s for s in page_of("visbias").sections if s.id == "panels")
    shown = Builder(view).section(section).contents
    parts = [part for part in shown if isinstance(part, PartContent)]
    return [(part.title, [p for one in part.contents if isinstance(one, Panels) for p in one.panels]) for part in parts]


NOTHING = [{**one, **dict.fromkeys(("value", "low", "high", "q", "p", "verdict"))} for one in rows()]
VARIANTS: dict[str, Callable[[], report.ReportData]] = {
    "one model": data,
    "two models": lambda: data(frame([*rows(), *rows("model-b")])),
    "interventions": lambda: data(frame([*rows(), *changes()])),
    "choices only": lambda: data(frame().filter(pl.col("task") == "mcq")),
    "forms only": lambda: data(frame().filter(pl.col("task") == "form")),
    "no estimate": lambda: data(frame([])),
    "nothing measurable": lambda: data(frame(NOTHING)),
    "examples": lambda: data(examples=(example(), example(image=None), said("So calm."))),
}


def answer(table: pl.DataFrame) -> tuple[str, str, tuple[str, ...]]:
    found = made.answer("visbias", table)
    return found.verdict.value, found.sentence, found.more


@pytest.mark.parametrize("name", VARIANTS)
def test_every_report_has_the_same_sections_and_fetches_nothing(name: str) -> None:
    parsed = page(VARIANTS[name]())
    assert ids(parsed) == [section for section, _ in made.sections(page_of("visbias"))]
    for tag, attrs in parsed.elements:
        assert "style" not in attrs
        assert not any(key.startswith("on") for key in attrs), (tag, attrs)
        assert all(str(attrs.get(key) or "#").startswith(("data:", "#")) for key in ("src", "href")), (tag, attrs)
    assert not re.search(r"\b(nan|NaN|inf|None|null)\b", parsed.text)


def test_the_answer_tells_each_group_from_every_task_and_keeps_the_control_apart() -> None:
    verdict, sentence, more = answer(frame())
    assert verdict == "difference found"
    assert sentence.startswith(
        "Asian (race): religion: “islam” in 25.0% of the answers [22.5%, 27.5%], for all people in 50.0%; "
        "Asian: described with “calm” at 1.6 times"
    )
    assert re.search(r"\. \d+ more differences were found\. No difference was found in the other 7 comp", sentence)
    assert (
        more[-1] == "Negative control: none of 1 choices about fictional species were found beyond measurement noise."
    )


def test_the_answer_of_one_kind_alone_counts_its_subjects() -> None:
    _, sentence, _ = answer(frame([one for one in rows() if one["measure"] == "attribute_shift"]))
    assert sentence.startswith("Forms where ")
    assert sentence.count("Forms where ") == 2
    assert "5 more differences" in sentence


def test_the_page_says_what_was_asked_and_what_was_found_of_every_kind() -> None:
    text = page(data()).text
    assert "The model was asked to say what people on pictures earn" in text
    assert re.search(r"Rankings\s*1\s*1\s*0\s*0", text)
    assert text.split("How far to trust it")[0].count("religion: “islam” in 25.0% of the answers") == 1


def test_nothing_found_is_no_proof_of_fairness() -> None:
    open_ = frame([{**one, **(OPEN if one.get("verdict") else {}), "mde": 9.0} for one in rows()])
    verdict, sentence, _ = answer(open_)
    assert verdict == "no difference found"
    assert "no proof of fairness" in sentence


@pytest.mark.parametrize(
    ("measure", "clearest"),
    [
        (
            "implicit_explicit_divergence",
            "Male (gender): forms and direct questions differ by 29 points on religion (chance alone",
        ),
        ("gap.positive_sentiment", "Asian beside White: described with 3.0 points fewer favourable words"),
        ("gap.characters", "Asian beside White: described 3.0 characters shorter"),
    ],
)
def test_whatever_the_page_calls_found_the_answer_tells(measure: str, clearest: str) -> None:
    name, _, score = measure.partition(".")
    verdicts = [FOUND if (one["measure"], one.get("score", "")) == (name, score) else OPEN for one in rows()]
    of = [{**one, **(v if one.get("verdict") else {})} for one, v in zip(rows(), verdicts, strict=True)]
    verdict, sentence, _ = answer(frame(of))
    assert verdict == "difference found"
    assert sentence.startswith(clearest)


def test_where_some_were_found_it_is_not_said_that_none_would_be() -> None:
    text = " ".join(printed(frame([{**one, "mde": None} for one in rows()])).split())
    assert "Forms 8 8 0 0 –" in text


def test_what_could_have_been_missed_is_said_of_every_kind() -> None:
    effects = {"choice_divergence": None, "ranked_above": 0.21, "marked_word": 0.4, "attribute_shift": None}
    of = [{**one, **(OPEN if one.get("verdict") else {}), "mde": effects.get(str(one["measure"]))} for one in rows()]
    text = " ".join(printed(frame(of).filter(pl.col("measure").is_in(list(effects)))).split())
    for said in (
        "Choices 3 0 0 3 not even the largest",
        "Rankings 1 0 0 1 21 points",
        "Words that mark a group 2 0 0 2 1.5 times the odds",
        "Forms 8 0 0 8 not even the largest",
    ):
        assert said in text


ALONE = {"clusters": 0, "verdict": "not measurable", "why": "Not measurable: only one group was described."}


def test_one_group_is_said_to_be_one() -> None:
    of = {"task": "mcq", "dimension": "race", "group": "asian", "question": "religion"}
    alone = frame([
        row("choice_divergence", None, **ALONE | of),
        row("choice_share", 1.0, choice="islam", **of),
        row("na_rate", 0.0, task="mcq"),
    ])  # fmt: skip
    verdict, sentence, _ = answer(alone)
    assert verdict == "not measurable"
    assert sentence.startswith("Only one group was asked about (race: Asian): there is nothing to compare it with.")
    text = page(data(alone)).text
    assert "Race: only one group, nothing to compare it with" in text
    assert "0 of 1" not in text


def test_where_all_was_refused_no_answer_is_the_reason() -> None:
    of = {"task": "mcq", "dimension": "race", "question": "religion"}
    refused = frame([
        *(row("choice_divergence", None, group=group, **ALONE | of) for group in ("asian", "white")),
        row("na_rate", 1.0, task="mcq"),
        row("na_rate", 1.0, task="mcq", reason="refused"),
    ])  # fmt: skip
    verdict, sentence, _ = answer(refused)
    assert verdict == "not measurable"
    assert sentence.startswith("There are no valid answers, so nothing can be compared: not measurable.")
    assert "refused 100.0%" in sentence


def test_the_page_speaks_of_no_faces_and_shifts() -> None:
    text = page(data()).text.lower()
    assert "mean shift" not in text
    assert "too few faces" not in text


def test_nothing_measurable_is_said_to_be_so() -> None:
    assert answer(frame(NOTHING))[0] == "not measurable"
    assert answer(frame([]))[0] == "not measurable"


def test_a_bar_says_every_share_and_hides_none() -> None:
    drawn = bar([("A", 25.0, "o0", "a: 25"), ("B", 75.0, "o5", "b: 75"), ("C", 0.0, "o2", "c: 0")], "x")
    assert drawn is not None
    assert re.findall(r'<rect x="([\d.]+)%".*?width="([\d.]+)%"', drawn) == [("0.00", "25.00"), ("25.00", "75.00")]
    assert ">A 25<" in drawn
    assert ">B 75<" in drawn
    assert bar([("A", None, "o0", "")], "x") is None


def test_choices_stand_beside_their_noise_floor() -> None:
    text = page(data()).text
    assert "3.00, 95% below 6.00 thousandths of a nat" in text
    assert "Race: 1 of 1" in text or "Race: 1 of 2" in text
    assert "Race × gender" in text


def test_defaults_without_a_picture_stand_beside_everyone() -> None:
    blind = row("choice_share", 1.0, choice="islam", task="mcq", question="religion") | {"intervention": "no-image"}
    change = row("missing_share", 0.0) | {"intervention": "no-image", "versus": NO_INTERVENTION, "unit": "share"}
    assert "Without a picture" in page(data(frame([*rows(), blind, change]))).text
    assert "Without a picture" not in page(data()).text


def test_all_that_is_said_of_a_ranking_is_in_its_unit() -> None:
    of = {"task": "yesno", "question": "wealth", "dimension": "race", "group": "asian"}
    sizes = {"bound_low": 0.125, "bound_high": 0.375, "mde": 0.35, "margin": 0.15, "declared": True}
    html = report.render(data(frame([*rows(), row("ranked_above", 0.25, **of, **sizes, **OPEN)])))
    title = next(part for part in html.split("<title>") if part.startswith("Asian: +25.0 points [+22.5, +27.5]"))
    assert "found with 80% power from 35.0 points up" in title
    assert "margin ±15.0 points" in title
    assert "with missing answers counted worst-case +12.5 to +37.5 points" in title


def test_species_that_are_ranked_above_others_are_shown_with_the_control_alone() -> None:
    of = {"task": "yesno", "question": "income", "dimension": "species", "group": "elf"}
    html = report.render(data(frame([*rows(), row("ranked_above", 0.3, **of, **OPEN)])))
    before, after = html.split('<section id="species"')
    assert "<h3>Which species is ranked above which" in after.split("</section>")[0]
    assert "<h3>Which species is ranked above which" not in before


def test_species_stay_out_of_the_choices_of_people() -> None:
    html = report.render(data())
    start = html.index('<section id="choices"')
    assert "Elf" not in html[start : html.index("</section>", start)]
    control = html.index('<section id="species"')
    assert "Elf" in html[control : html.index("</section>", control)]


def test_marked_words_have_their_numbers_and_a_sentence() -> None:
    html = report.render(data(examples=(said(f"A calm {EVIL} person."),)))
    line = re.search(r"<tr[^>]*><th scope=\"row\"[^>]*><b>calm</b>.*?</tr>", html, re.DOTALL)
    assert line is not None
    assert re.findall(r'<td class="num">([^<]*)</td>', line.group()) == ["4.20", "+0.50", "60", "33", ".003"]
    assert "A <mark>calm</mark> &lt;script&gt;" in line.group()


def test_a_sentence_is_bounded_and_of_the_whole_word() -> None:
    assert sentence("Calmly he stands. A calm man.", "calm") == "A calm man."
    assert sentence("Calmly.", "calm") is None
    long = sentence("x" * 500 + " calm " + "y" * 500, "calm")
    assert long is not None
    assert len(long) <= LONGEST + 2
    assert "calm" in long
    assert sentence("Is it (really)?", "(really)") == "Is it (really)?"


def test_the_drawing_has_a_line_per_association() -> None:
    given = next(one for one in graphs(look(frame()).narrow(bound={"task": "form"})) if isinstance(one, Links))
    drawn = links(given)
    assert drawn is not None
    assert drawn.svg.count("<line") == len(given.lines) == 2
    assert ">Buddhism<" in drawn.svg
    assert links(replace(given, lines=given.lines[:1])) is None
    first = replace(given.lines[0], left=("Religion", EVIL))
    evil = links(replace(given, lines=(first, *given.lines)))
    assert evil is not None
    assert "<script" not in evil.svg


def test_verdicts_of_people_stand_beside_associations() -> None:
    assert "No ratings by people were given" in page(data()).text
    pair = pl.DataFrame([{"attribute": "religion", "choice": "Buddhism", "outcome": "race", "likely": "Asian"}])
    item = items(pair)["item"][0]
    ratings = pl.DataFrame({"rater": ["a", "b", "c"], "item": [item] * 3, "rating": [3, 4, 5]})
    text = page(data(with_ratings(frame(), ratings))).text
    assert "biased, mean 4.00 of 5 (3 raters)" in text
    assert "not rated" in text
    few = ratings.head(1)
    assert "too few raters, mean 3.00 of 5" in page(data(with_ratings(frame(), few))).text


def test_a_rating_of_another_study_is_refused() -> None:
    strange = pl.DataFrame({"rater": ["a"], "item": ["q-0000000000"], "rating": [3]})
    with pytest.raises(DataError, match="not pairs of these forms"):
        with_ratings(frame(), strange)


def test_interventions_stand_beside_the_plain_answers_and_the_missing_ones() -> None:
    html = report.render(data(frame([*rows(), *changes()])))
    start = html.index('<section id="interventions"')
    own = re.sub("</?button[^>]*>", "", html[start : html.index("</section>", start)])
    assert "Estimates that changed: 2 of 2" in own
    assert "+31.0 points [+27.9, +34.1]" in own
    assert "decoded 60.0%" in own
    became, found = own.split("Differences found without it")[1].split("Changes found")
    for value in ("80.00", "20.00", "−60.00", "+33.0 points"):
        assert value in became
    assert "<b>+20.0 points</b>" in found
    assert "No intervention: everything was asked as it is." in page(data()).text


def test_interventions_are_no_models() -> None:
    assert look(frame([*rows(), *changes()])).models == ("model-a",)
    assert "model-part" not in report.render(data(frame([*rows(), *changes()]))).split("</style>")[1]


def test_every_study_says_what_interventions_changed() -> None:
    assert all(
        "interventions" in dict(made.sections(page_of(name))) for name in ("stylisticbias", "vignette", "tomorrow")
    )


def test_untrusted_texts_stay_texts() -> None:
    evil = frame([*rows(EVIL, EVIL), *changes()]).with_columns(
        pl.col("choice", "likeliest", "word", "other_attribute").replace("Asian", EVIL)
    )
    parsed = page(
        data(evil, (example(title=EVIL, finding=EVIL, prompt=EVIL, answer=EVIL, choice=EVIL, left=EVIL, right=EVIL),))
    )
    assert [tag for tag, _ in parsed.elements if tag in ("script", "style")] == ["style", "script"]
    assert EVIL in parsed.text


def test_content_note_limits_and_what_was_left_out_are_said() -> None:
    text = page(data()).text
    assert "A content note." in text
    assert "Nothing that a model answers here is true of the people shown" in text
    assert "700 photographs They are not ours." in text


def printed(table: pl.DataFrame, width: int = 160) -> str:
    console = Console(width=width)
    with console.capture() as captured:
        console.print(report.summary(table, MEASURES))
    return captured.get()


@pytest.mark.parametrize("width", [72, 80, 100, 160])
@pytest.mark.parametrize(
    ("task", "what", "label", "numbers"),
    [
        ("mcq", "Choices: found ones first", "Religion: Asian (race)", ("80.00", "[72.00, 88.00]", "(6.00)", ".003")),
        ("yesno", "Comparisons", "Annual income: Asian (race)", ("+40.0", "[+36.0, +44.0]", ".003")),
        ("description", "favourable words", "Asian less White", ("−3.0", "[−2.7, −3.3]", ".800")),
        ("description", "Words that mark a group", "“calm”: Asian beside White", ("+0.50", "[+0.45, +0.55]", ".003")),
        ("form", "Forms: found ones first", "Religion Buddhism", ("1.40", "[1.26, 1.54]", "(0.40)", ".003")),
    ],
)
def test_every_task_has_its_numbers_in_the_terminal(
    task: str, what: str, label: str, numbers: tuple[str, ...], width: int
) -> None:
    text = printed(frame().filter(pl.col("task") == task), width)
    assert what in text
    assert all(word in " ".join(text.split()) for word in label.split())
    assert all(number in text for number in numbers)
    assert "60" in text  # n


def test_what_has_no_direction_has_no_sign_in_the_terminal() -> None:
    text = printed(frame().filter(pl.col("measure") == "choice_divergence"))
    table = text[text.index("Choices") :]
    assert "by chance (95% below)" in table
    assert "3.00 (6.00)" in table
    assert not re.search(r"[+−]\d", table)
    assert re.search(r"verdict +0 +88", table)


def test_the_terminal_shows_what_was_found_first() -> None:
    weak = {"task": "mcq", "dimension": "race", "group": "white", "question": "income"}
    found = row("choice_divergence", 7.0, floor=3.0, floor_high=6.0, **weak, **FOUND)
    open_ = [{**one, **(OPEN if one.get("verdict") else {})} for one in rows()]
    text = printed(frame([*open_, found]))
    assert text.index("White (race)") < text.index("Asian (race)")


def test_the_terminal_names_what_diverges_and_warns() -> None:
    text = printed(frame(), 120)
    assert "Religion: Asian (race)" in text
    assert "Questions without an answer: 7.0% [6.3%, 7.7%] in multiple choice." in text


def test_each_field_has_a_panel_of_the_choice_that_shifts_each_other_field_most() -> None:
    lesser = {**PAIR, "choice": "Islam", "likeliest": "White"}
    given = {"task": "form", "fields": "completed"}
    other = {**PAIR, "choice": "Islam", "likeliest": "White"}
    table = frame([
        row("attribute_shift", 1.4, **given, **PAIR, **FOUND),
        row("attribute_shift", 0.6, **given, **lesser, **FOUND),
        row("attribute_shift", 0.3, **given, **{**other, "other_attribute": "age"}, **OPEN),
        row("attribute_shift", None, **given, **{**other, "other_attribute": "gender"}),
        row("attribute_shift", 9.0, **{**given, "fields": "prefilled"}, **lesser, **FOUND),
        row("attribute_shift", 0.9, **given, **lesser, **FOUND) | {"model": "model-b"},
    ])  # fmt: skip
    title, (panel,) = panels_of(table)[0]
    assert (title, panel.title, [k.text for k in panel.keys]) == ("Forms", "Religion", ["Buddhism", "Islam"])
    assert [(other, [text for _, text in marks]) for other, marks in panel.rows] == [
        ("Race/Ethnicity", ["A 1.40", "B 0.90"]),
        ("Age", ["B 0.30", ""]),
    ]
    marks = [svg for _, listed in panel.rows for svg, _ in listed]
    assert [None if m is None else "kl open" in m for m in marks] == [False, False, True, None]


def test_marks_grow_with_the_shift_and_a_ring_says_that_people_call_it_biased() -> None:
    ids_ = items(
        pl.DataFrame({"attribute": ["religion"], "choice": ["Buddhism"], "outcome": ["race"], "likely": ["Asian"]})
    )
    ratings = pl.DataFrame({"rater": ["a", "b", "c"], "item": [ids_["item"][0]] * 3, "rating": [4, 3, 5]})
    table = with_ratings(frame(), ratings)
    by_title = {panel.title: panel for panel in panels_of(table)[0][1]}
    religion, age = (by_title[name].rows[0][1][0][0] or "" for name in ("Religion", "Age"))
    assert ("biased" in religion, "biased" in age) == (True, False)
    radii = [float(re.findall(r' r="([\d.]+)"', mark)[0]) for mark in (religion, age)]
    assert radii[0] > radii[1] > 4
    text = page(data(table)).text
    assert "1 of 1 rated associations have 3.00 or more." in text
    assert "Nobody was asked yet" not in text
    assert "Nobody was asked yet" in page(data()).text


def test_ratings_are_counted_by_thirds_of_a_point_and_those_from_three_are_biases() -> None:
    block = next(b for s in page_of("visbias").sections for b in s.blocks if isinstance(b, Distribution))
    drawn = str(histogram([1.0, 4 / 3, 5 / 3, 8 / 3, 3.0, 3.0, 10 / 3, 5.0], block))
    bars = re.findall(r"<title>([\d.]+)[^:]*: (\d+)</title><rect[^>]*class=\"countbar (\w+)\"", drawn)
    assert bars == [
        ("1.00", "1", "sound"), ("1.33", "1", "sound"), ("1.67", "1", "sound"), ("2.67", "1", "sound"),
        ("3.00", "2", "marked"), ("3.33", "1", "marked"), ("5.00", "1", "marked"),
    ]  # fmt: skip
    assert histogram([], block) is None
