"""Runs of one model that ask different parts of a study, such as one paradigm each, put together."""

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from facevalue.errors import RunError
from facevalue.protocol.study import Study
from facevalue.runs.course import Followed, untimed
from facevalue.runs.judged_words import judged_by
from facevalue.runs.stored import StoredRun, Tally, rebuilt
from facevalue.store.files import ROOTS

_NAMES = "To set them side by side, give each a name: before={} after={}, or `--name` when they are run."
Parts = Mapping[str, Sequence[StoredRun]]
"""The runs of each model, in the order of their parts."""


def by_model(runs: Sequence[StoredRun]) -> Parts:
    """The runs of each model."""
    first = runs[0]
    out: dict[str, dict[tuple[str, ...], StoredRun]] = {}
    for run in runs:
        _check_same(run, first, (*first.study.parts, *first.study.read_by))
        own = out.setdefault(run.model, {})
        asked = _part(run)
        for other, already in own.items():
            if not asked or not other or set(asked) & set(other):
                _refuse_twice(run, already, set(asked) & set(other))
        own[asked] = run
    whole = out[first.model]
    for model, own in out.items():
        if set(own) != set(whole):
            raise RunError(
                f"{model} and {first.model} were not asked the same parts: {_listed(own)} and {_listed(whole)}."
            )
        for asked, run in own.items():
            same = whole[asked]
            _check_same(run, same, first.study.read_by)
            if (run.facts.sample, run.facts.seed) != (same.facts.sample, same.facts.seed):
                where = f"{run.folder} and {same.folder}"
                raise RunError(f"{where} asked about different samples: compare models on the same pictures.")
    return {model: [own[asked] for asked in whole] for model, own in out.items()}


def _part(run: StoredRun) -> tuple[str, ...]:
    """Levels of the study's first setting for parts that the run asks; empty for all of them."""
    return _levels(run, run.study.parts[0]) if run.study.parts else ()


def _levels(run: StoredRun, setting: str) -> tuple[str, ...]:
    given = run.study.options[setting]
    return tuple(map(str, given)) if isinstance(given, list) else (str(given),)


def _refuse_twice(run: StoredRun, other: StoredRun, both: set[str]) -> None:
    if not run.study.parts:
        alike = "are both called" if run.facts.name else "both asked"
        raise RunError(
            f"{other.folder} and {run.folder} {alike} {run.model}. {_NAMES.format(other.folder, run.folder)}"
        )
    what = ", ".join(sorted(both)) or "every one"
    raise RunError(
        f"{other.folder} and {run.folder} both asked {run.model} about the same {run.study.parts[0]} ({what}): runs of "
        f"one model are put together where each asks another part. {_NAMES.format(other.folder, run.folder)}"
    )


def _check_same(run: StoredRun, other: StoredRun, apart: Sequence[str]) -> None:
    one, two = run.study, other.study
    names = {*one.options, *two.options} - {*ROOTS, *apart}
    differing = [name for name in names if one.options.get(name) != two.options.get(name)]
    if one.name != two.name or differing or not one.manifest.equals(two.manifest):
        what = ", ".join(sorted(differing)) or "the study or its images"
        raise RunError(f"{run.folder} and {other.folder} were not asked the same: {what} differs.")
    if one.scored:
        _check_scores(run, other)


def _check_scores(run: StoredRun, other: StoredRun) -> None:
    """Refuse runs whose texts were scored differently: a measure would be of one run alone, or of two scorers."""
    own, others = ({scores.name: scores for scores in each.scores} for each in (run, other))
    for name, mine, theirs in ((name, own.get(name), others.get(name)) for name in {**own, **others}):
        scored = mine or theirs
        if scored and (mine is None or theirs is None):
            lacking, has = (other, run) if mine else (run, other)
            raise RunError(
                f"{has.folder} has scores called {name!r}, and {lacking.folder} has none: "
                f"facevalue annotate {lacking.folder} --with {scored.scorer} --name {name}"
            )
        if mine and theirs and mine.by != theirs.by:
            raise RunError(
                f"The scores called {name!r} in {run.folder} and {other.folder} are not of the same scorer "
                f"({mine.scorer} and {theirs.scorer}, of another version, digest or labels): annotate both alike."
            )


def _listed(own: Mapping[tuple[str, ...], StoredRun]) -> str:
    return ", ".join(sorted(" and ".join(asked) or "all" for asked in own))


def study_of(runs: Sequence[StoredRun]) -> Study:
    """The study of which all these runs are: with the settings of all parts together."""
    first = runs[0]
    merged = dict(first.study.options)
    for name in first.study.parts:
        levels = [_levels(run, name) for run in runs]
        every = any(not level for level in levels)
        merged[name] = [] if every else list(dict.fromkeys(level for part in levels for level in part))
    return first.study if merged == dict(first.study.options) else rebuilt(first, merged)


def joined(runs: Sequence[StoredRun], tallies: Mapping[str, Tally], seen: Followed) -> Iterator[pl.DataFrame]:
    """Answers of all parts, one part after the other, with the same columns."""
    if len(runs) == 1:
        yield from seen.passing(runs[0], tallies[str(runs[0].folder)])
        return
    columns = list(dict.fromkeys(name for run in runs for name in run.study.design.trials([0]).columns))
    for part, run in enumerate(runs):
        for chunk in seen.passing(run, tallies[str(run.folder)], part):
            plain = chunk.with_columns(pl.col(pl.Enum, pl.Categorical).cast(pl.String))
            missing = [pl.lit(None, pl.String).alias(name) for name in columns if name not in plain.columns]
            rest = [name for name in plain.columns if name not in columns]
            yield plain.with_columns(missing).select(*columns, *rest)


def estimate(
    runs: Sequence[StoredRun], margins: Mapping[str, float] | None = None
) -> tuple[pl.DataFrame, dict[str, Tally]]:
    """Take the study's measures on one or several runs of it, and judge them."""
    first, own = runs[0], by_model(runs)
    tallies = {str(run.folder): Tally() for run in runs}
    if len({run.facts.preregistration for run in runs}) > 1:
        raise RunError("The runs were declared differently before they began: compare runs of one pre-registration.")
    from facevalue.measures.estimates import stacked  # noqa: PLC0415 - scipy.stats takes a second to import
    from facevalue.measures.judgment import judge  # noqa: PLC0415

    seen = {model: Followed.of(parts) for model, parts in own.items()}
    estimates = first.study.analyse({model: joined(parts, tallies, seen[model]) for model, parts in own.items()})
    if offer := first.study.extras.word_lists:
        flagged = [
            offer.beside(estimates.filter(model=model), judged_by([run.folder for run in parts]))
            for model, parts in own.items()
        ]
        estimates = stacked([estimates, *flagged])
    for model, parts in own.items():
        estimates = stacked([estimates, *seen[model].estimates(first.study.name, model, untimed(parts))])
    declared = first.declared()
    if declared is not None and first.facts.preregistration is None:  # the study's own families follow from its takes
        declared = declared.measured(estimates)
    return judge(estimates, first.measures, declared, margins, first.study.lead), tallies
