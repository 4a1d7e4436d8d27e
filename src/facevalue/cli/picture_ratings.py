"""`facevalue questionnaire MADE`: pictures that were made, for people to look at, and what they say."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import click
import polars as pl
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from facevalue.cli.output import Document, Output, WrittenFiles
from facevalue.cli.schema import Row
from facevalue.csv_text import csv_bytes
from facevalue.errors import FaceValueError, SettingError
from facevalue.places import run_of
from facevalue.protocol.making_study import MAKING
from facevalue.runs.made_statement import stated_before, write_made_statement
from facevalue.runs.picture_ratings import MOST, PictureSet, read_packets, write_packet
from facevalue.runs.rated_pictures import RatedPictures
from facevalue.runs.ratings import FOLDER, keep
from facevalue.runs.stored import StoredRun
from facevalue.store.files import check_ending, write_whole
from facevalue.store.manifest import read_manifest

_COUNTED = {"yes": "", "no": " (no)", "": " (ticked)"}
"""Which answers are counted, where these are others than yes."""


@dataclass(frozen=True)
class RatedPicturesDocument(Document):
    """What people say of pictures that were made (`questionnaire MADE --ratings`)."""

    FORMAT: ClassVar[str] = "rated-pictures"
    raters: int
    questions: Sequence[Row]
    """Each question with the share of answers that speak for a picture, how far raters agree, and what was printed."""
    groups: Sequence[Row]
    """The same share by each factor that says who is shown, with its interval over units; of pairs, agreement too."""
    source: str
    """Where the printed numbers are from; empty where there are none."""
    folder: str
    """Where the ratings are kept."""
    replaced: int
    """Ratings given before, in place of which these are."""


def is_making(run: Path) -> bool:
    """Whether a run folder is that of a making."""
    try:
        return read_manifest(run_of(run)).study == MAKING
    except FaceValueError:
        return False  # what is wrong with it is said by whoever opens it


def look(
    run: Path, out: Path | None, most: int | None, paths: tuple[Path, ...], seed: int
) -> Output[WrittenFiles | RatedPicturesDocument]:
    """Write a packet of pictures, or read what people said of them."""
    if paths:
        if most is not None:
            raise click.UsageError("--most chooses what is looked at; leave it out with --ratings.")
        if out is not None and out.suffix != ".csv":
            raise SettingError(f"{out.name} is not a .csv file.")
        return _read(run, paths, out)
    if out is None:
        raise click.UsageError("Say where the pictures go (--out FILE.html), or give --ratings.")
    check_ending(out, ".html", ".csv")
    pictures = PictureSet.of(StoredRun.open(run))
    packet = write_packet(pictures, out, most or MOST, seed)
    then = f"facevalue questionnaire {run} --ratings FILE --ratings FILE"
    pairs = f" and {packet.pairs:,} pairs" if packet.pairs else ""
    counts = f"{packet.pictures:,} of {pictures.pictures.height:,} pictures{pairs}"
    line = f"{counts}, each group by its share: {out}. Two people or more look:"
    return Output(WrittenFiles((str(out),), packet.pictures + packet.pairs, then), [line, then])


def _read(run: Path, paths: Sequence[Path], out: Path | None) -> Output[WrittenFiles | RatedPicturesDocument]:
    making = StoredRun.open(run)
    pictures = PictureSet.of(making)
    rated = read_packets(pictures, paths)
    if out is not None:
        write_whole(out, csv_bytes(rated.groups))
    replaced = keep(making.folder, rated.ratings)
    write_made_statement(pictures.root, stated_before(pictures.root))
    instead = f", in place of {replaced:,} given before" if replaced else ""
    document = RatedPicturesDocument(
        raters=rated.raters,
        questions=rated.questions.to_dicts(),
        groups=rated.groups.to_dicts(),
        source=pictures.questions.source,
        folder=str(making.folder / FOLDER),
        replaced=replaced,
    )

    def text() -> Iterator[RenderableType]:
        yield from _text(rated, pictures.questions.source, pictures.unit)
        yield f"Kept in {making.folder / FOLDER}{instead}, and told by the data statement: facevalue report {run}"

    return Output(document, text())


def _text(rated: RatedPictures, source: str, unit: str) -> Iterator[RenderableType]:
    """Shares and agreement for people."""
    count = rated.ratings.height
    yield Text(f"{_people(rated.raters)} gave {count:,} answers.")
    table = _table("question", "fine", "interval", "pictures", "kappa", "interval", "printed")
    for row in rated.questions.iter_rows(named=True):
        table.add_row(
            row["question"] + _COUNTED[row["fine"]], _percent(row["share"]), _interval(row["low"], row["high"], 100),
            f"{row['pictures']:,}", _number(row["kappa"]), _interval(row["kappa_low"], row["kappa_high"]),
            _printed(row),
        )  # fmt: skip
    yield table
    if source:
        yield Text(f"Printed: {source}.")
    levels = rated.groups.filter(pl.col("level").is_not_null())
    groups = levels.filter(pl.col("low").is_not_null())
    if groups.height:
        has_agreement = groups["kappa"].count() + groups["printed_share"].count() > 0
        headings = ("kappa", "printed") if has_agreement else ()
        by_group = _table("question", "factor", "level", "fine", "interval", "answers", *headings)
        for row in groups.iter_rows(named=True):
            by_group.add_row(
                row["question"], row["factor"], row["level"], _percent(row["share"]),
                _interval(row["low"], row["high"], 100), f"{row['answers']:,}",
                *((_number(row["kappa"]), _printed(row)) if has_agreement else ()),
            )  # fmt: skip
        yield by_group
    if left_out := levels.height - groups.height:
        shares = "1 share is" if left_out == 1 else f"{left_out:,} shares are"
        yield Text(f"{shares} of one {unit} alone, without an interval: --json and --out FILE.csv have them.")
    if rated.raters < 2:
        yield Text("How far people agree takes another's file.")


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    words = ("question", "factor", "level", "printed")
    for heading in headings:
        table.add_column(heading, justify="left" if heading in words else "right", no_wrap=heading not in words)
    return table


def _printed(row: Mapping[str, Any]) -> str:
    printed = [f"{row['printed_share']:.0%}"] if row["printed_share"] is not None else []
    printed += [f"kappa {row['printed_kappa']:.2f}"] if row["printed_kappa"] is not None else []
    return ", ".join(printed) or "-"


def _people(count: int) -> str:
    return "One person" if count == 1 else f"{count:,} people"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}%"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}".replace("-", "−")


def _interval(low: float | None, high: float | None, scale: int = 1) -> str:
    if low is None or high is None:
        return "-"
    form = ".1f" if scale > 1 else ".2f"
    return f"{scale * low:{form}}..{scale * high:{form}}".replace("-", "−")
