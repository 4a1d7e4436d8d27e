"""Runs put together: parts of a study, several studies and models, and their course while answers pass by."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from facevalue.design import units
from facevalue.errors import RunError
from facevalue.hashing import question_hash
from facevalue.printable import shell_command
from facevalue.protocol.conditions import FACTOR
from facevalue.protocol.study import Study
from facevalue.runs.judgments import judged_by, read_judgments
from facevalue.runs.reply_counts import counts_by_model
from facevalue.runs.requests import stimulus_columns
from facevalue.runs.stored_run import SAID, ReplyTally, StoredRun, answers, rebuilt
from facevalue.stimuli.pairs import TEXT
from facevalue.store.files import LISTS, ROOTS
from facevalue.store.sight import Sight

if TYPE_CHECKING:
    from facevalue.measures.definitions import Measure
    from facevalue.measures.instrument import Course, PictureDependence
    from facevalue.statistics.missing_answers import MissingAnswers


@dataclass(frozen=True)
class Followed:
    """Course, missing answers and signs of sight of the runs of a model."""

    course: "Course"
    missing: "MissingAnswers"
    pictures: "PictureDependence | None"
    """Answers to the same texts beside different pictures; None where it is no question if the model sees."""
    sight: Sight
    """What was known of that before the runs."""

    @classmethod
    def from_runs(cls, runs: Sequence[StoredRun]) -> "Followed":
        """Return both for runs of which no answer has been seen yet."""
        from facevalue.measures.instrument import Course, PictureDependence  # noqa: PLC0415 - scipy.stats takes a second to import
        from facevalue.statistics.missing_answers import MissingAnswers  # noqa: PLC0415 - scipy.stats takes a second to import

        study = runs[0].study
        prompts = [axis for run in runs for block in run.study.design.blocks for axis in block.prompt]
        questions = dict.fromkeys(axis.columns()[0].name for axis in prompts)
        sights = [run.facts.sight for run in runs if run.facts.sight is not None]
        sight = max(sights, key=lambda of_run: (of_run.right, of_run.tokens or 0.0), default=None)
        return cls(
            Course(study.watched.followed, list(questions)),
            MissingAnswers(study.watched.missing_by),
            None if sight is None else PictureDependence(study.watched.followed),
            sight or Sight(),
        )

    def passing(self, run: StoredRun, tally: ReplyTally, run_number: int = 0) -> Iterator[pl.DataFrame]:
        """A run's answers, looked at as they pass."""
        design, together = run.study.design, run.study.asked_together
        more = () if self.pictures is None else ("prompt_tokens", SAID)
        for chunk in answers(run, tally, ("at", *more)):
            unit = units(design, together, chunk["trial"].to_numpy().astype(np.int64))
            self.course.take(chunk, unit, run_number)
            self.missing.take(chunk, unit)
            if self.pictures is not None:
                self._look(self.pictures, run, chunk.with_columns(unit.hash(2 * run_number).alias("(unit)")))
            yield chunk.drop("at", *more)

    def _look(self, pictures: "PictureDependence", run: StoredRun, chunk: pl.DataFrame) -> None:
        """Look at some of the answers of a chunk, with what the model was told and whether it was shown anything."""
        study = run.study
        numbers = study.design.stimulus_numbers(chunk["trial"].to_numpy().astype(np.int64))
        rows = pictures.thinned(chunk.with_columns(pl.Series("(stimulus)", numbers.astype(np.int64))))
        frame = study.design.trials(rows["trial"].to_numpy().astype(np.int64))
        questions = study.ask(frame)
        distinct = {id(question): question for question in questions}  # equal ones are mostly one object
        codes = {identity: question_hash(question) for identity, question in distinct.items()}
        bare = pl.lit(value=False)
        if "shown" in frame.columns:
            bare |= pl.col("shown").cast(pl.String).eq_missing(TEXT)
        if FACTOR in frame.columns:
            taken = [variant.name for variant in study.changes.variants if variant.picture == "none"]
            bare |= pl.col(FACTOR).cast(pl.String).is_in(taken).fill_null(value=False)
        texts = pl.Series("(text)", [codes[id(question)] for question in questions], pl.UInt64)
        rows = rows.with_columns(texts, frame.select("trial", bare.alias("(bare)"))["(bare)"])
        pictures.take(rows, [name for name in stimulus_columns(study) if name in rows.columns])

    def unseen(self, study: str) -> bool:
        """Return whether nothing shows that the model sees the pictures."""
        from facevalue.measures.instrument import sightless  # noqa: PLC0415 - scipy.stats takes a second to import

        if self.pictures is None:
            return False
        counts = self.sight.asked, self.sight.right
        return bool(sightless(self.pictures.estimates(study, "", counts, self.sight.tokens)))

    def estimates(self, study: str, model: str) -> list[pl.DataFrame]:
        """Drift, missing answers by group and prompt, signs of sight."""
        out = [self.course.estimates(study, model), self.missing.estimates(study, model)]
        if self.pictures is not None:
            counts = self.sight.asked, self.sight.right
            out.append(self.pictures.estimates(study, model, counts, self.sight.tokens))
        return out


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

    seen = {model: Followed.from_runs(of_model) for model, of_model in runs_by_model.items()}
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


@dataclass(frozen=True)
class StudyRuns:
    """Runs of one study, of one or several models or parts, with the estimates of each.

    Attributes
    ----------
    runs:
        The runs, those of a model together.
    estimates:
        Estimates of each run, with the verdicts of its own page.
    tallies:
        Counts of the replies of each run.
    """

    runs: tuple[StoredRun, ...]
    estimates: tuple[pl.DataFrame, ...]
    tallies: tuple[ReplyTally, ...]

    @property
    def study(self) -> Study:
        """The study, with the settings of all parts."""
        return study_of(self.runs)

    @property
    def measures(self) -> "tuple[Measure, ...]":
        """Definitions of what is in the estimates."""
        return self.runs[0].measures

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models that were asked."""
        return tuple(dict.fromkeys(run.model for run in self.runs))

    @property
    def unmeasured_models(self) -> tuple[str, ...]:
        """Models without a valid answer."""
        valid = {run.model for run, tally in zip(self.runs, self.tallies, strict=True) if tally.valid}
        return tuple(model for model in self.models if model not in valid)

    @property
    def unanswered_models(self) -> Mapping[str, str]:
        """Reasons why the study is not answered, by models that were not asked all of it or cannot be read."""
        tallies = {str(run.folder): tally for run, tally in zip(self.runs, self.tallies, strict=True)}
        reasons = ((model, counts.why_not_answered) for model, counts in counts_by_model(self.runs, tallies).items())
        return {model: reason for model, reason in reasons if reason}

    def stack_estimates(self) -> pl.DataFrame:
        """The estimates of all runs as one table."""
        from facevalue.measures.estimates import stack_estimates  # noqa: PLC0415 - scipy.stats takes a second to import

        return stack_estimates(list(self.estimates))

    def judge_estimates(self, shares: pl.DataFrame) -> pl.DataFrame:
        """The estimates of all runs with the verdicts that hold at the level of a whole audit.

        `shares`: families of this study with the share of alpha of each (`measures.multitest.audit_families`).
        """
        from facevalue.measures.estimates import stack_estimates  # noqa: PLC0415 - scipy.stats takes a second to import
        from facevalue.measures.judgment import judge  # noqa: PLC0415 - scipy.stats takes a second to import

        tables = []
        for run, table in zip(self.runs, self.estimates, strict=True):
            declared, any_time = run.declared_of(table), bool(run.facts.stop_when)
            tables.append(judge(table, run.measures, declared, shares=shares, any_time=any_time))
        return stack_estimates(tables)


def profile_runs(runs: Sequence[StoredRun]) -> list[StudyRuns]:
    """Read or take the estimates of runs, by study.

    Estimates that a run's folder keeps are read, and else taken and kept, each run by itself.

    Raises
    ------
    RunError
        No run; the same run twice; runs of one study that were not asked the same, or of one model and part; a run
        without any answer; no valid answer in any of them.
    """
    if not runs:
        raise RunError("There is no run to make a profile of.")
    if (again := repeated(runs)) is not None:
        raise RunError(f"{again.place} is named twice: a profile counts each run once.")
    out = [_estimate_study(of_study) for of_study in by_study(runs).values()]
    if not any(tally.valid for study in out for tally in study.tallies):
        raise RunError("None of these runs has a valid answer: there is nothing to make a profile of.")
    return out


def _estimate_study(runs: Sequence[StoredRun]) -> StudyRuns:
    """The runs of one study with their estimates, each run's by itself."""
    from facevalue.runs.kept_estimates import take_estimates  # noqa: PLC0415 - scipy.stats takes a second to import

    versions = {run.facts.study_version for run in runs}
    if len(versions) > 1:
        raise RunError(
            f"{runs[0].study.name} was asked in versions {' and '.join(map(str, sorted(versions)))}: what they find is "
            "not set side by side."
        )
    ordered = [run for of_model in by_model(runs).values() for run in of_model]
    tables, tallies = [], []
    for run in ordered:
        estimates, tally = take_estimates([run])
        if not tally[str(run.folder)].asked:
            raise RunError(f"{run.place} has no answers yet: give its `facevalue run` again, or leave it out.")
        tables.append(estimates)
        tallies.append(tally[str(run.folder)])
    return StudyRuns(tuple(ordered), tuple(tables), tuple(tallies))
