"""Blocks of pages: each renders with nothing, null, one row and hostile texts; the JSON has its numbers."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from facevalue import report
from facevalue.errors import DataError
from facevalue.measures.definitions import Measure
from facevalue.measures.estimates import complete_columns
from facevalue.protocol.blocks import (
    Agreement,
    Block,
    Column,
    Cumulative,
    Distribution,
    Each,
    Fold,
    Grid,
    Heat,
    Many,
    Numbers,
    Overview,
    Own,
    PerModel,
    Pictures,
    Prose,
    Say,
    Scatter,
    Side,
    Stacked,
    StoredAnswers,
    Strips,
    Table,
    WordLists,
)
from facevalue.protocol.contents import Entry, Folded, Ledger, Link, Links, Mark, Marks, Paragraph
from facevalue.protocol.look import Of
from facevalue.protocol.page import Described, Findings, Page, Section, check_page, selections
from facevalue.report.blocks.view import fill_form
from tests.report.test_html import page as parsed

EVIL = "<script>alert(1)</script>"
MEASURES = tuple(
    Measure(name, name.capitalize(), "x = y", "probability", "identity", "FaceValue", comparison=True)
    for name in ("gap", "size", "spread", "steps")
)
GAP = Of("gap", ("hair", "group"), label="{hair}", note="{group:lower}", order="size")
SPREAD = Of("spread", ("group?",))
LABELS = ("hair", "group", "dimension", "word", "other_model", "model")
MADE: Sequence[Any] = (
    Paragraph("{hair}", "h4"),
    Ledger("r", ("a", "b"), ((Entry(EVIL), Entry("1", shade=12.0)),)),
    Folded("f", (Links("l", "n", "lines", (Link((EVIL, "b"), ("c", "d"), 1.0, EVIL),) * 2),)),
    Marks("m", (EVIL,), ("x", "y"), (("row", (Mark("A", "1", 0.5, found=True, ringed=True, tooltip=EVIL), None)),)),
)
BLOCKS: dict[str, Block] = {
    "text": "A paragraph.",
    "say": Say("A heading", "h3"),
    "strips": Strips(of=(GAP,), title="Gaps", key=True, empty="Nothing."),
    "numbers": Numbers(of=(GAP,), title="All gaps"),
    "heat": Heat(of=GAP, row="{hair}", column="{group}", section="{hair}", legend=True, tools=True, fold="more"),
    "heat by model": Heat(of=Of("gap", ("hair",)), row="{hair}", column="{model}", models=True, empty="Nothing."),
    "grid": Grid(of=GAP, row="hair", column="group", title="Grid", whole=Of("gap", ("hair",)), signed=True),
    "stacked": Stacked(of=(GAP,), part="group", beside=Of("size", ("hair",), label="{hair}"), what="Size", empty="No."),
    "scatter": Scatter(x=Of("gap", ("hair", "group"), label="{hair}"), y="size", names=("x", "y")),
    "cumulative": Cumulative(of=Of("size", ("hair", "group")), count="steps", noun="things", total="size"),
    "distribution": Distribution(of=GAP, low=0, high=1, step=0.1, flag=0.5, what="gaps", title="Gaps", empty="No."),
    "words": WordLists(of=Of("gap", ("group", "word")), rank="size", published=Of("size", ("word",)), title="{group}"),
    "table": Table(of=(GAP,), columns=("Gap", "Floor|floor|size|quiet", Column("Own", lambda *_: EVIL)),
                   title="T", each_model=True, warn=lambda *_: EVIL),
    "overview": Overview(of=(GAP,), over=("group",), label="{group}", heads=("Group",), row="{hair} {size}",
                         spread=SPREAD),
    "agreement": Agreement(of=Of("gap", ("hair", "group"), label="{hair} {group}"), summed=(("r", "size", "spread"),)),
    "prose": Prose(lambda look: [look.said("{hair}: {value}", e) for e in look.rows(GAP)]),
    "pictures": Pictures("Pictures"),
    "answers": StoredAnswers("StoredAnswers", empty="None chosen."),
    "each": Each(of=(GAP,), over=("group",), title="{group}", note="{hair}", fold="first",
                 blocks=(Strips(of=(GAP,), title="{group}"),), empty="None."),
    "fold": Fold("More", (Numbers(of=(GAP,), title="All"),)),
    "side": Side((Strips(of=(GAP,), numbers=""),)),
    "many": Many(("several",), ("one",)),
    "per model": PerModel("{model} alone", (Strips(of=(GAP,)),)),
    "own": Own(lambda _look: MADE),
}  # fmt: skip


def row(measure: str, value: float | None, **labels: str) -> dict[str, object]:
    """An estimate with an interval."""
    ends = {} if value is None else {"low": value - 0.1, "high": value + 0.1}
    found = {"verdict": "difference found", "q": 0.01, "floor": 0.01, "floor_high": 0.05}
    return {"study": "own", "measure": measure, "model": "m", "value": value, "unit": "probability", "n": 9,
            "clusters": 5, "method": "t", "detail": "made up", **ends, **found, **labels}  # fmt: skip


def table(*rows: dict[str, object]) -> pl.DataFrame:
    """Estimates that may be broken down by hair, group and dimension."""
    return complete_columns(pl.DataFrame(list(rows), infer_schema_length=None), ("hair", "group", "dimension"))


def some(hair: str = "blond", group: str = "old") -> list[dict[str, object]]:
    """Estimates of everything that the blocks show."""
    cell = {"hair": hair, "group": group}
    return [
        row("gap", 0.3, **cell), row("gap", -0.2, hair="red", group=group), row("gap", 0.1, hair="red", group="young"),
        row("size", 0.3, **cell), row("size", 0.2, hair="red", group=group),
        row("size", 0.1, hair="red", group="young"),
        row("gap", 0.2, hair=hair), row("size", 0.2, hair=hair), row("steps", 2.0), row("spread", 0.2),
        row("gap", 0.4, group=group, word=hair), row("size", 3.0, group=group, word=hair),
    ]  # fmt: skip


FRAMES: dict[str, Callable[[], pl.DataFrame]] = {
    "nothing": lambda: table(*some()).clear(),
    "null": lambda: table(*({**one, **dict.fromkeys(("value", "low", "high", "verdict", "q"))} for one in some())),
    "one row": lambda: table(row("gap", 0.3, hair="blond", group="old")),
    "everything": lambda: table(*some()),
    "two models": lambda: table(*some(), *({**one, "model": "n"} for one in some())),
    "hostile": lambda: table(*some(EVIL, EVIL), *({**one, "model": EVIL} for one in some(EVIL, EVIL))),
}


def data(frame: pl.DataFrame, page: Page) -> report.ReportData:
    """A report's data."""
    study = report.StudyFacts("own", 1, "Own: a study", "Nobody", measures=MEASURES)
    models = frame["model"].unique(maintain_order=True).to_list() or ["m"]
    runs = tuple(report.RunFacts(model) for model in models)
    return report.ReportData(study, runs, frame, datetime(2026, 1, 2, tzinfo=UTC), page=page)


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("block", BLOCKS)
def test_every_block_renders_whatever_there_is(block: str, name: str) -> None:
    page = Page(sections=(Section("s", "S", (BLOCKS[block],), each_model=True),))
    made = data(FRAMES[name](), page)
    shown = parsed(made)
    assert [tag for tag, _ in shown.elements if tag in ("script", "style")] == ["style", "script"]
    assert not any(key.startswith("on") for _, attrs in shown.elements for key in attrs)
    assert "nan" not in shown.text.lower().split()
    found = json.loads(report.as_json(made))
    sections = [section["id"] for section in found["sections"]]
    assert sections == [attrs["id"] for tag, attrs in shown.elements if tag == "section" and attrs.get("id") == "s"]
    assert sections == ["s"] or name in ("nothing", "null", "one row") or block in ("agreement", "pictures")


@given(st.text(max_size=30), st.text(max_size=30))
def test_texts_of_labels_are_escaped(hair: str, group: str) -> None:
    page = Page(sections=(Section("s", "S", (BLOCKS["strips"], BLOCKS["table"], BLOCKS["grid"])),))
    names = [f"<!{hair}", f"<!{group}"]
    html = report.render(data(table(*some(*names)), page))
    own = html[html.index('<section id="s"') : html.index('<section id="interventions"')]
    for name in names:
        assert name not in own


def test_the_json_has_labels_and_numbers_and_null_for_what_is_not_measurable() -> None:
    page = Page(sections=(Section("s", "S", (BLOCKS["strips"],)),))
    frame = table(row("gap", 0.3, hair="blond", group="old"), row("gap", None, hair="red", group="old"))
    strips, numbers = json.loads(report.as_json(data(frame, page)))["sections"][0]["blocks"][1:]
    assert (strips["kind"], numbers["kind"], numbers["title"]) == ("strips", "lines", "The numbers behind this chart")
    first, second = strips["rows"]
    assert first["label"] == "Blond"
    assert first["labels"] == {"hair": "blond", "group": "old"}
    assert [first[name] for name in ("value", "low", "high", "n", "q")] == pytest.approx([0.3, 0.2, 0.4, 9, 0.01])
    assert first["verdict"] == "difference found"
    assert (second["value"], second["low"]) == (None, None)


def test_cells_are_those_of_the_first_block_and_numbers_may_have_labels_of_their_own() -> None:
    strips = Strips(of=(replace(GAP, most=1),), rows="{group}|{hair}", heads=("Group", "Hair"))
    blocks = (Fold("More", (strips,)), Numbers(of=(SPREAD,), title="Spread"))
    for each in (Each(over=("group",), blocks=blocks), Each(over=("group",), blocks=(strips,))):
        first, second = (
            json.loads(report.as_json(data(table(*some()), Page(sections=(Section("s", "S", (block,)),)))))["sections"]
            for block in (each, replace(each, of=(GAP,)))
        )
        assert first == second
        assert first[0]["blocks"]
    assert strips.number_rows(strips.of) == (replace(GAP, label="{group}|{hair}", note=""),)
    assert Strips(of=(GAP,)).number_rows((GAP,)) == (GAP,)


def test_the_headline_the_cards_and_what_was_judged_are_in_the_json() -> None:
    lead = Findings(of=(GAP,), noun=("gap", "gaps"), moved=("more there by {size}", "less there by {size}"))
    found = json.loads(report.as_json(data(table(*some()), Page(lead=(lead,)))))
    assert found["facevalue_page"] == 1
    assert found["headline"]["sentence"].startswith("Blond: more there by ")
    assert {"kind", "mode", "complete", "floor", "units"} <= {card["name"] for card in found["cards"]}


def test_a_page_without_a_lead_speaks_of_all_comparisons() -> None:
    found = json.loads(report.as_json(data(table(*some()), Page())))
    assert "higher by " in found["headline"]["sentence"]
    assert found["sections"][0]["id"] == "measures"


def test_the_lead_is_what_was_asked() -> None:
    lead = (
        Findings(of=(Of("gap", ("dimension",)),), noun=("a", "as")),
        Described(of=Of("size", ("hair",)), text="is the size", ends=GAP, most="most", least="least"),
    )
    found = json.loads(report.as_json(data(table(*some()), Page(lead=lead))))
    assert found["headline"]["outcome"] == "measured, and not compared"
    assert "is the size: most Blond, " in found["headline"]["sentence"]


def test_a_terminal_shows_the_lead() -> None:
    lead = Findings(of=(GAP,), noun=("gap", "gaps"), title="Largest gaps")
    console = Console(width=100)
    with console.capture() as captured:
        console.print(report.summary(table(*some()), MEASURES, page=Page(lead=(lead,))))
    assert "Largest gaps" in captured.get()
    assert "30.0" in captured.get()


@pytest.mark.parametrize(
    ("of", "said"),
    [
        (Of("gaps", ("hair",)), "The page's section s shows gaps, which is not measured. Did you mean gap?"),
        (Of("gap", ("hare",)), "breaks gap down by hare, which is not a label of the study. Did you mean hair?"),
        (
            Of("gap", ("hair",), without={"colour": "x"}),
            "breaks gap down by colour, which is not a label of the study.",
        ),
    ],
)
def test_a_block_of_what_is_not_taken_is_refused(of: Of, said: str) -> None:
    page = Page(sections=(Section("s", "S", (Each(of=(), over=(), blocks=(Strips(of=(of,)),)),)),))
    with pytest.raises(DataError, match=said.replace(".", r"\.").replace("?", r"\?")):
        check_page(page, MEASURES, LABELS)


@pytest.mark.parametrize("name", ["stylisticbias", "vignette", "visbias"])
def test_pages_of_published_studies_show_what_is_measured(name: str) -> None:
    from importlib import import_module

    from facevalue.measures.estimates import TYPED_LABELS
    from facevalue.report.sections.headline import page_of

    measures = import_module(f"facevalue.studies.{name}.measures")
    page = page_of(name)
    check_page(page, measures.MEASURES, (*measures.LABELS, *TYPED_LABELS, "model"))
    assert len(list(selections(page.sections))) > 20


def test_forms_leave_out_parts_of_which_a_label_is_missing() -> None:
    known = {"a": "A", "b": None}
    assert fill_form("{a}[ of {b}], {b|none}", lambda name, _how: known.get(name)) == "A, none"
    assert fill_form("{b}", lambda name, _how: known.get(name)) == "–"


def test_a_protocol_with_a_page_of_what_it_does_not_take_is_refused() -> None:

    from tests.protocol.test_python_declaration import LOAN

    page = Page(sections=(Section("s", "S", (Strips(of=(Of("shifts"),)),)),))
    with pytest.raises(DataError, match="shows shifts, which is not measured"):
        replace(LOAN, page=lambda: page).study()
