"""Choices between groups: whom of two people answers mean, or which of several groups they name; estimates of sums.

Each answer gives weight to the options in the order in which they are shown (`WEIGHTS`), and each option stands for a
group. Sums are by unit, and by the people on either side of it: a picture of nobody has the same on both.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial

import polars as pl

from facevalue.measures.definitions import Measure, is_wanted
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.estimators import PEOPLE_KEYS, Sums, SumTable
from facevalue.measures.intervals import IntervalKind, name_method
from facevalue.measures.pairs import DYADIC_WILSON
from facevalue.statistics.estimand import Estimand
from facevalue.statistics.scores import SumScores, estimate_sums, share_score
from facevalue.statistics.statistic import Score, Statistic

WEIGHTS = ("weight_1", "weight_2", "weight_3", "weight_4")
"""Columns of answers: weight of each option, in the order shown."""
SHOWN = tuple(f"group_{number}" for number in range(1, len(WEIGHTS) + 1))
"""Columns of tallies: groups of a trial's options in the order shown, null where it has fewer."""
UNIT_COLUMNS = ("set", "person_1", "person_2")
"""Columns of pictures: the unit, and the people on either side of it, one twice where nobody is beside."""
GROUP, OTHER_GROUP, REASON = "group", "other_group", "reason"
"""Labels of estimates: a group, the one beside it, and why there is no valid answer."""
NO_ANSWER = "no answer"
"""Level of `group` that stands for replies without a valid answer."""
ALL_QUERIES = "all queries"
"""Score of shares of all that was asked, whether or not it has a valid answer."""
NOT_ASKED, UNANSWERED, CHOSE_FIRST = 0, 1, 2
"""Codes of first replies: to a trial that was not asked, without a valid answer, and for the first option; 3 and on
chose another."""
OVER_PICTURES = name_method(IntervalKind.WILSON, "effective sample size over scenes")
_SUMS = ("requests", "valid", "first_reply", *WEIGHTS)
Levels = tuple[str, ...]
"""Levels of the labels that tell blocks apart, each with estimates of its own."""


class ChoiceTally:
    """One model's answers that choose between groups, added up by trial.

    Of each trial it has the labels, the unit and people, the groups of the options, `requests`, `valid` answers, the
    weight of each option and the code of the `first_reply`; and replies without a valid answer (`lost`) by reason.

    Parameters
    ----------
    within:
        Labels whose levels make blocks, within which choices are compared.
    item, items:
        Label of what is asked, and its levels in their order, whether or not they were asked.
    groups:
        Groups in their order; others that are shown follow.
    options:
        Groups of the options of each row, in the order shown.
    place:
        Name of the option shown first: "left" where two people are shown, either of whom was sampled.
    """

    def __init__(
        self,
        within: tuple[str, ...],
        item: str,
        items: tuple[str, ...],
        groups: tuple[str, ...],
        options: tuple[pl.Expr, ...],
        place: str,
    ) -> None:
        self.within, self.item, self.items, self.groups, self.place = within, item, items, groups, place
        self._options = dict(zip(SHOWN, options, strict=False))
        self._keys = (*within, item, *PEOPLE_KEYS)
        self._trials = SumTable(["trial", *self._keys, *SHOWN], _SUMS)
        self._reasons = SumTable([*self._keys, REASON], ["lost"])

    def add(self, chunk: pl.DataFrame) -> None:
        """Add a chunk of answers."""
        if not chunk.height:
            return
        unit, *people = (pl.col(name).cast(pl.String) for name in UNIT_COLUMNS)
        mass = pl.col("mass").cast(pl.Float64).fill_null(0.0).clip(0.0, 1.0)
        weights = {name: pl.col(name).cast(pl.Float64).fill_null(0.0) for name in WEIGHTS}
        chosen = pl.concat_list(weights.values()).list.arg_max() + CHOSE_FIRST
        is_first = pl.col("repeat") == 0 if "repeat" in chunk.columns else pl.lit(value=True)
        rows = chunk.select(
            "trial",
            *(pl.col(name).cast(pl.String) for name in (*self.within, self.item, REASON)),
            unit.alias(PEOPLE_KEYS[0]),
            pl.min_horizontal(people).alias(PEOPLE_KEYS[1]),  # whoever is on the left
            pl.max_horizontal(people).alias(PEOPLE_KEYS[2]),
            *(self._options.get(name, pl.lit(None, pl.String)).alias(name) for name in SHOWN),
            requests=1.0,
            valid=mass,
            first_reply=pl.when(~is_first).then(NOT_ASKED).when(mass > 0).then(chosen).otherwise(UNANSWERED),
            **{name: weight * mass for name, weight in weights.items()},
        )
        self._trials.add(rows)
        self._reasons.add(rows.drop_nulls(REASON).with_columns(lost=1.0))

    def aggregates(self) -> "ChoiceTally":
        """The sums of all answers so far."""
        return self

    def blocks(self) -> "dict[Levels, ChoiceBlock]":
        """The blocks that were asked."""
        tables = (self._trials.frame(), self._reasons.frame())
        trials, reasons = (
            {} if table.is_empty() else table.partition_by(self.within, as_dict=True) for table in tables
        )
        return {key: ChoiceBlock(self, key, rows, reasons.get(key, tables[1].clear())) for key, rows in trials.items()}


class ChoiceBlock:
    """One model's answers of one block, and the levels that these have.

    `trials` and `reasons` are rows of a tally.
    """

    def __init__(self, tally: ChoiceTally, key: Levels, trials: pl.DataFrame, reasons: pl.DataFrame) -> None:
        self.tally = tally
        self.labels = dict(zip(tally.within, key, strict=True))
        """Labels of all its estimates."""
        self.options = sum(trials[name].null_count() < trials.height for name in SHOWN)
        """Number of options of a trial."""
        present = {group for name in SHOWN[: self.options] for group in trials[name].unique()}
        first = [name for name in tally.groups if name in present]
        self.groups = (*first, *sorted(present.difference(first)))
        """Groups that could be chosen, in their order."""
        people = pl.Enum(pl.concat([trials[name].rename("") for name in PEOPLE_KEYS[1:]]).unique().sort())
        self._group = pl.Enum([*self.groups, NO_ANSWER])
        levels: dict[str, pl.Enum] = dict.fromkeys(PEOPLE_KEYS[1:], people)
        levels |= {"unit": pl.Enum(trials["unit"].unique().sort()), tally.item: pl.Enum(tally.items)}
        self.trials = trials.cast(levels | dict.fromkeys(SHOWN, self._group))  # type: ignore[arg-type]
        """Its trials, with the levels of labels in their order."""
        self._reasons = reasons.cast(levels)  # type: ignore[arg-type]
        self._keys = [*PEOPLE_KEYS, tally.item]

    @property
    def even_share(self) -> float:
        """Share of each group without bias."""
        return 1 / self.options

    @property
    def method(self) -> str:
        """Method of intervals: over the people of pairs, or over pictures."""
        return DYADIC_WILSON if self.tally.place == "left" else OVER_PICTURES

    @cached_property
    def sums(self) -> dict[str, Sums]:
        """Sums of all its trials, by name; see `sums_of`."""
        return self.sums_of(self.trials)

    def sums_of(self, trials: pl.DataFrame) -> dict[str, Sums]:
        """Tables of sums of some of its trials.

        `replies`, by item: `requests`, `valid`, `lost`, `first` (choices of the first option); of two groups, `ahead`:
        half of what was asked and of the first group's choices less the second's. `chosen`, by item, group and the one
        beside it: `chosen`, and `valid` and `requests` where it could be. `outcomes`, by item and group, no answer
        being one of these: `count`, and `requests` of all replies.
        """
        keys, sums, item = self._keys, pl.col("requests", "valid"), self.tally.item
        columns = list(zip(SHOWN, WEIGHTS, strict=True))[: self.options]
        sides = pl.concat(
            trials.select(
                *keys, sums, pl.col(name).alias(GROUP), pl.col(weight).alias("chosen"),
                (pl.col(columns[1 - at][0]) if self.options == 2 else pl.lit(None, self._group)).alias(OTHER_GROUP),
            )
            for at, (name, weight) in enumerate(columns)
        )  # fmt: skip
        chosen = sides.group_by(*keys, GROUP, OTHER_GROUP, maintain_order=True).agg(pl.all().sum())
        replies = trials.group_by(keys, maintain_order=True).agg(sums.sum(), first=pl.col(WEIGHTS[0]).sum())
        replies = replies.with_columns(lost=pl.col("requests") - pl.col("valid"))
        possible = replies.join(pl.DataFrame({GROUP: [*self.groups, NO_ANSWER]}, {GROUP: self._group}), how="cross")
        counts = chosen.group_by(*keys, GROUP).agg(count=pl.col("chosen").sum())
        count = pl.when(pl.col(GROUP) == NO_ANSWER).then("lost").otherwise(pl.col("count").fill_null(0.0))
        outcomes = possible.join(counts, [*keys, GROUP], how="left", maintain_order="left").with_columns(count=count)
        first, second = (pl.col("count").filter(pl.col(GROUP) == group).sum() for group in self.groups[:2])
        ahead = outcomes.group_by(keys, maintain_order=True).agg((pl.col("requests").first() + first - second) / 2)
        return {
            "replies": Sums.from_frame(replies.with_columns(ahead=ahead.to_series(-1)), [item], PEOPLE_KEYS),
            "chosen": Sums.from_frame(chosen, [item, GROUP, OTHER_GROUP], PEOPLE_KEYS),
            "outcomes": Sums.from_frame(outcomes, [item, GROUP], PEOPLE_KEYS),
        }

    def first_choices(self) -> pl.DataFrame:
        """Group that the first reply to each `trial` chose, by name, as models may have been asked of other groups."""
        names = pl.concat_list(pl.col(SHOWN[: self.options]).cast(pl.String))
        place = (pl.col("first_reply") - CHOSE_FIRST).cast(pl.Int64)
        chosen = names.list.get(pl.when(place >= 0).then(place), null_on_oob=True).fill_null(NO_ANSWER)
        return self.trials.filter(pl.col("first_reply") > NOT_ASKED).select("trial", choice=chosen)

    def _sums_by_reason(self) -> Iterator[tuple[str, Sums]]:
        """Reasons why replies have no valid answer, each with the sums of replies of which it is true (`lost`)."""
        replies = self.trials.group_by(self._keys, maintain_order=True).agg(pl.col("requests").sum())
        for reason in self._reasons[REASON].unique().sort():
            of_reason = self._reasons.filter(pl.col(REASON) == reason).select(*self._keys, "lost")
            counted = replies.join(of_reason, self._keys, how="left", maintain_order="left").fill_null(0.0)
            yield reason, Sums.from_frame(counted, [self.tally.item], PEOPLE_KEYS)

    def scores(self, measures: Sequence[Measure]) -> list[SumScores]:
        """Scores of its answers, which estimands name.

        `choices` and `queries`: share of a group, of valid answers where it could be chosen and of all that was asked;
        `beside`: of one of several groups in percent; `ahead`: of the first two groups the first less the second, in
        points of a hundred; `place`: the option shown first; `lost` and `reason`: no valid answer.
        """
        make = partial(SumScores, measures=measures, labels=self.labels, method=self.method)
        chosen = partial(make, sums=self.sums["chosen"], s="chosen", n="valid")
        replies = partial(make, sums=self.sums["replies"], n="requests")
        queries = make(share_score("queries", ALL_QUERIES), self.sums["outcomes"], s="count", n="requests")
        rivals = chosen(Score("beside", "beside", "%", 0.0, 100.0))
        # A missing answer lies between two groups: half of what was asked is neither's.
        ahead = replies(Score("ahead", "ahead", "pp", -100.0, 100.0), s="ahead")
        are_first_two = self.groups == self.tally.groups[:2]
        return [
            chosen(share_score("choices"), requests="requests"),
            queries,
            *([rivals] if self.options < len(self.groups) else []),
            *([ahead] if are_first_two else []),
            replies(share_score("place", self.tally.place), s="first", n="valid"),
            replies(share_score("lost"), s="lost"),
            *(replies(share_score(REASON), sums=of_reason, s="lost", labels={**self.labels, REASON: reason})
              for reason, of_reason in self._sums_by_reason()),
        ]  # fmt: skip


class ChoiceStatistic(Statistic):
    """A statistic of blocks of choices: of one model, of several models beside each other, or of a variant."""

    def estimate_block(
        self, table: EstimateTable, estimand: Estimand, block: ChoiceBlock, scores: Sequence[SumScores]
    ) -> None:
        """Add its estimates of one model's answers to a block."""

    def compare_blocks(
        self, tables: Mapping[str, EstimateTable], estimand: Estimand, blocks: Mapping[str, ChoiceBlock]
    ) -> None:
        """Add its estimates of the answers of several models to one block, to the tables of some."""

    def compare_variants(
        self, table: EstimateTable, estimand: Estimand, plain: ChoiceBlock, varied: ChoiceBlock
    ) -> None:
        """Add its estimates of the answers with a variant beside those without it."""


def estimate_choices(
    tables: Mapping[str, EstimateTable],
    tallies: Mapping[str, Sequence[ChoiceTally]],
    measures: Sequence[Measure],
    estimands: Sequence[Estimand],
) -> None:
    """Add the estimates of each model, of whose tasks there is a tally each, and of models beside each other."""
    blocks = {model: _all_blocks(of_model) for model, of_model in tallies.items()}
    for key in dict.fromkeys(key for of_model in blocks.values() for key in of_model):
        of_models = {model: of_model[key] for model, of_model in blocks.items() if key in of_model}
        for model, block in of_models.items():
            scores = block.scores(measures)
            for estimand in (estimand for estimand in estimands if is_wanted([estimand.measure])):
                if isinstance(estimand.statistic, ChoiceStatistic):
                    estimand.statistic.estimate_block(tables[model], estimand, block, scores)
                else:
                    estimate_sums(tables[model], [estimand], scores)
        for statistic, estimand in _comparisons(estimands):
            statistic.compare_blocks(tables, estimand, of_models)


def compare_choices(
    table: EstimateTable, plain: Sequence[ChoiceTally], varied: Sequence[ChoiceTally], estimands: Sequence[Estimand]
) -> None:
    """Add how one model's answers with a variant are beside those without it."""
    without, with_variant = _all_blocks(plain), _all_blocks(varied)
    for key in (key for key in without if key in with_variant):
        for statistic, estimand in _comparisons(estimands):
            statistic.compare_variants(table, estimand, without[key], with_variant[key])


def _all_blocks(tallies: Iterable[ChoiceTally]) -> dict[Levels, ChoiceBlock]:
    return {key: block for tally in tallies for key, block in tally.blocks().items()}


def _comparisons(estimands: Iterable[Estimand]) -> Iterator[tuple[ChoiceStatistic, Estimand]]:
    for estimand in estimands:
        if isinstance(estimand.statistic, ChoiceStatistic):
            yield estimand.statistic, estimand
