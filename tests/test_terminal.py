"""Nothing that a stranger wrote steers the terminal or runs in a spreadsheet."""

import csv
import io

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.panel import Panel
from rich.table import Table

from facevalue.csv_text import write_csv
from facevalue.printable import printable
from facevalue.terminal import say, terminal

EVIL = "old\x1b[2J\x1b]0;title\x07\x9b31m\u202etxt"


@given(st.text())
def test_printable_text_holds_no_controls_and_can_be_encoded(text: str) -> None:
    shown = printable(text)
    shown.encode()
    assert not any((ord(c) < 32 and c not in "\t\n") or 127 <= ord(c) < 160 for c in shown)
    if text.isprintable() and text.isascii():
        assert shown == text


def test_tables_and_messages_print_escapes_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("who", EVIL)
    table.add_row(EVIL, EVIL)
    out = terminal()
    out.print(Panel(table))
    out.print(f"Unknown level {EVIL}.", markup=False)
    say(EVIL)
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "\x07" not in said
    assert "\x9b" not in said
    assert "\u202e" not in said
    assert said.count("\\x1b[2J") >= 3


def test_colours_of_our_own_stay() -> None:
    from rich.console import Console

    out = terminal()
    with out.capture() as caught:
        Console.print(out, "[bold]sure[/bold]")
    assert "sure" in caught.get()


@given(st.lists(st.text(max_size=20), min_size=1, max_size=20))
def test_no_cell_of_a_csv_is_a_formula_and_numbers_stay(cells: list[str]) -> None:
    out = io.BytesIO()
    write_csv(pl.DataFrame({"level": cells, "n": range(len(cells))}), out)
    rows = list(csv.reader(io.StringIO(out.getvalue().decode(), newline="")))
    assert len(rows) == len(cells) + 1
    assert not any(row[0].startswith(("=", "@")) for row in rows[1:] if row)
    assert [row[1] for row in rows[1:]] == [str(n) for n in range(len(cells))]


def test_levels_of_any_type_are_made_inert() -> None:
    out = io.BytesIO()
    enum = pl.Series("a", ["=x", "-1"], dtype=pl.Enum(["=x", "-1"]))
    write_csv(pl.DataFrame({"a": enum, "b": pl.Series(["@x", None], dtype=pl.Categorical)}), out)
    assert out.getvalue().decode() == "a,b\n'=x,'@x\n-1,\n"
