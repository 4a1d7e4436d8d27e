"""A run of an Inspect provider that goes on long enough to be killed, for a process of its own."""

import time
from pathlib import Path
from typing import Any

from inspect_ai.model import ChatMessage, GenerateConfig, ModelOutput

from facevalue.models.base import ModelOptions
from facevalue.models.inspect.adapter import InspectModel
from facevalue.runs import RunSettings, run
from tests.models.inspect_providers import Batched, Scripted, say
from tests.runs.tiny import tiny_study

STUDY = {"faces": 8, "prompts": 3, "seeds": (1, 2)}
"""48 requests."""


def main(folder: Path, batch: int | None, delay: float = 0.0) -> None:
    """Run in a folder, and note in a file beside it what is asked."""
    log = folder.with_suffix(".log")

    def behave(messages: list[ChatMessage], config: GenerateConfig) -> ModelOutput:
        with log.open("a") as lines:
            lines.write(f"{messages[-1].text} {config.seed}\n")
        time.sleep(delay)
        return say("(a)" if len(messages[-1].text) % 2 else "(b)")

    Scripted.behave = staticmethod(behave)
    Batched.Answers.seconds = 20 * delay
    model = InspectModel(
        f"inspect/{'scripted' if batch is None else 'batched'}/m", ModelOptions(concurrency=4, batch=batch)
    )
    settings: dict[str, Any] = {"chunk": 16, "flush_rows": 10, "flush_seconds": 0.05}
    run(tiny_study(**STUDY), model, folder, RunSettings(**settings))  # type: ignore[arg-type]
    model.close()
