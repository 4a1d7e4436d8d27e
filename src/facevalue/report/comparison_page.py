"""Page of runs that are compared: what got better or worse, which answers flipped, what differs between the runs."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from facevalue.measures.caveats import add_caveat, shared_caveat
from facevalue.report.answer_flips import ROW_HEADS, flip_rows, flip_sentences, shortened
from facevalue.report.blocks.content import CaptionedPicture, Content, PartContent, PictureRow, TextContent
from facevalue.report.folds import FoldedSection
from facevalue.report.formatting import Titles, shown_settings
from facevalue.report.model_differences import CELL_HEADS, OVERALL_HEADS, Difference, DifferenceRow, shown
from facevalue.report.pictures import data_uri
from facevalue.report.plain_page import PlainPage, cautions, text_table, write_page
from facevalue.report.rank_rows import RANK_HEADS, RANK_NOTE, rank_rows, rank_sentence
from facevalue.runs.comparison import ComparedPair, RunComparison
from facevalue.runs.flip_words import FlipInWords
from facevalue.runs.model_differences import ModelDifferences, answer, became_sentence

_PICTURED, _SIDE = 12, 160
"""Flips that are shown with their pictures, and the longest side of these in pixels."""
_NAMES = 3


def write_comparison(path: Path, comparison: RunComparison) -> None:
    """Write the page of a comparison as one HTML file."""
    write_page(path, comparison_page(comparison))


def comparison_page(comparison: RunComparison) -> PlainPage:
    """Make the page of a comparison."""
    pairs = comparison.pairs
    differing = [pair for pair in pairs if pair.agreement.differing.height]
    several = len(comparison.settings) > 1
    answered = differing or pairs
    sentences = [(f"{pair.study}: " if several else "") + _answer(pair) for pair in answered[:_NAMES]]
    rest = len(answered) - len(sentences)
    more = f"{rest:,} more comparison{'s' if rest > 1 else ''} below." if rest > 0 else ""
    names = list(dict.fromkeys(name for pair in pairs for name in (pair.first, pair.second)))
    return PlainPage(
        "Comparison of",
        " and ".join(names) if len(names) <= _NAMES else f"{len(names)} runs",
        _title(differing),
        sentences[0],
        [*sentences[1:], *([more] if more else []), *comparison.left_out],
        [*_settings(comparison), *(section for at, pair in enumerate(pairs) for section in _sections(pair, at, pairs))],
        kind="found" if differing else "nothing",
        notes=list(dict.fromkeys(note for pair in pairs for note in cautions(pair.runs))),
    )


def _title(differing: Sequence[ComparedPair]) -> str:
    """Kind of answer, with the caveat of all that differs."""
    caveats = [caveat for pair in differing for caveat in pair.agreement.differing["caveat"]]
    return add_caveat("Difference found", shared_caveat(caveats)) if differing else "No difference found"


def _answer(pair: ComparedPair) -> str:
    sentences = answer(pair.agreement, (pair.first, pair.second)), became_sentence(pair.agreement.differing)
    return " ".join(sentences).strip()


def _settings(comparison: RunComparison) -> Iterator[FoldedSection]:
    contents: list[Content] = []
    for study, settings in comparison.settings.items():
        if settings:
            rows = [[name, *values] for name, values in shown_settings(settings).items()]
            heads = ["Setting", *comparison.names[study]]
            contents.append(TextContent(study, "h3"))
            contents.append(text_table(f"Settings that differ: {study}", heads, rows, numbers=False))
    if contents:
        yield FoldedSection("settings", "What differs between the runs", "Settings, each with its value in every run.",
                            contents, open=True)  # fmt: skip


def _sections(pair: ComparedPair, at: int, pairs: tuple[ComparedPair, ...]) -> Iterator[FoldedSection]:
    names = (pair.first, pair.second)
    title = f"{pair.study}: {pair.second} less {pair.first}" if len(pairs) > 1 else f"{pair.second} less {pair.first}"
    titles = Titles(pair.runs[0].study.about.titles)
    (difference,) = shown(ModelDifferences(pair.first, {pair.second: pair.agreement}), {}, titles)
    became = [became_sentence(pair.agreement.differing)] if pair.agreement.became else []
    yield FoldedSection(f"cells-{at}", title, "Cell by cell, on what both were asked about.", [
        *(TextContent(sentence, "plain") for sentence in (*difference.sentences, *became)),
        *_tables(difference),
        *_ranks(pair),
    ], open=at == 0)  # fmt: skip
    yield FoldedSection(
        f"flips-{at}", f"What flipped{f' ({title})' if len(pairs) > 1 else ''}",
        "Single answers to the same question about the same picture.", list(_flips(pair, names)), open=at == 0,
    )  # fmt: skip


def _tables(difference: Difference) -> Iterator[Content]:
    yield text_table("All cells together", OVERALL_HEADS, [_texts(row) for row in difference.overall])
    table = text_table("Cells", CELL_HEADS, [_texts(row, row.first, row.second) for row in difference.cells])
    note = f"the {len(difference.cells)} clearest of {difference.measured:,}"
    yield PartContent("Cells", [table], note=note, fold="open", class_="numbers")


def _texts(row: DifferenceRow, *sides: str) -> list[str]:
    """A row of a table; `sides`: what either run measured."""
    return [row.of, *sides, row.difference, row.interval, row.page, row.p, row.verdict]


def _ranks(pair: ComparedPair) -> Iterator[Content]:
    if pair.ranks:
        yield TextContent("Are effects in the same order?", "h3")
        yield TextContent(rank_sentence(pair.ranks), "plain")
        yield text_table("Correlations of effects", RANK_HEADS, rank_rows(pair.ranks))
        yield TextContent(RANK_NOTE, "small")


def _flips(pair: ComparedPair, names: tuple[str, str]) -> Iterator[Content]:
    if pair.flips is None:
        yield TextContent(pair.why_no_flips, "plain")
        return
    for sentence in flip_sentences(pair.flips, names):
        yield TextContent(sentence, "plain")
    yield text_table("Identical answers", ROW_HEADS, flip_rows(pair.flips, names))
    if pair.telling_flips:
        pictures = tuple(_pictured(flip, pair) for flip in pair.telling_flips[:_PICTURED])
        yield PictureRow(f"The most telling flips: {names[0]} → {names[1]}", pictures)
        rows = [
            (flip.picture or flip.factors, shortened(flip.asked), shortened(flip.first), shortened(flip.second))
            for flip in pair.telling_flips
        ]
        table = text_table("Flips", ("Picture", "Asked", *names), rows, numbers=False)
        yield PartContent("The same in words", [table], note=f"{len(rows)} flips", fold="closed", class_="numbers")


def _pictured(flip: FlipInWords, pair: ComparedPair) -> CaptionedPicture:
    loaded = flip.pictures(pair.runs[0])
    uri = data_uri(loaded.images[0].data, _SIDE) if loaded.images else None
    name = shortened(flip.picture or flip.factors, 60)
    return CaptionedPicture(name, uri, loaded.why, f"{shortened(flip.first, 60)} → {shortened(flip.second, 60)}")
