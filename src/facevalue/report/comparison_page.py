"""Page of runs that are compared: what got better or worse, which answers flipped, what differs between the runs."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from facevalue.measures.caveats import add_caveat, shared_caveat
from facevalue.measures.run_comparison import RankAgreement
from facevalue.measures.uncertainty import Estimates
from facevalue.report.blocks.content import CaptionedPicture, Content, PartContent, PictureRow, TextContent
from facevalue.report.formatting import DASH, Titles, number, shown_settings
from facevalue.report.html import FoldedSection, PlainPage, page_cautions, text_table, write_page
from facevalue.report.model_differences import CELL_HEADS, OVERALL_HEADS, Difference, DifferenceRow, report_differences
from facevalue.report.pictures import data_uri
from facevalue.runs.comparisons.answer_flips import AnswerFlips, FlipInWords
from facevalue.runs.comparisons.comparison import ComparedPair, RunComparison
from facevalue.runs.comparisons.model_differences import ModelDifferences, answer, became_sentence

# Correlations of effects between two runs, for people.


RANK_HEADS = ("Order of effects", "Cells", "Spearman's ρ", "By chance, same pictures", "Without noise", "Interval")
RANK_NOTE = (
    "By chance: what two runs without any effect have, as they share pictures. Without noise: of the effects. "
    "All intervals of all runs and studies hold together."
)


def rank_rows(ranks: Sequence[RankAgreement]) -> list[tuple[str, ...]]:
    """A row for each measure."""
    return [
        (rank.measure, f"{rank.cells:,}", _number(rank.rho), _interval(rank.chance_low, rank.chance_high),
         _number(rank.value), _interval(rank.low, rank.high))
        for rank in ranks
    ]  # fmt: skip


def rank_sentence(ranks: Sequence[RankAgreement]) -> str:
    """Sentence on the measures whose effects have the same, or the opposite, order in both runs."""
    same, opposite = ([r.measure for r in ranks if (r.low > 0 if up else r.high < 0)] for up in (True, False))
    parts = [
        *([f"Effects in {', '.join(same)} are in much the same order in both runs."] if same else []),
        *([f"Effects in {', '.join(opposite)} are in the opposite order."] if opposite else []),
    ]
    rest = [r.measure for r in ranks if r.measure not in (*same, *opposite)]
    if rest:
        parts.append(f"Whether those in {', '.join(rest)} are in the same order cannot be told.")
    return " ".join(parts)


def _number(value: float) -> str:
    return DASH if math.isnan(value) else f"{value:.2f}".replace("-", "−")


def _interval(low: float, high: float) -> str:
    return DASH if math.isnan(low) else f"[{_number(low)}, {_number(high)}]"


# Answers that flipped between two runs, for people.


ROW_HEADS = ("Identical answers", "Share", "95% interval")
_LONGEST = 300


def flip_sentences(flips: AnswerFlips, names: tuple[str, str], *, asked_alike: bool = True) -> tuple[str, ...]:
    """Sentences on answers that differ, answers that only one run gave, and the runs' own noise.

    `names`: of the runs. `asked_alike`: whether both were asked the same; else an intervention lies between them.
    """
    likeliest = " (the likeliest option counts)" if flips.exact else ""
    share = flips.flipped / flips.trials
    differ = f"{flips.flipped:,} of {flips.trials:,} single answers differ, {number(share, 'share')}{likeliest}"
    alike = f"{names[0]} and {names[1]} were asked the same about the same picture."
    out = [f"{differ}: {alike}" if asked_alike else f"{differ}, between “{names[0]}” and “{names[1]}”, trial by trial."]
    if flips.lost or flips.gained:
        out.append(
            f"{flips.lost:,} that {names[0]} answered have no valid answer of {names[1]}, {flips.gained:,} the other "
            "way round."
            if asked_alike
            else f"Valid answers on one side alone: {flips.lost:,} of “{names[0]}”, {flips.gained:,} of “{names[1]}”."
        )
    return (*out, _describe_excess(flips))


def _describe_excess(flips: AnswerFlips) -> str:
    beyond = flips.shares.beyond
    value, low, high = (float(end[0]) for end in (beyond.value, beyond.low, beyond.high))
    if math.isnan(value):
        return (
            "How many answers a run would change by itself, asked again, is not known: it takes two seeds of each run, "
            "or exact probabilities."
        )
    if math.isnan(low):
        return f"Beyond what a run changes by itself, asked again: {_points(value)} (no interval: too few units)."
    ends = ", ".join(number(end, "share apart", signed=True, bare=True) for end in (low, high))
    again = f"differ than a run changes by itself, asked again: {_points(value)} [{ends}]."
    if low <= 0 <= high:
        return f"As far as these tell, no more {again}"
    return f"{'More' if value > 0 else 'Fewer'} {again}"


def _points(value: float) -> str:
    return f"{number(value, 'share apart', signed=True, bare=True)} points"


def flip_rows(flips: AnswerFlips, names: tuple[str, str]) -> list[tuple[str, str, str]]:
    """Shares of identical answers, beside chance and beside what each run repeats itself."""
    shares = flips.shares
    rows = [
        ("of both runs to one trial", *_ends(shares.identical)),
        ("by chance: answers that ignore the picture", _share(flips.chance), DASH),
    ]
    if not math.isnan(shares.between.value[0]):
        rows += [
            ("of both runs, drawn again", *_ends(shares.between)),
            (f"of {names[0]} and itself, drawn again", *_ends(shares.within_first)),
            (f"of {names[1]} and itself, drawn again", *_ends(shares.within_second)),
        ]
    return rows


def _ends(estimate: Estimates) -> tuple[str, str]:
    value, low, high = (float(np.asarray(end)[0]) for end in (estimate.value, estimate.low, estimate.high))
    interval = DASH if math.isnan(low) else f"[{', '.join(number(end, 'share', bare=True) for end in (low, high))}]"
    return _share(value), interval


def _share(value: float) -> str:
    return DASH if math.isnan(value) else number(value, "share")


def shorten_text(text: str, most: int = _LONGEST) -> str:
    r"""A text in one line, cut at so many characters.

    Examples
    --------
    >>> shorten_text("one\n two three", 8)
    'one two…'
    """
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


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
        notes=list(dict.fromkeys(note for pair in pairs for note in page_cautions(pair.runs))),
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
    (difference,) = report_differences(ModelDifferences(pair.first, {pair.second: pair.agreement}), {}, titles)
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
    if difference.overall:
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
        pictures = tuple(_flip_picture(flip, pair) for flip in pair.telling_flips[:_PICTURED])
        yield PictureRow(f"The most telling flips: {names[0]} → {names[1]}", pictures)
        rows = [
            (
                flip.picture or flip.factors,
                shorten_text(flip.asked),
                shorten_text(flip.first),
                shorten_text(flip.second),
            )
            for flip in pair.telling_flips
        ]
        table = text_table("Flips", ("Picture", "Asked", *names), rows, numbers=False)
        yield PartContent("The same in words", [table], note=f"{len(rows)} flips", fold="closed", class_="numbers")


def _flip_picture(flip: FlipInWords, pair: ComparedPair) -> CaptionedPicture:
    loaded = flip.pictures(pair.runs[0])
    uri = data_uri(loaded.images[0].data, _SIDE) if loaded.images else None
    name = shorten_text(flip.picture or flip.factors, 60)
    return CaptionedPicture(name, uri, loaded.why, f"{shorten_text(flip.first, 60)} → {shorten_text(flip.second, 60)}")
