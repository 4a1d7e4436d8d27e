"""What Inspect finds by the entry point: a task for each study, one for a file of one's own, and models."""

from collections.abc import Callable
from typing import Any

from inspect_ai import Task, task
from inspect_ai.model import modelapi

from facevalue.inspect_tasks.providers import FaceValueModel
from facevalue.inspect_tasks.tasks import task_of
from facevalue.studies.registry import DECLARED, PUBLISHED


def _task_of(name: str) -> Callable[..., Task]:
    def make(**options: Any) -> Task:
        return task_of(name, options)

    make.__doc__ = f"Make the task of {name}: `-T` takes the options of `facevalue run {name}`."
    return task(name=name)(make)


@task
def study(file: str, **options: Any) -> Task:
    """Make the task of a study of one's own: `-T file=my-study.toml`, and the options of `facevalue run`."""
    return task_of(file, options)


@modelapi(name="facevalue")
def facevalue() -> type[FaceValueModel]:
    """Models of FaceValue's own."""
    return FaceValueModel


TASKS = {name: _task_of(name) for name in (*PUBLISHED, *DECLARED)}
"""By the name of the study."""
