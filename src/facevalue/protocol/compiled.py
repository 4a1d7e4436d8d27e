"""Compilation of a protocol to a study: design, questions, answers, samples, estimates, precision."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from facevalue.answers import NA_DTYPE
from facevalue.design import Block, Design, Factor
from facevalue.errors import DataError, UnknownNameError, placed
from facevalue.measures.base import Measure
from facevalue.measures.estimates import FIXED, TYPED
from facevalue.measures.missing_by import Grouped, MissingBy
from facevalue.protocol import settings as given
from facevalue.protocol.acceptance import check_take, check_whole
from facevalue.protocol.aggregate import Axes, collect
from facevalue.protocol.asks import ORDERING, WORDING, Ask, Questions
from facevalue.protocol.definitions import SIDE_SCORE, instrument_measures, margins, measure_name, measures
from facevalue.protocol.offers import Compared
from facevalue.protocol.planning import precision
from facevalue.protocol.replies import FIRST, LETTER, Options
from facevalue.protocol.sampling import WholeUnits
from facevalue.protocol.sets import Sets
from facevalue.protocol.side_by_side import LEFT, OTHER, SIDE, Pairs
from facevalue.protocol.stimuli import Rows
from facevalue.protocol.study import About, Draws, Estimated, Planned, Study, Watched
from facevalue.protocol.takes import CONTRAST, DIMENSION, MEAN, PREFERENCE, SHIFT, SPREAD, Breakdown, Take
from facevalue.types import STUDY_TEXT, OptionValue, Sampling

if TYPE_CHECKING:
    from facevalue.measures.preregistration import Preregistration
    from facevalue.protocol.page import Page
    from facevalue.protocol.protocol import Protocol

_CARRIED_NOT = ("image", "path", OTHER, "seed")
_MOST = 40  # levels of a factor that are looked at as groups
_RESERVED = frozenset(FIXED) | frozenset(TYPED)
_ANSWERS = frozenset(("weight", "mass", "na", "reply", "repeat", "status", "trial", "block", "text", "probs"))


def compiled(protocol: "Protocol", options: Mapping[str, OptionValue], manifest: pl.DataFrame | None) -> Study:
    """Make the study of a protocol that says what is shown, asked and taken."""
    stimuli, ask = protocol.stimuli, protocol.ask
    assert stimuli is not None
    assert ask is not None
    options = given.located(options, ("folder",), ("manifest",))
    table = stimuli.table(options) if manifest is None else _stored(manifest)
    narrowed = _narrowed(ask, options)
    sets = stimuli.sets(table)
    for name in ("image", sets.key, *sets.cue):
        if name not in table.columns or (table[name].null_count() and name not in sets.cue):
            raise DataError(f"The table of pictures has no {name!r} in some row: it is not of this study.")
    breakdown = Breakdown(sets, narrowed.question_factors)
    _check_labels(breakdown, narrowed)
    sides = isinstance(stimuli, Pairs)
    seeds = given.seeds(options)
    for take in protocol.takes:
        with placed(take.where):
            breakdown.check(take)
            _check_score(take, narrowed, sides)
            if manifest is None:  # of a run that has begun all is taken as it stands
                check_take(take, breakdown)
                if take.margin is not None:
                    _check_margin(take, breakdown, narrowed)
    with placed(narrowed.where):
        picture_slots = narrowed.shown(breakdown.factors)
    if manifest is None:
        check_whole(protocol.takes, breakdown, narrowed, len(seeds), protocol.max_tokens)
    design = _design(table, sets, narrowed, isinstance(stimuli, Rows))
    axes = Axes(
        table["image"].to_list(), narrowed.question_codes, list(narrowed.reply.orderings), len(seeds), _items(narrowed)
    )
    analysis = Analysis(protocol, breakdown, narrowed, axes, sides)
    if protocol.page is not None:
        from facevalue.protocol.page import check_page  # noqa: PLC0415 - scipy.stats takes a second to import

        check_page(protocol.page(), tuple(analysis.measures.values()), (*analysis.labels, *TYPED, "model"))
    scores = narrowed.reply.scores
    bounded = {score.name: (pl.col(score.name) - score.low) / score.span for score in scores if score.span}
    stored: dict[str, OptionValue] = {STUDY_TEXT: protocol.text} if protocol.text else {}
    return Study(
        name=protocol.name,
        version=protocol.version,
        about=About(
            title=protocol.title, citation=protocol.citation, content_note=protocol.content_note, titles=protocol.titles
        ),
        options={**options, **stored},
        manifest=table,
        design=design,
        draws=Draws(seeds=seeds, sampling=Sampling(given.temperature(options), 1.0, protocol.max_tokens)),
        source=stimuli.source(table, options),
        ask=Questions(narrowed, picture_slots, narrowed.reply.told),
        sample=WholeUnits(
            design,
            sets,
            _items(narrowed),
            len(narrowed.reply.orderings),
            "one unit asked one question",
            "Use fewer seeds.",
        ),
        answer=analysis.answer,
        analyse=analysis,
        estimates=Estimated(
            measures=tuple(analysis.measures.values()),
            labels=analysis.labels,
            lead=tuple(dict.fromkeys(take.named() for take in protocol.takes if take.tested)),
            declared=_declared(protocol, breakdown, narrowed),
        ),
        planned=Planned(precision=precision(protocol.takes, breakdown, design, axes, scores)),
        asked_together=(sets.key,),
        watched=Watched(
            missing_by=_missing_by(breakdown),
            followed=bounded if len(bounded) != 1 else {"": next(iter(bounded.values()))},
        ),
        extras=replace(protocol.extras, compare=_compared(protocol, breakdown, narrowed)),
        page=protocol.page or partial(_page, analysis),
    )


def _stored(manifest: pl.DataFrame) -> pl.DataFrame:
    """A run's table of stimuli, which may come from a stranger."""
    if not manifest.height or any(kind != pl.String for kind in manifest.dtypes):
        raise DataError("The table of pictures is empty or holds more than texts: it is not of this study.")
    return manifest


def _check_score(take: Take, ask: Ask, sides: bool) -> None:
    """Refuse a take that these answers do not allow."""
    scores = {score.name: score for score in ask.reply.scores}
    for name in take.scores:
        if name not in scores:
            raise UnknownNameError("score", name, scores)
    if (take.measure == PREFERENCE and not sides) or (take.measure == SHIFT and sides):
        raise DataError("A preference is one of pairs side by side, and a shift one of single pictures.")
    if sides and (len(scores) > 1 or next(iter(scores.values())).span is None):
        raise DataError("Pairs side by side need an answer on one scale: a choice, yes or no, a rating.")


def _check_margin(take: Take, breakdown: Breakdown, ask: Ask) -> None:
    """Refuse a margin that no value can lie beyond."""
    from facevalue.measures.value_limits import check_margins  # noqa: PLC0415 - slow to import

    scores = ask.reply.scores
    check_margins(margins((take,), breakdown, scores), tuple(measures((take,), breakdown, scores).values()))


def _narrowed(ask: Ask, options: Mapping[str, OptionValue]) -> Ask:
    """The question with only the levels that the user chose."""
    chosen = {}
    for factor in ask.named_factors:
        if names := given.names(options, factor.name) if factor.name in options else ():
            chosen[factor.name] = given.chosen(factor.name, names, list(factor.levels))
    return ask.narrowed(chosen) if chosen else ask


def _items(ask: Ask) -> int:
    return int(np.prod([len(factor) for factor in ask.question_factors], dtype=np.int64))


def _check_labels(breakdown: Breakdown, ask: Ask) -> None:
    """Refuse factors whose name means something else in the tables of answers and estimates."""
    scores = {score.name for score in ask.reply.scores}
    columns = [name for name in breakdown.sets.manifest.columns if name not in _CARRIED_NOT]
    for name in [*columns, *breakdown.of_prompt]:
        if name in _RESERVED or name in (CONTRAST, DIMENSION):
            raise DataError(f"No factor can be called {name!r}, which is a column of the estimates. Rename it.")
        if name in _ANSWERS or name in scores or (name == ORDERING and name in columns):
            raise DataError(f"No factor can be called {name!r}, which is a column of the answers. Rename it.")
        if [*columns, *breakdown.of_prompt].count(name) > 1:
            place = "wordings of the prompt" if name == WORDING else "slots and items of the prompt"
            raise DataError(f"The factor {name!r} is one of the pictures and of the {place}. Rename one of them.")


def _design(table: pl.DataFrame, sets: Sets, ask: Ask, text: bool) -> Design:
    """Bases, second bases and all others in blocks of their own."""
    carried = [name for name in table.columns if name not in _CARRIED_NOT]
    bases, controls = sets.base[sets.base >= 0], sets.control[sets.control >= 0]
    rest = np.setdiff1d(np.arange(table.height), np.concatenate([bases, controls]))
    constants = {"shown": "text"} if text else {}
    blocks = []
    for name, rows in (("bases", bases), ("second bases", controls), ("pictures", rest)):
        if rows.size:
            pictures = table[np.sort(rows)]
            image = Factor("image", tuple(pictures["image"]), {column: tuple(pictures[column]) for column in carried})
            kind = (name == "bases", name == "second bases")
            blocks.append(Block("rows" if text else name, (image,), ask.factors(), constants, *kind))
    return Design(tuple(replace(block, name=f"{block.name} {n}") if text else block for n, block in enumerate(blocks)))


@dataclass(frozen=True)
class Analysis:
    """What becomes of the answers."""

    protocol: "Protocol"
    breakdown: Breakdown
    ask: Ask
    axes: Axes
    sides: bool  # whether pairs are shown, so that scores are turned round where the base is on the left

    @property
    def labels(self) -> tuple[str, ...]:
        """Columns that say what an estimate is of."""
        return (*self.breakdown.factors, CONTRAST, DIMENSION)

    @property
    def measures(self) -> dict[str, Measure]:
        """Definitions by name."""
        taken = measures(self.protocol.takes, self.breakdown, self.ask.reply.scores)
        return taken | instrument_measures(self.ask.reply, self.breakdown.sets.unit, sides=self.sides)

    def answer(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Scores, mass and reasons in place of text and probabilities."""
        scored = self.ask.read(frame)
        if self.sides:
            score = self.ask.reply.scores[0]
            raw = pl.col(score.name)
            turned = pl.when(frame[SIDE].cast(pl.String) == LEFT).then(score.low + score.high - raw).otherwise(raw)
            scored = scored.with_columns(raw.alias(SIDE_SCORE), turned.alias(score.name))
        return pl.concat(
            [frame.drop("text", "probs"), scored.with_columns(pl.col("na").cast(NA_DTYPE))], how="horizontal"
        )

    def __call__(self, answers: Mapping[str, Iterator[pl.DataFrame]]) -> pl.DataFrame:
        """Estimate everything, per model and, with several models, for their mean."""
        from facevalue.protocol.analysis import Program  # noqa: PLC0415 - scipy.stats takes a second to import
        from facevalue.protocol.instrument import judge_instrument  # noqa: PLC0415

        reply, breakdown, measures = self.ask.reply, self.breakdown, self.measures
        checks = partial(
            judge_instrument, breakdown=breakdown, reply=reply, measures=measures, repeats=self.axes.repeats,
        )  # fmt: skip
        program = Program(
            self.protocol.name, self.labels, breakdown, reply.scores, measures, self.protocol.takes, checks,
        )  # fmt: skip
        scores = [score.name for score in reply.scores]
        extra = [FIRST, LETTER] if isinstance(reply, Options) else []
        columns = [*scores, *extra, *([SIDE_SCORE] if self.sides else [])]
        aggregates = {model: collect(chunks, self.axes, columns, np.float64) for model, chunks in answers.items()}
        return program.estimate(aggregates)


def _compared(protocol: "Protocol", breakdown: Breakdown, ask: Ask) -> Compared:
    """What is declared, or the first mean of an answer on a scale."""
    declared = protocol.extras.compare
    if declared.measure:
        return declared
    scores = ask.reply.scores
    means = [take for take in protocol.takes if take.measure == MEAN]
    for take in means:
        for score in scores:
            if score.span is not None and (not take.scores or score.name in take.scores):
                return replace(declared, measure=measure_name(take, breakdown, score, scores))
    return declared


def _missing_by(breakdown: Breakdown) -> MissingBy:
    """Groups of pictures by each factor that several units share, and questions."""
    sets = breakdown.sets
    units = len(sets.identities)
    names = [
        name
        for name in breakdown.factors
        if name not in breakdown.of_prompt and len(breakdown.levels(name)) <= min(_MOST, units / 2)
    ]
    several = (Grouped.of(name, sets.key) for name in names if len(breakdown.levels(name)) > 1)
    return MissingBy(tuple(several), tuple(breakdown.asked))


def _page(analysis: Analysis) -> "Page":
    """What the report shows where the protocol does not say."""
    from facevalue.protocol.default_page import taken  # noqa: PLC0415 - scipy.stats takes a second to import

    return taken(analysis.protocol.takes, analysis.breakdown, analysis.ask.reply.scores)


def _declared(protocol: "Protocol", breakdown: Breakdown, ask: Ask) -> "Callable[[], Preregistration] | None":
    """Confirmatory families and margins of the takes, as what was declared before the run."""
    scores = ask.reply.scores
    limits = margins(protocol.takes, breakdown, scores)
    confirmed = [take for take in protocol.takes if take.confirmatory and take.tested]
    if not limits and not confirmed:
        return None

    def declare() -> "Preregistration":
        from facevalue.measures.multiple_testing import ALPHA, Family  # noqa: PLC0415 - slow to import
        from facevalue.measures.preregistration import Preregistration  # noqa: PLC0415

        families = []
        for take in confirmed:
            taken_scores = [score for score in scores if not take.scores or score.name in take.scores]
            for score in taken_scores:
                levels: dict[str, tuple[str, ...] | None] = dict.fromkeys(breakdown.factors)
                levels |= dict.fromkeys(take.by, ("*",))
                if take.measure == SPREAD:
                    levels |= {DIMENSION: (take.of,)}
                elif take.of:
                    others = dict.fromkeys(other for _, other in breakdown.contrasts(take))
                    levels |= {take.of: ("*",), CONTRAST: tuple(others)}
                name = take.named() if len(taken_scores) == 1 else f"{take.named()} ({score.name})"
                measure = measure_name(take, breakdown, score, scores)
                families.append(Family(name, "confirmatory", measure, levels, take.method, ALPHA))
        text = protocol.text or repr(protocol.takes)
        return Preregistration(tuple(families), limits, ALPHA, hashlib.sha256(text.encode()).hexdigest(), text)

    return declare
