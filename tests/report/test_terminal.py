import re

import polars as pl
from rich.console import Console

from facevalue import report
from facevalue.report import summary
from facevalue.report.blocks.view import page_view
from facevalue.report.sections.headline import page_of
from facevalue.studies.stylisticbias.measures import MEASURES
from facevalue.view.estimates import EstimateRows
from tests.report import made


def printed(frame: pl.DataFrame) -> str:
    console = Console(width=110, record=True, file=None, quiet=False, force_terminal=False)
    with console.capture() as captured:
        console.print(summary(frame, MEASURES))
    return captured.get()


def shown(*args: object, **kwargs: object) -> str:
    return printed(made.estimates(*args, **kwargs))  # type: ignore[arg-type]


def test_headline_cues_and_intervals() -> None:
    text = shown()
    assert "judged less favourably by 17 points [15, 18]" in " ".join(text.split())
    assert "[−18.1, −15.1]" in text
    assert "●" in text
    assert "< .001" in text


def test_model_names_are_no_markup() -> None:
    assert "[bold red]x[/]" in shown(("[bold red]x[/]",))


def test_not_measurable_is_said() -> None:
    text = shown(cues=dict.fromkeys(made.CUES))
    assert "not measurable" in text
    assert "Questions without an answer: 100.0%" in text
    assert "nan" not in text


def test_empty() -> None:
    console = Console(width=100)
    with console.capture() as captured:
        console.print(summary(made.estimates().clear(), MEASURES))
    assert "not measurable" in captured.get()


def test_verdicts_families_and_margins() -> None:
    text = printed(made.judged(family="hair_style"))
    assert "● difference found" in text
    assert "○ inconclusive" in text
    assert "Family declared before the run: hair_style: a difference found in 1 of 1 test, unless the missing" in text
    assert "Margin of signed bias shift (SBS): 2.0 points either way, declared before the run." in text
    joined = " ".join(text.split())
    assert "If missing answers went one way: messy (hair style): −10.5 to +0.5 points." in joined
    assert "verdict" not in shown()


def test_the_q_beside_a_verdict_is_the_one_that_it_follows_from() -> None:
    """In its own family a row may have q .040, and yet nothing is found among all that the page tests."""
    open_row = pl.col("verdict") == "inconclusive"
    frame = made.judged(margin=None).with_columns(
        q=pl.when(open_row).then(0.04).otherwise("q"), q_page=pl.when(open_row).then(0.21).otherwise("q")
    )
    row = next(line for line in printed(frame).splitlines() if "inconclusive" in line)
    assert ".210" in row
    assert ".040" not in row
    html = report.render(made.data(estimates=frame))
    assert "q = .210" in html
    assert not re.search(r"\.040\b", html)
    rows = EstimateRows(page_view(page_of("stylisticbias"), frame, MEASURES))
    viewed = rows.rows(rows.by_clearness())
    assert {row.text.p for row in viewed if row.verdict == "inconclusive" and row.p is not None} == {".210"}


def test_equivalence_has_a_word_and_a_sign() -> None:
    assert "◆ equivalent" in printed(made.judged(margin=0.1, declared=False))


def test_bars_and_words_give_way_before_any_number_does() -> None:
    frame = made.judged()
    widths = {}
    for width in (200, 110, 70):
        console = Console(width=width)
        with console.capture() as captured:
            console.print(summary(frame, MEASURES))
        widths[width] = captured.get()
        assert "[−18.1, −15.1]" in captured.get()
        assert max(map(len, captured.get().splitlines())) <= width
    assert "━" in widths[200]
    assert "● difference found" in widths[110]
    assert "━" not in widths[70]
