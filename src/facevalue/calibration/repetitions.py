"""Repetitions of audits and comparisons, each made once and kept; a study of estimands says what is planted."""

import io
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from hashlib import blake2b
from multiprocessing import get_context
from pathlib import Path
from types import TracebackType
from typing import TypeAlias

import numpy as np
import polars as pl
import scipy

import facevalue
from facevalue import studies
from facevalue.calibration.audits import Audits, Pair, cell_records, compare_audits
from facevalue.calibration.planted_answers import PlantedCondition
from facevalue.errors import DataError, NoPicturesError
from facevalue.forks import end_with_parent
from facevalue.measures.definitions import key_of, rows_of, sampled_units
from facevalue.protocol.calibration import Calibration, Rival, Rows
from facevalue.protocol.offers import Track
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.tasks import Task, Tasks
from facevalue.statistics.estimand import Estimand
from facevalue.statistics.levels import Lean
from facevalue.statistics.ranges import Range
from facevalue.statistics.statistic import Score
from facevalue.store.files import write_whole


def calibration_of(protocol: Protocol) -> Calibration:
    """Return how a study is calibrated: as it declares, or as follows from its estimands.

    Raises
    ------
    DataError
        It does neither, or names no pictures.
    """
    if protocol.extras.calibrate is not None:
        return protocol.extras.calibrate()
    try:
        analysis = None if protocol.build is not None else protocol.study().analyse
    except NoPicturesError as error:
        raise DataError(
            f"{protocol.name} is calibrated on pictures of yours: copy it with facevalue new mine.toml --like "
            f"{protocol.name}, name your list there (manifest, under [pictures]), and calibrate mine.toml."
        ) from error
    if not isinstance(analysis, Tasks):
        raise DataError(f"{protocol.name} says neither what its calibration plants nor what it estimates.")
    tasks = analysis.tasks
    sets = tasks[0].breakdown.sets
    rows = [
        (estimand, task, score)
        for task in tasks for estimand in task.estimands for score in task.scores_of(estimand)
    ]  # fmt: skip
    measured = [(estimand, estimand.name_of(task.breakdown), score.label) for estimand, task, score in rows]
    factors = [
        name
        for task in tasks
        for estimand in task.estimands
        for name in estimand.factors
        if not task.breakdown.is_of_prompt(name)
    ]
    return Calibration(
        planted=tuple(dict.fromkeys([*sets.cue[-1:], *factors])),
        counted=sampled_units(sets.unit),
        units=tuple(dict.fromkeys(["image", "identity", "set", sets.key])),
        sampled=sets.key,
        own_pictures=tuple(
            key_of(name, score) for estimand, name, score in measured if isinstance(estimand.statistic, Range)
        ),
        described=tuple(
            key_of(label, score)
            for estimand, name, score in measured
            for label in estimand.statistic.untested_measures(name, tested=estimand.tested)
        ),
        by_size=tuple(
            key_of(x, score) for estimand, name, score in measured for x in estimand.statistic.names_by_size(name)
        ),
        leans=tuple(key_of(name, score) for estimand, name, score in measured if isinstance(estimand.statistic, Lean)),
        in_one_order=all(len(task.axes.orderings) == 1 and not task.ask.option_columns for task in tasks),
        rivals=tuple(
            Rival(
                key_of(estimand.name_of(task.breakdown), score.label), _rows(estimand, task, score),
                only=(_of_family(estimand.family_name),),
            )
            for estimand, task, score in rows if estimand.tested
        ),
    )  # fmt: skip


def _of_family(name: str) -> pl.Expr:
    """Flag estimates of an estimand's family, or of one of its cells."""
    return (pl.col("family") == name) | pl.col("family").str.starts_with(f"{name} (")


def _rows(estimand: Estimand, task: Task, score: Score) -> Rows:
    return lambda answers: estimand.statistic.rival(estimand, task.rows(answers), task.breakdown, score)


TABLE = 1
"""Seed of what is planted: one table of effects for all audits."""
_KEPT = (
    *("measure", "family", "value", "low", "high", "n", "clusters"),
    *("p", "q", "q_page", "q_rival", "mde", "verdict", "why"),
)
_SUMS = (
    "cli", "report", "cluster",
    *(f"calibration/{name}.py" for name in ("runner", "tables", "families", "promises")),
)  # fmt: skip
"""Code that adds up and shows what was made, and changes nothing of it, or makes something else."""
_THREADS = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@lru_cache(maxsize=16)
def audits_of(study: str, size: int, others: bool = False, narrow: bool = False) -> Audits:
    """Audits of a study, by what it is called or its file; `narrow`: of what its answer is about alone."""
    protocol = studies.protocol(study, outside=True)  # what its file may name was checked in `tables.calibrate_studies`
    protocol = replace(protocol, variants=())  # planted answers are those to the study as it is
    calibration = calibration_of(protocol)
    if narrow and calibration.narrow:
        calibration = replace(calibration, settings=calibration.narrow, scaled=())
    return Audits(protocol, calibration, size, others=others)


@dataclass(frozen=True, slots=True)
class Audit:
    """One audit: its estimates with verdicts; `seed` draws people, pictures and replies."""

    study: str
    size: int
    condition: PlantedCondition
    seed: int
    margins: Mapping[str, float] = field(default_factory=dict)

    def make(self) -> pl.DataFrame:
        """Make the estimates that are tested, and those that are described."""
        audits, condition = audits_of(self.study, self.size), self.condition
        judged = audits.judge_answers(audits.answers(condition, TABLE, self.seed), self.margins)
        calibration = audits.calibration
        leans = calibration.leans if condition.rare or calibration.in_one_order else ()
        are_alike = calibration.sampled and (condition.effect or not condition.picture)
        own_pictures = () if are_alike else calibration.own_pictures
        of_answers = rows_of([*own_pictures, *leans])
        counted = pl.col("family").is_not_null() | rows_of(calibration.described)
        return judged.filter(counted, ~of_answers).select(*audits.keys, *_KEPT).with_columns(audit=pl.lit(self.seed))


@dataclass(frozen=True, slots=True)
class Truth:
    """True values that audits should find: those of a large audit without the noise of replies."""

    study: str
    size: int
    condition: PlantedCondition
    narrow: bool = False

    def make(self) -> pl.DataFrame:
        """Make true values with their intervals."""
        return audits_of(self.study, self.size, narrow=self.narrow).truth(self.condition, TABLE)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison of two models of the same bias."""

    study: str
    pair: Pair
    seed: int

    def make(self) -> pl.DataFrame:
        """Make a row per cell that is compared."""
        first = audits_of(self.study, 1, narrow=True)
        second = audits_of(self.study, 1, others=True, narrow=True) if self.pair.others else first
        agreement = compare_audits((first, second), self.pair, TABLE, self.seed)
        return cell_records(agreement).with_columns(audit=pl.lit(self.seed))


Repetition: TypeAlias = Audit | Truth | Comparison


class Workshop(AbstractContextManager["Workshop"]):
    """Makes repetitions, in so many processes, and keeps each as soon as it is made.

    Parameters
    ----------
    kept:
        Folder of what was made; what lies there by the same code, libraries and study is not made again. Nothing is
        kept without one.
    processes:
        Processes beside this one, each of one thread: work is split in repetitions, and threads would only wait for
        each other. 0 makes everything in this one.
    """

    def __init__(self, track: Track, folder: Path | None = None, processes: int = 0) -> None:
        self.track, self._kept = track, folder
        self._pool = pool_of(processes) if processes else None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the processes; what they have not begun is not made."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def make(self, repetitions: Sequence[Repetition], title: str) -> list[pl.DataFrame]:
        """Make all that is not kept, and return all in order."""
        paths = [None if self._kept is None else place(self._kept, repetition) for repetition in repetitions]
        tables = {n: pl.read_ipc(path.read_bytes()) for n, path in enumerate(paths) if path and path.is_file()}
        unmade = {n: (repetition, paths[n]) for n, repetition in enumerate(repetitions) if n not in tables}
        for n, frame in self.track(self._make_all(unmade), title, len(unmade)) if unmade else ():
            tables[n] = frame
        return [tables[n] for n in range(len(repetitions))]

    def make_one(self, repetition: Repetition, title: str) -> pl.DataFrame:
        """Make one repetition, or read it where it is kept."""
        return self.make([repetition], title)[0]

    def _make_all(self, unmade: Mapping[int, tuple[Repetition, Path | None]]) -> Iterator[tuple[int, pl.DataFrame]]:
        """Repetitions by number, each as soon as it is made."""
        if self._pool is None:
            yield from ((n, _make(*work)) for n, work in unmade.items())
            return
        futures = {self._pool.submit(_make, *work): n for n, work in unmade.items()}
        yield from ((futures[future], future.result()) for future in as_completed(futures))


def pool_of(processes: int) -> ProcessPoolExecutor:
    """Return so many processes beside this one, each of one thread, that end with it."""
    for name in _THREADS:
        os.environ.setdefault(name, "1")  # read when a process starts
    return ProcessPoolExecutor(processes, get_context("spawn"), end_with_parent)


def _make(repetition: Repetition, path: Path | None) -> pl.DataFrame:
    frame = repetition.make()
    if path is not None:
        data = io.BytesIO()
        frame.write_ipc(data, compression="zstd")
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data.getvalue())
    return frame


def place(folder: Path, repetition: Repetition) -> Path:
    """File of a repetition: another one where the code, a library, the study or what is planted is another."""
    file = Path(repetition.study)
    declared = file.read_bytes() if file.is_file() else b""
    identity = f"{state()}\x1f{replace(repetition, study=file.stem)!r}\x1f"
    digest = blake2b(identity.encode() + declared, digest_size=12).hexdigest()
    return folder / file.stem / f"{type(repetition).__name__.lower()}-{digest}.arrow"


@cache
def state() -> str:
    """State of all that numbers depend on: a hash of the code, and versions of the libraries."""
    package = Path(facevalue.__file__).parent
    digest = blake2b(digest_size=5)
    for path in sorted(package.rglob("*")):
        name = path.relative_to(package).as_posix()
        if path.suffix in (".py", ".toml", ".csv", ".json", ".txt") and not name.startswith(_SUMS):
            digest.update(name.encode() + b"\x1f" + path.read_bytes())
    return (
        f"{facevalue.__version__}, code {digest.hexdigest()}, Python {platform.python_version()}, "
        f"NumPy {np.__version__}, SciPy {scipy.__version__}, Polars {pl.__version__}"
    )
