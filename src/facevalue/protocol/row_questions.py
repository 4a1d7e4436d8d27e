"""Questions of rows: each picture of a list has a question of its own, with options and a key in its columns."""

from collections.abc import Collection, Sequence
from itertools import combinations

import polars as pl

from facevalue.errors import placed
from facevalue.protocol.asks import Ask
from facevalue.protocol.replies import Options
from facevalue.statistics.estimand import Estimand
from facevalue.statistics.sets import Sets
from facevalue.stimuli.faults import Faults

TEMPLATE = "template"
"""Unit of rows that were written from what was sampled."""


def texts_of_rows(sets: Sets, asks: Collection[Ask], estimands: Sequence[Estimand]) -> tuple[str, ...]:
    """Columns that are texts of the rows' questions and no factors: those that fill slots, and no estimand names.

    None where questions are crossed with pictures: columns that fill slots of a prompt alone are factors.
    """
    filling = (name for ask in asks if _is_of_rows(ask, sets) for name in ask.of_pictures)
    used = {name for estimand in estimands for name in estimand.factors}
    factors = {*used, *sets.cue}
    return tuple(dict.fromkeys(name for name in filling if name in sets.columns and name not in factors))


def check_rows(ask: Ask, sets: Sets, place: str) -> None:
    """Refuse rows whose columns make no question: `place` is the list of pictures, for people.

    Raises
    ------
    DataError
        A text is empty, a key names no option, or two options of a row cannot be told apart; names the rows.
    """
    if not _is_of_rows(ask, sets):
        return
    table, faults = sets.manifest, Faults()
    for name in ask.of_pictures:
        if name in table.columns and name not in ask.optional:
            faults.where(f"{name!r} is empty", table[name].is_null())
    if isinstance(ask.reply, Options):
        _check_keys(ask, ask.reply, table, faults)
    faults.check(place)
    if sets.unit == TEMPLATE and "path" in table.columns:
        shared = table.select(pl.col(sets.key).n_unique().over("path") > 1).to_series()
        faults.where("the picture is in rows of two templates, which were not sampled apart", shared, table["path"])
        faults.check(place)
    if isinstance(ask.reply, Options):
        for number, texts in enumerate(table.select(ask.option_columns).iter_rows(named=True), start=1):
            with placed(place):
                ask.check_shown(ask.reply, {name: text or "" for name, text in texts.items()}, f"row {number}")


def _is_of_rows(ask: Ask, sets: Sets) -> bool:
    """Whether each row asks a question of its own."""
    return bool(ask.option_columns) or (sets.unit == TEMPLATE and bool(ask.of_pictures))


def _check_keys(ask: Ask, reply: Options, table: pl.DataFrame, faults: Faults) -> None:
    """Find rows whose columns name no option of theirs, or one twice."""
    names = list(reply.texts)
    for key in reply.keys:
        if key in ask.option_columns:
            faults.where(f"{key!r} names no option ({', '.join(names)})", ~table[key].is_in(names), table[key])
    for scale in reply.scales:
        for first, second in combinations([name for name in scale.slots if name in ask.option_columns], 2):
            faults.where(f"{first!r} and {second!r} name one option", table[first] == table[second], table[first])
