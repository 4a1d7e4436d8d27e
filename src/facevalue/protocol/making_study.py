"""Making pictures as a study: each picture is a trial, and what is measured is who is refused, and who is not made."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.answers import NA, NA_DTYPE
from facevalue.errors import DataError
from facevalue.measures.cells import MissingBy
from facevalue.protocol.asks import ORDERING, Ask
from facevalue.protocol.compiler import TAKEN
from facevalue.protocol.making import (
    IMAGE,
    PATH,
    PICTURE_SEED,
    PROMPT,
    SOURCE,
    PicturePlan,
    existing_paths,
    requested_pictures,
)
from facevalue.protocol.open_answers import WrittenReply
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.sampling import WholeUnits
from facevalue.protocol.settings import Options, Setting
from facevalue.protocol.stimuli import UNITS, Stimuli
from facevalue.protocol.study import Draws, Study
from facevalue.statistics.answer_arrays import counted_column
from facevalue.statistics.contrasts import Gap
from facevalue.statistics.estimand import Estimand
from facevalue.statistics.levels import Mean
from facevalue.statistics.sets import Sets
from facevalue.statistics.statistic import Score
from facevalue.stimuli.base import Kind, Source
from facevalue.stimuli.images import MAX_BYTES
from facevalue.stimuli.manifest import PICTURE_KIND
from facevalue.store.manifest import CHOICES
from facevalue.types import OptionValue, Question, Sampling, Status, Stimulus
from facevalue.untrusted_files import read_file

if TYPE_CHECKING:
    from facevalue.protocol.look import Look
    from facevalue.protocol.page import Page

MAKING = "making"
"""Name of the study whose trials are pictures that are made."""
MADE_FOR, UNIT, GROUPS, KINDS = "made_for", "unit", "groups", "kinds"
"""Its options beside `CHOICES`: the study that the pictures are for, the unit's column, who is shown, and what kind of
pictures are made from texts and by edits ("" for that of their source)."""
REFUSED, FAILED, ATTEMPTS = "refused", "failed", "attempts"
SHARES = (
    Score(REFUSED, "Share of pictures that were refused", "probability", 0.0, 1.0, quantity="refusals",
          moved=("refused {size} more often", "refused {size} less often")),
    Score(FAILED, "Share of pictures that failed", "probability", 0.0, 1.0, quantity="failures",
          moved=("failed {size} more often", "failed {size} less often")),
)  # fmt: skip
REQUESTS = Score(
    ATTEMPTS, "Requests until a picture came, or a refusal", "requests", 1.0, leaves_out=True, quantity="requests",
)  # fmt: skip
_RECORDED = r'"attempts": ?(\d{1,9})[,}]'
"""Number of requests for a picture, in its record; quotes within a text of the record stand behind a backslash."""
_TAKEN = TAKEN | {REFUSED, FAILED, ATTEMPTS, ORDERING}
_MOST_QUESTIONS = 4096  # that stay one object
TEXTS = (SOURCE, PROMPT, PICTURE_SEED, PATH)
"""Columns of a table of pictures that say how they are made, and not what they show."""


def making_study(plan: PicturePlan, made_for: str, choices: Mapping[str, OptionValue] | None = None) -> Study:
    """Make the study whose run makes the pictures of a plan.

    Parameters
    ----------
    plan:
        The pictures.
    made_for:
        Name of the study that has them made.
    choices:
        What its user chose.

    Raises
    ------
    DataError
        Nothing is to be made, or the table is not one of a plan.
    """
    texts = [f"{name}={json.dumps(value)}" for name, value in sorted((choices or {}).items())]
    options: dict[str, OptionValue] = {MADE_FOR: made_for, CHOICES: texts, UNIT: plan.unit, GROUPS: list(plan.groups)}
    return _build_study(options, plan.table.with_columns(pl.all().cast(pl.String)))


def of_kinds(study: Study, generated: Kind | None, edited: Kind | None) -> Study:
    """The study of a making, once it is known what kind of pictures its generator and its editor make."""
    return _build_study({**study.options, KINDS: [kind or "" for kind in (generated, edited)]}, study.manifest)


def picture_kinds(table: pl.DataFrame, options: Options) -> pl.Series:
    """Kind of picture that each row of a table is or will be; null where nobody says so, as of those that exist."""
    kinds = options.get(KINDS) or [Kind.UNSTATED.value] * 2
    if not isinstance(kinds, list) or len(kinds) != 2 or any(kind not in (*Kind, "") for kind in kinds):
        raise DataError(f"No pictures are of the kinds {kinds!r}: name two of {', '.join(Kind)}.")
    generated, edited = kinds
    if not edited:
        edited = Kind.UNSTATED.value if requested_pictures(table).height < table.height else generated
    by_adapter = pl.when(pl.col(SOURCE).is_null()).then(pl.lit(generated)).otherwise(pl.lit(edited))
    kind = pl.when(pl.col(PROMPT).is_not_null()).then(by_adapter.replace([Kind.UNSTATED.value, ""], None))
    return table.select(kind.alias(PICTURE_KIND)).to_series()


def asked_pictures(study: Study, sample: int | None, seed: int) -> pl.DataFrame:
    """Rows of the pictures that a making asks for, those of its sample where there is one."""
    rows = requested_pictures(study.manifest)
    return rows if sample is None else rows[study.sample(sample, seed, 1)]


def picture_plan(study: Study) -> PicturePlan:
    """The plan of a making study, without its drawings."""
    table = study.manifest.with_columns(pl.col(PICTURE_SEED).cast(pl.Int64))
    groups = study.options[GROUPS]
    assert isinstance(groups, list)
    return PicturePlan(table=table, unit=str(study.options[UNIT]), groups=tuple(groups))


def _build_study(options: Mapping[str, OptionValue], table: pl.DataFrame | None) -> Study:
    """The study by its options and its whole table of pictures."""
    if table is None:
        raise DataError("Pictures are made by 'facevalue make STUDY': this study is not asked of a model.")
    if any(kind != pl.String for kind in table.dtypes):
        raise DataError("The table of pictures to be made holds more than texts: it is not of this study.")
    unit, groups = str(options[UNIT]), options[GROUPS]
    if unit not in UNITS or not isinstance(groups, list):
        raise DataError(f"No study samples {unit!r}: write one of {', '.join(UNITS)}.")
    if lacking := [name for name in (IMAGE, SOURCE, PROMPT, PICTURE_SEED, unit, *groups) if name not in table.columns]:
        raise DataError(f"The table of pictures to be made has no column {lacking[0]!r}.")
    pictures = requested_pictures(table)
    if not pictures.height:
        raise DataError("Nothing is to be made: all pictures of the plan are there.")
    kinds = picture_kinds(pictures, options).unique()
    stimuli = PlannedPictures(table, unit, Kind.UNSTATED if len(kinds) > 1 else Kind(kinds[0] or Kind.UNSTATED))
    labels = {name: f"shown_{name}" if name in _TAKEN else name for name in groups}
    pictures = pictures.rename({name: label for name, label in labels.items() if name != unit})
    factors = [label for label in labels.values() if pictures[label].drop_nulls().n_unique() > 1]
    protocol = Protocol(
        name=MAKING,
        title=f"Picture-making: pictures for {options[MADE_FOR]}",
        stimuli=stimuli,
        ask=Ask(("Make this picture.",), MakingReply()),
        estimands=(Estimand(Mean()), *(estimand for name in factors for estimand in _by_group(name))),
    )
    study = protocol.study({}, pictures.select(*dict.fromkeys((IMAGE, unit, *factors))))
    assert isinstance(study.sample, WholeUnits)
    sampled = replace(study.sample, what="one unit, with all its edits,", mend="Ask for more, or have less made.")
    question = lru_cache(_MOST_QUESTIONS)(Question)  # equal ones are one object
    return replace(
        study,
        options=dict(options),
        manifest=table,
        ask=lambda frame: [question(stimuli.prompt(image)) for image in frame[IMAGE].to_list()],
        answer=partial(_read_outcomes, study),
        sample=partial(_with_sources, replace(study, sample=sampled), table),
        draws=Draws(seeds=(1,), sampling=Sampling(max_tokens=1)),
        page=partial(_page, study),
        watched=replace(study.watched, missing_by=MissingBy()),  # who is refused is what is measured
    )


_SETTINGS = (
    Setting(MADE_FOR, "The study that the pictures are for.", ""),
    Setting(CHOICES, "What its user chose.", []),
    Setting(UNIT, "Column of what is sampled.", "identity", tuple(UNITS)),
    Setting(GROUPS, "Factors that say who is shown.", []),
    Setting(KINDS, "What kind of pictures generator and editor make.", []),
)
PROTOCOL = Protocol(name=MAKING, title="Pictures made to order", settings=_SETTINGS, build=_build_study)
"""Pictures made to order, as a stored run has them."""


@dataclass(frozen=True)
class PlannedPictures(Stimuli):
    """Pictures that are to be made, as stimuli: what a generator is told of each is its content.

    Attributes
    ----------
    pictures:
        A row per picture, those that exist included.
    key:
        Column of the unit.
    kind:
        What those that are made will be.
    """

    pictures: pl.DataFrame
    key: str
    kind: Kind = Kind.UNSTATED
    settings = ()

    @property
    def unit(self) -> str:
        """Unit that was sampled."""
        return UNITS[self.key]

    def table(self, options: Options) -> pl.DataFrame:
        """All of them."""
        return self.pictures

    def sets(self, table: pl.DataFrame) -> Sets:
        """Units; nothing is a base."""
        return Sets(table, self.unit)

    def source(self, table: pl.DataFrame, options: Options) -> Source:
        """These pictures."""
        return self

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {image: row for row, image in enumerate(self.pictures[IMAGE])}

    @cached_property
    def _digests(self) -> dict[str, str]:
        """Digests of the files that are there, by the picture's id."""
        return {image: digest_of(path) for image, path in existing_paths(self.pictures).items()}

    def prompt(self, image: str) -> str:
        """Prompt that a generator is given for a picture that is to be made."""
        return str(self.pictures[PROMPT][self._rows[image]])

    def stimulus(self, number: int, levels: Mapping[str, str | None]) -> Stimulus:
        """Instructions to a generator about a picture, except for the text; the stimulus shows nothing by itself."""
        row = self.pictures.row(self._rows[str(levels[IMAGE])], named=True)
        content = {name: value for name, value in row.items() if name not in (PROMPT, PATH)}
        content["digest"] = self._digests.get(str(row[SOURCE]))
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        factors = {name: value for name, value in row.items() if name not in TEXTS}
        return Stimulus(str(number), digest, factors, tuple, 0)

    def check(self, levels: Mapping[str, list[str | None]]) -> None:
        """Read every picture that is there."""
        _ = self._digests


def _by_group(name: str) -> tuple[Estimand, Estimand]:
    """Estimands by a factor that says who is shown; the number of requests is described, and not tested."""
    return Estimand(Mean(), by=(name,)), Estimand(Gap(factor=name), scores=(REFUSED, FAILED))


@dataclass(frozen=True)
class MakingReply(WrittenReply):
    """Outcome of a request for a picture: made, refused, or failed, and the number of attempts.

    Examples
    --------
    >>> texts = ['{"picture": "ab12", "attempts": 3}', None]
    >>> read = MakingReply().read(pl.DataFrame({"status": ["ok", "refused"], "text": texts}))
    >>> read["refused"].to_list(), read["attempts"].to_list()
    ([0.0, 1.0], [3.0, 1.0])
    """

    @property
    def scores(self) -> tuple[Score, ...]:
        """Shares of those that were refused, and that failed; requests for each of the others."""
        return (*SHARES, REQUESTS)

    def read(self, frame: pl.DataFrame) -> pl.DataFrame:
        """One of the three is the case: each has its scores, and what was not made is no answer either."""
        status = frame["status"].cast(pl.String)
        scores = {name: (status == value).cast(pl.Float64) for name, value in (
            (REFUSED, Status.REFUSED), (FAILED, Status.ERROR),
        )}  # fmt: skip
        na = status.replace_strict({Status.REFUSED: NA.REFUSED, Status.ERROR: NA.ERROR}, default=None)
        requests = frame["text"].str.extract(_RECORDED).cast(pl.Float64).fill_null(1.0)
        is_counted = (status != Status.ERROR) & (requests > 0)  # of a refused source nobody asked for an edit
        scores[ATTEMPTS] = requests.set(~is_counted, None)
        scores[counted_column(ATTEMPTS)] = is_counted.cast(pl.Float64)
        return pl.DataFrame(scores).with_columns(mass=pl.lit(1.0), na=na.cast(NA_DTYPE))


def _page(study: Study) -> "Page":
    """The page of the declaration, which says that all pictures were made where they were."""
    from facevalue.protocol.page import with_people  # noqa: PLC0415 - a page's parts take their time

    assert study.page is not None
    return with_people(replace(study.page(), missing=_all_made))


def _all_made(look: "Look") -> str:
    """Say that no picture was refused and none failed, where that is why no groups can be compared."""
    shares = [look.find("mean", score=name) for name in (REFUSED, FAILED)]
    if any(share is None or share.value != 0 for share in shares):
        return ""
    return (
        f"Every picture was made: none was refused, and none failed. Refused: {look.value(shares[0])} "
        f"{look.interval(shares[0])}."
    )


def digest_of(path: str) -> str:
    """SHA-256 of a picture that is there."""
    return hashlib.sha256(read_file(Path(path), MAX_BYTES, "picture")).hexdigest()


def _read_outcomes(study: Study, frame: pl.DataFrame) -> pl.DataFrame:
    """Outcomes; one that failed is an outcome here, not a question that was not asked yet."""
    status = frame.schema["status"]
    return study.answer(frame).with_columns(pl.lit(Status.OK.value).cast(status).alias("status"))


def _with_sources(study: Study, table: pl.DataFrame, size: int, seed: int, repeats: int) -> npt.NDArray[np.int64]:
    """A sample of whole units, with the pictures of other units that theirs are edited from."""
    numbers = study.sample(size, seed, repeats)
    images: Sequence[str] = study.design.trials(numbers)[IMAGE].to_list()
    sources = dict(requested_pictures(table).select(IMAGE, SOURCE).iter_rows())
    sampled, unfollowed = set(images), list(images)
    while unfollowed:
        source = sources.get(unfollowed.pop())
        if source is not None and source in sources and source not in sampled:
            sampled.add(source)
            unfollowed.append(source)
    if len(sampled) == len(images):
        return numbers
    every = study.design.trials(np.arange(study.design.size))
    return np.sort(every.filter(pl.col(IMAGE).is_in(list(sampled)))["trial"].to_numpy().astype(np.int64))
