"""Names of a package that are imported when they are first asked for, so that what needs few of them starts at once."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make a package's `__getattr__` and `__dir__` (PEP 562); type checkers see its imports under `TYPE_CHECKING`.

    Parameters
    ----------
    package:
        Its `__name__`.
    homes:
        Names by the module that has them; modules of the package that are names themselves are under the package.

    Examples
    --------
    >>> get, names = lazy_names("facevalue", {"facevalue.errors": ("DataError",), "facevalue": ("protocol",)})
    >>> get("DataError").__name__, get("protocol").__name__, names()
    ('DataError', 'facevalue.protocol', ['DataError', 'protocol'])
    >>> get("nothing")
    Traceback (most recent call last):
        ...
    AttributeError: module 'facevalue' has no attribute 'nothing'
    """
    modules = {name: module for module, names in homes.items() for name in names}

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=None)
        home = modules[name]
        return import_module(f"{package}.{name}") if home == package else getattr(import_module(home), name)

    return get, lambda: sorted(modules)
