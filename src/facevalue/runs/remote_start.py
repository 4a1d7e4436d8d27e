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
    if _other(objects, STIMULI, table):
        raise RunError(
            f"{objects.called(STIMULI)} lists other pictures than the study now has: trial numbers would mean "
            "something else. Name another prefix."
        )
    return hashlib.sha256(table).hexdigest()


def put_declared(text: str, objects: Objects) -> None:
    """Store what a new run declares; a killed command may have left something else."""
    if _other(objects, PREREGISTRATION, text.encode()):
        raise RunError(
            f"{objects.called(PREREGISTRATION)} says something else than this run's, and is of a run that never began. "
            "Delete it, or name another prefix."
        )


def _other(objects: Objects, key: str, data: bytes) -> bool:
    """Create an object; whether there is another one by its name."""
    if objects.create(key, data):
        return False
    found = objects.get(key)
    return found is None or found[0] != data
