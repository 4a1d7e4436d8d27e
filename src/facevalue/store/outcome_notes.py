"""Notes of outcomes in object storage, written at once: what comes is stored in units, and a kill would lose one."""

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress

from facevalue.errors import DataError, RunError
from facevalue.given import to_json
from facevalue.store.objects import Objects

_FOLDER = "notes"


class OutcomeNotes:
    """Outcomes by what was asked, an object each.

    Parameters
    ----------
    objects:
        The prefix of the run.
    """

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._keys: set[str] | None = None

    def write(self, request: object, outcome: Mapping[str, object]) -> None:
        """Write down what became of a request; it is safe when this returns."""
        self._objects.create(_key(request), json.dumps(outcome).encode())

    def read(self, request: object) -> Mapping[str, object] | None:
        """What an earlier session wrote down of this request; None if nothing, or nothing that can be read."""
        if self._keys is None:
            self._keys = {note.key for note in self._objects.list(_FOLDER)}
        if (key := _key(request)) not in self._keys:
            return None
        with suppress(DataError, RunError):
            stored = self._objects.get(key)
            outcome = None if stored is None else to_json(stored[0], key)
            return outcome if isinstance(outcome, dict) else None
        return None


def _key(request: object) -> str:
    """Key of a note, by the hash of all that was asked, given as JSON can hold it."""
    return f"{_FOLDER}/{hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()[:32]}.json"
