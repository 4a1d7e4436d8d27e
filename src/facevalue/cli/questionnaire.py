"""`facevalue questionnaire`: questionnaires about what forms associate or words say, and people's ratings."""

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import polars as pl
from rich.console import Console
from rich.table import Table

from facevalue.annotations.questionnaires import write_table
from facevalue.answers.sorting import OPEN
from facevalue.cli.places import FolderPath
from facevalue.csv_text import write_csv
from facevalue.errors import DataError, RunError
from facevalue.protocol.offers import Questionnaire, Rated
from facevalue.runs.kept_estimates import taken
from facevalue.runs.ratings import FOLDER, keep
from facevalue.runs.stored import StoredRun
from facevalue.store.files import write_whole
from facevalue.studies.offers import lacking
from facevalue.terminal import say, terminal

if TYPE_CHECKING:
    from facevalue.measures.cluster_bootstrap import Estimates

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("run", type=FolderPath())
@click.option("--to", type=_FILE, help="The questionnaire (.html or .csv); with --ratings, the judged pairs (.csv).")
@click.option("--least-kl", type=float, help="Ask about pairs with a greater divergence, in nats; 1, as published.")
@click.option(
    "--most", type=click.IntRange(min=1), help="Ask about at most this many pairs, or words of a group, the strongest."
)
@click.option("--ratings", multiple=True, type=_FILE, help="A rater's file, filled in; repeat for each.")
@click.option("--texts", metavar="SCORER/LABEL", help="Have people sort replies from each range of this score.")
@click.option(
    "--sorted", "sorting", metavar="NAME", help="Have people sort texts as a judge does, by [answer.judged.NAME]."
)
@click.option(
    "--naming", metavar="WORD", default="", help="With --texts: only replies that use this word of their group's name."
)
@click.option(
    "--threshold",
    type=float,
    default=0.3,
    show_default=True,
    help="With --texts and --ratings: score from which the scorer counts as a rater who objects.",
)
@click.option("--json", "as_json", is_flag=True, help="With --ratings: print everything as JSON.")
def questionnaire(
    run: Path,
    to: Path | None,
    least_kl: float | None,
    most: int | None,
    ratings: tuple[Path, ...],
    texts: str | None,
    sorting: str | None,
    naming: str,
    threshold: float,
    as_json: bool,
) -> None:
    """Have people rate what the forms of RUN associate, the words of its groups or its replies, or read their ratings.

    \b
    facevalue questionnaire RUN --to statements.html
    facevalue questionnaire RUN --ratings ann.csv --ratings bo.csv --ratings cy.csv
    facevalue questionnaire RUN --texts lexical/hostility --to texts.csv
    facevalue questionnaire RUN --sorted tone --to texts.csv

    Ratings are kept in RUN, in place of those given before, and stand in its report.
    Of forms (visbias), without a pair above --least-kl, the strongest above their noise floor are asked about (20, or
    --most). Of words (counterfactuals), the 50 that are most a group's (or --most) of each group. Of replies
    with scores, five of each fifth of the score and subset; their ratings say how far people agree, and the scorer with
    them (Fleiss' kappa).
    """  # noqa: D301 - a backspace, which click reads as "leave these lines as they are"
    if sorting is not None:
        _sorted(run, sorting, to, ratings, most)
        return
    if texts is not None:
        from facevalue.runs.rated_texts import drawn  # noqa: PLC0415 - scipy.stats is slow to import

        _texts(drawn(StoredRun.open(run), texts, naming), texts, to, ratings, threshold, as_json)
        return
    if naming:
        raise click.UsageError("--naming chooses among replies; give --texts, too.")
    if ratings:
        if least_kl is not None or most is not None:
            raise click.UsageError("--least-kl and --most choose what is asked; leave them out with --ratings.")
        if to is not None and to.suffix != ".csv":
            raise RunError(f"{to.name} is not a .csv file.")
        _read(run, ratings, to, as_json)
        return
    if to is None:
        raise click.UsageError("Say where the questionnaire goes (--to FILE.html), or give --ratings.")
    if as_json:
        raise click.UsageError("--json prints what raters said; give --ratings, too.")
    if to.suffix not in (".html", ".csv"):
        raise RunError(f"{to.name} is neither .html nor .csv: the file's ending chooses the format.")
    offer, statements = _opened(run)
    for line in offer.export(statements, to, least_kl, most):
        say(line)


def _texts(
    items: pl.DataFrame, score: str, to: Path | None, ratings: tuple[Path, ...], threshold: float, as_json: bool
) -> None:
    """Replies before people: a table of some, or how far people and the scorer agree about them."""
    from facevalue.runs.rated_texts import SCALE, agreement  # noqa: PLC0415 - scipy.stats is slow to import

    if not ratings:
        if to is None or to.suffix != ".csv":
            raise click.UsageError("Say where the replies go (--to FILE.csv), or give --ratings.")
        write_table(items, to)
        say(f"{items.height:,} replies, which may be offensive: {to}. 1 is “{SCALE[0]}”, 2 is “{SCALE[1]}”.")
        return
    rated = agreement(items, ratings, threshold)
    kappas = {f"{rated.raters} people": _agreement(rated.people)}
    kappas[f"With {score} from {threshold:g} on"] = _agreement(rated.with_scorer)
    if as_json:
        people, with_scorer = kappas.values()
        result = {"raters": rated.raters, "kappa": people, "with_scorer": with_scorer}
        click.echo(json.dumps({**result, "score": score, "threshold": threshold}, indent=2))
        return
    for label, kappa in kappas.items():
        value = "not measurable" if kappa["value"] is None else f"{kappa['value']:.2f}"
        between = "" if kappa["low"] is None else f" [{kappa['low']:.2f}, {kappa['high']:.2f}]"
        say(f"{label}: Fleiss' kappa {value}{between}, {kappa['items']:,} replies")


def _sorted(run: Path, name: str, to: Path | None, ratings: tuple[Path, ...], most: int | None) -> None:
    """Texts before people, to be sorted as a judge does: a table of some, or what people say kept in the run."""
    from facevalue.runs import people  # noqa: PLC0415 - slow to import

    if ratings:
        raters, texts = people.keep(run, name, ratings)
        who = "1 rater" if raters == 1 else f"{raters:,} raters"
        say(f"Kept in {run / people.FOLDER}: {texts:,} texts by {who}: facevalue report {run}")
        return
    if to is None or to.suffix != ".csv":
        raise click.UsageError("Say where the texts go (--to FILE.csv), or give --ratings.")
    items = people.drawn(run, name, most or people.MOST)
    write_table(items, to)
    question = people.sorting_of(StoredRun.open(run), name)
    listed = "; ".join(
        f"{category}: {text}" for category, text in zip(question.categories, question.texts, strict=True)
    )
    say(f"{items.height:,} texts, which may be offensive: {to}.")
    say(f"{question.question} Ratings are one of {listed}; or {OPEN} where none fits.")


def _opened(folder: Path) -> tuple[Questionnaire, pl.DataFrame]:
    """Return the study's questionnaire and the statements that a run's plain answers imply."""
    stored = StoredRun.open(folder)
    offer = stored.study.extras.questionnaire
    if offer is None:
        raise DataError(f"{folder}: {lacking(stored.study.name, 'questionnaire', 'questionnaire')}")
    return offer, offer.statements(taken([stored])[0].filter(pl.col("intervention").is_null()))


def _read(run: Path, paths: tuple[Path, ...], to: Path | None, as_json: bool) -> None:
    offer, statements = _opened(run)
    rated = offer.read(statements, paths)
    if to is not None:
        buffer = io.BytesIO()
        write_csv(rated.pairs, buffer)
        write_whole(to, buffer.getvalue())
    agreement = _agreement(rated.agreement)
    if as_json:
        left_out = {"left_out": list(rated.left_out), "under_two_minutes": list(rated.under_two_minutes)}
        summary = {"raters": rated.raters, **left_out, "agreement": agreement}
        click.echo(json.dumps({**summary, "items": rated.pairs.select(offer.told).to_dicts()}, indent=2))
    else:
        _show(offer, rated, agreement, terminal())
    before = keep(run, rated.ratings)
    instead = f", in place of {before:,} given before" if before else ""
    say(f"Kept in {run / FOLDER}{instead}: facevalue report {run}", err=as_json)


def _agreement(alpha: "Estimates") -> dict[str, Any]:
    """Krippendorff's alpha; null where agreement cannot be known."""
    numbers = {"value": alpha.value[0], "low": alpha.low[0], "high": alpha.high[0]}
    finite = {name: None if number != number else float(number) for name, number in numbers.items()}  # noqa: PLR0124
    return {**finite, "n": int(alpha.n[0]), "items": int(alpha.clusters[0]), "method": str(alpha.method[0])}


def _show(offer: Questionnaire, rated: Rated, agreement: dict[str, Any], console: Console) -> None:
    """Print verdicts for people."""
    pairs = rated.pairs
    for line in rated.said:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
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
    console.print(table)
    verdicts = pairs.unique("item")["flagged"]
    few, judged = verdicts.null_count(), verdicts.drop_nulls()
    if judged.len():
        console.print(f"Flagged ({offer.flagged}): {judged.sum():,} of {judged.len():,}", highlight=False)
    if few:
        which = "1 statement has" if few == 1 else f"{few:,} statements have"
        judges = "is not judged" if few == 1 else "are not judged"
        console.print(f"{which} fewer than three ratings and {judges}.", highlight=False)
    value = agreement["value"]
    if value is None:
        console.print("Krippendorff's alpha: not known; no two raters rated one statement, or no rating differs.")
        return
    n = f"{agreement['n']:,} ratings of {agreement['items']:,} statements"
    console.print(
        f"Krippendorff's alpha (ordinal): {value:.2f}, {_interval(agreement['low'], agreement['high'])} ({n})",
        highlight=False,
    )


def _interval(low: float | None, high: float | None) -> str:
    return "no interval" if low is None or high is None else f"{low:.2f}..{high:.2f}".replace("-", "−")
