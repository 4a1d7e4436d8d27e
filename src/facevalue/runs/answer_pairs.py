"""Single answers of two runs to the same trials, brought together in bounded memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.protocol.conditions import FACTOR, Conditions
from facevalue.protocol.sampled_units import COLUMNS, UnitNames
from facevalue.protocol.study import Study
from facevalue.runs.stored import StoredRun, answers
from facevalue.store import read_responses
from facevalue.store.files import LISTS, ROOTS
from facevalue.types import Question

AT_ONCE = 2_000_000
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
        """Refuse an intervention that the run was not asked with."""
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
        columns = None if _alike(*studies) else _shared_columns(*studies)
        by_seed = bool({*facts[0].seeds} & {*facts[1].seeds})
        replies = max(study.design.size * study.repeats for study in studies)
        self._parts = 1 + replies // AT_ONCE
        self._folder, self.names = folder, UnitNames()
        for number, side in enumerate((first, second)):
            written = 0
            for chunk in _readings(side, self.names, columns, by_seed=by_seed):
                for (part,), rows in chunk.group_by(pl.col("key") % self._parts):
                    rows.write_ipc(folder / f"{number}-{part}-{written}.arrow")
                    written += 1
            if not written:
                raise DataError("Neither asks for a choice among options: single answers are not compared.")

    def __iter__(self) -> Iterator[pl.DataFrame]:
        """All pairs of answers, part by part; columns of the second run end in `_2`.

        `key` of the trial and `seed`; `trial` and `reply` where each is stored; `question`, a number for the
        block and prompt;
        `reading`, what was answered (null without a valid answer), and `probs` of an exact run; the units' codes.
        """
        for part in range(self._parts):
            sides = [self._side(side, part) for side in (0, 1)]
            if any(table is None for table in sides):
                continue
            first, second = (table.filter(~pl.struct(_KEYS).is_duplicated()) for table in sides if table is not None)
            second = second.drop("question", *COLUMNS)
            joined = first.join(second, on=_KEYS, suffix=_OTHER, maintain_order="left")
            if self.exact:
                joined = joined.filter(pl.col("probs").list.len().eq_missing(pl.col("probs_2").list.len()))
            if joined.height:
                yield joined

    def _side(self, side: int, part: int) -> pl.DataFrame | None:
        paths = sorted(self._folder.glob(f"{side}-{part}-*.arrow"), key=lambda path: int(path.stem.split("-")[2]))
        return pl.concat([pl.read_ipc(path.read_bytes()) for path in paths]) if paths else None


def _alike(first: Study, second: Study) -> bool:
    """Whether trials of the same number are the same in both."""
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
    """What a run answered where it was to choose, in few columns."""
    study, facts = side.plain, side.run.facts
    units, factors = names.of(study), set(study.design.columns)
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
