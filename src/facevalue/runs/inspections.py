"""What was found of pictures: a row per picture with its quantities, read from a run of inspection."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from facevalue.errors import RunError
from facevalue.inspection.quantities import QUANTITIES
from facevalue.protocol.making import IMAGE, PATH
from facevalue.protocol.picture_rules import LOOKALIKES
from facevalue.runs.stored import StoredRun, answers
from facevalue.statistics.sets import OTHER_PATH
from facevalue.stimuli.images import ImageFiles, image_files
from facevalue.stimuli.lookalikes import lookalikes
from facevalue.stimuli.picture_facts import facts_of
from facevalue.studies.declared.pictures import GROUPS, PROTOCOL


def joint_levels(table: pl.DataFrame, factors: Sequence[str]) -> pl.Series:
    """The group of each picture: its levels of these factors together."""
    if not factors:
        return pl.Series("group", [""]).new_from_index(0, table.height)
    levels = pl.col(factors).fill_null("(not stated)")
    return table.select(pl.concat_str(levels, separator=", ").alias("group")).to_series()


@dataclass(frozen=True)
class Inspections:
    """Pictures of a run of inspection.

    Attributes
    ----------
    table:
        A row per picture of the list: `image`, `path`, `other_path` (of its source), `looked_for`, `identity`, factors,
        each quantity (null: not computed), and `lookalikes`.
    groups:
        Factors by which acceptance is compared.
    unit:
        Column of what was sampled.
    models:
        What the inspector had models for.
    """

    table: pl.DataFrame
    groups: tuple[str, ...]
    unit: str
    models: tuple[str, ...]

    @classmethod
    def of(cls, run: StoredRun) -> "Inspections":
        """Read a run; pictures whose inspection failed have no quantity.

        Raises
        ------
        RunError
            It is of another study, or holds nothing.
        """
        if run.facts.study != PROTOCOL.name:
            raise RunError(f"{run.place} is a run of {run.facts.study}: pictures are inspected by inspect-pictures.")
        names = [quantity.name for quantity in QUANTITIES]
        chunks = []
        for chunk in answers(run):
            present = [name for name in names if name in chunk.columns and name not in run.study.manifest.columns]
            chunks.append(chunk.select(pl.col(IMAGE).cast(pl.String), *present))
        numbers = pl.concat(chunks, how="diagonal_relaxed").unique(IMAGE, keep="first")
        lacking = [pl.lit(None, pl.Float64).alias(name) for name in names if name not in numbers.columns]
        table = run.study.manifest.join(numbers.with_columns(lacking), on=IMAGE, how="left", maintain_order="left")
        files = image_files(table, Path(str(run.facts.options["root"])))
        models = run.facts.options.get("models") or []
        return cls(
            table.with_columns(_lookalikes(table, files)),
            tuple(name for name in GROUPS if name in table.columns and table[name].n_unique() > 1),
            "set" if table["set"].count() else "identity",
            tuple(models) if isinstance(models, list) else (str(models),),
        )

    @property
    def edits(self) -> pl.DataFrame:
        """Pictures that have a source."""
        return self.table.filter(pl.col(OTHER_PATH).is_not_null())


def _lookalikes(table: pl.DataFrame, files: ImageFiles) -> pl.Series:
    """How many other pictures of the list look like each; its own source does not count, nor do edits of it."""
    views = facts_of(files, table[PATH].to_list()).views
    counts = [0] * table.height
    origins = table.select(pl.coalesce(OTHER_PATH, PATH)).to_series().to_list()
    for first, second in lookalikes(views):
        if origins[first] != origins[second]:
            counts[first] += 1
            counts[second] += 1
    is_viewed = views.shape[0] == table.height
    return pl.Series(LOOKALIKES, counts if is_viewed else [None] * table.height, pl.Float64)
