"""Contents of a pack, and where they are written: a folder or a ZIP file, whole or not at all."""

import hashlib
import io
import json
import re
import secrets
import shutil
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from facevalue.csv_text import csv_bytes
from facevalue.errors import DataError, RunError, SettingError
from facevalue.limits.gate import Gate, gate
from facevalue.limits.limits_file import read_limits
from facevalue.limits.wording import as_junit, as_markdown, summary
from facevalue.packing.formats import (
    CRATE,
    card_section,
    cyclonedx,
    eval_results,
    every_eval_ever,
    impact_table,
    model_index,
    write_crate,
)
from facevalue.packing.packed_runs import PackedRun, gather, record_without_places
from facevalue.packing.sealing import SUMS, check_name, sums
from facevalue.parquet import parquet_bytes
from facevalue.places import folder_or_url
from facevalue.report.html import as_json, render
from facevalue.report.profile import profile_of
from facevalue.report.profile.page import profile_tables
from facevalue.report.profile.page import render as render_profile
from facevalue.runs.audits.folder import (
    AUDIT,
    AuditRecord,
    describe_unasked,
    is_audit,
    read_audit,
    record_bytes,
    runs_of,
    waiting_studies,
)
from facevalue.runs.makings.data_statement import ListFile, data_statement
from facevalue.runs.stored_run import StoredRun
from facevalue.store.files import PREREGISTRATION, write_whole
from facevalue.untrusted_files import to_toml

# Map of clauses: which file of a pack speaks to which clause of a law or standard, and what it does not cover.


NO_CLAIM = (
    "This map makes no legal claim. It says which file speaks to which clause, and what it does not cover, as seen on "
    "the date of each line. Read the text itself, and ask somebody who answers for it."
)


class Clause(NamedTuple):
    """A clause, what of a pack speaks to it, and what does not."""

    of: str
    clause: str
    """Law or standard, and where in it, in its words or ours."""
    files: tuple[str, ...]
    """Files of the pack, and folders, which end in a slash."""
    speaks_to: str
    not_covered: str
    source: str
    seen: date
    """Where it was read, and when."""


def clauses() -> list[Clause]:
    """All clauses, in order."""
    name = "clauses.toml"
    tables: list[dict[str, Any]] = to_toml(files(__package__).joinpath(name).read_bytes(), name)["clause"]
    return [Clause(**{**table, "files": tuple(table["files"])}) for table in tables]


def clause_map(present: Collection[str]) -> str:
    """The map in Markdown; files that this pack does not hold are marked.

    `present`: names of its files.
    """
    lines = ["# Clause map", "", NO_CLAIM, "", "| clause | files | speaks to | does not cover | as seen |",
             "|---|---|---|---|---|"]  # fmt: skip
    for clause in clauses():
        absent = {name: "" if _is_present(name, present) else " (not in this pack)" for name in clause.files}
        file_names = ", ".join(f"`{name}`{note}" for name, note in absent.items())
        lines.append(
            f"| **{clause.of}**: {clause.clause} | {file_names} | {clause.speaks_to} | {clause.not_covered} | "
            f"{clause.seen:%-d %B %Y}, {clause.source} |"
        )
    return "\n".join(lines) + "\n"


def _is_present(name: str, present: Collection[str]) -> bool:
    return any(file == name or (name.endswith("/") and file.startswith(name)) for file in present)


# Gate of a pack: its runs checked against limits, in the forms of `facevalue gate` and without places of files.


LIMITS, SUMMARY, CELLS, JUNIT = "limits.toml", "gate.md", "gate.csv", "gate.xml"


def gate_files(
    pack: Sequence[PackedRun], limits: Path, baselines: Sequence[StoredRun], when: datetime
) -> tuple[str, dict[str, bytes]]:
    """Verdict of the gate in a sentence, and its files: the limits, a summary, every estimate, JUnit XML.

    Parameters
    ----------
    limits:
        The file of limits, which goes into the pack as it is.
    baselines:
        What changes are taken against.
    when:
        Time that the JUnit file states.

    Raises
    ------
    DataError, UnknownNameError, RunError
        As of `facevalue gate`: limits or baselines that do not go with the runs.
    """
    names = {member.run.place: member.name for member in pack}
    names |= {run.place: f"baseline {run.folder.name}" for run in baselines if run.place not in names}
    held = _rename_runs(gate([member.run for member in pack], read_limits(limits), baselines), names)
    rows = held.cells.with_columns(pl.col("limit").replace_strict([*range(len(held.limits))], _gate_titles(held)))
    return summary(held), {
        LIMITS: limits.read_bytes(),
        SUMMARY: as_markdown(held).encode(),
        CELLS: csv_bytes(rows),
        JUNIT: as_junit(held, when).encode(),
    }


def _gate_titles(held: Gate) -> list[str]:
    return [limit.name for limit in held.limits]


def _rename_runs(held: Gate, names: Mapping[str, str]) -> Gate:
    """A gate whose runs are called as in the pack."""
    places = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    pattern = re.compile(rf"(?<![\w/.-])(?:{places})(?![\w/-])")

    def text_of(text: str) -> str:
        return pattern.sub(lambda match: names[match[0]], text)

    cells = held.cells.with_columns(
        pl.col("run").replace(names),
        pl.Series("why", [text and text_of(text) for text in held.cells["why"]], pl.String),
    )
    return replace(
        held,
        runs=tuple(names[run] for run in held.runs),
        baselines=tuple(names[run] for run in held.baselines),
        cells=cells,
        notes=tuple(map(text_of, held.notes)),
    )


ZIP = ".zip"
_FIRST = (
    "Read `model-card.md` first, then `profile.html` if there is one, and `reports/`; all else is what they rest on."
)
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""Time of every file in a ZIP file, so that the same pack has the same bytes."""
_TITLES = {
    "README.md": "What is in this pack, and how to read it",
    "profile.html": "What all studies say of the same groups, side by side, judged at one level",
    "profile.json": "The same as JSON",
    "impact-ratios.csv": "Rates of selection and impact ratios, in the form of NYC Local Law 144, of test data",
    "clauses.md": "Which file speaks to which clause, and what it does not cover",
    "measures.json": "Definitions of all measures: equation, unit, source, what was sampled",
    "model-card.md": "A section for a model card",
    "model-index.yaml": "model-index of Hugging Face model cards",
    "eval-results.yaml": "Pointers in the form of Hugging Face .eval_results",
    "cyclonedx.json": "CycloneDX 1.7: measures by slice with intervals, groups at risk",
    AUDIT: "What the audit was asked to do",
    LIMITS: "Limits that the runs were checked against",
    SUMMARY: "What became of each limit, and the estimates that do not lie within",
    CELLS: "Every estimate or change that a limit is about, with its intervals and outcome",
    JUNIT: "The gate as JUnit XML",
}


@dataclass(frozen=True, slots=True)
class Packed:
    """A pack that was written."""

    place: Path
    """Folder or ZIP file."""
    files: int
    size: int
    """How many files, and their bytes together, before they were packed."""
    runs: tuple[str, ...]
    """Names of its runs."""


def pack(
    places: Sequence[Path | str],
    to: Path,
    organization: str = "not stated",
    limits: Path | None = None,
    baselines: Sequence[StoredRun] = (),
) -> Packed:
    """Write the pack of runs and audits.

    Parameters
    ----------
    places:
        Runs or audits, folders or URLs.
    to:
        A folder that is not there, is empty, or holds an earlier pack, which is replaced; or a .zip file.
    organization:
        Who asked.
    limits:
        A file of limits that the runs are checked against; None for a pack without a gate.
    baselines:
        What changes are taken against, where limits are of changes.

    Raises
    ------
    RunError
        Nothing to pack, one run twice, or a place that cannot be used.
    DataError, UnknownNameError
        Limits that do not go with the runs.
    """
    if baselines and limits is None:
        raise SettingError("A baseline has no effect without limits of change: give --limits, too.")
    if not places:
        raise SettingError("Name the runs or the audit to pack.")
    runs = [folder_or_url(run) for place in places for run in runs_of(place, whole=limits is not None)]
    if len({str(run) for run in runs}) < len(runs):
        raise RunError("One run is named twice: name each run, or its audit, once.")
    _check_target(to)
    packed = gather([StoredRun.open(run) for run in runs])
    audits = [read_audit(place) for place in places if is_audit(place)]
    files = dict(_files(packed, audits, organization, describe_unasked(places)))
    written = _last_end(packed)
    verdict = ""
    if limits is not None:
        verdict, of_gate = gate_files(packed, limits, baselines, written)
        files |= of_gate
    files["clauses.md"] = clause_map({*files, "clauses.md", SUMS}).encode()
    files["README.md"] = _readme(packed, audits, {*files}, verdict).encode()
    title = f"FaceValue audit of {', '.join(dict.fromkeys(member.model for member in packed))}"
    files[CRATE] = _json(write_crate(files, _titles(packed), title, written.isoformat()))
    files[SUMS] = sums(files)
    _write(files, to)
    return Packed(to, len(files), sum(map(len, files.values())), tuple(member.name for member in packed))


def _files(
    pack: Sequence[PackedRun], audits: Sequence[AuditRecord], organization: str, waiting: Sequence[str]
) -> Iterator[tuple[str, bytes]]:
    written = _last_end(pack)
    definitions = [definition for member in pack for definition in member.definitions()]
    yield "measures.json", _json([d for place, d in enumerate(definitions) if d not in definitions[:place]])
    for member in pack:
        yield f"reports/{member.name}.html", render(member.page).encode()
        yield f"reports/{member.name}.json", as_json(member.page).encode()
        yield f"estimates/{member.name}.csv", csv_bytes(member.rows())
        yield f"runs/{member.name}.json", _json(member.settings())
        if member.run.facts.preregistration:
            yield f"runs/{member.name}-{PREREGISTRATION}", (member.run.folder / PREREGISTRATION).read_bytes()
        yield (
            f"every-eval-ever/{member.name}.json",
            _json(every_eval_ever(member, organization, int(written.timestamp()))),
        )
        yield from _pictures(member)
    yield from _profile(pack, waiting)
    yield "cyclonedx.json", _json(cyclonedx(pack, written.isoformat()))
    yield "model-index.yaml", model_index(pack).encode()
    yield "eval-results.yaml", eval_results(pack, written.isoformat()).encode()
    yield "model-card.md", card_section(pack).encode()
    yield "impact-ratios.csv", csv_bytes(impact_table(pack))
    for number, audit in enumerate(audits):
        yield AUDIT if not number else f"{number}-{AUDIT}", record_bytes(record_without_places(audit))


def _profile(pack: Sequence[PackedRun], waiting: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """One profile of all runs; none where they cannot stand in one, such as of a model that answered nothing."""
    with suppress(RunError):
        built = profile_of([member.run for member in pack], waiting)
        yield "profile.html", render_profile(built, _last_end(pack)).encode()
        yield "profile.json", _json(profile_tables(built))


def _pictures(member: PackedRun) -> Iterator[tuple[str, bytes]]:
    """The run's table of pictures with its data statement; none for a study whose table lists no files."""
    pictures = member.names.table(member.run.study.manifest)
    if "path" not in pictures.columns or (pictures := pictures.filter(pl.col("path").is_not_null())).is_empty():
        return
    name = f"{member.name}.parquet"
    data = parquet_bytes(pictures)
    file = ListFile(name=name, sha256=hashlib.sha256(data).hexdigest(), size=len(data))
    yield f"pictures/{name}", data
    yield f"pictures/{member.name}.croissant.json", _json(data_statement(pictures, file, member.name))


def _last_end(pack: Sequence[PackedRun]) -> datetime:
    """Time when the last run ended, or began where none has ended, so that a pack of the same runs is the same."""
    return max(member.run.facts.end or member.run.facts.start for member in pack)


def _titles(pack: Sequence[PackedRun]) -> dict[str, str]:
    out = dict(_TITLES)
    for member in pack:
        title = f"{member.run.study.about.title} ({member.model})"
        out |= {
            f"reports/{member.name}.html": f"Report: {title}",
            f"reports/{member.name}.json": f"Report as JSON: {title}",
            f"estimates/{member.name}.csv": f"All estimates: {title}",
            f"runs/{member.name}.json": f"Settings, versions, sessions and digests of answers: {title}",
            f"every-eval-ever/{member.name}.json": f"Every Eval Ever: {title}",
        }
    return out


def _readme(pack: Sequence[PackedRun], audits: Sequence[AuditRecord], present: set[str], gate: str) -> str:
    lines = ["# Audit pack", "", _FIRST, ""]
    for member in pack:
        tally = member.tally
        lines.append(
            f"- **{member.name}**: {tally.valid:,} valid answers of {tally.asked:,} requests; "
            f"{member.findings_counted}, at the level of its page"
        )
        if member.run.facts.end is None:
            lines.append("  - The run is not complete: its estimates cover what is there.")
        lines += [
            f"  - {omission.what} was not asked: {omission.why}" for omission in member.run.study.planned.left_out
        ]
        if member.page.study.content_note:
            lines.append(f"  - {member.page.study.content_note}")
    if gate:
        lines.append(f"- **Gate**: {gate}")
    begun = {member.run.folder.name for member in pack}
    for audit in audits:
        waiting = waiting_studies(audit, begun)
        lines += [f"- **{name}** is not asked yet: the audit is not complete." for name in waiting]
        lines += [f"- **{omission.what}** was not asked: {omission.why}" for omission in audit.left_out]
    lines += ["", "| file | what it is |", "|---|---|"]
    titles = _titles(pack)
    lines += [f"| `{name}` | {titles.get(name, '')} |" for name in sorted(present)]
    lines += [
        "",
        "Not in here: the answers themselves (their digests are in `runs/`), and pictures. `sha256sum -c SHA256SUMS`,",
        "or `facevalue pack --verify`, checks that no file was changed. Forms of others hold what they have room for:",
        "comparisons, and levels over everything. `estimates/` has all, and those that are not measurable.",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _json(document: Any) -> bytes:
    return (json.dumps(document, ensure_ascii=False, allow_nan=True, indent=1, default=str) + "\n").encode()


def _check_target(to: Path) -> None:
    if to.suffix.lower() == ZIP:
        if to.is_dir():
            raise SettingError(f"{to} is a folder: name a .zip file that is none, or a folder without that ending.")
        return
    if to.is_file():
        raise SettingError(f"{to} is a file: --to names a folder or a .zip file.")
    if to.is_dir() and any(to.iterdir()) and not (to / SUMS).is_file():
        raise RunError(f"{to} holds other files, and no pack: name a new folder, or a .zip file.")


def _write(files: dict[str, bytes], to: Path) -> None:
    try:
        to.absolute().parent.mkdir(parents=True, exist_ok=True)
        if to.suffix.lower() == ZIP:
            write_whole(to, _zip_files(files, _root(to.stem)))
            return
        aside = to.absolute().with_name(f".{to.name}.{secrets.token_hex(4)}.tmp")
        try:
            for name, data in files.items():
                (aside / name).parent.mkdir(parents=True, exist_ok=True)
                (aside / name).write_bytes(data)
            if to.exists():
                shutil.rmtree(to)
            aside.rename(to)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    except OSError as error:
        raise RunError(f"{to} cannot be written: {error}.") from error


def _root(stem: str) -> str:
    """The folder in a ZIP file: its own name, unless no file of a pack may have it."""
    try:
        check_name(stem)
    except DataError:
        return "pack"
    return stem


def _zip_files(files: dict[str, bytes], root: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            member = zipfile.ZipInfo(f"{root}/{name}", _EPOCH)
            member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(member, data)
    return out.getvalue()
