"""Changes of a run against its baseline, on the units that both were asked about, by the comparison of two runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from facevalue.errors import DataError, FaceValueError, RunError
from facevalue.measures.cells import MISSING_SHARE
from facevalue.measures.definitions import Measure, change_of, value_by_measure
from facevalue.measures.intervals import NOT_MEASURABLE, IntervalKind
from facevalue.protocol.offers import CellComparison
from facevalue.runs.comparisons.comparison import MODEL, differing_settings, models_note
from facevalue.runs.comparisons.models import check_comparable, compare_answers, kept_answers
from facevalue.runs.requests import stimulus_columns
from facevalue.runs.stored_run import StoredRun

_LOOKED_AT = 24  # trials whose pictures are looked at, by digest
_NUMBERS = ("low", "high", "se", "bound_low", "bound_high", "method", "detail")


@dataclass(frozen=True, slots=True)
class MeasureChanges:
    """Changes of some measures from a baseline to a run."""

    rows: pl.DataFrame
    """A table like one of estimates, `value` being the change: labels, `value`, `low`, `high`, `se`, `n`, `clusters`,
    bounds, `method`, `detail` and `unit`. Cells that only one of the two has are not measurable, and say so."""
    definitions: tuple[Measure, ...]
    """Of the changes."""
    notes: tuple[str, ...]
    """Other differences between the two runs, and number of units on which they are compared."""


def baseline_of(run: StoredRun, baselines: Sequence[StoredRun]) -> StoredRun:
    """The baseline of a run: that of its study, and of several the one with its settings.

    Raises
    ------
    RunError
        There is none, or more than one.
    """
    study = run.study.name
    if not baselines:
        raise RunError(
            f"A limit on changes compares {run.place} with an earlier run of {study}: name it by --baseline."
        )
    of_study = [baseline for baseline in baselines if baseline.study.name == study]
    if not of_study:
        names = ", ".join(dict.fromkeys(f"{baseline.place} ({baseline.study.name})" for baseline in baselines))
        raise RunError(f"{run.place} is a run of {study}, and no baseline is: {names}.")
    alike = [baseline for baseline in of_study if baseline.study.options == run.study.options]
    candidates = of_study if len(of_study) == 1 else alike
    if len(candidates) != 1:
        places = ", ".join(baseline.place for baseline in candidates or of_study)
        which = "have" if candidates else "and none has"
        raise RunError(f"Several baselines are of {run.study.name}, {which} the settings of {run.place}: {places}.")
    return candidates[0]


def changes_of(run: StoredRun, baseline: StoredRun, measures: Sequence[str]) -> MeasureChanges:
    """Take the changes of measures from a baseline to a run, of the requests as they are.

    Raises
    ------
    RunError
        The two are one run, of two studies, or were not asked about the same pictures.
    DataError
        Nothing of these measures is in both.

    Notes
    -----
    The two are compared as `runs.compare` compares them, with all breakdowns of the measures as cells: on the units
    that both were asked about, by the delete-a-group jackknife. That missing answers changed is known as a whole.
    """
    check_comparable((baseline, run))
    _check_pictures(run, baseline)
    names = [name for name in measures if name != MISSING_SHARE.name]
    with kept_answers((_comparing(baseline, names), _comparing(run, names))) as (before, after):
        agreement = compare_answers((before, after))
    if not agreement.units.paired:
        raise RunError(
            f"{baseline.place} was asked about other pictures than {run.place}: a change between them would be one of "
            f"pictures, too. {agreement.units.sentence} Ask both about the same (`--sample-seed`, `--manifest`)."
        )
    tables, definitions = [], []
    if names:
        labels = [name for name in agreement.compared.cells if name != "measure"]
        units = {measure.key: measure.unit for measure in agreement.measures}
        cells = agreement.cells if agreement.several else agreement.cells.with_columns(measure=pl.lit(names[0]))
        changes = cells.select(
            "measure", *labels, *_NUMBERS, pl.col("delta").alias("value"), pl.col("n_second").alias("n"),
            pl.min_horizontal("clusters_first", "clusters_second").alias("clusters"),
        )  # fmt: skip
        sides = ((agreement.only_first, "the run"), (agreement.only_second, "the baseline"))
        lone = [
            only.with_columns(
                pl.lit(IntervalKind.NONE.value).alias("method"),
                pl.lit(f"{NOT_MEASURABLE}: {lacking} has no such estimate").alias("detail"),
                *([] if "measure" in only.columns else [pl.lit(names[0]).alias("measure")]),
            )
            for only, lacking in sides
        ]
        tables.append(pl.concat([changes, *lone], how="diagonal").with_columns(unit=value_by_measure(units)))
        definitions = [*map(change_of, agreement.measures)]
    if MISSING_SHARE.name in measures:
        columns = ("measure", "value", "low", "high", "se", "n", "clusters", "method", "detail", "unit")
        tables.append(agreement.also.filter(measure=MISSING_SHARE.name).select(columns))
        definitions.append(change_of(MISSING_SHARE))
    rows = pl.concat(tables, how="diagonal_relaxed").with_columns(
        pl.lit(None, pl.String).alias(name) for name in ("intervention", "versus")
    )
    return MeasureChanges(
        rows, tuple(definitions), (*_differing(run, baseline), *agreement.notes, agreement.units.sentence)
    )


def _differing(run: StoredRun, baseline: StoredRun) -> tuple[str, ...]:
    """Other differences between a run and its baseline, a sentence each."""
    settings = [name for name in differing_settings((baseline, run)) if name != MODEL]
    listed = (f"Settings that differ from the baseline: {', '.join(settings)}.",) if settings else ()
    return (*models_note(baseline, run), *listed)


def _check_pictures(run: StoredRun, baseline: StoredRun) -> None:
    """Refuse pictures of one name and another content; of those that are not named the list is all that is known."""
    others = f"{baseline.place} was asked about other pictures than {run.place}, though they have the same names"
    ask = "a change between them would be one of pictures, too. Ask both about the same."
    lists = [side.study.manifest for side in (run, baseline)]
    if not all(side.pictures_named for side in (run, baseline)):
        columns = [name for name in lists[0].columns if name in lists[1].columns]
        shared = lists[0].select(columns).join(lists[1].select("image"), on="image", how="semi").unique().height
        alike = lists[0].select(columns).join(lists[1].select(columns), on=columns, how="semi", nulls_equal=True)
        if alike.unique().height < shared:
            raise RunError(f"{others}, by the lists of them: {ask}")
        return
    design = run.study.design
    trials = np.unique(np.linspace(0, design.size - 1, _LOOKED_AT).astype(np.int64))
    numbers = design.stimulus_numbers(trials).tolist()
    for number, levels in zip(
        numbers, design.trials(trials).select(stimulus_columns(run.study)).to_dicts(), strict=True
    ):
        digests = [_digest(side, number, levels) for side in (run, baseline)]
        if None not in digests and digests[0] != digests[1]:
            raise RunError(f"{others}: {ask}")


def _digest(run: StoredRun, number: int, levels: Mapping[str, str | None]) -> str | None:
    """Digest of what a run shows for a stimulus of either run; None where it shows none such."""
    try:
        return run.study.source.stimulus(number, levels).digest
    except (FaceValueError, LookupError):
        return None


def _comparing(run: StoredRun, measures: Sequence[str]) -> StoredRun:
    """The run with its study compared by all cells of these measures; as the study declares it without any."""
    plain = run.plain()
    if not measures:
        return plain
    names = dict.fromkeys(measure.name for measure in plain.study.estimates.measures)
    for name in measures:
        if name not in names:
            raise DataError(
                f"{name} is not compared between runs; of {plain.study.name} these are: {', '.join(names)}."
            )
    compared = CellComparison(
        measures=tuple(m.key for m in plain.study.estimates.measures if m.name in measures),
        cells=("measure", "word", "score", *plain.study.estimates.labels),
    )
    return replace(plain, study=replace(plain.study, extras=replace(plain.study.extras, compare=compared)))
