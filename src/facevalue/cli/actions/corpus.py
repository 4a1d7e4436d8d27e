"""`facevalue corpus`: gender words beside occupations and descriptors in a training corpus."""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import click
import numpy as np
from rich.table import Table

from facevalue.cli.actions.schema import Row
from facevalue.cli.output import Document, Output
from facevalue.errors import DataError
from facevalue.measures.group_shares import corpus_skew
from facevalue.studies.modscan.corpus import RECORDS, CorpusCounts, builtin, corpus_kind, corpus_texts, read_terms

_ENDS = ("", "_low", "_high")


@dataclass(frozen=True)
class CorpusDocument(Document):
    """Words of two genders beside occupations and descriptors in a corpus."""

    FORMAT: ClassVar[str] = "corpus"
    files: tuple[str, ...]
    records: int
    """Records that were read."""
    texts: int
    """Texts in them."""
    passed_over: Mapping[str, int]
    """Records without a text that counts, by reason."""
    male: int
    female: int
    """Words of each gender in all texts."""
    instances: Sequence[Row]
    """Each occupation and descriptor: texts that name it, words of each gender in them, skew with its interval."""


def corpus(files: tuple[Path, ...], column: str, terms: Path | None) -> Output[CorpusDocument]:
    """Count words of two genders in texts that name an occupation or a descriptor."""
    if not column and any(corpus_kind(path) != ".txt" for path in files):
        raise click.UsageError("Missing option '--text': which column holds the text.")
    counts = builtin() if terms is None else read_terms(terms)
    passed = Counter[str]()
    with click.progressbar(files, label="Reading", file=sys.stderr) as bar:
        for path in bar:
            for texts in corpus_texts(path, column, passed):
                counts.add(texts)
    records = passed.pop(RECORDS, 0)
    warnings = [f"{count:,} skipped, {reason}." for reason, count in passed.items()]
    if not counts.texts:
        raise DataError(" ".join([f"There is no text in {', '.join(str(path) for path in files)}.", *warnings]))
    rows = _rows(counts)
    document = CorpusDocument(
        files=tuple(map(str, files)),
        records=records,
        texts=counts.texts,
        passed_over=dict(passed),
        **counts.words,
        instances=rows,
    )
    return Output(document, [_table(counts, rows)], warnings=warnings)


def _rows(counts: CorpusCounts) -> list[dict[str, Any]]:
    table = counts.table()
    estimates = corpus_skew(table["male"].to_numpy(), table["female"].to_numpy())
    rows = table.to_dicts()
    for name, values in zip(("share_male", "skew"), estimates, strict=True):
        for end, column in zip(_ENDS, values, strict=True):
            for row, value in zip(rows, column.tolist(), strict=True):
                row[name + end] = None if np.isnan(value) else value
    return rows


def _table(counts: CorpusCounts, rows: list[dict[str, Any]]) -> Table:
    title = f"{counts.texts:,} texts with {counts.words['male']:,} male and {counts.words['female']:,} female words"
    table = Table(title=title)
    for name in ("kind", "instance", "texts", "male", "female", "share male", "skew"):
        table.add_column(name, justify="left" if name in ("kind", "instance") else "right")
    for row in rows:
        word_counts = (f"{row[name]:,}" for name in ("texts", "male", "female"))
        table.add_row(
            row["kind"], row["instance"], *word_counts, *(_interval(row, name) for name in ("share_male", "skew"))
        )
    return table


def _interval(row: dict[str, Any], name: str) -> str:
    value, low, high = (row[name + end] for end in _ENDS)
    return "N/A" if value is None else f"{value:.4f} [{low:.4f}, {high:.4f}]"
