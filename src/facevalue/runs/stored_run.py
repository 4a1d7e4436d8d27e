"""Stored runs: a run folder with its study rebuilt, its answers read, its measures taken."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue import studies
from facevalue.annotations.scores import Scores, read
from facevalue.answers import NA
from facevalue.answers.sorting import Judge
from facevalue.checked_replies import reason
from facevalue.errors import DataError, NoPicturesError, NoRepliesError, RunError, SettingError, UnknownNameError
from facevalue.measures.cells import MISSING_MEASURES
from facevalue.parquet import read_table
from facevalue.places import run_of
from facevalue.printable import printable
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.study import Study
from facevalue.protocol.toml_tables import interventions_of
from facevalue.runs.audits.folder import check_one_run
from facevalue.runs.judgments import stored_judge
from facevalue.runs.requests import failures_of
from facevalue.runs.storage.mirror import mirror_run, own_folder, own_roots, pictures_at
from facevalue.store import RunManifest, scan_responses
from facevalue.store.files import PICTURES, PREREGISTRATION
from facevalue.store.journal import store_left_over
from facevalue.store.manifest import INTERVENTIONS
from facevalue.store.objects import Objects
from facevalue.store.reader import collected, request_trials
from facevalue.store.shards import check_folder
from facevalue.thinking import remove_thinking
from facevalue.types import STUDY_TEXT, OptionValue, Status

if TYPE_CHECKING:
    from facevalue.measures.definitions import Measure
    from facevalue.measures.families import Preregistration


# Rows of a run folder that cannot count: of no request of the run, or with what no check would have let through.


def odd_rows(study: Study, rows: pl.DataFrame, width: int) -> pl.Series:
    """Reason why each stored row cannot count; null where it can. `width`: repeats of a trial, with re-asks."""
    trial, repeat = pl.col("trial"), pl.col("repeat")
    size = study.design.size
    outside = pl.coalesce(
        pl.when(trial.is_null() | (trial >= size)).then(pl.lit(f"It is of no trial: the design has {size:,}.")),
        pl.when(repeat.is_null() | (repeat >= width)).then(pl.lit(f"It is of no repeat: the run has {width}.")),
    )
    reasons = rows.select(pl.coalesce(outside, reason()).alias("why"))["why"]
    fine = rows.with_row_index("row").filter(reasons.is_null() & rows["probs"].is_not_null())
    wrong = other_options(study, study.design.trials(fine["trial"].to_numpy().astype(np.int64)), fine["probs"])
    why_wrong = pl.lit("It has another number of probabilities than its question has options.")
    at = pl.int_range(pl.len(), dtype=pl.UInt32).is_in(fine["row"].filter(wrong).implode())
    return reasons.to_frame().select(pl.coalesce("why", pl.when(at).then(why_wrong)).alias("why"))["why"]


def other_options(study: Study, factors: pl.DataFrame, probs: pl.Series) -> pl.Series:
    """Mask of the replies with another number of probabilities than their questions have options."""
    stated = probs.is_not_null()
    if not stated.any():
        return pl.Series([False] * len(probs), dtype=pl.Boolean)
    options = np.zeros(len(probs), dtype=np.uint32)
    options[stated.to_numpy()] = [len(question.options) for question in study.ask(factors.filter(stated))]
    return stated & (probs.list.len() != pl.Series(options)).fill_null(value=False)


def describe_bad_rows(rows: pl.DataFrame, reasons: pl.Series) -> str:
    """Sentence on the rows that cannot count: their number, and the first of them; empty for none."""
    odd = rows.with_columns(reasons.alias("why")).filter(pl.col("why").is_not_null())
    if odd.is_empty():
        return ""
    first = odd.row(0, named=True)
    return (
        f"{odd.height:,} {'row' if odd.height == 1 else 'rows'} cannot count, such as trial {first['trial']}, repeat "
        f"{first['repeat']}: {first['why']}"
    )


_LONGEST = 80  # characters of a run's name
_READ_AHEAD, _TOGETHER = 2**26, 4
"""Bytes of responses that are read together, and chunks at most, where there are several."""
SAID = "said"
"""Column of `answers` that holds what was said after thinking, as studies leave the text itself out."""
ROWS = 100_000
"""Responses understood at a time, which bounds memory at a few hundred MB."""


@dataclass(frozen=True)
class StoredRun:
    """A run folder.

    Attributes
    ----------
    folder:
        Where it is.
    facts:
        What `run.toml` says.
    study:
        The declaration, built again from it.
    judge:
        Who sorts the texts that no rule sorts; None for nobody.
    scores:
        What scorers said of the replies.
    pictures_named:
        Whether its pictures are drawn, or lie in a folder that the user named.
    given:
        What it is a run of, where that is not to be found by name.
    url:
        Where it was brought from, for a run in object storage; the folder is its mirror.
    """

    folder: Path
    facts: RunManifest
    study: Study
    judge: Judge | None = None
    scores: Sequence[Scores] = ()
    pictures_named: bool = True
    given: Protocol | None = None
    url: str = ""

    @property
    def place(self) -> str:
        """Folder or URL of the run, as people know it."""
        return self.url or str(self.folder)

    @property
    def protocol(self) -> Protocol:
        """Protocol that the run follows."""
        return self.given or studies.protocol_of_run(self.facts.study, self.facts.options)

    def read_declaration(self) -> "Preregistration | None":
        """Declaration made before the run; None if there was none."""
        from facevalue.measures.families import read_preregistration  # noqa: PLC0415

        if self.facts.preregistration is None:
            declaration = None if self.study.estimates.declared is None else self.study.estimates.declared()
            return None if declaration is None else declaration.too_late() if self.is_replayed else declaration
        path, measures = self.folder / PREREGISTRATION, [m.key for m in self.study.estimates.measures]
        preregistration = read_preregistration(path, measures, self.study.estimates.labels)
        if preregistration.sha256 != self.facts.preregistration:
            raise RunError(f"{self.folder / PREREGISTRATION} was changed after the run began: its hash is another one.")
        return preregistration.too_late() if self.is_replayed else preregistration

    def declared_of(self, estimates: pl.DataFrame) -> "Preregistration | None":
        """The declaration by which estimates of the run are judged.

        A study's own families follow from its estimands: those of which nothing could be measured are left out.
        """
        declared = self.read_declaration()
        if declared is None or self.facts.preregistration is not None:
            return declared
        return declared.only_measured(estimates)

    @property
    def measures(self) -> "tuple[Measure, ...]":
        """Definitions of what is measured: the study's own, and those of every run."""
        from facevalue.measures.instrument import DRIFT_MEASURES, SIGHT_MEASURES  # noqa: PLC0415 - scipy.stats takes a second to import

        return (*self.study.estimates.measures, *DRIFT_MEASURES, *MISSING_MEASURES, *SIGHT_MEASURES)

    @property
    def is_replayed(self) -> bool:
        """True if its answers had been recorded before the run."""
        return self.facts.replayed

    @property
    def model(self) -> str:
        """Name of the model that answered, for comparisons: the run's own name, if it has one."""
        return self.facts.name or self.facts.model

    @classmethod
    def open(
        cls, place: Path | str, judge: Judge | None = None, pictures: Path | None = None,
        protocol: Protocol | None = None, bring: Callable[[str], Path] = mirror_run,
    ) -> "StoredRun":  # fmt: skip
        """Open a run folder, or the run under a URL; what is new of the latter is brought here first.

        `bring`: what brings it, and says into which folder. A folder with pictures that were made stands for the run
        that made them.
        """
        url = place if isinstance(place, str) else ""
        try:
            folder = bring(place) if isinstance(place, str) else run_of(place)
            facts = check_folder(folder)
            store_left_over(folder, facts.id)
        except RunError:
            check_one_run(place)
            raise
        path = folder / "manifest.parquet"
        try:
            manifest = read_table(path)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise RunError(f"{path} cannot be read: {error}") from error
        judge, scores = judge or stored_judge(folder), read(folder)
        picture_roots = own_roots(facts.options)
        if url and picture_roots and pictures is None:
            pictures = pictures_at(Objects.at(url), folder / PICTURES)
        if picture_roots:  # a run folder may come from a stranger: the folder of pictures that it names is not read
            root = folder / PICTURES if pictures is None else pictures
            facts = replace(facts, options={**facts.options, **dict.fromkeys(picture_roots, str(root.resolve()))})
        try:
            study = _study(facts, manifest, judge, scores, protocol, url or folder)
        except (UnknownNameError, DataError) as error:
            if isinstance(error, NoPicturesError):
                raise
            version = facts.sessions[0].versions.get("facevalue", "of another version")
            raise RunError(
                f"{url or folder}: this FaceValue cannot read what the run stores of its study: {error} The run was "
                f"made with FaceValue {version}: read it with that, or run the study again into another folder."
            ) from error
        if study.version != facts.study_version or study.design.size != facts.trials:
            raise RunError(
                f"{folder} was made with version {facts.study_version} of {facts.study} ({facts.trials:,} trials); "
                f"this FaceValue has version {study.version} ({study.design.size:,} trials). Use the one that wrote it."
            )
        return cls(folder, facts, study, judge, scores, not picture_roots or pictures is not None, protocol, url)

    def reopen(self, judge: Judge | None = None) -> "StoredRun":
        """The same run with what its folder holds now, read by a judge of its own where one is given."""
        pictures = own_folder(self.facts.options) if self.pictures_named else None
        again = StoredRun.open(self.folder, judge, pictures, self.given)
        return replace(again, facts=replace(again.facts, name=self.facts.name), url=self.url)

    def rename(self, name: str) -> "StoredRun":
        """The same run by another name."""
        return replace(self, facts=replace(self.facts, name=checked_name(name)))

    def plain(self) -> "StoredRun":
        """The same run without its variants: the study as it is, and the answers to it alone."""
        plain = self.study.changes.plain
        return self if plain is None else replace(self, study=plain)


def checked_name(name: str) -> str:
    """A name for a run."""
    if not name.strip() or len(name) > _LONGEST or printable(name) != name or "\n" in name or name.startswith("("):
        raise SettingError(
            f"A run's name is a text of up to {_LONGEST} printable characters, not {printable(name[:100])!r}."
        )
    return name.strip()


def rebuilt(run: StoredRun, options: Mapping[str, OptionValue]) -> Study:
    """The study of a run with other settings."""
    facts = replace(run.facts, options=options)
    return _study(facts, run.study.manifest, run.judge, run.scores, run.given, run.url or run.folder)


def _study(
    facts: RunManifest, manifest: pl.DataFrame, judge: Judge | None, scores: Sequence[Scores],
    protocol: Protocol | None, place: Path | str,
) -> Study:  # fmt: skip
    """The study of a run, with its interventions."""
    options = {name: value for name, value in facts.options.items() if name != INTERVENTIONS}
    if protocol is not None and protocol.name != facts.study:
        raise RunError(f"This is a run of {facts.study}, not of {protocol.name}.")
    if protocol is None:
        study = studies.build(facts.study, options, manifest)
    else:
        study = protocol.study({name: value for name, value in options.items() if name != STUDY_TEXT}, manifest)
    if study.reading.scored and scores:
        study = _keep_additions(study, study.reading.scored.carrying(scores))
    if study.reading.judged and judge is not None:
        study = _keep_additions(study, study.reading.judged(judge))
    if study.reading.from_place:
        study = study.reading.from_place(place)
    interventions = interventions_of(facts.options)
    if not interventions:
        return study
    from facevalue.protocol.variants import add_interventions  # noqa: PLC0415 - it needs all of a declared study

    return add_interventions(study, interventions)


def _keep_additions(study: Study, carrying: Study) -> Study:
    """A study that carries more, with what a protocol adds to what it builds, which is not the study's own to carry."""
    reading = replace(study.reading, judged=carrying.reading.judged or study.reading.judged)
    return replace(carrying, extras=study.extras, page=carrying.page or study.page, reading=reading)


@dataclass
class ReplyTally:
    """Counts of answers, kept while they are read.

    Attributes
    ----------
    asked:
        Requests with a stored outcome, re-asks not counted.
    na:
        Of these, how many have no valid answer, by reason.
    """

    asked: int = 0
    na: dict[str, int] = field(default_factory=dict)

    @property
    def valid(self) -> int:
        """Responses with a valid answer."""
        return self.asked - sum(self.na.values())

    @property
    def failed_requests(self) -> int:
        """Requests that failed: missing answers, which are asked again when the run is resumed."""
        return self.na.get(NA.ERROR, 0)


def answers(
    run: StoredRun, tally: ReplyTally | None = None, columns: Sequence[str] = ("text", "probs"), *, at_once: int = ROWS
) -> Iterator[pl.DataFrame]:
    """Understand a run's responses, chunk by chunk, in the order of trials: factors, answers, `reply` and `columns`.

    Of a reply that was asked again, the first valid one counts, under the repeat that it was asked for; `reply` is the
    repeat under which it is stored. Requests that failed are missing answers like any other (`NA.ERROR`), whoever
    withheld them. `at_once`: responses of a chunk, about; fewer take less memory and more time.
    """
    tally = ReplyTally() if tally is None else tally
    study = run.study
    stored = (name for name in columns if name != SAID)
    needed = list(dict.fromkeys(["trial", *study.reading.columns, *stored]))
    last = study.design.size - 1  # a plain run within one with interventions has fewer trials than are stored
    repeats = len(run.facts.seeds) * (1 + run.facts.reasks)
    trials = request_trials(run.folder, last, repeats)
    if not trials.size:
        raise NoRepliesError(f"{run.folder} holds no responses yet: give its command again.")
    for responses in _read_stored(run.folder, trials, repeats, needed, at_once):
        factors = study.design.trials(responses["trial"].to_numpy())
        odd = other_options(study, factors, responses["probs"])
        chunk = responses.with_columns(
            pl.when(odd).then(pl.lit("error", responses["status"].dtype)).otherwise("status").alias("status")
        )
        texts = chunk.drop("trial").with_columns(remove_thinking(pl.col("text")))
        if SAID in columns:
            texts = texts.with_columns(pl.col("text").alias(SAID))
        answered = study.answer(pl.concat([factors, texts], how="horizontal"))
        answered = _without_failed(answered).with_columns(pl.col("repeat").alias("reply"))
        if study.draws.reasks:
            answered = first_valid(answered, study.repeats)
        tally.asked += answered.height
        for na, count in answered.group_by("na").len().drop_nulls().iter_rows():
            tally.na[na] = tally.na.get(na, 0) + count
        yield answered
    if tally.failed_requests == tally.asked:
        raise RunError(f"{run.folder} holds no reply: {failures_of(run.folder, tally.failed_requests, tally.asked)}")


def _without_failed(answered: pl.DataFrame) -> pl.DataFrame:
    """Answers in which no request that failed passes for one, whatever a study makes of a reply that never came."""
    has_failed = pl.col("status") == Status.ERROR.value
    if not answered.select(has_failed.any()).item():
        return answered
    passes = has_failed & pl.col("na").is_null()
    nothing = {"na": (has_failed, NA.ERROR.value), "mass": (passes, 0.0), "weight": (passes, None)}
    return answered.with_columns(
        pl.when(rows).then(pl.lit(value).cast(answered.schema[name])).otherwise(name).alias(name)
        for name, (rows, value) in nothing.items()
        if name in answered.columns
    )


def _read_stored(
    folder: Path, trials: npt.NDArray[np.unsignedinteger[Any]], repeats: int, columns: Sequence[str], at_once: int
) -> Iterator[pl.DataFrame]:
    """Stored responses of whole trials, about `at_once` in each chunk.

    Trials are stored in any order, so that every reading goes through all shards: as long as responses are small,
    several chunks are read together. `trials`: of each response, in order. `repeats`: how many of each trial count.
    """
    start, together = 0, 1
    while start < trials.size:
        final = trials[min(start + together * at_once, trials.size) - 1]
        rows = scan_responses(folder, int(trials[start]), int(final), timed="at" in columns)
        responses = collected(folder, rows.filter(pl.col("repeat") < repeats).select(columns))
        size = max(responses.estimated_size() // together, 1)
        together = int(np.clip(_READ_AHEAD // size, 1, _TOGETHER))
        numbers, begin = responses["trial"].to_numpy(), 0
        while begin < numbers.size:
            end = int(np.searchsorted(numbers, numbers[min(begin + at_once, numbers.size) - 1], side="right"))
            yield responses[begin:end]
            begin = end
        start = int(np.searchsorted(trials, final, side="right"))


def first_valid(answered: pl.DataFrame, repeats: int) -> pl.DataFrame:
    """Of each reply asked again keep the first valid one, else the first, under the repeat it was asked for."""
    asked_for = answered.with_columns(pl.col("repeat") % repeats)
    ordered = asked_for.sort("trial", "repeat", pl.col("na").is_not_null(), "reply", maintain_order=True)
    return ordered.unique(["trial", "repeat"], keep="first", maintain_order=True)
