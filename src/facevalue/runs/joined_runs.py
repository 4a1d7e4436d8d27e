"""Runs of one model that ask different parts of a study, such as one paradigm each, put together."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from facevalue.errors import RunError
from facevalue.protocol.study import Study
from facevalue.runs.course import Followed
from facevalue.runs.judged_texts import read_judgments
from facevalue.runs.judged_words import judged_by
from facevalue.runs.stored_run import ReplyTally, StoredRun, rebuilt
from facevalue.shell_commands import shell_command
from facevalue.store.files import LISTS, ROOTS

# Names of models for people: their own, without a server's address or a file's folders, and no two alike.


_EDITED = " + "
"""Between a generator and its editor."""


def names_for_people(runs: Sequence[StoredRun]) -> dict[str, str]:
    """Names of the runs' models in tables, pages and charts, by their names in estimates.

    What users called their runs stays as it is.
    """
    labels = {run.model for run in runs if run.facts.name}
    return short_names((run.model for run in runs if run.model not in labels), labels) | {name: name for name in labels}


def rename_models(estimates: pl.DataFrame, names: Mapping[str, str]) -> pl.DataFrame:
    """Estimates with their models called otherwise."""
    columns = [name for name in ("model", "other_model") if name in estimates.columns]
    return estimates.with_columns(pl.col(columns).replace(names))


def short_names(models: Iterable[str], taken: Collection[str] = ()) -> dict[str, str]:
    """Shorten names of models as far as they still differ from each other and from those that are taken.

    Examples
    --------
    >>> short_names(["http://10.0.0.7:8000/v1#org/gemma", "replay/runs/old/table.parquet", "sim/default"])
    {'http://10.0.0.7:8000/v1#org/gemma': 'gemma', 'replay/runs/old/table.parquet': 'table (replayed)', \
'sim/default': 'sim/default'}
    >>> list(short_names(["http://old:8000/v1#gemma", "http://new:8000/v1#gemma", "openai/gpt"], ["gpt"]).values())
    ['gemma (old:8000)', 'gemma (new:8000)', 'gpt (openai)']
    >>> list(short_names(["diffusers//home/ann/flux + http://new:8000/v1#edits", "reference//home/ann/mine"]).values())
    ['flux + edits', 'mine']
    """
    models = list(dict.fromkeys(models))
    forms = [{model: form(model) for model in models} for form in (_short, _identifier, _placed)]
    out: dict[str, str] = {}
    for model in models:
        unlike = (
            names[model]
            for names in forms
            if list(names.values()).count(names[model]) == 1 and names[model] not in (*taken, *out.values())
        )
        out[model] = next(unlike, model)
    return out


def _short(model: str) -> str:
    """The name alone: "gemma" of "http://10.0.0.7:8000/v1#org/gemma"; of a generator and an editor each."""
    if _EDITED in model:
        return _EDITED.join(map(_short, model.split(_EDITED)))
    kind, _, rest = model.partition("/")
    last = rest.rstrip("/").rpartition("/")[2]
    if kind in ("http:", "https:"):
        return rest.rpartition("#")[2].rpartition("/")[2] or model
    if kind == "replay" and last:
        return f"{last.removesuffix('.parquet').removesuffix('.csv').removesuffix('.table')} (replayed)"
    return last if (kind in ("hf", "openai", "vllm") or rest.startswith("/")) and last else model


def _identifier(model: str) -> str:
    """The name with its owner: "org/gemma"."""
    address, _, name = model.rpartition("#")
    return name if address else model.partition("/")[2] or model


def _placed(model: str) -> str:
    """The name with its host or folder: "gemma (10.0.0.7:8000)"."""
    address, _, name = model.rpartition("#")
    place = address.partition("//")[2].partition("/")[0] if address else model.rpartition("/")[0]
    return f"{name if address else _short(model)} ({place})" if place else model


_NAMES = "To set them side by side, give each a name: before={} after={}, or `--name` when they are run."
Parts = Mapping[str, Sequence[StoredRun]]
"""The runs of each model, in the order of their parts."""


def by_study(runs: Sequence[StoredRun]) -> dict[str, list[StoredRun]]:
    """The runs of each study, in their order."""
    out: dict[str, list[StoredRun]] = {}
    for run in runs:
        out.setdefault(run.study.name, []).append(run)
    return out


def repeated(runs: Sequence[StoredRun]) -> StoredRun | None:
    """The first run whose folder is that of one before it; None where each is named once."""
    folders: set[Path] = set()
    for run in runs:
        if (folder := run.folder.resolve()) in folders:
            return run
        folders.add(folder)
    return None


def by_model(runs: Sequence[StoredRun]) -> Parts:
    """The runs of each model."""
    first = runs[0]
    out: dict[str, dict[tuple[str, ...], StoredRun]] = {}
    for run in runs:
        _check_same(run, first, (*first.study.planned.parts, *first.study.reading.read_by))
        runs_by_part = out.setdefault(run.model, {})
        levels = _levels(run, run.study.planned.parts[0]) if run.study.planned.parts else ()
        for other_part, already in runs_by_part.items():
            if not levels or not other_part or set(levels) & set(other_part):
                _refuse_twice(run, already, set(levels) & set(other_part))
        runs_by_part[levels] = run
    reference = out[first.model]
    for model, runs_by_part in out.items():
        if set(runs_by_part) != set(reference):
            raise RunError(
                f"{model} and {first.model} were not asked the same parts: "
                f"{_listed(runs_by_part)} and {_listed(reference)}."
            )
        for levels, run in runs_by_part.items():
            same = reference[levels]
            _check_same(run, same, first.study.reading.read_by)
            if (run.facts.sample, run.facts.seed) != (same.facts.sample, same.facts.seed):
                folders = f"{run.folder} and {same.folder}"
                raise RunError(f"{folders} asked about different samples: compare models on the same pictures.")
    return {model: [runs_by_part[levels] for levels in reference] for model, runs_by_part in out.items()}


def _levels(run: StoredRun, setting: str) -> tuple[str, ...]:
    levels = run.study.options[setting]
    return tuple(map(str, levels)) if isinstance(levels, list) else (str(levels),)


def _refuse_twice(run: StoredRun, earlier: StoredRun, shared: set[str]) -> None:
    if not run.study.planned.parts:
        alike = "are both called" if run.facts.name else "both asked"
        raise RunError(
            f"{earlier.folder} and {run.folder} {alike} {run.model}. {_NAMES.format(earlier.folder, run.folder)}"
        )
    setting, names = run.study.planned.parts[0], ", ".join(sorted(shared)) or "every one"
    raise RunError(
        f"{earlier.folder} and {run.folder} both asked {run.model} about the same {setting} ({names}): runs of "
        f"one model are put together where each asks another part. {_NAMES.format(earlier.folder, run.folder)}"
    )


def _check_same(run: StoredRun, reference: StoredRun, apart: Sequence[str]) -> None:
    study, reference_study = run.study, reference.study
    names = {*study.options, *reference_study.options} - {*ROOTS, *LISTS, *apart}
    differing = [name for name in names if study.options.get(name) != reference_study.options.get(name)]
    if study.name != reference_study.name or differing or not study.manifest.equals(reference_study.manifest):
        differences = ", ".join(sorted(differing)) or "the study or its images"
        raise RunError(f"{run.folder} and {reference.folder} were not asked the same: {differences} differs.")
    if study.reading.scored:
        _check_scores(run, reference)
    if study.reading.sortings and run is not reference:
        _check_judges(run, reference)


def _check_scores(run: StoredRun, reference: StoredRun) -> None:
    """Refuse runs whose texts were scored differently: a measure would be of one run alone, or of two scorers."""
    scores, reference_scores = ({scores.name: scores for scores in side.scores} for side in (run, reference))
    for name, score, reference_score in (
        (name, scores.get(name), reference_scores.get(name)) for name in {**scores, **reference_scores}
    ):
        scored = score or reference_score
        if scored and (score is None or reference_score is None):
            lacking, has = (reference, run) if score else (run, reference)
            raise RunError(
                f"{has.folder} has scores called {name!r}, and {lacking.folder} has none: "
                f"{shell_command('annotate', lacking.folder, '--scorer', scored.scorer, '--name', name)}"
            )
        if score and reference_score and score.by != reference_score.by:
            raise RunError(
                f"The scores called {name!r} in {run.folder} and {reference.folder} are not of the same scorer "
                f"({score.scorer} and {reference_score.scorer}, of another version, digest or labels): "
                "annotate both alike."
            )


def _check_judges(run: StoredRun, reference: StoredRun) -> None:
    """Refuse runs whose texts were sorted by different judges: a difference of models would be one of judges, too."""
    pair = [read_judgments(side.folder) for side in (run, reference)]
    names = [None if judgments is None else judgments.name for judgments in pair]
    if names[0] == names[1]:
        return
    if None in names:
        lacking, name = (run, names[1]) if names[0] is None else (reference, names[0])
        raise RunError(
            f"{name} has judged one run, and nobody {lacking.folder}: {shell_command('judge', lacking.folder)}"
        )
    raise RunError(
        f"{run.folder} and {reference.folder} were judged by {names[0]} and {names[1]}: have one of them judge both."
    )


def _listed(runs_by_part: Mapping[tuple[str, ...], StoredRun]) -> str:
    return ", ".join(sorted(" and ".join(levels) or "all" for levels in runs_by_part))


def study_of(runs: Sequence[StoredRun]) -> Study:
    """The study of which all these runs are: with the settings of all parts together."""
    first = runs[0]
    merged = dict(first.study.options)
    for name in first.study.planned.parts:
        levels = [_levels(run, name) for run in runs]
        takes_all = any(not level for level in levels)
        merged[name] = [] if takes_all else list(dict.fromkeys(level for names in levels for level in names))
    return first.study if merged == dict(first.study.options) else rebuilt(first, merged)


def joined(runs: Sequence[StoredRun], tallies: Mapping[str, ReplyTally], seen: Followed) -> Iterator[pl.DataFrame]:
    """Answers of all parts, one part after the other, with the same columns."""
    if len(runs) == 1:
        yield from seen.passing(runs[0], tallies[str(runs[0].folder)])
        return
    columns = list(dict.fromkeys(name for run in runs for name in run.study.design.trials([0]).columns))
    for run_number, run in enumerate(runs):
        for chunk in seen.passing(run, tallies[str(run.folder)], run_number):
            plain = chunk.with_columns(pl.col(pl.Enum, pl.Categorical).cast(pl.String))
            missing = [pl.lit(None, pl.String).alias(name) for name in columns if name not in plain.columns]
            rest = [name for name in plain.columns if name not in columns]
            yield plain.with_columns(missing).select(*columns, *rest)


def estimate(
    runs: Sequence[StoredRun], margins: Mapping[str, float] | None = None
) -> tuple[pl.DataFrame, dict[str, ReplyTally]]:
    """Take the study's measures on one or several runs of it, and judge them."""
    first, runs_by_model = runs[0], by_model(runs)
    tallies = {str(run.folder): ReplyTally() for run in runs}
    if len({run.facts.preregistration for run in runs}) > 1:
        raise RunError("The runs were declared differently before they began: compare runs of one pre-registration.")
    from facevalue.measures.estimates import stack_estimates  # noqa: PLC0415 - scipy.stats takes a second to import
    from facevalue.measures.judgment import judge  # noqa: PLC0415 - scipy.stats takes a second to import

    seen = {model: Followed.of(of_model) for model, of_model in runs_by_model.items()}
    estimates = first.study.analyse(
        {model: joined(of_model, tallies, seen[model]) for model, of_model in runs_by_model.items()}
    )
    if offer := first.study.extras.word_lists:
        flagged = [
            offer.beside(estimates.filter(model=model), judged_by([run.folder for run in of_model]))
            for model, of_model in runs_by_model.items()
        ]
        estimates = stack_estimates([estimates, *flagged])
    for model, of_model in runs_by_model.items():
        if first.study.reading.sortings:
            from facevalue.measures.judges import corrections  # noqa: PLC0415
            from facevalue.runs.judging import judge_rows  # noqa: PLC0415

            estimates = stack_estimates([estimates, *(rows for run in of_model for rows in judge_rows(run, model))])
            estimates = stack_estimates([estimates, corrections(estimates.filter(model=model))])
        estimates = stack_estimates([estimates, *seen[model].estimates(first.study.name, model)])
    any_time, lead = any(run.facts.stop_when for run in runs), first.study.estimates.lead
    judged = judge(estimates, first.measures, first.declared_of(estimates), margins, lead, any_time=any_time)
    return judged, tallies
