"""Arguments of public functions: each compared with its annotation and bounds before anything is done with it."""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, wraps
from numbers import Integral, Real
from os import PathLike, fspath
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from facevalue.errors import SettingError
from facevalue.forks import check_process
from facevalue.printable import quote

P = ParamSpec("P")
R = TypeVar("R")

_BOUNDS: Mapping[str, tuple[float, float]] = {
    "batch": (1, 100_000), "concurrency": (1, 1024), "image_tokens": (0, 2**31), "images_per_request": (0, 2**63),
    "limit": (0, 2**63),
    "margin": (0, 1e15), "margins": (0, 1e15), "max_cost": (0, 1e15), "max_invalid": (0, 1),
    "max_tokens": (1, 2**31), "price": (0, 1e15), "price_in": (0, 1e15), "price_out": (0, 1e15),
    "reasoning_tokens": (1, 2**31),
    "retries": (0, 50), "rows": (1, 10_000), "rpm": (0, 1e15), "sample": (1, 2**62), "seed": (0, 2**63 - 1),
    "temperature": (0, 1e15), "threads": (1, 4096), "timeout": (0, 1e15), "top_p": (0, 1), "tpm": (0, 1e15),
    "trial": (0, 2**62),
}  # fmt: skip
"""Least and most of each number, by its name, which means the same wherever it is a parameter."""
_ABOVE = frozenset({"max_cost", "rpm", "tpm", "timeout", "top_p"})
"""Names of arguments whose lower bound is itself too low."""
_LONGEST = 4096  # characters of a path or name
_KINDS = {
    str: "a text", int: "a whole number", float: "a number", bool: "True or False", NoneType: "None",
    PathLike: "a path", Callable: "a function",
}  # fmt: skip
_NOT = object()


def check_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Raise `SettingError` where an argument is not what its annotation says, or beyond its bounds."""
    signature = inspect.signature(function)

    @wraps(function)
    def calling(*args: P.args, **kwargs: P.kwargs) -> R:
        check_process()
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise SettingError(
                f"{function.__name__}: {error}. It is {function.__name__}{_show_signature(signature)}."
            ) from None
        hints = _hints(function)
        for name, value in bound.arguments.items():
            if name not in hints:
                continue
            if signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
                bound.arguments[name] = tuple(argument(function.__name__, name, item, hints[name]) for item in value)
            elif signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                keywords = {
                    key: argument(function.__name__, key, keyword, hints[name]) for key, keyword in value.items()
                }
                bound.arguments[name] = keywords
            elif signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
                bound.arguments[name] = tuple(argument(function.__name__, name, item, hints[name]) for item in value)
            else:
                bound.arguments[name] = argument(function.__name__, name, value, hints[name])
        return function(*bound.args, **bound.kwargs)

    return calling


def check_fields(instance: object) -> None:
    """Raise `SettingError` where a field of a dataclass is not what its annotation says; for `__post_init__`."""
    kind: Any = type(instance)
    for name, hint in _hints(kind).items():
        argument(kind.__name__, name, getattr(instance, name), hint, as_text=True)


def argument(function: str, name: str, value: Any, hint: Any, *, as_text: bool = False) -> Any:
    """An argument as its annotation has it: NumPy's numbers become Python's. `as_text`: its texts may hold anything."""
    fitted = _fit_value(value, hint)
    if fitted is _NOT or not (as_text or _holdable(fitted)):
        finite = "finite, " if isinstance(value, float) and not math.isfinite(value) else ""
        raise SettingError(f"{function}: {name} is {finite}{_name_type(hint)}, not {quote(value)}.")
    for item in fitted.values() if isinstance(fitted, Mapping) else (fitted,):
        _check_bounds(function, name, item)
    return fitted


def checked_path(path_like: str | PathLike[str]) -> Path:
    """A path that can be one: it has a name, and the system takes it."""
    path = Path(path_like)
    if not path.name and str(path_like) in ("", "."):
        raise SettingError("A path has a name; this one is empty.")
    try:
        path.exists()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SettingError(f"{quote(str(path))} cannot be a path: {reason}.") from None
    return path


def _check_bounds(function: str, name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or name not in _BOUNDS:
        return
    low, high = _BOUNDS[name]
    if low <= value <= high and not (name in _ABOVE and value == low):
        return
    lower = f"above {low:,}" if name in _ABOVE else f"at least {low:,}"
    upper = f" and at most {high:,}" if high <= 2**31 else ""
    raise SettingError(f"{function}: {name} is {lower}{upper}, not {quote(value)}.")


def _fit_value(value: Any, hint: Any) -> Any:
    """The value, if it is what a hint says; else `_NOT`."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        fits = (_fit_value(value, member) for member in sorted(inner, key=lambda member: member is float))
        return next((member for member in fits if member is not _NOT), _NOT)
    if origin is Literal:
        return value if isinstance(value, str) and value in inner else _NOT
    kind = origin or hint
    if (
        kind is Any
        or not isinstance(kind, type)
        or (getattr(kind, "_is_protocol", False) and kind not in (PathLike, *_MANY))
    ):
        return value  # whoever takes it looks at what it has
    if kind in (int, float):
        if isinstance(value, bool) or not isinstance(value, Integral if kind is int else Real):
            return _NOT
        return int(value) if isinstance(value, Integral) else float(value) if math.isfinite(value) else _NOT
    if kind is str:
        return str.__str__(value) if isinstance(value, str) else _NOT
    if kind is PathLike:
        return value if isinstance(value, PathLike) and isinstance(fspath(value), str) else _NOT
    if kind in _MANY:
        return _fit_members(value, kind, inner)
    return value if isinstance(value, kind) else _NOT


_MANY: tuple[Any, ...] = (Iterable, Sequence, Mapping, tuple, list)


def _fit_members(value: Any, kind: Any, inner: tuple[Any, ...]) -> Any:
    if kind is Mapping:
        if not isinstance(value, Mapping):
            return _NOT
        pairs = [(_fit_value(key, inner[0]), _fit_value(inner_value, inner[1])) for key, inner_value in value.items()]
        return _NOT if any(_NOT in (key, inner_value) for key, inner_value in pairs) else dict(pairs)
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, kind):
        return _NOT
    if not inner:
        return value
    kind_inside = inner[0]
    items = [_fit_value(member, kind_inside) for member in value]
    if any(member is _NOT for member in items):
        return _NOT
    return tuple(items) if kind is tuple else items


def _holdable(value: Any) -> bool:
    """Return whether texts can be names or paths: no NUL, no half of a character, not without end."""
    if isinstance(value, list | tuple):
        return all(map(_holdable, value))
    text = fspath(value) if isinstance(value, PathLike) else value
    if not isinstance(text, str):
        return True
    return "\0" not in text and len(text) <= _LONGEST and not any("\ud800" <= c <= "\udfff" for c in text)


def _name_type(hint: Any) -> str:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        names = list(dict.fromkeys(_name_type(member) for member in inner))
        return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    if origin is Literal:
        return " or ".join(repr(member) for member in inner)
    kind = origin or hint
    if kind in _KINDS:
        return _KINDS[kind]
    if kind in _MANY:
        return f"a {'mapping' if kind is Mapping else 'sequence'}"
    name = getattr(kind, "__name__", str(kind))
    return f"a {name}"


def _show_signature(signature: inspect.Signature) -> str:
    return f"({', '.join(name for name in signature.parameters if name != 'self')})"


@cache
def _hints(function: Any) -> Mapping[str, Any]:
    if isinstance(function, type):
        return get_type_hints(function)
    annotations = {name: hint for name, hint in inspect.get_annotations(function).items() if name != "return"}
    return get_type_hints(SimpleNamespace(__annotations__=annotations), function.__globals__)  # an extra may return


def split_names(text: str, levels: Iterable[str] | Callable[[], Iterable[str]] = ()) -> list[str]:
    """Names separated by commas; a level, or one that a function reads, that has commas itself is one of them.

    Examples
    --------
    >>> split_names("nurse, cook"), split_names("UI designer, low,cook", ["UI designer, low", "cook"])
    (['nurse', 'cook'], ['UI designer, low', 'cook'])
    """
    pieces: list[str] = text.split(",")
    names: list[str] = []
    levels = levels() if callable(levels) and len(pieces) > 1 else levels
    with_commas = set() if callable(levels) else {level for level in levels if "," in level}
    longest = max((level.count(",") for level in with_commas), default=0) + 1
    while pieces:
        joined = (",".join(pieces[:size]).strip() for size in range(min(longest, len(pieces)), 1, -1))
        name = next((level for level in joined if level in with_commas), pieces[0].strip())
        pieces = pieces[name.count(",") + 1 :]
        names += [name] if name else []
    return names
