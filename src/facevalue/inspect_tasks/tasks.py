"""Tasks of Inspect's from studies: options as the command line has them, checked by the same code."""

from collections.abc import Mapping, Sequence
from typing import Any

from inspect_ai import Epochs, Task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import MemoryDataset
from inspect_ai.model import GenerateConfig

from facevalue import studies
from facevalue.arguments import split_names
from facevalue.errors import FaceValueError, SettingError, UnknownNameError
from facevalue.inspect_tasks.parts import ask, estimates, reply, show_pictures
from facevalue.inspect_tasks.trials import trials_of
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.settings import Setting, to_setting_type
from facevalue.protocol.variant_files import find_variants
from facevalue.protocol.variants import add_interventions
from facevalue.records.inspect_log import ASKED
from facevalue.runs.checks import check_options, check_shown
from facevalue.runs.imported_runs import asked_of
from facevalue.runs.requests import TrialNumbers
from facevalue.runs.settings import RunSettings
from facevalue.types import OptionValue

_OF_RUN = ("sample", "sample_seed", "exact", "with")
"""Options of a run beside those of the study, as `facevalue run` has them."""


def task_of(name: str, options: Mapping[str, Any]) -> Task:
    """The task of a study.

    Parameters
    ----------
    name:
        The study's name, or the file of one's own.
    options:
        What `-T` gave: settings of the study, and `sample`, `sample_seed`, `exact` and `with`.

    Raises
    ------
    PrerequisiteError
        What is wrong with them, in the words of the command line.
    """
    try:
        return _task(studies.protocol(name), {key.replace("-", "_"): value for key, value in options.items()})
    except FaceValueError as error:
        raise PrerequisiteError(str(error)) from error


def _task(protocol: Protocol, options: Mapping[str, Any]) -> Task:
    settings = {setting.name: setting for setting in protocol.settings}
    for option in options:
        if option not in settings and option not in _OF_RUN:
            raise UnknownNameError(f"setting of {protocol.name}", option, [*settings, *_OF_RUN])
    values = {key: _to_option_value(settings[key], value) for key, value in options.items() if key in settings}
    study = add_interventions(protocol.study(values), find_variants(_names(options.get("with", []))))
    asked_settings = RunSettings(
        sample=_whole_number(options, "sample", 1),
        seed=_whole_number(options, "sample_seed", 0) or 0,
        exact=_flag(options, "exact"),
    )
    check_shown(study)
    if asked_settings.exact:
        numbers = TrialNumbers(study.design.size)
        check_options(study, numbers)
    document = asked_of(study, asked_settings).document()
    trials = trials_of(document)
    sampling = study.draws.sampling
    return Task(
        dataset=MemoryDataset(list(trials.samples()), name=study.name),
        setup=show_pictures(document),
        solver=ask(document),
        scorer=reply(document),
        metrics=[estimates(document)],
        epochs=Epochs(trials.repeats),
        config=GenerateConfig(temperature=sampling.temperature, top_p=sampling.top_p, max_tokens=sampling.max_tokens),
        version=study.version,
        metadata={ASKED: document},
        description=study.about.title,
        fail_on_error=False,
    )


def _to_option_value(setting: Setting, value: object) -> OptionValue:
    """A value as Inspect's command line read it: it takes commas for a list, and digits for a number."""
    if isinstance(value, list | tuple) and not isinstance(setting.default, list):
        value = ",".join(map(str, value))
    return to_setting_type(setting, value)


def _names(value: object) -> Sequence[str]:
    return [str(name) for name in value] if isinstance(value, list | tuple) else split_names(str(value))


def _whole_number(options: Mapping[str, Any], name: str, low: int) -> int | None:
    value = options.get(name)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < low):
        raise SettingError(f"{name} is a whole number from {low}, not {value!r}.")
    return value


def _flag(options: Mapping[str, Any], name: str) -> bool:
    value = options.get(name, False)
    if not isinstance(value, bool):
        raise SettingError(f"{name} is true or false, not {value!r}.")
    return value
