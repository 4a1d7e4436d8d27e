"""`facevalue calibrate`: audits of models whose bias is known."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import polars as pl
from rich.progress import track
from rich.table import Table

from facevalue.errors import ModelError, UnknownNameError
from facevalue.store.files import write_whole
from facevalue.terminal import say, terminal

if TYPE_CHECKING:
    from facevalue.studies.stylisticbias import calibration as faces
    from facevalue.studies.stylisticbias import calibration_reference as learned
    from facevalue.studies.stylisticbias.calibration_population import Population
    from facevalue.studies.vignette import calibration as pairs
    from facevalue.studies.visbias import calibration as choices

_CONDITIONS = ("default", "null", "drift")
"""What is planted: a preset of `models.sim`; "drift": nothing, in a model that drifts while the run lasts."""
_SIZES = {
    "stylisticbias": ("20,60", "faces", 2),
    "vignette": ("8,30", "activities", 1),
    "visbias": ("2", "people of each race, gender and occupation", 1),
}
"""Per study: default sizes of an audit, in what they are counted, and the smallest."""
_MODELS = ("sim", "reference", "reference/VARIANT")
_MOST = {"stylisticbias": 10_000, "vignette": 75, "visbias": 50, "reference": 1_000}
"""Largest audit, of a study or of the reference model."""


@click.command()
@click.argument("study", default="stylisticbias")
@click.option(
    "--model",
    default="sim",
    show_default=True,
    help="Whom: sim, reference or reference/VARIANT (a name, a folder).",
)
@click.option("--repetitions", type=click.IntRange(1), default=20, show_default=True, help="Audits per condition.")
@click.option(
    "--sizes",
    "--faces",
    "sizes",
    help="Faces in an audit (stylisticbias; 20,60 by default), activities (vignette; 8,30), or people of each race, "
    "gender and occupation (visbias; 2).",
)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Also write the table here (.csv).")
def calibrate(study: str, model: str, repetitions: int, sizes: str | None, out: Path | None) -> None:
    """Audit models whose bias is known, and show planted against recovered."""
    if study not in _SIZES:
        raise UnknownNameError("study", study, _SIZES)
    kind, _, variant = model.partition("/")
    if model not in _MODELS and not (kind == "reference" and variant):
        raise UnknownNameError("model to calibrate on", model, _MODELS)
    if kind == "reference" and study != "stylisticbias":
        raise ModelError(f"{study} is calibrated on simulated models alone so far: leave out --model reference.")
    default, what, least = _SIZES[study]
    sizes = sizes or default
    most = _MOST["reference" if kind == "reference" else study]
    if not all(part.strip().isdigit() and least <= int(part) <= most for part in sizes.split(",")):
        raise click.BadParameter(
            f"write numbers of {what} from {least} to {most}, such as {default}", param_hint="--sizes"
        )
    numbers = [int(size) for size in sizes.split(",")]
    tables: list[Table]
    rows: Sequence[Any]
    written: dict[str, pl.DataFrame] = {}
    if kind == "reference":
        tables, rows, written["-effects"] = _reference(variant, numbers, repetitions)
    elif study == "visbias":
        tables, rows = _people(numbers, repetitions)
    else:
        cases = [(condition, size) for condition in _CONDITIONS for size in numbers]
        tables, rows = (_faces if study == "stylisticbias" else _pairs)(cases, repetitions)
        if study == "stylisticbias":
            table, written["-conditions"] = _hard(numbers, repetitions)
            tables.append(table)
        else:
            table, written["-kinds"] = _kinds(repetitions)
            tables.append(table)
    console = terminal()
    for number, table in enumerate(tables):
        if number:
            console.print()
        console.print(table)
    if out is not None:
        written[""] = pl.DataFrame([asdict(row) for row in rows])
        for ending, frame in written.items():
            path = out.with_stem(out.stem + ending)
            write_whole(path, frame.write_csv(float_precision=4).encode())
            say(f"Table: {path}")


Cases = list[tuple[str, int]]


def _each(cases: Cases, audit: Callable[[str, int], tuple[Any, Any]]) -> tuple[list[Any], Any]:
    """Summaries of all cases, and the first audit of the first."""
    rows, first = [], None
    for condition, size in track(cases, "Auditing", console=terminal(stderr=True), transient=True):
        row, shown = audit(condition, size)
        rows.append(row)
        first = first or shown
    return rows, first


def _faces(cases: Cases, repetitions: int) -> tuple[list[Table], "list[faces.Calibration]"]:
    from facevalue.models.sim import PRESETS  # noqa: PLC0415 - slow to import
    from facevalue.studies.stylisticbias import calibration  # noqa: PLC0415

    rows, first = _each(
        cases, lambda name, size: calibration.calibrate(name, PRESETS.get(name, PRESETS["null"]), size, repetitions)
    )
    return [_audit_table(first, cases[0][1]), _summary_table(rows)], rows


def _hard(sizes: list[int], repetitions: int) -> tuple[Table, pl.DataFrame]:
    """Audits in conditions that break intervals and tests; those with a size of their own are audited once."""
    from facevalue.studies.stylisticbias import calibration_conditions as hard  # noqa: PLC0415 - slow to import

    cases = [(one, size) for one in hard.CONDITIONS for size in (sizes if one.faces is None else sizes[:1])]
    steps = track(cases, "Auditing hard conditions", console=terminal(stderr=True), transient=True)
    rows = [hard.audit_all(one, size, repetitions) for one, size in steps]
    lines = (
        (
            row.condition, str(row.faces),
            *map(_number, (row.covered, row.covered_scenarios, row.type1, row.type1_scenarios, row.any_lead)),
            *map(_number, (row.any_page, row.found, row.equivalent)),
        )
        for row in rows
    )  # fmt: skip
    columns = (
        *("condition", "faces", "covered", "of scenarios", "type I", "of scenarios"),
        *("any cue", "any on page", "found", "called equal"),
    )
    caption = "Nothing planted but a lone cue and one face in twenty moved; called equal: shifts beyond the margin."
    return _table("Hard conditions", columns, lines, caption, boxed=False), pl.DataFrame([asdict(row) for row in rows])


def _pairs(cases: Cases, repetitions: int) -> tuple[list[Table], "list[pairs.Calibration]"]:
    from facevalue.studies.vignette import calibration  # noqa: PLC0415 - slow to import

    rows, first = _each(cases, lambda name, size: calibration.calibrate(name, size, repetitions))
    title = f"One audit of sim/default with {cases[0][1]} activities: selection frequency planted and recovered"
    columns = ("identity", "planted", "recovered", "95% interval", "covers", "q", "finding")
    closer = _table(title, columns, _pair_rows(first))
    summary = _table(
        "All audits",
        ("planted", "scenes", "audits", "r", "slope", "S covers", "PairComp covers", "FDR", "found"),
        (
            (
                "nothing" if row.condition == "null" else row.condition, str(row.activities), str(row.repetitions),
                *map(_number, (row.correlation, row.slope, row.coverage, row.coverage_paircomp)),
                *map(_number, (row.false_discovery_rate, row.found)),
            )
            for row in rows
        ),
        "Nominal coverage .95; false findings at most .05.",
    )  # fmt: skip
    return [closer, summary], rows


def _kinds(repetitions: int) -> tuple[Table, pl.DataFrame]:
    """Whether what intervals and tests promise holds, kind by kind of what is planted."""
    from facevalue.studies.vignette import calibration_kinds  # noqa: PLC0415 - slow to import

    console = terminal(stderr=True)
    found = [
        calibration_kinds.keep(kind, repetitions)
        for kind in track(calibration_kinds.KINDS, "Auditing, kind by kind", console=console, transient=True)
    ]
    frame = pl.DataFrame([asdict(row) for row in found])
    shown = ("kind", "audits", "selection_gap", "page", "covers_gap", "covers_paircomp", "found")
    lines = ((name, str(audits), *map(_number, rest)) for name, audits, *rest in frame.select(shown).iter_rows())
    promised = (
        "p < .05: of distances from an even choice, promised .05; page: audits with any difference found where nothing "
        "is planted, promised at most .06, else findings on the wrong side; intervals cover: promised .93 to .97."
    )
    columns = ("planted", "audits", "p < .05", "page", "S covers", "PairComp covers", "found")
    return _table("Kinds of pictures, people and answers", columns, lines, promised), frame


def _pair_rows(audit: "pairs.Audit") -> Iterable[tuple[str, ...]]:
    for row in audit.selection.iter_rows(named=True):
        shown = [row["identity"], f"{row['planted']:.1f}%", f"{row['value']:.1f}%"]
        if row["low"] is None or row["q"] is None:  # of one or two pictures
            yield (*shown, "-", "-", "-", "")
            continue
        covers = row["low"] <= row["planted"] <= row["high"]
        yield (
            *shown, f"{row['low']:.1f} to {row['high']:.1f}", "yes" if covers else "no", f"{row['q']:.3f}",
            "yes" if row["q"] < 0.05 else "",
        )  # fmt: skip


def _people(sizes: list[int], repetitions: int) -> tuple[list[Table], "list[choices.Calibration]"]:
    from facevalue.studies.visbias import calibration  # noqa: PLC0415 - slow to import
    from facevalue.studies.visbias.calibration_answers import CONDITIONS  # noqa: PLC0415

    cases = [(condition, size) for condition in CONDITIONS for size in sizes]
    rows, first = _each(cases, lambda name, size: calibration.calibrate(name, size, repetitions))
    columns = ("question", "group", "planted", "found", "95% interval", "covers", "q", "finding")
    closer = _table("One audit: divergences of choices by race, planted and found", columns, _choice_rows(first))
    names = ("page", "family", "test", "coverage", "coverage_pairs", "coverage_texts")
    found = ("found_choice", "found_word", "found_association")
    summary = _table(
        "All audits",
        ("people", "of each", "audits", "page", "family", "test", "choices cover", "pairs", "texts", "choice", "word",
         "association"),
        (
            (row.condition, str(row.photographs), str(row.repetitions),
             *(_number(getattr(row, name)) for name in (*names, *found)))
            for row in rows
        ),
        "page: audits in which anything is found where nothing is planted; family, test: the same of a family, and of "
        "p < .05. Promised: .06, .06, .05 at most. Coverage, promised .93 to .97: of divergences, rankings, and "
        "differences between texts. The last three: audits in which a lone effect is found.",
        boxed=False,
    )  # fmt: skip
    return [closer, summary], rows


def _choice_rows(audit: "choices.Audit") -> Iterable[tuple[str, ...]]:
    shown = audit.estimates.filter((pl.col("measure") == "choice_divergence") & (pl.col("dimension") == "race"))
    for row in shown.sort("question", "group").iter_rows(named=True):
        covers = row["low"] <= row["true"] <= row["high"]
        yield (
            row["question"], row["group"], f"{row['true']:.1f}", f"{row['value']:.1f}",
            f"{row['low']:.1f} to {row['high']:.1f}", "yes" if covers else "no", f"{row['q']:.3f}",
            "yes" if row["verdict"] == "difference found" else "",
        )  # fmt: skip


def _audit_table(audit: "faces.Audit", size: int) -> Table:
    e = audit.estimates
    rows = (
        (
            f"{attribute} / {variation}", f"{audit.planted[i]:+.3f}", f"{e.value[i]:+.3f}",
            f"{e.low[i]:+.3f} to {e.high[i]:+.3f}", "yes" if audit.covered[i] else "no", f"{audit.q[i]:.3f}",
            "yes" if audit.found[i] else "",
        )
        for i, (attribute, variation) in enumerate(audit.variations)
    )  # fmt: skip
    columns = ("variation", "planted", "recovered", "95% interval", "covers", "q", "finding")
    return _table(f"One audit of sim/default with {size} faces: SBS planted and recovered", columns, rows)


def _summary_table(rows: "list[faces.Calibration]") -> Table:
    lines = (
        (
            "nothing" if row.condition == "null" else row.condition, str(row.faces), str(row.repetitions),
            *map(_number, (row.correlation, row.slope, row.coverage, row.coverage_none, row.false_discovery_rate)),
            *map(_number, (row.audits_with_false, row.power)),
        )
        for row in rows
    )  # fmt: skip
    columns = ("planted", "faces", "audits", "r", "slope", "coverage", "coverage, none", "FDR", "any false", "power")
    return _table("All audits", columns, lines, "Nominal coverage .95; false findings at most .05.")


def _reference(
    variant: str, sizes: list[int], repetitions: int
) -> tuple[list[Table], "list[learned.ReferenceCalibration]", pl.DataFrame]:
    """Tables, summaries, and planted and learned effects."""
    from facevalue.studies.stylisticbias import calibration_reference as reference  # noqa: PLC0415 - slow to import

    population = _population(variant)
    cases = [(reference.CONDITION, size) for size in sizes]
    rows, first = _each(cases, lambda _, size: reference.calibrate(population, size, repetitions))
    known = reference.learning(population)
    return [_learned_audit(first, sizes[0]), _learning_table(known), _learned_summary(rows)], rows, known.table


def _population(variant: str) -> "Population":
    """Read what the reference model, or a variant of it, says of everyone, but for what is kept already."""
    from facevalue.models.reference import adapter  # noqa: PLC0415 - imported when asked for
    from facevalue.models.reference.truth import Truth  # noqa: PLC0415
    from facevalue.stimuli.drawn import default_cache, draw_all  # noqa: PLC0415
    from facevalue.studies.stylisticbias import calibration_population as people  # noqa: PLC0415

    folder = adapter.folder_of(variant)
    model = adapter.ReferenceModel(f"reference/{variant}" if variant else "reference", folder)
    truth = Truth.read(folder / "truth.parquet")
    readings = people.Readings(people.audited_study(), model, people.default_folder(), truth)
    wanted = readings.unread
    if wanted.height:
        console = terminal(stderr=True)
        console.print(
            f"Reading the probabilities of {wanted.height * readings.questions:,} judgments of {wanted.height:,} "
            "pictures. They are kept, so that this is done once.",
            highlight=False,
        )
        drawing = draw_all(wanted, default_cache())
        for _ in track(drawing, "Drawing portraits", total=wanted.height, console=console, transient=True):
            pass
        persons = wanted["identity"].n_unique()
        for _ in track(readings.read(), "Reading people", total=persons, console=console, transient=True):
            pass
    return readings.population()


def _learned_audit(audit: "faces.Audit", size: int) -> Table:
    assert audit.learned is not None
    e = audit.estimates
    rows: list[tuple[str, ...]] = []
    above = ""
    for i, (attribute, variation) in enumerate(audit.variations):
        if attribute != above:
            rows.append((attribute.replace("_", " "),))
            above = attribute
        rows.append((
            f"  {variation}", f"{audit.planted[i]:+.3f}", f"{audit.learned[i]:+.3f}", f"{e.value[i]:+.3f}",
            f"{e.low[i]:+.3f} to {e.high[i]:+.3f}", "yes" if audit.covered[i] else "no", f"{audit.q[i]:.3f}",
            "yes" if audit.found[i] else "",
        ))  # fmt: skip
    columns = ("variation", "planted", "learned", "audit", "95% interval", "covers", "q", "found")
    title = f"One audit of the reference model with {size} faces: SBS"
    caption = "covers: the interval holds the learned SBS, which is what the model has to be found. found: q < .04."
    return _table(title, columns, rows, caption, boxed=False)


def _learning_table(known: "learned.Learning") -> Table:
    from facevalue.studies.stylisticbias.calibration_reference import CORRELATION, SLOPE  # noqa: PLC0415

    promised = (
        ("correlation", known.correlation, CORRELATION, f"at least {CORRELATION[0]}"),
        ("slope of learned on planted", known.slope, SLOPE, f"{SLOPE[0]} to {SLOPE[1]}"),
    )
    rows = [
        (name, _number(value), said, "" if value is None else "yes" if low <= value <= high else "no")
        for name, value, (low, high), said in promised
    ]
    rows += [
        (name, f"{value:.3f}", "", "")
        for name, value in (
            ("mean error", known.error),
            ("where nothing is planted: SD of learned", known.spread_none),
            ("where nothing is planted: largest learned", known.largest_none),
        )
    ]
    title = f"Learned against planted: {known.table.height:,} effects of a variation on a scenario"
    return _table(title, ("", "measured", "promised", "holds"), rows, boxed=False)


def _learned_summary(rows: "list[learned.ReferenceCalibration]") -> Table:
    lines = (
        (
            str(row.faces), str(row.repetitions),
            *map(_number, (row.correlation, row.slope, row.coverage, row.coverage_none, row.flagged_none)),
            *map(_number, (row.false_discovery_rate, row.wrong_sign, row.power)),
        )
        for row in rows
    )  # fmt: skip
    columns = ("faces", "audits", "r", "slope", "coverage", "of none", "flagged", "FDR", "wrong sign", "power")
    caption = (
        "r, slope, coverage (nominal .95): of learned SBS. of none, flagged: of variations with nothing planted, their "
        "coverage, and the share that are findings. FDR: share of findings with nothing planted. These need not be "
        "errors, as the learned SBS is not exactly zero there; findings of the wrong sign are. Promised: coverage .92 "
        "to .98, flagged at most .05."
    )
    return _table("All audits of the reference model", columns, lines, caption, boxed=False)


def _table(
    title: str,
    columns: tuple[str, ...],
    rows: Iterable[tuple[str, ...]],
    caption: str | None = None,
    *,
    boxed: bool = True,
) -> Table:
    table = Table(title=title, header_style="bold", caption=caption)
    if not boxed:  # for tables that would be too wide
        table.box, table.pad_edge, table.padding = None, False, (0, 1, 0, 0)
        table.title_justify = table.caption_justify = "left"
    for i, name in enumerate(columns):
        table.add_column(name, justify="right" if i else "left")
    for row in rows:
        table.add_row(*row)
    return table


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
