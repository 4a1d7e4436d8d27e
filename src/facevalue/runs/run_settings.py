"""Settings that differ between runs: models, prompts, interventions, temperatures, kinds of pictures, samples."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from facevalue.runs.model_names import short_names
from facevalue.runs.stored import StoredRun
from facevalue.store.files import LISTS, ROOTS
from facevalue.store.manifest import INTERVENTIONS
from facevalue.types import STUDY_TEXT, sampling_sent

MODEL = "model"
"""Name of the setting that says who was asked."""


def differing_settings(runs: Sequence[StoredRun]) -> dict[str, list[Any]]:
    """Settings in which runs of one study differ, each with its value in every run; None where a run has none of it."""
    alike = all(run.study.manifest.equals(runs[0].study.manifest) for run in runs)
    places = {*ROOTS, *(LISTS if alike else ())}  # where pictures lie is no setting if they are the same
    settings = [dict(_settings(run)) for run in runs]
    names = dict.fromkeys(name for of_run in settings for name in of_run if name not in places)
    values = {name: [of_run.get(name) for of_run in settings] for name in names}
    return {name: of_runs for name, of_runs in values.items() if any(value != of_runs[0] for value in of_runs)}


def models_note(first: StoredRun, second: StoredRun) -> tuple[str, ...]:
    """That the models of two runs differ, as a sentence; none where they don't."""
    if first.facts.model == second.facts.model:
        return ()
    models = " and ".join(short_names((first.facts.model, second.facts.model)).values())
    return (f"The models differ: {models}. The deltas are those of models, too.",)


def _settings(run: StoredRun) -> Iterator[tuple[str, Any]]:
    facts = run.facts
    yield MODEL, facts.model
    for name, value in run.study.options.items():
        if name not in (INTERVENTIONS, STUDY_TEXT):
            yield name, value
    options: Mapping[str, Any] = facts.options
    yield "interventions", [str(json.loads(text)["name"]) for text in options.get(INTERVENTIONS, ())]
    yield "sample", facts.sample
    yield "sample seed", facts.seed
    yield "version", run.study.version
    yield "kind of pictures", run.study.source.kind.value
    yield "answers", "exact probabilities" if facts.exact else "sampled replies"
    if not facts.exact:
        for name, value in sampling_sent(facts.sampling, facts.model_settings.get("left_out")).items():
            yield name.replace("_", " "), value
        if "seeds" not in run.study.options:
            yield "seeds", list(facts.seeds)
    for name, setting in facts.model_settings.items():
        yield f"model's {name}", setting
