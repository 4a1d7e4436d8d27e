"""Gate of a pack: its runs held against limits, in the forms of `facevalue gate` and without places of files."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import polars as pl

from facevalue.csv_text import csv_bytes
from facevalue.limits.declared import read_limits
from facevalue.limits.gated import Gate, gate
from facevalue.limits.junit import junit
from facevalue.limits.markdown import markdown
from facevalue.limits.wording import summary
from facevalue.packing.packed_runs import PackedRun
from facevalue.runs.stored import StoredRun

LIMITS, SUMMARY, CELLS, JUNIT = "limits.toml", "gate.md", "gate.csv", "gate.xml"


def gate_files(
    pack: Sequence[PackedRun], limits: Path, baselines: Sequence[StoredRun], when: datetime
) -> tuple[str, dict[str, bytes]]:
    """What the gate amounts to, in a sentence, and its files: the limits, a summary, every estimate, JUnit XML.

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
    held = _named(gate([member.run for member in pack], read_limits(limits), baselines), names)
    rows = held.cells.with_columns(pl.col("limit").replace_strict([*range(len(held.limits))], _titles(held)))
    return summary(held), {
        LIMITS: limits.read_bytes(),
        SUMMARY: markdown(held).encode(),
        CELLS: csv_bytes(rows),
        JUNIT: junit(held, when).encode(),
    }


def _titles(held: Gate) -> list[str]:
    return [limit.name for limit in held.limits]


def _named(held: Gate, names: Mapping[str, str]) -> Gate:
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
