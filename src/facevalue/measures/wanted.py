"""Measures that are wanted of an analysis: all that it takes, or a few of them."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from facevalue.measures.base import Measure

P = ParamSpec("P")
First = TypeVar("First")
_WANTED: ContextVar[frozenset[str] | None] = ContextVar("wanted", default=None)


@contextmanager
def measures_wanted(keys: Iterable[str] | None) -> Iterator[None]:
    """Have analyses leave out what none of these measures, by key, needs; None wants all.

    Estimates of these are the very same as without it. Those of others, and of other scores, may be there or not.
    """
    token = _WANTED.set(None if keys is None else frozenset(key.partition(".")[0] for key in keys))
    try:
        yield
    finally:
        _WANTED.reset(token)


def wanted(names: Iterable[str]) -> bool:
    """Whether any of these measures, by name, is wanted."""
    chosen = _WANTED.get()
    return chosen is None or not chosen.isdisjoint(names)


def takes(
    *measures: Measure,
) -> Callable[[Callable[Concatenate[First, P], None]], Callable[Concatenate[First, P], None]]:
    """Mark a step of an analysis by the measures that need it: it does nothing where none of them is wanted.

    Examples
    --------
    >>> share, gap = (Measure(name, "", "", "share", "image", "") for name in ("share", "gap"))
    >>> @takes(share)
    ... def add_share(table):
    ...     table.append("share")
    >>> table = []
    >>> with measures_wanted(["gap"]):
    ...     add_share(table)
    >>> add_share(table)
    >>> table
    ['share']
    """
    names = frozenset(measure.name for measure in measures)

    def marked(step: Callable[Concatenate[First, P], None]) -> Callable[Concatenate[First, P], None]:
        @wraps(step)
        def taken(first: First, /, *args: P.args, **kwargs: P.kwargs) -> None:
            if wanted(names):
                step(first, *args, **kwargs)

        return taken

    return marked
