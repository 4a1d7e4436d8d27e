"""Calls into a model's own code, whose errors concern a request; an error of any other code is a fault of ours."""

from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from typing import TYPE_CHECKING, Any

from facevalue.errors import FaceValueError

if TYPE_CHECKING:
    from torch import Tensor


class Rejected(FaceValueError):  # noqa: N818 - what happened to the request
    """The model's code cannot deal with what it was given."""


def logits_of(model: Any, places: "Tensor", **inputs: Any) -> "Tensor":
    """Return the logits at some places of the sequences that are given, (rows, places, vocabulary).

    Most models compute no others; those that cannot be told which compute all.
    """
    if "logits_to_keep" in signature(type(model).forward).parameters:
        picked: Tensor = model(**inputs, logits_to_keep=places).logits
        return picked
    all_of: Tensor = model(**inputs).logits
    return all_of[:, places.to(all_of.device)]


@contextmanager
def calling() -> Iterator[None]:
    """Turn whatever a model's code raises into `Rejected`; lack of memory and a lost GPU go through as they are.

    >>> with calling():
    ...     [][0]
    Traceback (most recent call last):
    facevalue.models.hf.calls.Rejected: The model fails: IndexError: list index out of range
    """
    try:
        yield
    except FaceValueError:
        raise
    except Exception as error:  # models raise what they like
        if is_memory(error) or is_device_failure(error):
            raise
        reason = str(error).strip()[:300] or "no reason given"
        raise Rejected(f"The model fails: {type(error).__name__}: {reason}") from error


def is_memory(error: Exception) -> bool:
    """Return whether an error says that memory ran out; torch has a type for it on GPUs alone."""
    reason = str(error).lower()
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError)
        and any(words in reason for words in ("out of memory", "not enough memory", "allocate memory"))
    )


def is_device_failure(error: Exception) -> bool:
    """Return whether an error says that a GPU failed: nothing can be computed on it any more in this process."""
    return isinstance(error, RuntimeError) and "CUDA error" in str(error)
