"""Comparison of any number of runs of any studies: pairs of each study, all judged at one level."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import polars as pl

from facevalue.errors import DataError, NothingComparedError, RunError
from facevalue.measures.profiles import RankAgreement
from facevalue.places import is_url
from facevalue.runs.answer_flips import AnswerFlips, compared_answers
from facevalue.runs.answer_pairs import AnswerSide
from facevalue.runs.audit_folder import RUNS
from facevalue.runs.compare import Pairs, check_comparable, differences_of, kept_answers, with_first
from facevalue.runs.compared_cells import Differences, RunAgreement
from facevalue.runs.effect_ranks import effect_ranks, rank_agreements
from facevalue.runs.flip_words import NO_FLIPS, FlipInWords, all_worded, telling_flips
from facevalue.runs.joined import by_study
from facevalue.runs.judged_differences import judged_together
from facevalue.runs.run_settings import differing_settings, models_note
from facevalue.runs.stored import StoredRun
from facevalue.runs.streamed_table import check_format, write_streamed

FIRST: Final = "first"
ALL: Final = "all"
PAIRS = (FIRST, ALL)
"""Which runs of a study are compared: each with the first one, or each with each."""


@dataclass(frozen=True)
class ComparedPair:
    """Two runs of a study, compared."""

    study: str
    first: str
    second: str
    """Names of the runs."""
    agreement: RunAgreement
    """Second minus first."""
    runs: tuple[StoredRun, StoredRun]
    ranks: tuple[RankAgreement, ...]
    """Correlations of effects, one of each measure."""
    flips: AnswerFlips | None = None
    """Single answers that differ; None where they cannot be compared."""
    telling_flips: tuple[FlipInWords, ...] = ()
    """The most telling ones."""
    why_no_flips: str = ""
    """Why single answers were not compared, as a sentence."""


@dataclass(frozen=True)
class RunComparison:
    """Runs of one or several studies, compared."""

    pairs: tuple[ComparedPair, ...]
    """In the order of the studies and runs that were named."""
    names: Mapping[str, tuple[str, ...]]
    """By study, names of the runs that are compared."""
    settings: Mapping[str, Mapping[str, Sequence[Any]]]
    """By study, settings in which its runs differ, each with its value in every run."""
    left_out: tuple[str, ...] = field(default=())
    """Runs and studies that could not be compared, and why, and what an audit has not begun, a sentence each."""

    @property
    def cells(self) -> pl.DataFrame:
        """A row per cell of every pair, as `RunAgreement.cells`, after `study`, `first_run` and `second_run`."""
        return self._stacked([pair.agreement.cells for pair in self.pairs])

    @property
    def overall(self) -> pl.DataFrame:
        """Statistics of all cells of every pair, as `RunAgreement.overall`."""
        return self._stacked([pair.agreement.overall for pair in self.pairs])

    @property
    def differing(self) -> pl.DataFrame:
        """Cells of which a difference was found."""
        return self.cells.filter(pl.col("verdict") == "difference found")

    def _stacked(self, tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
        return pl.concat(map(_named, tables, self.pairs), how="diagonal_relaxed")


def compare_all(
    runs: Sequence[StoredRun],
    margin: float | None = None,
    pairs: str = FIRST,
    flips: Path | None = None,
    waiting: Sequence[str] = (),
) -> RunComparison:
    """Compare runs of each study, cell by cell, all pairs and studies at the level of one page.

    Parameters
    ----------
    runs:
        Two or more of one study at least. Each is compared with the first one of its study, or with every one.
    margin:
        Largest difference that would not matter, in the unit of the measure, where all studies have one unit.
    pairs:
        `FIRST` or `ALL`.
    flips:
        File to which all answers that flipped are written, in words: .parquet, .csv or .jsonl.
    waiting:
        What audits among them have not begun, a sentence for each (`audit_folder.unasked`).

    Raises
    ------
    RunError
        A run named twice, no two runs of one study, or none with a valid answer.
    DataError
        Runs that share no cell, or a margin that is not above zero.
    """
    check_comparable(runs)
    if flips is not None:
        check_format(flips)
    runs_by_study = by_study(runs)
    differences: list[Differences] = []
    pairs_of_runs: list[tuple[StoredRun, StoredRun]] = []
    left_out, refusals = [], []
    for study, of_study in runs_by_study.items():
        if len(of_study) == 1:
            left_out.append(f"{of_study[0].place} is the only run of {study}: it is compared with none.")
            continue
        places = with_first(len(of_study)) if pairs == FIRST else list(combinations(range(len(of_study)), 2))
        try:
            differences += _differences(of_study, places, margin)
        except (DataError, RunError) as error:
            refusals.append(error)
            left_out.append(f"{study} is not compared. {error}")
            continue
        pairs_of_runs += [(of_study[first], of_study[second]) for first, second in places]
    if not differences:
        raise refusals[0]
    names = run_names(runs)
    any_time = any(run.facts.stop_when for pair in pairs_of_runs for run in pair)
    agreements = judged_together(differences, margin, any_time=any_time)
    ranks = rank_agreements([effect_ranks(difference) for difference in differences])
    out = [
        ComparedPair(
            first.study.name, names[first.folder], names[second.folder],
            replace(agreement, notes=(*models_note(first, second), *agreement.notes)), (first, second), of_pair,
        )
        for (first, second), agreement, of_pair in zip(pairs_of_runs, agreements, ranks, strict=True)
    ]  # fmt: skip
    chunks = _with_flips(out, worded=flips is not None)
    if flips is not None:
        write_streamed(chunks, flips)
    else:
        for _ in chunks:
            pass
    return RunComparison(
        tuple(out),
        {study: tuple(names[run.folder] for run in of_study) for study, of_study in runs_by_study.items()},
        {study: differing_settings(of_study) for study, of_study in runs_by_study.items() if len(of_study) > 1},
        (*left_out, *waiting),
    )


def _differences(runs: Sequence[StoredRun], pairs: Pairs, margin: float | None) -> list[Differences]:
    with kept_answers([run.plain() for run in runs]) as models:
        try:
            return differences_of(models, pairs, margin)
        except NothingComparedError as error:
            unseen = [model.model for model in models if model.unseen]
            if not unseen:
                raise
            doubt = f"Nothing shows that {' and '.join(dict.fromkeys(unseen))} sees the pictures."
            raise NothingComparedError(f"{error} {doubt}") from error


def _with_flips(pairs: list[ComparedPair], *, worded: bool) -> Iterator[pl.DataFrame]:
    """Compare single answers of each pair, in place; yield all flips in words where these are wanted."""
    for at, pair in enumerate(pairs):
        if worded:
            yield _named(NO_FLIPS, pair)
        with TemporaryDirectory(prefix="facevalue-") as folder:
            try:
                compared = compared_answers(AnswerSide(pair.runs[0]), AnswerSide(pair.runs[1]), Path(folder))
            except (DataError, RunError) as error:
                pairs[at] = replace(pair, why_no_flips=str(error))
                continue
            telling = telling_flips(compared.flips, *pair.runs)
            pairs[at] = replace(pair, flips=compared.flips, telling_flips=telling)
            if worded:
                for table in all_worded(compared):
                    yield _named(table, pair)


def _named(table: pl.DataFrame, pair: ComparedPair) -> pl.DataFrame:
    """A table of a pair, after the names of its study and runs."""
    names = {"study": pair.study, "first_run": pair.first, "second_run": pair.second}
    return table.select(*(pl.lit(name).alias(column) for column, name in names.items()), pl.all())


def run_names(runs: Sequence[StoredRun]) -> dict[Path, str]:
    """What runs are called beside each other, by folder: their own name, else that of their folder.

    Runs of one study whose folders are called alike, as those of two audits are, have the audit's name.
    """
    out: dict[Path, str] = {}
    for of_study in by_study(runs).values():
        forms = [[form(run) for run in of_study] for form in (_short, _audit, lambda run: run.place)]
        names = next((names for names in forms if len(set(names)) == len(names)), forms[-1])
        out |= {run.folder: name for run, name in zip(of_study, names, strict=True)}
    return out


def _short(run: StoredRun) -> str:
    return run.facts.name or (run.place.rstrip("/").rpartition("/")[2] if is_url(run.place) else run.folder.name)


def _audit(run: StoredRun) -> str:
    """Name of the audit's folder, for a run of an audit."""
    parts = [part for part in run.place.replace("\\", "/").split("/") if part]
    is_of_audit = len(parts) > 2 and parts[-2] == RUNS and not (is_url(run.place) and len(parts) <= 4)
    return run.facts.name or (parts[-3] if is_of_audit else "/".join(parts[-2:]))
