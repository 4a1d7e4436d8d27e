"""Aggregation of answers: by trial, with what each trial is about, and sums of these by pair or scene."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.estimators import PEOPLE_KEYS, Sums, SumTable
from facevalue.protocol.reproduction import read_columns
from facevalue.studies.modscan.parsing import WEIGHTS, options
from facevalue.studies.modscan.settings import GROUPS, VISION, instances
from facevalue.studies.modscan.statistics import GroupChoices

# Real shares of groups, as the user gives them.


COLUMNS = ("instance", "group", "share", "source")
_SLACK = 0.011  # shares are printed in whole percent


def real_shares(file: str) -> dict[tuple[str | None, str | None], tuple[float, str]]:
    """Share of each instance and group, and where it is from."""
    rows = read_real(file).iter_rows()
    return {(name, group): (share, f"real share: {source}") for name, group, share, source in rows}


def read_real(file: str, groups: Collection[str] = ()) -> pl.DataFrame:
    """Read a CSV file of real shares: `instance`, `group`, `share` (of 1), `source`; all groups by default."""
    path = Path(file)
    frame = read_columns(path, COLUMNS).with_columns(pl.all().str.strip_chars())
    names = [i.name for i in instances()]
    for name in frame["instance"].unique(maintain_order=True):
        if name not in names:
            raise UnknownNameError(f"instance in {path.name}", str(name), names)
    for name in frame["group"].unique(maintain_order=True) if groups else ():
        if name not in groups:
            raise UnknownNameError(f"group in {path.name}", str(name), groups)
    number = frame["share"].cast(pl.Float64, strict=False)
    wrong = frame.filter(number.is_null() | ~number.is_between(0, 1))
    if wrong.height:
        name, group, share, _ = wrong.row(0)
        raise DataError(f"{path.name}: the share of {group} among {name} is {share!r}, not a number from 0 to 1.")
    out = frame.with_columns(number.alias("share"))
    for name, total in out.group_by("instance", maintain_order=True).agg(pl.col("share").sum()).iter_rows():
        if abs(total - 1) > _SLACK:
            raise DataError(f"{path.name}: the shares of {name} sum to {total:g}, not to 1.")
    return out


NO_ANSWER = "no answer"
"""Level of `group` that stands for replies without a valid answer."""
ABOUT = ("modality", "attribute", "scenario_kind")
"""Columns that say of which part of the study an answer is."""
SHOWN = tuple(f"group_{number}" for number in range(1, len(WEIGHTS) + 1))
"""Columns of the groups of a trial's options in the order shown, null where it has fewer."""
Part = tuple[str, ...]
"""Modality, attribute and kind of scenario."""
NOT_ASKED, UNANSWERED, CHOSE_FIRST = 0, 1, 2
"""Codes of first replies: to a trial that was not asked, without a valid answer, and for the first option; 3 and on
chose another."""
_KEYS = (*ABOUT, "instance", *PEOPLE_KEYS)
_SUMS = ("requests", "valid", "first_reply", *WEIGHTS)


class TrialAnswers:
    """One model's answers, added up by trial: what each trial is about, and how much of it chose which option.

    Attributes
    ----------
    trials:
        Labels, the pair or scene (`unit`), the people on either side, one twice where nobody is beside, the groups of
        the options; `requests`, `valid` answers, the weight of each option, and the code of the `first_reply`.
    reasons:
        Replies without a valid answer (`lost`) by labels, unit, people and `reason`.
    """

    def __init__(self, chunks: Iterable[pl.DataFrame]) -> None:
        trials, reasons = SumTable(["trial", *_KEYS, *SHOWN], _SUMS), SumTable([*_KEYS, "reason"], ["lost"])
        for chunk in chunks:
            for rows in chunk.partition_by(ABOUT[:2], maintain_order=True):
                labelled = _label(rows)
                trials.add(labelled)
                reasons.add(labelled.drop_nulls("reason").with_columns(lost=1.0))
        self.trials, self.reasons = trials.frame(), reasons.frame()

    def blocks(self, declared: Mapping[Part, Collection[str]] | None = None) -> dict[Part, "AskedBlock"]:
        """The parts of the study that were asked; `declared`: instances that each is about, by default those asked."""
        trials, reasons = (
            {} if table.is_empty() else table.partition_by(ABOUT, as_dict=True) for table in (self.trials, self.reasons)
        )
        return {
            key: AskedBlock(rows, reasons.get(key, self.reasons.clear()), (declared or {}).get(key, ()))
            for key, rows in trials.items()
        }


def _label(rows: pl.DataFrame) -> pl.DataFrame:
    """Answers about one attribute in one modality, with what is added up of them."""
    modality, attribute = (str(rows[name][0]) for name in ABOUT[:2])
    columns = ("pair", *PEOPLE_KEYS[1:]) if modality == VISION else ("image", "identity", "identity")
    groups = dict(zip(SHOWN, options(rows, modality, attribute), strict=False))
    mass = pl.col("mass").cast(pl.Float64).fill_null(0.0).clip(0.0, 1.0)
    weights = {name: pl.col(name).cast(pl.Float64).fill_null(0.0) for name in WEIGHTS}
    choice = pl.when(mass > 0).then(pl.concat_list(weights.values()).list.arg_max() + CHOSE_FIRST).otherwise(UNANSWERED)
    is_first = pl.col("repeat") == 0 if "repeat" in rows.columns else pl.lit(value=True)
    return rows.select(
        "trial",
        *(pl.col(name).cast(pl.String) for name in (*ABOUT, "instance", "reason")),
        *(pl.col(column).cast(pl.String).alias(name) for name, column in zip(PEOPLE_KEYS, columns, strict=True)),
        *(groups.get(name, pl.lit(None, pl.String)).alias(name) for name in SHOWN),
        requests=1.0,
        valid=mass,
        first_reply=pl.when(is_first).then(choice).otherwise(NOT_ASKED),
        **{name: weight * mass for name, weight in weights.items()},
    )


class AskedBlock:
    """One model's answers to a part of the study, and the levels that these have.

    Parameters
    ----------
    trials, reasons:
        Rows of `TrialAnswers`.
    declared:
        Instances that the part is about, some of which may not have been asked.
    """

    def __init__(self, trials: pl.DataFrame, reasons: pl.DataFrame, declared: Collection[str] = ()) -> None:
        self.labels = {name: str(trials[name][0]) for name in ABOUT}
        """Labels of its estimates: modality, attribute and kind of scenario."""
        self.options = sum(trials[name].null_count() < trials.height for name in SHOWN)
        """Number of options of a trial."""
        present = {group for name in SHOWN[: self.options] for group in trials[name].unique()}
        listed = [name for name in GROUPS.get(self.labels["attribute"], ()) if name in present]
        self.groups = (*listed, *sorted(present.difference(listed)))
        """Groups that could be chosen, in their order."""
        about = {*trials["instance"].unique(), *declared}
        self.instances = [i.name for i in instances() if i.name in about]
        """Instances that it is about, in their order."""
        people = pl.Enum(pl.concat([trials[name].rename("") for name in PEOPLE_KEYS[1:]]).unique().sort())
        self._group = pl.Enum([*self.groups, NO_ANSWER])
        levels = dict.fromkeys(PEOPLE_KEYS[1:], people)
        levels |= {"unit": pl.Enum(trials["unit"].unique().sort()), "instance": pl.Enum(self.instances)}
        self.trials = trials.cast(levels | dict.fromkeys(SHOWN, self._group))  # type: ignore[arg-type]
        """Its trials, with the levels of labels in their order."""
        self._reasons = reasons.cast(levels)  # type: ignore[arg-type]

    @property
    def rivals(self) -> bool:
        """True if answers choose between two of several groups."""
        return self.options < len(self.groups)

    @property
    def even_share(self) -> float:
        """Share of each group without bias."""
        return 1 / self.options

    def sums(self, trials: pl.DataFrame) -> dict[str, Sums]:
        """Tables of sums of all trials of the block or some.

        `replies`, by instance: `requests`, `valid`, `lost`, `first` (choices of the first option); of two groups,
        `ahead`: half of what was asked and of the first group's choices less the second's. `chosen`, by instance,
        group and the one beside it: `chosen`, and `valid` and `requests` where it could be. `outcomes`, by instance and
        group, no answer being one of these: `count`, and `requests` of all replies.
        """
        keys, sums = [*PEOPLE_KEYS, "instance"], pl.col("requests", "valid")
        option_columns = list(zip(SHOWN, WEIGHTS, strict=True))[: self.options]
        sides = pl.concat(
            trials.select(
                *keys, sums, pl.col(name).alias("group"), pl.col(weight).alias("chosen"),
                other_group=pl.col(option_columns[1 - at][0]) if self.options == 2 else pl.lit(None, self._group),
            )
            for at, (name, weight) in enumerate(option_columns)
        )  # fmt: skip
        chosen = sides.group_by(*keys, "group", "other_group", maintain_order=True).agg(pl.all().sum())
        replies = trials.group_by(keys, maintain_order=True).agg(sums.sum(), first=pl.col(WEIGHTS[0]).sum())
        replies = replies.with_columns(lost=pl.col("requests") - pl.col("valid"))
        possible = replies.join(pl.DataFrame({"group": [*self.groups, NO_ANSWER]}, {"group": self._group}), how="cross")
        counts = chosen.group_by(*keys, "group").agg(count=pl.col("chosen").sum())
        count = pl.when(pl.col("group") == NO_ANSWER).then("lost").otherwise(pl.col("count").fill_null(0.0))
        outcomes = possible.join(counts, [*keys, "group"], how="left", maintain_order="left").with_columns(count=count)
        first, second = (pl.col("count").filter(pl.col("group") == group).sum() for group in self.groups[:2])
        ahead = outcomes.group_by(keys, maintain_order=True).agg((pl.col("requests").first() + first - second) / 2)
        return {
            "replies": Sums.from_frame(replies.with_columns(ahead=ahead.to_series(-1)), ["instance"], PEOPLE_KEYS),
            "chosen": Sums.from_frame(chosen, ["instance", "group", "other_group"], PEOPLE_KEYS),
            "outcomes": Sums.from_frame(outcomes, ["instance", "group"], PEOPLE_KEYS),
        }

    def reasons(self) -> Iterator[tuple[str, Sums]]:
        """Reasons why replies have no valid answer, each with the sums of replies of which it is true (`lost`)."""
        keys = [*PEOPLE_KEYS, "instance"]
        replies = self.trials.group_by(keys, maintain_order=True).agg(pl.col("requests").sum())
        for reason in self._reasons["reason"].unique().sort():
            of_reason = self._reasons.filter(pl.col("reason") == reason).select(*keys, "lost")
            counted = replies.join(of_reason, keys, how="left", maintain_order="left").fill_null(0.0)
            yield reason, Sums.from_frame(counted, ["instance"], PEOPLE_KEYS)

    def first_choices(self) -> pl.DataFrame:
        """Group that the first reply to each `trial` chose, by name, as models may have been asked of other groups."""
        names = pl.concat_list(pl.col(SHOWN[: self.options]).cast(pl.String))
        place = (pl.col("first_reply") - CHOSE_FIRST).cast(pl.Int64)
        chosen = names.list.get(pl.when(place >= 0).then(place), null_on_oob=True).fill_null(NO_ANSWER)
        return self.trials.filter(pl.col("first_reply") > NOT_ASKED).select("trial", choice=chosen)

    def choices(self, sums: dict[str, Sums]) -> GroupChoices:
        """The same as arrays by unit, instance and group."""
        units = sums["replies"].units
        number, first = np.unique(units["unit"], return_index=True)
        people = units["person_1"][first], units["person_2"][first]
        size = number.size, len(self.instances), len(self.groups)

        def dense(table: Sums, name: str, *labels: str) -> Array:
            shape, unit = size[: len(labels) + 1], np.searchsorted(number, table.units["unit"])
            at = np.ravel_multi_index([unit, *(table.labels[label][1] for label in labels)], shape)
            return np.bincount(at, table.numbers[name], int(np.prod(shape))).astype(np.float64).reshape(shape)

        of_group = [dense(sums["chosen"], name, "instance", "group") for name in ("chosen", "valid", "requests")]
        valid, requests = (dense(sums["replies"], name, "instance") for name in ("valid", "requests"))
        return GroupChoices(of_group[0], of_group[1], valid, requests, self.even_share, people, of_group[2])
