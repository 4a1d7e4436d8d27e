"""`facevalue corpus`: gender words beside occupations and descriptors in a training corpus."""

import json
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.table import Table

from facevalue.annotations.corpus_files import Passed, corpus_kind, corpus_texts
from facevalue.annotations.corpus_terms import CorpusCounts, builtin, read_terms
from facevalue.errors import DataError
from facevalue.given import check_file
from facevalue.measures.corpus_skew import corpus_skew
from facevalue.terminal import say, terminal

_ENDS = ("", "_low", "_high")


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.option("--text", "column", default="", metavar="COLUMN",
              help="Column of the text, or of lists of turns (LLaVA's 'conversations'). Not for .txt.")  # fmt: skip
@click.option("--terms", type=click.Path(path_type=Path, dir_okay=False),
              help="Terms of your own, as TOML; those of ModSCAN by default.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def corpus(files: tuple[Path, ...], column: str, terms: Path | None, as_json: bool) -> None:
    """Count words of two genders in the texts of FILEs that name an occupation or a descriptor.

    FILEs are .jsonl, .json (a list), .txt (a text in each line), each also as .gz, or .parquet.

    The skew of each is |m / (m + f) - 1/2|, with an interval; N/A without a word of either gender.
    """
    if not column and any(corpus_kind(path) != ".txt" for path in files):
        raise click.UsageError("Missing option '--text': which column holds the text.")
    counts = CorpusCounts(builtin() if terms is None else read_terms(terms))
    passed = Passed()
    total = sum(check_file(path, "a corpus") for path in files)
    with click.progressbar(length=total, label="Reading", file=sys.stderr) as bar:
        for path in files:
            for texts in corpus_texts(path, column, passed):
                counts.add(texts)
                bar.update(min(passed.bytes, total) - bar.pos)
    for reason, count in passed.reasons.items():
        say(f"{count:,} skipped, {reason} (first: {passed.first[reason]}).", err=True)
    if not counts.texts:
        raise DataError(f"There is no text in {', '.join(str(path) for path in files)}.")
    rows = _rows(counts)
    if as_json:
        summary = {"files": [str(path) for path in files], "records": passed.records, "texts": counts.texts,
                "passed_over": dict(passed.reasons), **counts.words, "instances": rows}  # fmt: skip
        click.echo(json.dumps(summary, indent=2))
    else:
        _print(counts, rows)


def _rows(counts: CorpusCounts) -> list[dict[str, Any]]:
    table = counts.table()
    estimates = corpus_skew(table["male"].to_numpy(), table["female"].to_numpy())
    rows = table.to_dicts()
    for name, values in zip(("share_male", "skew"), estimates, strict=True):
        for end, column in zip(_ENDS, values, strict=True):
            for row, value in zip(rows, column.tolist(), strict=True):
                row[name + end] = None if np.isnan(value) else value
    return rows


def _print(counts: CorpusCounts, rows: list[dict[str, Any]]) -> None:
    title = f"{counts.texts:,} texts with {counts.words['male']:,} male and {counts.words['female']:,} female words"
    table = Table(title=title)
    for name in ("kind", "instance", "texts", "male", "female", "share male", "skew"):
        table.add_column(name, justify="left" if name in ("kind", "instance") else "right")
    for row in rows:
        word_counts = (f"{row[name]:,}" for name in ("texts", "male", "female"))
        table.add_row(
            row["kind"], row["instance"], *word_counts, *(_interval(row, name) for name in ("share_male", "skew"))
        )
    terminal().print(table)


def _interval(row: dict[str, Any], name: str) -> str:
    value, low, high = (row[name + end] for end in _ENDS)
    return "N/A" if value is None else f"{value:.4f} [{low:.4f}, {high:.4f}]"
