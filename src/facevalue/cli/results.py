"""`facevalue measure`, `report` and `export`: results of runs."""

from collections.abc import Mapping
from pathlib import Path

import click

from facevalue.cli.places import Place, place
from facevalue.errors import UnknownNameError
from facevalue.measures.base import Measure
from facevalue.places import is_url
from facevalue.runs.failures import failures_of
from facevalue.runs.mirror import REPORT, published
from facevalue.runs.stored import ReplyTally, StoredRun
from facevalue.store.files import check_table
from facevalue.terminal import say, terminal

_MARGIN = click.option(
    "--margin", multiple=True, metavar="MEASURE=SIZE",
    help="Largest difference that would not matter (sbs=0.02), if none was declared before the run.",
)  # fmt: skip

PICTURES = click.option(
    "--pictures", type=click.Path(path_type=Path, file_okay=False, exists=True), metavar="FOLDER",
    help="Folder with your own pictures; the path stored in the run folder is not trusted.",
)  # fmt: skip


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="[LABEL=]RUN...")
@click.option(
    "--to", type=click.Path(path_type=Path, dir_okay=False), help="Also write the estimates here (.csv, .parquet)."
)
@click.option("--explain", metavar="MEASURE", help="Explain a measure: equation, unit, source.")
@_MARGIN
def measure(runs: tuple[str, ...], to: Path | None, explain: str | None, margin: tuple[str, ...]) -> int:
    """Estimate from the answers in RUNS: every measure with n, interval and method.

    LABEL=RUN calls a run by another name, so that two runs of one model stand side by side: before=RUN1 after=RUN2.
    The estimates of a single run are kept in its folder as estimates.parquet.
    """
    opened = [open_named(run) for run in runs]
    if explain is not None:
        _explain(opened[0].measures, explain)
        return 0
    if to is not None:
        check_table(to)
    from facevalue.runs.estimates_file import write_estimates  # noqa: PLC0415 - scipy.stats takes a second to import
    from facevalue.runs.kept_estimates import taken  # noqa: PLC0415

    estimates, tallies = taken(opened, _margins(margin), again=True)
    if to is not None:
        write_estimates(estimates, to)
    from facevalue.report import summary  # noqa: PLC0415 - templates are not needed to explain a measure
    from facevalue.report.answer import ReplyCounts  # noqa: PLC0415
    from facevalue.report.sections import page_of  # noqa: PLC0415

    exact = any(run.facts.exact for run in opened)
    replies = [
        ReplyCounts(tally.asked - tally.failed, tally.valid, tally.na.get("refused", 0)) for tally in tallies.values()
    ]
    page = page_of(opened[0].study)
    terminal().print(summary(estimates, opened[0].measures, page=page, exact=exact, replies=replies))
    for run in opened:
        if (tally := tallies[str(run.folder)]).failed:
            say(f"! {run.place}: {failures_of(run.folder, tally.failed, tally.asked)}")
    return _status(tallies)


def open_named(text: str, pictures: Path | None = None) -> StoredRun:
    """Open RUN, or LABEL=RUN by that name."""
    label, separator, folder = text.partition("=")
    if not separator or is_url(text) or Path(text).exists():
        return StoredRun.open(place(text), pictures=pictures)
    return StoredRun.open(place(folder), pictures=pictures).called(label)


def _status(tallies: Mapping[str, ReplyTally]) -> int:
    """0 if anything was measurable, 1 if no model gave a valid answer."""
    return 0 if any(tally.valid for tally in tallies.values()) else 1


_ALIKE = "missing_share, which has one meaning in every study; this one is the protocol's own"


def _explain(measures: tuple[Measure, ...], name: str) -> None:
    from facevalue.measures.missing_answers import PUBLISHED  # noqa: PLC0415 - scipy.stats takes a second to import

    definitions = {m.name: m for m in measures}
    if name not in definitions:
        raise UnknownNameError("measure", name, definitions)
    definition = definitions[name]
    console = terminal()
    console.print(f"[bold]{definition.name}[/bold]: {definition.title}", highlight=False)
    for label, text in (
        ("equation", definition.equation),
        ("unit", definition.unit),
        ("cluster", definition.cluster),
        ("paired", "yes" if definition.paired else "no"),
        ("signed", "yes" if definition.signed else "no: shown beside its noise floor"),
        ("source", definition.source),
        *((("beside", _ALIKE),) if name in PUBLISHED else ()),
        *((("bounds", f"none for missing answers: {definition.unbounded}"),) if definition.unbounded else ()),
    ):
        console.print(f"  {label:9} {text}", highlight=False, markup=False)


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="[LABEL=]RUN...")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where to write; report.html in the run folder by default, and beside a run in object storage.",
)
@click.option("--json", "data", type=click.Path(path_type=Path, dir_okay=False), help="Also write the page as JSON.")
@_MARGIN
@PICTURES
def report(
    runs: tuple[str, ...], out: Path | None, data: Path | None, margin: tuple[str, ...], pictures: Path | None
) -> int:
    """Write the report of RUNS as one HTML file that needs no network.

    With several runs of one study, models are compared; LABEL=RUN calls a run by another name (before=RUN1 after=RUN2).
    Runs of one model that ask different parts of it are put together. Ratings of statements (`facevalue questionnaire`)
    are shown beside what they are about.
    """
    if len(runs) > 1 and out is None:
        raise click.UsageError("Several runs have no common folder: use --out FILE.")
    opened = [open_named(run, pictures) for run in runs]
    status = write_report(opened, out or opened[0].folder / REPORT, _margins(margin), data)
    if out is None and opened[0].url:
        published(opened[0].url, opened[0].folder / REPORT)
        say(f"Also: {opened[0].url}/{REPORT}")
    return status


def write_report(
    runs: list[StoredRun], out: Path, margins: Mapping[str, float] | None = None, data: Path | None = None
) -> int:
    """Write the report and say where it is. Returns the exit status."""
    from facevalue.report.of_runs import report as write  # noqa: PLC0415

    written = write(runs, out, margins, data)
    for line in written.lines:
        say(line)
    say(f"Report: {out}")
    if data is not None:
        say(f"JSON: {data}")
    return _status(written.tallies)


@click.command()
@click.argument("run", type=Place())
@click.option(
    "--to", required=True, type=click.Path(path_type=Path, dir_okay=False), help="A .parquet, .csv or .jsonl file."
)
def export(run: Path | str, to: Path) -> None:
    """Write one wide table of RUN: each reply that counts, with its factors, verbatim text and parsed answer."""
    from facevalue.runs.export import export as write_table  # noqa: PLC0415

    rows = write_table(StoredRun.open(run), to)
    say(f"{rows:,} responses: {to}")


def _margins(texts: tuple[str, ...]) -> dict[str, float]:
    out = {}
    for text in texts:
        name, _, size = text.partition("=")
        try:
            out[name.strip()] = float(size)
        except ValueError:
            raise click.BadParameter(f"{text!r}: write MEASURE=SIZE, such as sbs=0.02", param_hint="--margin") from None
    return out
