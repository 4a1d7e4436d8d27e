"""Answers that flipped between two runs: how many, beside chance, which, and all of them as a file."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np
import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.answer_matches import (
    IDENTICAL_SUMS,
    IdenticalAnswers,
    chance_agreement,
    identical_answers,
    pair_agreement,
    reading_counts,
    repeat_agreement,
)
from facevalue.measures.cells import unit_of
from facevalue.measures.paired_changes import JACKKNIFE_GROUPS
from facevalue.protocol.conditions import FACTOR, Conditions
from facevalue.protocol.kept_answers import COLUMNS, SEED, Groups, UnitNames
from facevalue.protocol.study import Study
from facevalue.runs.pictures import TrialPictures, load_shown
from facevalue.runs.reply_counts import reply_text
from facevalue.runs.stored_run import StoredRun, answers
from facevalue.store import read_responses
from facevalue.store.files import LISTS, ROOTS
from facevalue.types import Option, Question

# Single answers of two runs to the same trials, brought together in bounded memory.


PAIRS_AT_ONCE = 2_000_000
"""Answers of a run that are brought together at a time."""
_OTHER = "_2"
_KEYS = ["key", "seed"]
_ASIDE = ("(", "score: ", "refused score", "unread")


@dataclass(frozen=True, slots=True)
class AnswerSide:
    """A run as one side of a comparison: asked as it is, or with one of its interventions.

    Attributes
    ----------
    run:
        The run.
    intervention:
        Name of the intervention; "" for the run as it is.

    Raises
    ------
    UnknownNameError
        The run has no such intervention.
    """

    run: StoredRun
    intervention: str = ""

    def __post_init__(self) -> None:
        """Raise an error for an intervention that the run was not asked with."""
        names = [variant.name for variant in self.run.study.changes.variants]
        if self.intervention and self.intervention not in names:
            raise UnknownNameError("intervention", self.intervention, names)

    @property
    def plain(self) -> Study:
        """The study without interventions, whose trials are compared."""
        return self.run.study.changes.plain or self.run.study

    def chunks(self) -> Iterator[tuple[pl.DataFrame, Sequence[Question]]]:
        """Answers as those of the plain study, with `stored`, their own trial; and what was asked."""
        if not self.intervention:
            run = self.run.plain()
            for chunk in answers(run):
                yield chunk.with_columns(stored="trial"), run.study.ask(chunk)
            return
        changes = self.run.study.changes
        conditions = Conditions(self.plain, changes.variants, changes.versions)
        for chunk in answers(self.run):
            rows = chunk.filter(pl.col(FACTOR).cast(pl.String) == self.intervention)
            if rows.height:
                yield conditions.plain(rows).with_columns(stored=rows["trial"]), self.run.study.ask(rows)


class AnswerPairs:
    """Answers of two runs of one study to the same trials under the same seeds: choices among options.

    Trials are the same if their factors are: what is shown, what is asked, in which order of options. Replies in words
    of one's own, and numbers, are left out: they are hardly ever identical.

    Parameters
    ----------
    first, second:
        The runs, each as it is or with one of its interventions.
    folder:
        Where answers wait; they may be too many for the memory.

    Raises
    ------
    DataError
        Of one run the probabilities were read, of the other the replies were drawn; or no trial is in both.
    """

    def __init__(self, first: AnswerSide, second: AnswerSide, folder: Path) -> None:
        facts = first.run.facts, second.run.facts
        if facts[0].exact != facts[1].exact:
            raise DataError(
                "Of one run the probabilities of the options were read, of the other replies were drawn: single "
                "answers are not compared."
            )
        self.exact = facts[0].exact
        self.runs = (first.run, second.run)
        studies = first.plain, second.plain
        columns = None if _has_same_trials(*studies) else _shared_columns(*studies)
        by_seed = bool({*facts[0].seeds} & {*facts[1].seeds})
        replies = max(study.design.size * study.repeats for study in studies)
        self._parts = 1 + replies // PAIRS_AT_ONCE
        self._folder, self.names = folder, UnitNames()
        for number, side in enumerate((first, second)):
            written = 0
            for chunk in _readings(side, self.names, columns, by_seed=by_seed):
                for (bucket,), rows in chunk.group_by(pl.col("key") % self._parts):
                    rows.write_ipc(folder / f"{number}-{bucket}-{written}.arrow")
                    written += 1
            if not written:
                raise DataError("Neither asks for a choice among options: single answers are not compared.")

    def __iter__(self) -> Iterator[pl.DataFrame]:
        """All pairs of answers, part by part; columns of the second run end in `_2`.

        `key` of the trial and `seed`; `trial` and `reply` where each is stored; `question`, a number for the
        block and prompt;
        `reading`, what was answered (null without a valid answer), and `probs` of an exact run; the units' codes.
        """
        for bucket in range(self._parts):
            sides = [self._side(side, bucket) for side in (0, 1)]
            if any(table is None for table in sides):
                continue
            first, second = (table.filter(~pl.struct(_KEYS).is_duplicated()) for table in sides if table is not None)
            second = second.drop("question", *COLUMNS)
            joined = first.join(second, on=_KEYS, suffix=_OTHER, maintain_order="left")
            if self.exact:
                joined = joined.filter(pl.col("probs").list.len().eq_missing(pl.col("probs_2").list.len()))
            if joined.height:
                yield joined

    def _side(self, side: int, bucket: int) -> pl.DataFrame | None:
        paths = sorted(self._folder.glob(f"{side}-{bucket}-*.arrow"), key=lambda path: int(path.stem.split("-")[2]))
        return pl.concat([pl.read_ipc(path.read_bytes()) for path in paths]) if paths else None


def _has_same_trials(first: Study, second: Study) -> bool:
    """Return whether trials of the same number are the same in both."""
    places = {*ROOTS, *LISTS}
    options = [
        {name: value for name, value in study.options.items() if name not in places} for study in (first, second)
    ]
    return (
        options[0] == options[1] and first.manifest.equals(second.manifest) and len(first.design) == len(second.design)
    )


def _shared_columns(first: Study, second: Study) -> list[str]:
    of_second = set(second.design.columns)
    return sorted(name for name in first.design.columns if name in of_second and name != "trial")


def _readings(
    side: AnswerSide, names: UnitNames, columns: Sequence[str] | None, *, by_seed: bool
) -> Iterator[pl.DataFrame]:
    """Answers of a run where it was to choose, in few columns."""
    study, facts = side.plain, side.run.facts
    units, factors = names.study_units(study), set(study.design.columns)
    question_columns = ["block", *prompt_columns(study)]
    seeds = pl.Series(facts.seeds if by_seed else range(len(facts.seeds)), dtype=pl.Int64)
    for chunk, questions in side.chunks():
        offered = pl.Series([bool(question.options) for question in questions], dtype=pl.Boolean)
        if not offered.any():
            continue
        marked = units.add_to(chunk).with_columns(
            key=pl.col("trial") if columns is None else chunk.select(_text(columns).hash(0)).to_series(),
            question=chunk.select(_text(question_columns).hash(0)).to_series(),
            trial="stored",
            seed=seeds.gather(chunk["repeat"]),
        )
        numbers = [
            name
            for name, dtype in chunk.schema.items()
            if name not in factors and (dtype == pl.Float64 or name == "choice")
            and name != "mass" and not name.startswith(_ASIDE)
        ]  # fmt: skip
        marked = marked.with_columns(reading=pl.when(pl.col("na").is_null()).then(_text(numbers).hash(0)))
        columns_kept = [*_KEYS, "trial", "reply", "question", "reading", *COLUMNS]
        if facts.exact:
            meanings = marked.with_columns(meaning=pl.Series(_meanings(questions), dtype=pl.List(pl.UInt64)))
            yield _with_probabilities(side.run, meanings.filter(offered).select(*columns_kept, "meaning"))
        else:
            yield marked.filter(offered).select(columns_kept)


def _with_probabilities(run: StoredRun, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the probabilities of the options; what is read is the likeliest."""
    stored = read_responses(run.folder, int(rows["trial"].min()), int(rows["trial"].max()))  # type: ignore[arg-type]
    probs = stored.select("trial", pl.col("repeat").alias("reply"), pl.col("probs").cast(pl.List(pl.Float64)))
    valid = pl.col("reading").is_not_null() & (pl.col("probs").list.sum() > 0)
    joined = rows.join(probs, on=["trial", "reply"], how="left", maintain_order="left")
    likeliest = pl.col("meaning").list.get(pl.col("probs").list.arg_max(), null_on_oob=True)
    return joined.with_columns(
        probs=pl.when(valid).then(pl.col("probs") / pl.col("probs").list.sum()), reading=pl.when(valid).then(likeliest)
    ).drop("meaning")


def _text(names: Sequence[str]) -> pl.Expr:
    """Several columns as one text."""
    return pl.concat_str([pl.col(name).cast(pl.String).fill_null("\0") for name in names], separator="\1")


def prompt_columns(study: Study) -> list[str]:
    """Factors of what is asked, without those of what is shown."""
    axes = (axis for block in study.design.blocks for axis in block.prompt)
    return list(dict.fromkeys(column.name for axis in axes for column in axis.columns()))


def _meanings(questions: Sequence[Question]) -> list[list[int]]:
    """A number for what each option means, by question; equal questions are one object."""
    distinct = {id(question): question for question in questions}
    numbers = {
        at: [int.from_bytes(blake2b(option.level.encode(), digest_size=8).digest()) for option in question.options]
        for at, question in distinct.items()
    }
    return [numbers[id(question)] for question in questions]


MOST_LISTED = 24
"""Flips that are listed as the most telling ones."""
_OF_ONE_QUESTION = 4
_VALID = pl.all_horizontal(pl.col("reading", "reading_2").is_not_null())
_PLACES = ("trial", "trial_2", "reply", "reply_2")


@dataclass(frozen=True, slots=True)
class AnswerFlips:
    """Single answers of two runs to the same trials, compared."""

    unit: str
    """What was sampled."""
    units: int
    exact: bool
    """Whether probabilities were read, so that an answer is the likeliest option."""
    trials: int
    """Pairs of valid answers to one trial under one seed."""
    flipped: int
    """How many of them differ."""
    lost: int
    gained: int
    """Answers that only the first run, and only the second, gave."""
    shares: IdenticalAnswers
    chance: float
    """Share of identical answers had they nothing to do with the picture; NaN where no question is asked twice."""
    telling: pl.DataFrame
    """The most telling flips: `trial`, `trial_2`, `reply`, `reply_2`, `seed`, `shift` (how far the chances of answers
    to this trial lie apart, 0 to 1), `rare` (share of the second answer among the first run's to this question)."""


@dataclass(frozen=True, slots=True)
class ComparedAnswers:
    """Answers of two runs, and the flips among them while the files last that they wait in."""

    flips: AnswerFlips
    pairs: AnswerPairs

    def all_flips(self) -> Iterator[pl.DataFrame]:
        """All flips, part by part, in the order of trials."""
        for rows in self.pairs:
            yield _find_flips(rows, exact=self.pairs.exact).select(*_PLACES, "seed", "shift").sort("trial", "seed")


def compare_answers(first: AnswerSide, second: AnswerSide, folder: Path) -> ComparedAnswers:
    """Compare single answers of two runs of one study, or of its interventions; `folder`: where they wait.

    Raises
    ------
    DataError
        Runs whose single answers cannot be compared.
    """
    pairs = AnswerPairs(first, second, folder)
    if not any(rows.select(_VALID.any()).item() for rows in pairs):
        raise DataError("No trial has a valid answer of both runs: single answers are not compared.")
    groups, codes = _groups(pairs)
    layers = [layer for layer, _ in groups.layers]
    sums = [dict.fromkeys(IDENTICAL_SUMS, 0.0) for _ in range(1 + len(layers))]
    lost = gained = flipped = 0
    first_counts: list[pl.DataFrame] = []
    second_counts: list[pl.DataFrame] = []
    question_counts: list[pl.DataFrame] = []
    for rows in pairs:
        lost += rows.filter(pl.col("reading").is_not_null(), pl.col("reading_2").is_null()).height
        gained += rows.filter(pl.col("reading").is_null(), pl.col("reading_2").is_not_null()).height
        valid = rows.filter(_VALID).with_columns(same=pl.col("reading") == pl.col("reading_2"))
        flipped += valid.height - int(valid["same"].sum())
        _add(sums, valid, _agreement_of_draws(valid, exact=pairs.exact), groups)
        first_counts.append(valid.group_by("question", "reading").len("count"))
        second_counts.append(valid.group_by("question", reading="reading_2").len("count"))
        question_counts.append(valid.group_by("question").agg(pl.len().alias("n"), pl.col("same").sum()))
    firsts, seconds = (_sum_tables(tables, "question", "reading") for tables in (first_counts, second_counts))
    of_questions = _sum_tables(question_counts, "question")
    unit = unit_of(first.plain.estimates.measures)
    shares = identical_answers(sums, layers, codes.size, unit)
    flips = AnswerFlips(
        unit,
        int(codes.size),
        pairs.exact,
        int(sums[0]["n"]),
        flipped,
        lost,
        gained,
        shares,
        chance_agreement(firsts, seconds, of_questions),
        _telling(pairs, firsts, of_questions),
    )
    return ComparedAnswers(flips, pairs)  # fmt: skip


def _groups(pairs: AnswerPairs) -> tuple[Groups, np.ndarray]:
    """Groups into which the sampled units are dealt, and the units' codes."""
    distinct = pl.concat([rows.select(COLUMNS).unique() for rows in pairs]).unique().to_numpy()
    return Groups([np.unique(distinct, axis=0)], JACKKNIFE_GROUPS, SEED, pairs.names.ranks()), np.unique(distinct)


def _sum_tables(tables: Sequence[pl.DataFrame], *by: str) -> pl.DataFrame:
    return pl.concat(tables).group_by(by).agg(pl.all().sum())


def _agreement_of_draws(valid: pl.DataFrame, *, exact: bool) -> pl.DataFrame:
    """A row per trial: the chances that draws agree, within either run and between them, and its units."""
    if exact:
        return valid.select(
            *COLUMNS, within_first=pair_agreement("probs", "probs"), within_second=pair_agreement("probs_2", "probs_2"),
            between=pair_agreement("probs", "probs_2"),
        )  # fmt: skip
    return repeat_agreement(valid).join(valid.unique("key").select("key", *COLUMNS), on="key").drop("key")


def _add(sums: Sequence[dict[str, float]], valid: pl.DataFrame, drawn: pl.DataFrame, groups: Groups) -> None:
    """Add what rows sum to, in all and without each group."""
    for at, total in enumerate(sums):
        rows, draws = valid, drawn
        if at:
            rows, draws = (table.filter(groups.kept(table, at - 1)) for table in (valid, drawn))
        total["n"] += rows.height
        total["same"] += int(rows["same"].sum())
        first, second, between = (float(draws[name].sum()) for name in ("within_first", "within_second", "between"))
        total["within_first"] += first
        total["within_second"] += second
        total["between"] += between
        total["within"] += (first + second) / 2
        for name in ("n_first", "n_second", "n_between"):
            total[name] += draws.height


def _find_flips(rows: pl.DataFrame, *, exact: bool) -> pl.DataFrame:
    """Flips among pairs of answers, with how far the chances of answers lie apart."""
    valid = rows.filter(_VALID)
    if exact:
        flips = valid.filter(pl.col("reading") != pl.col("reading_2"))
        return flips.with_columns(
            shift=(pl.col("probs") - pl.col("probs_2")).list.eval(pl.element().abs()).list.sum() / 2
        )
    c, d = pl.col("count_first"), pl.col("count_second")
    apart = reading_counts(valid).group_by("key").agg(shift=(c - d).abs().sum() / (c + d).sum())
    return valid.filter(pl.col("reading") != pl.col("reading_2")).join(apart, on="key")


def _telling(pairs: AnswerPairs, firsts: pl.DataFrame, of_questions: pl.DataFrame) -> pl.DataFrame:
    """The most telling flips: of the trials whose answers moved furthest, to answers that were rarest before.

    A few of each question; what is alike in all of this is taken as if by lot.
    """
    shares = firsts.join(of_questions.select("question", "n"), on="question").select(
        "question", reading_2="reading", rare=pl.col("count") / pl.col("n")
    )
    best: pl.DataFrame | None = None
    for rows in pairs:
        flips = _find_flips(rows, exact=pairs.exact).unique("key", maintain_order=True)
        flips = flips.join(shares, on=["question", "reading_2"], how="left", maintain_order="left")
        flips = flips.select(
            *_PLACES, "seed", "question", "shift", pl.col("rare").fill_null(0.0), lot=pl.col("key").hash(1)
        )
        joined = flips if best is None else pl.concat([best, flips])
        ordered = joined.sort(-pl.col("shift").round(6), "rare", "lot")
        best = ordered.group_by("question", maintain_order=True).head(_OF_ONE_QUESTION)
        best = best.sort(-pl.col("shift").round(6), "rare", "lot").head(MOST_LISTED).select(joined.columns)
    assert best is not None
    return best.drop("question", "lot")


# Flips in words: which picture, what was asked, what either run answered.


@dataclass(frozen=True, slots=True)
class FlipInWords:
    """A flip for people."""

    trial: int
    """Number in the first run."""
    seed: int
    picture: str
    """Names of the pictures; empty where none has a name."""
    factors: str
    """What else is known of what was shown."""
    asked: str
    """The prompt, verbatim."""
    first: str
    second: str
    """Replies, an option's letter with the option; or the probabilities of the options."""
    shift: float
    """How far the chances of answers lie apart, 0 to 1."""
    rare: float
    """Share of the second answer among the first run's answers to this question."""

    def pictures(self, run: StoredRun) -> TrialPictures:
        """Pictures of the trial; `run`: the first one."""
        return load_shown(run.plain(), self.trial)


def _word_flips(flips: pl.DataFrame, first: StoredRun, second: StoredRun) -> pl.DataFrame:
    """Flips as a table of texts; a reply that only names the letter of an option is followed by the option."""
    study, trials = first.plain().study, flips["trial"].to_numpy().astype(np.int64)
    factors = study.design.trials(trials)
    questions = study.ask(factors)
    question_columns = ("trial", "block", *prompt_columns(study))
    names = [name for name in factors.columns if name not in question_columns]
    images = [name for name in names if name.startswith("image")]
    replies = []
    for run, trial, reply in ((first, "trial", "reply"), (second, "trial_2", "reply_2")):
        stored = read_responses(run.folder, trials=flips[trial].unique().to_numpy().astype(np.int64))
        of_run = stored.select(pl.col("trial").alias(trial), pl.col("repeat").alias(reply), "text", "probs")
        texts = flips.select(trial, reply).join(of_run, on=[trial, reply], how="left", maintain_order="left")
        rows = zip(texts["text"], texts["probs"], questions, strict=True)
        replies.append(
            [
                reply_text(text, probs, question.options) + _option(text, question.options)
                for text, probs, question in rows
            ]
        )
    plain = factors.with_columns(
        pl.col(name).cast(pl.String).replace(study.about.titles.get(name) or study.about.titles.get(name[:-2], {}))
        for name in names
    )
    return pl.DataFrame(
        {
            "trial": flips["trial"],
            "seed": flips["seed"],
            "picture": plain.select(_join_names(images, " | "))[:, 0] if images else [""] * flips.height,
            "factors": plain.select(_join_names([name for name in names if name not in images], "; ", named=True))[
                :, 0
            ],
            "asked": [question.prompt for question in questions],
            "first": replies[0],
            "second": replies[1],
            "shift": flips["shift"],
        },
    )


def _option(reply: str | None, options: Sequence[Option]) -> str:
    """The text of the option whose letter is all that a reply says, after a space; empty for other replies."""
    letter = re.sub(r"\W|option", "", (reply or "").lower())
    labels = {re.sub(r"\W", "", option.label.lower()): option.text for option in options if option.label}
    return f" {labels[letter]}" if letter in labels else ""


def _join_names(names: list[str], separator: str, *, named: bool = False) -> pl.Expr:
    texts = [
        pl.when(pl.col(name).is_not_null()).then((f"{name.replace('_', ' ')}: " if named else "") + pl.col(name))
        for name in names
    ]
    return pl.concat_str(texts, separator=separator, ignore_nulls=True)


def telling_flips(flips: AnswerFlips, first: StoredRun, second: StoredRun) -> tuple[FlipInWords, ...]:
    """The most telling flips, for people."""
    if not flips.telling.height:
        return ()
    texts = _word_flips(flips.telling, first, second).with_columns(flips.telling["rare"])
    return tuple(FlipInWords(**row) for row in texts.iter_rows(named=True))
