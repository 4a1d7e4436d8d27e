"""Items: a table of questions, each with texts of its own for the slots of the prompt and of its options."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from facevalue.design import Factor
from facevalue.errors import DataError, UnknownNameError

Item = Mapping[str, str]
"""Texts by column; the first names the item. A column that only an option shows may be left out: so is the option."""
MOST_ITEMS = 10_000


def check_items(
    items: Sequence[Item],
    optional: Collection[str] = (),
    place: Callable[[int], AbstractContextManager[None]] = lambda _: nullcontext(),
) -> None:
    """Refuse items that have not all the same columns, and a name of their own; `place` says where one stands.

    `optional`: columns that an item may leave out, as only an option shows them.

    Raises
    ------
    DataError
        An item lacks a text, is called as another one, or there are too many.
    UnknownNameError
        An item has a column that the first has not.

    Examples
    --------
    >>> check_items([{"trait": "kind", "good": "kind", "bad": "rude"}])
    """
    if len(items) > MOST_ITEMS:
        raise DataError(f"There are {len(items):,} items; {MOST_ITEMS:,} are the most.")
    names = set()
    for number, item in enumerate(items):
        with place(number):
            name = _checked_name(item, items[0], number + 1, optional)
            if name in names:
                raise DataError(f"Two items are called {name!r}: their first column tells them apart.")
            names.add(name)


def _checked_name(item: Item, first: Item, number: int, optional: Collection[str]) -> str:
    if not first:
        raise DataError("An item has columns; the first of them names it.")
    for column in item:
        if column not in first and column not in optional:
            raise UnknownNameError(f"column of item {number}", column, {*first, *optional})
    name = next(iter(first))
    for column in first:
        if not item.get(column, "").strip() and (column == name or column not in optional):
            raise DataError(f"Item {number} has no {column!r}: each item has a text in all columns of the first.")
    return item[name]


def texts_of(items: Sequence[Item]) -> dict[str, dict[str, str]]:
    """Texts of each column, by the names of the items; empty where an item leaves a column out.

    Examples
    --------
    >>> texts_of([{"trait": "kind", "bad": "rude"}, {"trait": "able", "bad": "inept"}])["bad"]
    {'kind': 'rude', 'able': 'inept'}
    """
    first, *_ = columns = list(dict.fromkeys(column for item in items for column in item))
    return {
        column: {item[first]: item.get(column, "").strip() and item[column] for item in items} for column in columns
    }


def factor_of(items: Sequence[Item], slots: Collection[str]) -> Factor:
    """Return the factor whose levels are the items; columns that fill no slot are coarser factors.

    Examples
    --------
    >>> items = [{"trait": "kind", "of": "warmth", "bad": "rude"}, {"trait": "able", "of": "skill", "bad": "inept"}]
    >>> factor_of(items, {"bad"}).attributes
    {'of': ('warmth', 'skill')}
    """
    texts = texts_of(items)
    name = next(iter(texts))
    coarser = {column: tuple(by_item.values()) for column, by_item in texts.items() if column not in {name, *slots}}
    return Factor(name, tuple(texts[name]), coarser)
