"""Few combinations of many levels in which each pair of levels occurs."""

import random
from collections.abc import Mapping, Sequence
from itertools import combinations, product

Row = dict[str, str]
Pair = tuple[tuple[str, str], tuple[str, str]]


def pairs_of(row: Mapping[str, str]) -> set[Pair]:
    """The pairs of levels of a combination."""
    return set(combinations(row.items(), 2))


def all_pairs(factors: Mapping[str, Sequence[str]]) -> set[Pair]:
    """Every pair of levels of two factors."""
    return {
        pair
        for one, other in combinations(factors, 2)
        for pair in product(((one, level) for level in factors[one]), ((other, level) for level in factors[other]))
    }


def cover(factors: Mapping[str, Sequence[str]], seed: int) -> list[Row]:
    """Combinations that hold each pair of levels at least once.

    Each new one holds a pair that is still missing, and of every other factor a level that adds as many as any.

    Examples
    --------
    >>> rows = cover({"a": "12", "b": "12", "c": "12"}, 0)
    >>> len(rows) < 8, set().union(*map(pairs_of, rows)) == all_pairs({"a": "12", "b": "12", "c": "12"})
    (True, True)
    """
    draw, missing, rows = random.Random(seed), all_pairs(factors), list[Row]()
    while missing:
        chosen = dict(draw.choice(sorted(missing)))
        for name in draw.sample(sorted(factors), len(factors)):
            if name not in chosen:
                chosen[name] = max(
                    draw.sample(list(factors[name]), len(factors[name])),
                    key=lambda level: len(_ordered(factors, {**chosen, name: level}) & missing),
                )
        row = {name: chosen[name] for name in factors}
        missing -= pairs_of(row)
        rows.append(row)
    return rows


def _ordered(factors: Mapping[str, Sequence[str]], chosen: Mapping[str, str]) -> set[Pair]:
    return pairs_of({name: chosen[name] for name in factors if name in chosen})
