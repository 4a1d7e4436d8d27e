"""What is put under the prefix of a run before anything is asked: its table of pictures, and what was declared."""

import hashlib

from facevalue.errors import RunError
from facevalue.protocol.study import Study
from facevalue.runs.asked import table_of
from facevalue.store.files import PREREGISTRATION, STIMULI
from facevalue.store.objects import Objects


def put_table(study: Study, objects: Objects) -> str:
    """Store the table of pictures, from which workers build the study; return its digest."""
    table = table_of(study)
    _put(
        objects,
        STIMULI,
        table,
        "lists other pictures than the study now has: trial numbers would mean something else. Name another prefix.",
    )
    return hashlib.sha256(table).hexdigest()


def put_declared(text: str, objects: Objects) -> None:
    """Store what a new run declares; a killed command may have left something else."""
    _put(
        objects,
        PREREGISTRATION,
        text.encode(),
        "says something else than this run's, and is of a run that never began. Delete it, or name another prefix.",
    )


def _put(objects: Objects, key: str, data: bytes, otherwise: str) -> None:
    """Create an object unless it is there already; another one by its name is an error."""

    def check(stored: bytes) -> None:
        if stored != data:
            raise RunError(f"{objects.called(key)} {otherwise}")

    if not objects.create(key, data) and objects.get(key, check) is None:
        raise RunError(f"{objects.called(key)} was there, and is no longer: give the command again.")
