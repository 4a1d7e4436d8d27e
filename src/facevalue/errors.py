"""Errors that a user can fix: one clear message, with the nearest valid choice."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches


class FaceValueError(Exception):
    """A problem the user can mend. Its text is one message for people; the command line shows no traceback.

    It can be pickled, as processes hand it to each other.
    """

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the message and attributes alone: the arguments it was made of may not go with it."""
        return _unpickle_error, (type(self), self.args), self.__dict__


def _unpickle_error(kind: type[FaceValueError], args: tuple[object, ...]) -> FaceValueError:
    error = kind.__new__(kind, *args)
    error.args = args
    return error


_LONGEST = 200  # characters of a name that are quoted


class UnknownNameError(FaceValueError):
    """A name that is not among those known.

    Parameters
    ----------
    kind:
        What was looked for, in the singular ("study").
    name:
        What the user wrote.
    known:
        The names there are.
    why:
        A sentence on why it is none of these, where that can be told.

    Examples
    --------
    >>> str(UnknownNameError("study", "stylistcbias", ["stylisticbias", "vignette"]))
    "Unknown study 'stylistcbias'. Did you mean 'stylisticbias'? Known: stylisticbias, vignette."
    >>> str(UnknownNameError("score", "words", ["tokens", "tokens, as published"]))
    "Unknown score 'words'. Known: 'tokens', 'tokens, as published'."
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], why: str = "") -> None:
        names = sorted(set(known))
        name = name if len(name) <= _LONGEST else f"{name[:_LONGEST]}..."
        near = get_close_matches(name.lower(), [n.lower() for n in names], n=2, cutoff=0.5)
        near = [n for n in names if n.startswith(f"{name}.")] or [n for n in names if n.lower() in near]
        hint = f" Did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
        quoted = [repr(n) if "," in "".join(names) else n for n in names]
        listed = ", ".join(quoted[:40]) + (f" and {len(names) - 40} more" if len(names) > 40 else "")
        super().__init__(f"Unknown {kind} {name!r}.{hint} Known: {listed or 'none'}.{why and f' {why}'}")


class DataError(FaceValueError):
    """A file, manifest or image of the user's that cannot be used as it is."""


class NoPicturesError(DataError):
    """A study of the user's own pictures, none of which are named."""


class SettingError(DataError):
    """Settings that do not go together."""


class RunError(FaceValueError):
    """A run folder that cannot be used as asked: other settings, another version, not writable."""


class NoRepliesError(RunError):
    """A run holds no reply yet."""


class NothingComparedError(RunError):
    """Two runs of which nothing can be compared, by what their study takes."""


class ModelError(FaceValueError):
    """A model that cannot be reached or asked at all, as opposed to one failed request."""


class ModelSpecError(ModelError, SettingError):
    """A model that is not written as models are, or that is given what it does not take: nothing was asked."""


class SelfCheckError(ModelError):
    """A model on this machine does not compute what it should."""


class ReplyError(ModelError):
    """A reply that cannot count, as opposed to a model that cannot be asked at all."""


class DependencyError(FaceValueError):
    """An optional package is not installed.

    Parameters
    ----------
    package:
        What is missing.
    extra:
        The extra of FaceValue that brings it.
    """

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"This needs {package}, which is not installed: pip install '.[{extra}]' in a checkout of FaceValue."
        )


class PluginError(FaceValueError):
    """Unavailable study or model of another package: not importable, or its name is taken."""


@contextmanager
def error_place(place: str) -> Iterator[None]:
    """Say the place in a file of errors that are raised inside."""
    try:
        yield
    except FaceValueError as error:
        if place:
            error.args = (f"{place}: {error}",)
        raise
