"""`facevalue questionnaire`: questionnaires about what forms associate, words say or pictures show, and ratings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import click
import polars as pl
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from facevalue.annotations.questionnaires import write_table
from facevalue.answers.sorting import OPEN
from facevalue.cli.output import Document, Output, WrittenFiles
from facevalue.cli.picture_ratings import RatedPicturesDocument, is_making, look
from facevalue.cli.schema import Row
from facevalue.csv_text import csv_bytes
from facevalue.errors import DataError, SettingError
from facevalue.protocol.offers import Questionnaire, Rated
from facevalue.runs.kept_estimates import taken
from facevalue.runs.ratings import FOLDER, keep
from facevalue.runs.stored import StoredRun
from facevalue.store.files import check_ending, write_whole
from facevalue.studies.offers import lacking

if TYPE_CHECKING:
    from facevalue.measures.cluster_bootstrap import Estimates


@dataclass(frozen=True, slots=True)
class RatersAgreement:
    """How far raters agree: Krippendorff's alpha or Fleiss' kappa. Null where that cannot be known."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    """Ratings."""
    items: int
    """Statements or replies that were rated."""
    method: str


@dataclass(frozen=True)
class RatedDocument(Document):
    """What people said of statements (`questionnaire --ratings`)."""

    FORMAT: ClassVar[str] = "rated-statements"
    raters: int
    """Raters that count."""
    left_out: tuple[str, ...]
    """Raters that do not count."""
    under_two_minutes: tuple[str, ...]
    """Raters with responses that do not count, as they came too soon."""
    agreement: RatersAgreement
    items: Sequence[Row]
    """Each statement with its numbers, mean rating, interval and whether it is flagged."""
    folder: str
    """Where the ratings are kept."""
    replaced: int
    """Ratings given before, in place of which these are."""


@dataclass(frozen=True)
class RatedTextsDocument(Document):
    """How far people, and a scorer with them, agree about replies (`questionnaire --texts --ratings`)."""

    FORMAT: ClassVar[str] = "rated-texts"
    raters: int
    kappa: RatersAgreement
    """Of people."""
    with_scorer: RatersAgreement
    """With the scorer as one more rater."""
    score: str
    threshold: float
    """Score from which the scorer counts as a rater who objects."""


def questionnaire(
    run: Path,
    out: Path | None,
    least_kl: float | None,
    most: int | None,
    ratings: tuple[Path, ...],
    texts: str | None,
    sorting: str | None,
    naming: str,
    threshold: float,
    seed: int,
) -> Output[WrittenFiles | RatedDocument | RatedTextsDocument | RatedPicturesDocument]:
    """Have people rate what a run's forms associate, its words, replies or pictures, or read their ratings."""
    if is_making(run):
        if texts is not None or sorting is not None or naming or least_kl is not None:
            options = "--texts, --sorted, --naming and --least-kl"
            raise click.UsageError(f"{run} holds pictures that were made: {options} are for what models say.")
        return look(run, out, most, ratings, seed)
    if sorting is not None:
        return _sorted(run, sorting, out, ratings, most)
    if texts is not None:
        from facevalue.runs.rated_texts import drawn  # noqa: PLC0415 - scipy.stats is slow to import

        return _texts(drawn(StoredRun.open(run), texts, naming), texts, out, ratings, threshold)
    if naming:
        raise click.UsageError("--naming chooses among replies; give --texts, too.")
    if ratings:
        if least_kl is not None or most is not None:
            raise click.UsageError("--least-kl and --most choose what is asked; leave them out with --ratings.")
        if out is not None and out.suffix != ".csv":
            raise SettingError(f"{out.name} is not a .csv file.")
        return _read(run, ratings, out)
    if out is None:
        raise click.UsageError("Say where the questionnaire goes (--out FILE.html), or give --ratings.")
    check_ending(out, ".html", ".csv")
    offer, statements = _opened(run)
    return Output(WrittenFiles((str(out),)), offer.export(statements, out, least_kl, most))


def _texts(
    items: pl.DataFrame, score: str, out: Path | None, ratings: tuple[Path, ...], threshold: float
) -> Output[WrittenFiles | RatedTextsDocument]:
    """Replies before people: a table of some, or how far people and the scorer agree about them."""
    from facevalue.runs.rated_texts import SCALE, agreement  # noqa: PLC0415 - scipy.stats is slow to import

    if not ratings:
        if out is None or out.suffix != ".csv":
            raise click.UsageError("Say where the replies go (--out FILE.csv), or give --ratings.")
        write_table(items, out)
        line = f"{items.height:,} replies, which may be offensive: {out}. 1 is “{SCALE[0]}”, 2 is “{SCALE[1]}”."
        return Output(WrittenFiles((str(out),), items.height), [line])
    rated = agreement(items, ratings, threshold)
    people, with_scorer = _agreement(rated.people), _agreement(rated.with_scorer)
    lines = []
    for label, kappa in ((f"{rated.raters} people", people), (f"With {score} from {threshold:g} on", with_scorer)):
        value = "not measurable" if kappa.value is None else f"{kappa.value:.2f}"
        between = "" if kappa.low is None else f" [{kappa.low:.2f}, {kappa.high:.2f}]"
        lines.append(f"{label}: Fleiss' kappa {value}{between}, {kappa.items:,} replies")
    return Output(RatedTextsDocument(rated.raters, people, with_scorer, score, threshold), lines)


def _sorted(
    run: Path, name: str, out: Path | None, ratings: tuple[Path, ...], most: int | None
) -> Output[WrittenFiles]:
    """Texts before people, to be sorted as a judge does: a table of some, or what people say kept in the run."""
    from facevalue.runs import people  # noqa: PLC0415 - slow to import

    if ratings:
        raters, texts = people.keep(run, name, ratings)
        plural = "1 rater" if raters == 1 else f"{raters:,} raters"
        then = f"facevalue report {run}"
        line = f"Kept in {run / people.FOLDER}: {texts:,} texts by {plural}: {then}"
        return Output(WrittenFiles((str(run / people.FOLDER),), texts, then), [line])
    if out is None or out.suffix != ".csv":
        raise click.UsageError("Say where the texts go (--out FILE.csv), or give --ratings.")
    items = people.drawn(run, name, most or people.MOST)
    write_table(items, out)
    question = people.sorting_of(StoredRun.open(run), name)
    listed = "; ".join(
        f"{category}: {text}" for category, text in zip(question.categories, question.texts, strict=True)
    )
    lines = [
        f"{items.height:,} texts, which may be offensive: {out}.",
        f"{question.question} Ratings are one of {listed}; or {OPEN} where none fits.",
    ]
    return Output(WrittenFiles((str(out),), items.height), lines)


def _opened(folder: Path) -> tuple[Questionnaire, pl.DataFrame]:
    """Return the study's questionnaire and the statements that a run's plain answers imply."""
    stored = StoredRun.open(folder)
    offer = stored.study.extras.questionnaire
    if offer is None:
        raise DataError(f"{folder}: {lacking(stored.study.name, 'questionnaire', 'questionnaire')}")
    return offer, offer.statements(taken([stored])[0].filter(pl.col("intervention").is_null()))


def _read(run: Path, paths: tuple[Path, ...], out: Path | None) -> Output[RatedDocument]:
    offer, statements = _opened(run)
    rated = offer.read(statements, paths)
    if out is not None:
        write_whole(out, csv_bytes(rated.pairs))
    agreement = _agreement(rated.agreement)
    before = keep(run, rated.ratings)
    instead = f", in place of {before:,} given before" if before else ""

    def text() -> Iterator[RenderableType]:
        yield from _text(offer, rated, agreement)
        yield f"Kept in {run / FOLDER}{instead}: facevalue report {run}"

    items = rated.pairs.select(offer.told).to_dicts()
    document = RatedDocument(
        raters=rated.raters,
        left_out=tuple(rated.left_out),
        under_two_minutes=tuple(rated.under_two_minutes),
        agreement=agreement,
        items=items,
        folder=str(run / FOLDER),
        replaced=before,
    )
    return Output(document, text())


def _agreement(alpha: "Estimates") -> RatersAgreement:
    """Krippendorff's alpha; null where agreement cannot be known."""
    value, low, high = (
        None if number != number else float(number)  # noqa: PLR0124 - not a number
        for number in (alpha.value[0], alpha.low[0], alpha.high[0])
    )
    return RatersAgreement(value, low, high, int(alpha.n[0]), int(alpha.clusters[0]), str(alpha.method[0]))


def _text(offer: Questionnaire, rated: Rated, agreement: RatersAgreement) -> Iterator[RenderableType]:
    """Verdicts for people."""
    pairs = rated.pairs
    yield from rated.said
    several = "task" in pairs.columns and pairs["task"].n_unique() > 1
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("item", no_wrap=True)
    table.add_column("statement", ratio=1)
    for name in (*(heading for heading, _, _ in offer.numbers), "mean", "interval", "raters", "flagged"):
        table.add_column(name, justify="right")
    for row in pairs.iter_rows(named=True):
        table.add_row(
            row["item"],
            row["statement"] + (f" ({row['task']})" if several else ""),
            *("-" if row[column] is None else f"{row[column]:{form}}" for _, column, form in offer.numbers),
            f"{row['mean']:.2f}",
            _interval(row["low"], row["high"]),
            f"{row['raters']}",
            {None: "too few raters", True: "yes", False: "no"}[row["flagged"]],
        )
    yield table
    verdicts = pairs.unique("item")["flagged"]
    few, judged = verdicts.null_count(), verdicts.drop_nulls()
    if judged.len():
        yield Text(f"Flagged ({offer.flagged}): {judged.sum():,} of {judged.len():,}")
    if few:
        which = "1 statement has" if few == 1 else f"{few:,} statements have"
        judges = "is not judged" if few == 1 else "are not judged"
        yield Text(f"{which} fewer than three ratings and {judges}.")
    if agreement.value is None:
        yield "Krippendorff's alpha: not known; no two raters rated one statement, or no rating differs."
        return
    n = f"{agreement.n:,} ratings of {agreement.items:,} statements"
    interval = _interval(agreement.low, agreement.high)
    yield Text(f"Krippendorff's alpha (ordinal): {agreement.value:.2f}, {interval} ({n})")


def _interval(low: float | None, high: float | None) -> str:
    return "no interval" if low is None or high is None else f"{low:.2f}..{high:.2f}".replace("-", "−")
