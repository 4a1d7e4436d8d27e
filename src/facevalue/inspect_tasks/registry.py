"""Entry point for Inspect: a task for each study, one for a file of one's own, and models."""

from collections.abc import Callable
from typing import Any

from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.model import modelapi

from facevalue.inspect_tasks.providers import FaceValueModel
from facevalue.inspect_tasks.tasks import task_of
from facevalue.studies.registry import DECLARED


@task
def stylisticbias(**options: Any) -> Task:
    """Make the task of StylisticBias: `-T` takes the options of `facevalue run stylisticbias`."""
    return task_of(stylisticbias.__name__, options)


@task
def vignette(**options: Any) -> Task:
    """Make the task of VIGNETTE: `-T` takes the options of `facevalue run vignette`."""
    return task_of(vignette.__name__, options)


@task
def visbias(**options: Any) -> Task:
    """Make the task of VisBias: `-T` takes the options of `facevalue run visbias`."""
    return task_of(visbias.__name__, options)


@task
def modscan(**options: Any) -> Task:
    """Make the task of ModSCAN: `-T` takes the options of `facevalue run modscan`."""
    return task_of(modscan.__name__, options)


@task
def counterfactuals(**options: Any) -> Task:
    """Make the task of Counterfactuals: `-T` takes the options of `facevalue run counterfactuals`."""
    return task_of(counterfactuals.__name__, options)


@task
def study(file: str = "", **options: Any) -> Task:
    """Make the task of a study of one's own: `-T file=my-study.toml`, and the options of `facevalue run`."""
    if not file:
        raise PrerequisiteError("Say which study of your own is asked: -T file=my-study.toml.")
    return task_of(str(file), options)


@modelapi(name="facevalue")
def facevalue() -> type[FaceValueModel]:
    """Models of FaceValue's own."""
    return FaceValueModel


def _declare_task(name: str) -> Callable[..., Task]:
    def make(**options: Any) -> Task:
        return task_of(name, options)

    make.__doc__ = f"Make the task of {name}: `-T` takes the options of `facevalue run {name}`."
    return task(name=name)(make)


# Functions of their own stand above, as registers look for them in the source.
TASKS = {
    **{published.__name__: published for published in (stylisticbias, vignette, visbias, modscan, counterfactuals)},
    **{name: _declare_task(name) for name in DECLARED},
}
"""By the name of the study."""
