"""Comparison of any number of runs of any studies: pairs of each study, all judged at one level."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.errors import DataError, NothingComparedError, RunError
from facevalue.measures.cluster_bootstrap import LEVEL, Array
from facevalue.measures.definitions import rows_of_any
from facevalue.measures.paired_changes import OTHER_SUFFIX, REDUCED_COLUMNS, ChangeSet, Deletion, estimate_keys
from facevalue.measures.run_comparison import RANK_SEED, RankAgreement, draws_for, rank_agreement
from facevalue.places import is_url
from facevalue.runs.audits.folder import RUNS
from facevalue.runs.comparisons.answer_flips import (
    AnswerFlips,
    AnswerSide,
    FlipInWords,
    compare_answers,
    prompt_columns,
    telling_flips,
)
from facevalue.runs.comparisons.cells import Differences, RunAgreement
from facevalue.runs.comparisons.models import (
    Pairs,
    check_comparable,
    differences_of,
    judged_together,
    kept_answers,
    with_first,
)
from facevalue.runs.joined_runs import by_study, short_names
from facevalue.runs.stored_run import StoredRun
from facevalue.store.files import LISTS, ROOTS
from facevalue.store.manifest import INTERVENTIONS
from facevalue.types import STUDY_TEXT, sampling_sent

# Effects of two runs in cells, with errors that are drawn together, for correlations of their ranks.


_SIDE = "(side)"


@dataclass(frozen=True)
class EffectRanks:
    """Effects of two runs in the same cells, in one measure."""

    measure: str
    changes: ChangeSet
    """Of no effect at all to the estimates of both runs, one below the other: their errors are those of estimates."""
    rows: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
    """The cells of either run."""
    group: npt.NDArray[np.int64]
    """Cells whose mean is no effect, as it is of what is asked: a number each; all -1 where each estimate is one."""

    def agreement(self, level: float = LEVEL) -> RankAgreement:
        """Spearman's correlation of the effects, with its interval at this level."""
        first, second = (self._effects(self.changes.value[rows][None])[0] for rows in self.rows)
        cells = len(self.group)
        drawn = self.changes.draw_changes(np.concatenate(self.rows), draws_for(cells), RANK_SEED)
        noise = self._effects(drawn[:, :cells]), self._effects(drawn[:, cells:])
        return rank_agreement(self.measure, first, second, noise, level)

    def _effects(self, values: Array) -> Array:
        """Values less the mean of their group, shape (draws, cells)."""
        if (self.group < 0).all():
            return values
        belongs = np.eye(self.group.max() + 1)[self.group]
        return np.asarray(values - ((values @ belongs) / belongs.sum(axis=0))[:, self.group])


def effect_ranks(difference: Differences) -> tuple[EffectRanks, ...]:
    """Effects of two runs, for each measure that is compared and has a direction.

    An estimate that says how far values lie apart is an effect. Of levels, such as shares, effects are what is left
    without the mean over all who are asked the same: else runs would agree in what is often answered.
    """
    frame = difference.changes.frame
    keys = estimate_keys(frame)
    directed = [m for m in difference.measures if m.signed and not m.norm]
    usable = frame.filter(
        rows_of_any(directed), ~pl.col("(floored)"), pl.col("value").is_not_null(),
        pl.col(f"value{OTHER_SUFFIX}").is_not_null(),
    )  # fmt: skip
    if not usable.height:
        return ()
    table = pl.concat([_side(usable, keys, "first"), _side(usable, keys, "second", OTHER_SUFFIX)])
    zero = table.with_columns(pl.col("value", "n") * 0.0)
    deletions = [Deletion(rest.layer, zero, _sides(rest, keys, table.schema)) for rest in difference.without]
    changes = ChangeSet(zero, table, deletions)
    se, half = changes.effects.se, usable.height
    prompt_labels = _prompt_labels(difference)
    out = []
    for measure in difference.measures:
        at = np.flatnonzero(usable.select(measure.rows).to_series().to_numpy())
        at = at[(se[at] > 0) & (se[at + half] > 0)]
        group = np.full(at.size, -1)
        if not measure.is_distance:
            group = _number_combinations(usable[at], prompt_labels)
            several = np.bincount(group, minlength=1)[group] > 1
            at, group = at[several], np.unique(group[several], return_inverse=True)[1]
        if at.size:
            out.append(EffectRanks(measure.key, changes, (at, at + half), group))
    return tuple(out)


def _side(estimates: pl.DataFrame, keys: Sequence[str], side: str, end: str = "") -> pl.DataFrame:
    """Estimates of one of the runs, whose columns end so."""
    numbers = [pl.col(f"{name}{end}").alias(name) for name in REDUCED_COLUMNS]
    of_side = estimates.select(*keys, *numbers, "(floored)", pl.lit(side).alias(_SIDE))
    return of_side.with_columns(pl.col(name).cast(pl.Float64) for name in REDUCED_COLUMNS if name != "(bare)")


def _sides(deletion: Deletion, keys: Sequence[str], schema: pl.Schema) -> pl.DataFrame:
    """Estimates of both runs without a group, one below the other."""
    sides = [_side(deletion.first, keys, "first"), _side(deletion.second, keys, "second")]
    return pl.concat(sides).cast(dict(schema))  # type: ignore[arg-type]


def _prompt_labels(difference: Differences) -> list[str]:
    """Labels of cells that say what was asked, not who it was asked about."""
    compared = difference.compared
    if compared.person_labels:
        return [name for name in compared.cells if name not in compared.person_labels]
    prompts = {*prompt_columns(difference.study), *compared.within, *compared.question_labels, "measure", "score"}
    return [name for name in compared.cells if name in prompts]


def _number_combinations(cells: pl.DataFrame, by: Sequence[str]) -> npt.NDArray[np.int64]:
    """A number for each combination of these labels."""
    labels = [name for name in by if name in cells.columns]
    if not labels:
        return np.zeros(cells.height, dtype=np.int64)
    return cells.select(pl.struct(labels).rank("dense").cast(pl.Int64) - 1).to_series().to_numpy()


def rank_agreements(effects: Sequence[Sequence[EffectRanks]]) -> list[tuple[RankAgreement, ...]]:
    """Correlations of all pairs of runs, at a level at which all intervals hold together (Bonferroni)."""
    count = sum(map(len, effects))
    level = 1 - (1 - LEVEL) / max(count, 1)
    return [tuple(ranks.agreement(level) for ranks in of_pair) for of_pair in effects]


# Settings that differ between runs: models, prompts, interventions, temperatures, kinds of pictures, samples.


MODEL = "model"
"""Name of the setting that says who was asked."""


def differing_settings(runs: Sequence[StoredRun]) -> dict[str, list[Any]]:
    """Settings in which runs of one study differ, each with its value in every run; None where a run has none of it."""
    alike = all(run.study.manifest.equals(runs[0].study.manifest) for run in runs)
    places = {*ROOTS, *(LISTS if alike else ())}  # where pictures lie is no setting if they are the same
    settings = [dict(_settings(run)) for run in runs]
    names = dict.fromkeys(name for of_run in settings for name in of_run if name not in places)
    values = {name: [of_run.get(name) for of_run in settings] for name in names}
    return {name: of_runs for name, of_runs in values.items() if any(value != of_runs[0] for value in of_runs)}


def models_note(first: StoredRun, second: StoredRun) -> tuple[str, ...]:
    """Sentence saying that the models of two runs differ; none where they don't."""
    if first.facts.model == second.facts.model:
        return ()
    models = " and ".join(short_names((first.facts.model, second.facts.model)).values())
    return (f"The models differ ({models}), so the differences may come from the model.",)


def _settings(run: StoredRun) -> Iterator[tuple[str, Any]]:
    facts = run.facts
    yield MODEL, facts.model
    for name, value in run.study.options.items():
        if name not in (INTERVENTIONS, STUDY_TEXT):
            yield name, value
    options: Mapping[str, Any] = facts.options
    yield "interventions", [str(json.loads(text)["name"]) for text in options.get(INTERVENTIONS, ())]
    yield "sample", facts.sample
    yield "sample seed", facts.seed
    yield "version", run.study.version
    yield "kind of pictures", run.study.source.kind.value
    yield "answers", "exact probabilities" if facts.exact else "sampled replies"
    if not facts.exact:
        for name, value in sampling_sent(facts.sampling, facts.model_settings.get("left_out")).items():
            yield name.replace("_", " "), value
        if "seeds" not in run.study.options:
            yield "seeds", list(facts.seeds)
    if not facts.model.startswith("sim/"):  # whose name says all that is planted
        yield from ((f"model's {name}", setting) for name, setting in facts.model_settings.items() if name != "model")


FIRST: Final = "first"
ALL: Final = "all"
PAIRS = (FIRST, ALL)
"""Which runs of a study are compared: each with the first one, or each with each."""


@dataclass(frozen=True)
class ComparedPair:
    """Comparison of two runs of a study."""

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
        return self._stack_tables([pair.agreement.cells for pair in self.pairs])

    @property
    def overall(self) -> pl.DataFrame:
        """Statistics of all cells of every pair, as `RunAgreement.overall`."""
        return self._stack_tables([pair.agreement.overall for pair in self.pairs])

    @property
    def differing(self) -> pl.DataFrame:
        """Cells of which a difference was found."""
        return self.cells.filter(pl.col("verdict") == "difference found")

    def _stack_tables(self, tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
        return pl.concat(map(_add_pair_names, tables, self.pairs), how="diagonal_relaxed")


def compare_all(
    runs: Sequence[StoredRun],
    margin: float | None = None,
    pairs: str = FIRST,
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
    waiting:
        What audits among them have not begun, a sentence for each (`audit_folder.describe_unasked`).

    Raises
    ------
    RunError
        A run named twice, no two runs of one study, or none with a valid answer.
    DataError
        Runs that share no cell, or a margin that is not above zero.
    """
    check_comparable(runs)
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
    return RunComparison(
        tuple(map(_add_flips, out)),
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


def _add_flips(pair: ComparedPair) -> ComparedPair:
    """Compare single answers of a pair."""
    with TemporaryDirectory(prefix="facevalue-") as folder:
        try:
            flips = compare_answers(AnswerSide(pair.runs[0]), AnswerSide(pair.runs[1]), Path(folder)).flips
        except (DataError, RunError) as error:
            return replace(pair, why_no_flips=str(error))
        return replace(pair, flips=flips, telling_flips=telling_flips(flips, *pair.runs))


def _add_pair_names(table: pl.DataFrame, pair: ComparedPair) -> pl.DataFrame:
    """A table of a pair, after the names of its study and runs."""
    names = {"study": pair.study, "first_run": pair.first, "second_run": pair.second}
    return table.select(*(pl.lit(name).alias(column) for column, name in names.items()), pl.all())


def run_names(runs: Sequence[StoredRun]) -> dict[Path, str]:
    """Names of runs in comparisons, by folder: their own name, else that of their folder.

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
    names = [name for name in run.place.replace("\\", "/").split("/") if name]
    is_of_audit = len(names) > 2 and names[-2] == RUNS and not (is_url(run.place) and len(names) <= 4)
    return run.facts.name or (names[-3] if is_of_audit else "/".join(names[-2:]))
