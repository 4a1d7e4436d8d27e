"""A small run, and the same answers as other tools write them down."""

import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import facevalue as fv
from facevalue.models import load
from facevalue.records.base import StudyAsked, content_of
from facevalue.runs import RunSettings, run
from facevalue.runs.outside_runs import asked_of
from facevalue.types import Request, Response


class Asking(NamedTuple):
    """What was asked in a run of ours, and what was said."""

    asked: StudyAsked
    pairs: list[tuple[Request, Response]]
    folder: Path


class _Listening:
    """A model, and what it was asked and said."""

    def __init__(self, spec: str) -> None:
        self._model = load(spec)
        self.name, self.capabilities = self._model.name, self._model.capabilities
        self.settings, self.close = self._model.settings, self._model.close
        self.pairs: list[tuple[Request, Response]] = []

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        asked = list(requests)
        by_key = {request[:2]: request for request in asked}
        for response in self._model.respond(asked):
            self.pairs.append((by_key[response[:2]], response))
            yield response


def asking(folder: Path, *, exact: bool = False, model: str = "sim/default", sample: int | None = 120) -> Asking:
    """Run a part of stylisticbias."""
    study = fv.study("stylisticbias", faces="1M,1F", attributes="eyewear", scenario="wealthy,friendly").compiled
    settings, listening = RunSettings(sample=sample, exact=exact), _Listening(model)
    run(study, listening, folder, settings)
    return Asking(asked_of(study, settings), listening.pairs, folder)


def head(asked: StudyAsked, model: str = "openai/gpt-x", **changes: Any) -> dict[str, Any]:
    """The head of a log of Inspect's."""
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "task": "facevalue/stylisticbias", "model": model, "metadata": {"facevalue": asked.document()},
            "packages": {"inspect_ai": "0.3.285"}, "model_generate_config": {}, "config": {"epochs": 3},
        },
        "plan": {"config": {"temperature": 0.2, "top_p": 1.0, "max_tokens": 16}},
        **changes,
    }  # fmt: skip


def sample(request: Request, response: Response, **changes: Any) -> dict[str, Any]:
    """A sample of a log."""
    message = {"role": "assistant", "content": response.text or ""}
    output = {
        "model": "gpt-x-2026", "choices": [{"message": message, "stop_reason": "stop"}], "time": 0.5,
        "usage": {"input_tokens": 10, "output_tokens": 2, "input_tokens_cache_read": 5},
    }  # fmt: skip
    if response.probs is not None:
        output["metadata"] = {"facevalue_probs": list(response.probs)}
    return {
        "id": request.trial,
        "epoch": request.repeat + 1,
        "input": [{"role": "user", "content": request.question.prompt}],
        "metadata": {"facevalue_content": content_of(request)},
        "output": output,
        **changes,
    }


def samples(asked: Asking) -> list[dict[str, Any]]:
    """All of them."""
    return [sample(*pair) for pair in asked.pairs]


def write_log(path: Path, top: Mapping[str, Any], listed: Iterable[Mapping[str, Any]]) -> Path:
    """A log as Inspect writes it, compressed by Deflate."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for entry in listed:
            file.writestr(f"samples/{entry['id']}_epoch_{entry['epoch']}.json", json.dumps(entry))
        file.writestr("header.json", json.dumps(top))
    return path
