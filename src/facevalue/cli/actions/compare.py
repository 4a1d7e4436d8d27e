"""`facevalue compare`: runs of a study, cell by cell; real against synthetic pictures, or models."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from facevalue.cli.actions.results import open_all, unasked_of
from facevalue.cli.actions.schema import Row
from facevalue.cli.output import Document, Output, rich_table
from facevalue.csv_text import csv_bytes
from facevalue.errors import SettingError
from facevalue.measures.caveats import add_caveat
from facevalue.measures.definitions import count_nouns, unit_name
from facevalue.measures.estimates import label_columns
from facevalue.measures.run_comparison import BALANCED_CELLS, RankAgreement
from facevalue.protocol.offers import OfferedTable as Shown
from facevalue.report.comparison_page import (
    RANK_HEADS,
    RANK_NOTE,
    ROW_HEADS,
    flip_rows,
    flip_sentences,
    rank_rows,
    rank_sentence,
    shorten_text,
)
from facevalue.report.formatting import in_unit, number, share_of_chance, shown_settings, writing
from facevalue.report.sections.headline import verdict_of_row
from facevalue.runs.comparisons.cells import RunAgreement, SharedUnits
from facevalue.runs.comparisons.comparison import ComparedPair, RunComparison, compare_all
from facevalue.runs.comparisons.model_differences import answer, became_sentence
from facevalue.store.files import write_whole

# Documents of `facevalue compare --json`.


@dataclass(frozen=True, slots=True)
class ComparedRuns:
    """Runs of one study that are compared with each other."""

    study: str
    runs: tuple[str, ...]
    """Their names."""
    settings: Mapping[str, Sequence[str]]
    """Settings in which they differ, each with its value in every run; "–" where it has none."""


@dataclass(frozen=True, slots=True)
class ShareDocument:
    """A share with its interval; null where it is not measurable."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class FlipsDocument:
    """Single answers of two runs to the same trials."""

    unit: str
    units: int
    """What was sampled, and how many."""
    exact: bool
    """Whether probabilities were read, so that an answer is the likeliest option."""
    trials: int
    """Pairs of valid answers to one trial under one seed."""
    flipped: int
    """How many of them differ."""
    lost: int
    gained: int
    """Answers that only the first run, and only the second, gave."""
    identical: ShareDocument
    """Share of identical answers."""
    chance: float | None
    """The same had the answers nothing to do with the picture: each run's own shares by question."""
    between: ShareDocument
    within_first: ShareDocument
    within_second: ShareDocument
    """Share of identical answers of two draws: one of each run, two of the first, two of the second."""
    beyond: ShareDocument
    """By how much less often two draws of both runs are identical than two of one."""
    telling: Sequence[Row]
    """The most telling flips in words."""


@dataclass(frozen=True, slots=True)
class RankDocument:
    """Spearman's correlation of the effects of two runs over cells; null is not measurable."""

    measure: str
    cells: int
    rho: float | None
    """Of the estimates as they are."""
    chance: float | None
    chance_low: float | None
    chance_high: float | None
    """Mean and 95% range of the same if neither run had any effect, on the same pictures."""
    p: float | None
    """Of there being no effects at all."""
    value: float | None
    low: float | None
    high: float | None
    """Correlation of the effects without noise, with its interval."""
    level: float
    """At which all correlations hold together."""
    method: str


@dataclass(frozen=True, slots=True)
class PairDocument:
    """Comparison of two runs of a study, cell by cell: the second minus the first."""

    study: str
    first: str
    second: str
    """Names of the runs."""
    measures: Mapping[str, str]
    """What is compared, one measure or one of each score, and the unit of each."""
    units: SharedUnits
    notes: tuple[str, ...]
    """What else differs between the runs, and what is not tested."""
    cells_matched: int
    cells_that_differ: int
    became: Mapping[str, int]
    """What became of the cells that differ: numbers of them by "gone", "smaller effect", "larger effect", "turned
    round"; "higher", "lower" where what is measured has no zero."""
    only_first: Sequence[Row]
    only_second: Sequence[Row]
    """Labels of cells that only one of the two has a value for."""
    overall: Sequence[Row]
    """Statistics of all cells, by `statistic`, with interval and what chance gives."""
    by: str
    """Label by whose levels `overall` is taken apart in `by_level`; empty if by none."""
    by_level: Sequence[Row]
    cells: Sequence[Row]
    """Labels of each cell (`measure` is one of several), `first`, `second`, `delta` with intervals, p, q, `verdict`,
    its `caveat`, and `became`; docs/how-to/compare.md."""
    also: Sequence[Row]
    """Differences of what the study compares besides, and of missing answers: a table of estimates."""
    further: Sequence[Mapping[str, Any]]
    """What the study compares besides, as tables for people."""
    ranks: Sequence[RankDocument]
    """Spearman's correlations of the effects of both runs, one of each measure with a direction."""
    flips: FlipsDocument | None
    """Single answers that differ; null where they cannot be compared."""
    why_no_flips: str
    """Why single answers were not compared; empty if they were."""


@dataclass(frozen=True)
class CompareDocument(Document):
    """Runs of one or several studies, compared cell by cell, all at one level."""

    FORMAT: ClassVar[str] = "compare"
    VERSION: ClassVar[int] = 2
    studies: tuple[ComparedRuns, ...]
    comparisons: tuple[PairDocument, ...]
    left_out: tuple[str, ...]
    """Runs and studies that could not be compared, and why, a sentence each."""


def compare_document(comparison: RunComparison) -> CompareDocument:
    """A comparison for machines."""
    studies = tuple(
        ComparedRuns(study, comparison.names[study], shown_settings(settings))
        for study, settings in comparison.settings.items()
    )
    return CompareDocument(studies, tuple(map(_pair, comparison.pairs)), comparison.left_out)


def _pair(pair: ComparedPair) -> PairDocument:
    values = pair.agreement.json()
    by = pair.agreement.compared.beside
    by_level, further = values.pop(f"by_{by}", ()), values.pop("further", ())
    return PairDocument(
        pair.study, pair.first, pair.second, **values, by=by, by_level=by_level, further=further,
        ranks=list(map(_rank, pair.ranks)),
        flips=_flips(pair),
        why_no_flips=pair.why_no_flips,
    )  # fmt: skip


def _rank(rank: RankAgreement) -> RankDocument:
    rho, chance, chance_low, chance_high = map(
        _finite_or_none, (rank.rho, rank.chance, rank.chance_low, rank.chance_high)
    )
    p, value, low, high = map(_finite_or_none, (rank.p, rank.value, rank.low, rank.high))
    return RankDocument(
        rank.measure, rank.cells, rho, chance, chance_low, chance_high, p, value, low, high, rank.level, rank.method
    )


def _finite_or_none(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _flips(pair: ComparedPair) -> FlipsDocument | None:
    flips = pair.flips
    if flips is None:
        return None
    identical, between, within_first, within_second, beyond = (
        ShareDocument(*(_finite_or_none(end[0]) for end in (e.value, e.low, e.high)))
        for e in (getattr(flips.shares, name) for name in _SHARES)
    )
    return FlipsDocument(
        flips.unit, flips.units, flips.exact, flips.trials, flips.flipped, flips.lost, flips.gained, identical,
        _finite_or_none(flips.chance), between, within_first, within_second, beyond,
        [asdict(flip) for flip in pair.telling_flips],
    )  # fmt: skip


_SHARES = ("identical", "between", "within_first", "within_second", "beyond")

_TITLES = {
    "mean_signed_delta": "mean delta",
    "mean_absolute_error": "mean |delta|",
    "rmse": "RMSE",
    "max_absolute_delta": "largest |delta|",
}
_COLUMNS = 3  # activities side by side, as in the paper; more are listed by size
_LISTED = 20
_NAMED = 5
_FLIPS, _SHORT, _LINE = 8, 60, 240  # flips that are listed, and characters of their texts


def compare(runs: tuple[str, ...], pairs: str, margin: float | None, out: Path | None) -> Output[CompareDocument]:
    """Compare runs cell by cell: each less the first one of its study."""
    if out is not None and out.suffix not in (".csv", ".html"):
        raise SettingError(f"{out.name} is not a .csv file of all cells, nor an .html page.")
    comparison = compare_all(open_all(runs), margin, pairs, unasked_of(runs))
    if out is not None and out.suffix == ".html":
        from facevalue.report.comparison_page import write_comparison  # noqa: PLC0415 - templates take their time

        write_comparison(out, comparison)
    elif out is not None:
        cells = comparison.cells if len(comparison.pairs) > 1 else comparison.pairs[0].agreement.cells
        write_whole(out, csv_bytes(cells))
    return Output(lambda: compare_document(comparison), _text(comparison, out))


def _text(comparison: RunComparison, out: Path | None) -> Iterator[RenderableType]:
    """A comparison for people: what differs between the runs, and each pair."""
    for sentence in comparison.left_out:
        yield Text(sentence)
    for study, settings in comparison.settings.items():
        if settings and len(comparison.names[study]) > 1:
            title = f"Settings that differ{f' ({study})' if len(comparison.settings) > 1 else ''}"
            rows = [(name, *values) for name, values in shown_settings(settings).items()]
            yield rich_table(Shown(title, ("setting", *comparison.names[study]), rows, boxed=False))
    for pair in comparison.pairs:
        if len(comparison.pairs) > 1:
            yield Text(f"\n{pair.study}: {pair.second} minus {pair.first}", style="bold underline")
        yield from text(pair.agreement, (pair.first, pair.second))
        if pair.ranks:
            yield Text(f"\n{rank_sentence(pair.ranks)}")
            yield rich_table(Shown("", RANK_HEADS, rank_rows(pair.ranks), RANK_NOTE, boxed=False))
        yield from _flips_text(pair)
    if out is not None:
        yield f"{'Page' if out.suffix == '.html' else 'Cells'}: {out}"


def _flips_text(pair: ComparedPair) -> Iterator[RenderableType]:
    """Single answers that differ."""
    if pair.flips is None:
        yield Text(pair.why_no_flips)
        return
    names = (pair.first, pair.second)
    sentence, *rest = flip_sentences(pair.flips, names)
    yield Text(f"\n{sentence}", style="bold")
    yield Text(" ".join(rest))
    yield rich_table(Shown("", ROW_HEADS, flip_rows(pair.flips, names), boxed=False))
    if pair.telling_flips:
        yield Text(f"The most telling flips: {pair.first} → {pair.second}")
    for flip in pair.telling_flips[:_FLIPS]:
        yield Text.assemble(
            f"  {shorten_text(flip.picture or flip.factors, _LINE)}: ",
            (f"{shorten_text(flip.first, _SHORT)} → {shorten_text(flip.second, _SHORT)}", "bold"),
        )
        yield Text(f"    {shorten_text(flip.asked, _LINE)}", style="dim")


def text(agreement: RunAgreement, names: tuple[str, str]) -> Iterator[RenderableType]:
    """A comparison for people."""
    for note in (*agreement.notes, agreement.units.sentence):
        yield Text(note)
    for name, only in zip(names, (agreement.only_first, agreement.only_second), strict=True):
        if only.height:
            few = _add_titles(only.head(_NAMED), agreement)
            some = "; ".join(" ".join(level for level in row if level) for row in few.iter_rows())
            more = f" and {only.height - _NAMED:,} more" if only.height > _NAMED else ""
            yield Text(f"Only in {name}: {count_nouns(f'{only.height:,}', 'cells')} ({some}{more})")
    within, facet = list(agreement.labels_within), agreement.compared.beside
    yield Text(answer(agreement, names), style="bold")
    if agreement.became:
        yield Text(became_sentence(agreement.differing))
    if agreement.overall.height:
        units = [unit_name(measure.unit, apart=True) for measure in agreement.measures]
        title = in_unit(f"Over all: {names[1]} minus {names[0]}", units)
        yield _summary(agreement.overall, within, title, agreement)
    if agreement.beside.height:
        yield _summary(agreement.beside, [*within, facet], f"By {facet}", agreement)
    if agreement.also.height:
        yield rich_table(_also(agreement))
    for table in agreement.further:
        yield rich_table(table)
    yield _by_cell(_add_titles(agreement.cells, agreement), agreement)


def _also(agreement: RunAgreement) -> Shown:
    """Make a table of the differences of further measures."""
    rows = []
    for row in agreement.also.iter_rows(named=True):
        labels = [str(row[name]) for name in label_columns(agreement.also) if row[name] and name != "versus"]
        unit = unit_name(row["unit"], apart=True)
        value = number(row["value"], unit, signed=True, bare=True)
        intervals = (
            _interval(row[low], row[high], unit, signed=True)
            for low, high in (("low", "high"), ("page_low", "page_high"))
        )
        word = writing(unit).word or writing(unit).sign
        rows.append((row["measure"].replace("_", " "), ", ".join(labels), value, *intervals, word, verdict_of_row(row)))
    columns = ("measure", "of", "difference", "95% interval", "at the page's level", "unit", "verdict")
    return Shown("Compared besides", columns, rows, boxed=False)


def _add_titles(cells: pl.DataFrame, agreement: RunAgreement) -> pl.DataFrame:
    titles = {name: agreement.titles[name] for name in _group_labels(agreement) if name in agreement.titles}
    return cells.with_columns(pl.col(name).replace(levels) for name, levels in titles.items())


def _group_labels(agreement: RunAgreement) -> tuple[str, ...]:
    compared = agreement.compared
    return compared.person_labels or tuple(
        name for name in compared.cells if name not in (*compared.within, compared.beside)
    )


def _summary(rows: pl.DataFrame, by: list[str], title: str, agreement: RunAgreement) -> Table:
    """Row for what Tables 12 and 13 have one for: four numbers, each with its interval and what chance gives."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for name in by:
        table.add_column(name.replace("_", " "))
    for name in ("cells", *_TITLES.values()):
        table.add_column(name, justify="right", overflow="fold")
    blocks = [block for _, block in rows.group_by(by, maintain_order=True)] if by else [rows] if rows.height else []
    for block in blocks:
        by_statistic = {row["statistic"]: row for row in block.iter_rows(named=True)}
        n = f"{max(block['cells'].to_list()):,}"
        table.add_row(
            *(block[name][0] for name in by),
            n,
            *(_statistic(by_statistic[name], agreement) if name in by_statistic else "" for name in _TITLES),
        )
    return table


def _statistic(row: dict[str, Any], agreement: RunAgreement) -> str:
    unit = unit_name(agreement.measure_of(row).unit, apart=True)
    if row["detail"] == BALANCED_CELLS:
        return "[bold]0[/]\nby construction"
    lines = [f"[bold]{number(row['value'], unit, bare=True)}[/]", _interval(row["low"], row["high"], unit)]
    if row["floor"] is not None:
        lines += [f"[dim]chance {number(row['floor'], unit, bare=True)}[/]", f"[dim]p {share_of_chance(row['p'])}[/]"]
    if row.get("page_low") is not None:
        page = _interval(row["page_low"], row["page_high"], unit)
        lines += [f"[dim]page {page}[/]", verdict_of_row(row)]
    return "\n".join(lines)


def _interval(low: float | None, high: float | None, unit: str, *, signed: bool = False) -> str:
    if low is None or high is None:
        return "no interval"
    return " to ".join(number(end, unit, signed=signed, bare=True) for end in (low, high))


def _by_cell(cells: pl.DataFrame, agreement: RunAgreement) -> Table:
    """Lay cells out as Tables 15 to 19 do where few levels stand side by side; else list the largest deltas."""
    declared, who_labels = agreement.compared, _group_labels(agreement)
    facet, question_labels = declared.beside, declared.question_labels or declared.within
    columns = {"who": who_labels, "asked": question_labels}
    cells = cells.with_columns(
        pl.concat_str(
            (pl.col(label).str.replace_all("_", " ") for label in labels),
            separator=" " if name == "who" else ", ",
            ignore_nulls=True,
        ).alias(name)
        for name, labels in columns.items()
        if labels
    )
    heading_who = (declared.person_labels[-1] if declared.person_labels else ", ".join(who_labels)).replace("_", " ")
    heads = [(heading_who, "who"), *([("asked", "asked")] if question_labels else [])]
    levels = cells[facet].unique(maintain_order=True).to_list() if facet else []
    side_by_side = 0 < len(levels) <= _COLUMNS
    title = f"By {heading_who}: first → second (delta), * difference found"
    marks = _marks(cells)
    title += "".join(f", {mark} {add_caveat('difference found', caveat)}" for caveat, mark in marks.items() if caveat)
    if not side_by_side:
        title += f"; the {min(_LISTED, cells.height)} largest of {cells.height:,}"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for heading, _ in heads:
        table.add_column(heading)
    if side_by_side:
        for level in levels:
            table.add_column((level or "all").replace("_", " "), justify="right")
        keys = [name for name in declared.cells if name != facet]
        for _, row_cells in cells.group_by([*keys, *(key for _, key in heads)], maintain_order=True):
            by = {row[facet]: _cell(row, agreement, marks) for row in row_cells.iter_rows(named=True)}
            table.add_row(*(escape(row_cells[key][0]) for _, key in heads), *(by.get(level, "") for level in levels))
        return table
    if facet:
        table.add_column(facet.replace("_", " "))
    table.add_column("", justify="right")
    largest = cells.sort(pl.col("delta").abs(), descending=True, maintain_order=True).head(_LISTED)
    for row in largest.iter_rows(named=True):
        table.add_row(
            *(escape(row[key]) for _, key in heads),
            *([row[facet] or "all"] if facet else []),
            _cell(row, agreement, marks),
        )
    return table


def _marks(cells: pl.DataFrame) -> dict[str, str]:
    """The mark of cells that differ without a caveat, and of those with each."""
    caveats = cells.filter(verdict="difference found")["caveat"].unique(maintain_order=True)
    further = (caveat for caveat in caveats if caveat)
    return {"": "*", **{caveat: "*" * place for place, caveat in enumerate(further, start=2)}}


def _cell(row: dict[str, Any], agreement: RunAgreement, marks: Mapping[str, str]) -> str:
    measure = agreement.measure_of(row)
    mark = marks[row["caveat"]] if row["verdict"] == "difference found" else ""
    unit = unit_name(measure.unit, apart=measure.is_distance)
    first, second = (number(row[name], unit, bare=True) for name in ("first", "second"))
    delta = number(row["delta"], unit_name(measure.unit, apart=True), signed=True, bare=True)
    return f"{first} → {second} ({delta}){mark}"
