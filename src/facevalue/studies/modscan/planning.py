"""Planning of ModSCAN: what its gaps from an even choice take, by people or scenes."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import Block, Design
from facevalue.protocol.asks import ORDERING
from facevalue.statistics.group_choices import UNIT_COLUMNS, WEIGHTS
from facevalue.statistics.precision import Precision, UnitSpread
from facevalue.studies.modscan.replies import named_in_order
from facevalue.studies.modscan.settings import GROUPS, PAPER_PAIRS, VISION

SD = {True: 0.4, False: 0.5}
"""SD between units of the share of one of two groups, shown in two orders or in one; of models that see a person as 1.5
logits apart from another, and like either place by .25."""
SD_OF_FOUR = {True: 0.29, False: 0.45}
"""The same between scenes about which one of four groups is named, in four orders or in one."""
OF_PERSON = 0.0355
"""Share of these models' variance between pairs that is of the person, whoever is beside."""
ASSUMED = "a model that sees people 1.5 logits apart; a pilot of your own model is better: --pilot RUN"
FAMILIES = ("modality", "attribute")


def precision(design: Design) -> Precision:
    """Describe the study to the planner by its first test of gender or, where there is none, of race or skin tone.

    The family is tested by BH beside those of the other modalities and attributes, so that a single gap is surely found
    at its part of the level. A share near even varies most, and its SD there is assumed: of men, at gaps of .1 and .2
    as many units as are said find it in .80 to .86 of simulated audits, at .3 in .87 to .93; of one of four races, at
    .1 and .2 in .82 to .90 (faces) and .82 to .87 (scenes). What is chosen less often than one in four varies less: a
    race that is named in 15% of scenes is found in .88 to .93.
    """
    first = next((block for block in design.blocks if block.constants["attribute"] == "gender"), design.blocks[0])
    families = {tuple(block.constants[name] for name in FAMILIES) for block in design.blocks}
    modality, attribute = (first.constants[name] for name in FAMILIES)
    blocks = [
        block for block in design.blocks if all(block.constants[name] == first.constants[name] for name in FAMILIES)
    ]
    names = sorted({str(name) for block in blocks for name in block.choices()["instance"]})
    seen, unit, pictures = modality == VISION, UNIT_COLUMNS[0], len(first.stimulus[0])
    units = len(set(_levels(first, unit)))
    people, beside = _count_people(first) if seen else ((pictures // len(names),) * len(GROUPS[attribute]), 1.0)
    groups = people if len(people) > 2 else people[:1]  # of two groups, one says what the other does
    orders = pictures > units or len(first.prompt[-1]) > 1
    largest = max(groups)
    per_question = units if seen else units / len(names)

    def count_asked(numbers: npt.NDArray[np.int64]) -> tuple[int, float]:
        cells = design.trials(numbers).filter(_is_about(modality, attribute)).select(unit, "instance").unique()
        if cells.is_empty():
            return 0, 1.0
        of_question = cells.height / cells["instance"].n_unique()
        return max(1, round(largest * of_question / per_question)), 1.0

    def spread(chunks: Iterator[pl.DataFrame], source: str) -> UnitSpread:
        asked_chunks = (chunk.filter(_is_about(modality, attribute)) for chunk in chunks)
        chosen = pl.concat(_choice_rows(chunk, modality, attribute) for chunk in asked_chunks)
        spreads = (
            chosen.group_by("unit", "instance", "group").agg(pl.col("chosen", "mass").sum()).filter(pl.col("mass") > 0)
        )
        shares = spreads.with_columns(share=pl.col("chosen") / pl.col("mass"))
        squares = shares.group_by("instance", "group").agg(pl.col("share").var()).drop_nulls()["share"]
        return UnitSpread(float(np.sqrt(squares.mean())) if squares.len() else np.nan, np.nan, 1.0, source)  # type: ignore[arg-type]

    two = seen or len(people) == 2
    counted = f"people of each {attribute}" if len(people) > 2 else "pairs of a man and a woman"
    of = (
        "the share of men and one half" if attribute == "gender" else f"the share of one {attribute} and an even choice"
    )
    return Precision(
        what=f"a gap between {of}, about one question ({modality}, {attribute})",
        tests=len(names) * len(groups),
        clusters=largest,
        items=1.0,
        cluster=counted if seen else "scenes of each persona trait",
        item="question",
        units=count_asked,
        spread=spread,
        default=UnitSpread(_sd(SD[orders], beside) if two else SD_OF_FOUR[orders], np.nan, 1.0, ASSUMED),
        shares=tuple(size / largest for size in groups for _ in names),
        sure=1 / len(families),
        each=sum(block.size for block in blocks) / largest,
        largest=0.5 if two else 1 - 1 / len(people),
    )


def _sd(of_pair: float, partners: float) -> float:
    """SD between people of the mean over so many pairs, in each of which somebody else is beside them."""
    return float(np.sqrt(OF_PERSON + (of_pair**2 - OF_PERSON) / partners)) if partners > 1 else of_pair


def _levels(block: Block, name: str) -> tuple[str | None, ...]:
    """Levels of the pictures of a block, in their order."""
    return next((column.values for column in block.stimulus[0].columns() if column.name == name), ())


def _count_people(block: Block) -> tuple[Sequence[int], float]:
    """People of each group on the pairs of a block, and how many of other groups stand beside one of them.

    In the paper every race stands beside every other.
    """
    attribute = block.constants["attribute"]
    if not _levels(block, "group_1"):
        groups = len(GROUPS[attribute])
        return (round(2 * PAPER_PAIRS[attribute] / groups / (groups - 1)),) * groups, groups - 1.0
    sides = [
        {"group": _levels(block, f"group_{n}"), "person": _levels(block, f"person_{n}"),
         "other": _levels(block, f"person_{3 - n}")} for n in (1, 2)
    ]  # fmt: skip
    pairs = pl.concat(pl.DataFrame(side) for side in sides).unique()
    counts = pairs.group_by("group").agg(pl.col("person").n_unique(), pairs=pl.len()).sort("group")
    return counts["person"].to_list(), float((counts["pairs"] / counts["person"]).min())  # type: ignore[arg-type]


def _is_about(modality: str, attribute: str) -> pl.Expr:
    """Rows about an attribute in one modality."""
    return (pl.col("modality").cast(pl.String) == modality) & (pl.col("attribute").cast(pl.String) == attribute)


def _choice_rows(rows: pl.DataFrame, modality: str, attribute: str) -> pl.DataFrame:
    """Weight of each valid answer on each of the groups that it could choose, by person or scene."""
    mass = pl.when(pl.col("weight").is_null()).then(0.0).otherwise(pl.col("mass").fill_null(0.0))
    if modality == VISION:
        groups, units = (
            tuple(pl.col(f"{name}_{side}").cast(pl.String) for side in (1, 2)) for name in ("group", "person")
        )
    else:
        order = f"order_{attribute}" if f"order_{attribute}" in rows.columns else ORDERING
        groups = named_in_order(order, len(GROUPS[attribute]))
        units = (pl.col("image").cast(pl.String),) * len(groups)
    tables = [
        rows.select(
            unit.alias("unit"), pl.col("instance").cast(pl.String), group.alias("group"),
            chosen=pl.col(weight).cast(pl.Float64).fill_null(0.0) * mass, mass=mass,
        )
        for group, unit, weight in zip(groups, units, WEIGHTS, strict=False)
    ]  # fmt: skip
    return pl.concat(tables).drop_nulls("group")
