"""Many pictures at once on the local engine: passes for each picture, and what a judgment costs outside the model.

Run with `python -m benchmarks.bench_pictures`. The model is a stand-in without arithmetic, which sleeps for as long as
a 7B model's operations would take a GPU.
"""

import io
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from benchmarks._harness import Result, at_most, finish, fresh

NEEDED = ("torch", "transformers", "tokenizers", "accelerate")
COUNTS = (1, 10, 100)
PICTURES = 48
OPERATIONS = 0.45 * 989e12
"""A second of an H100: its dense bfloat16 peak times the share that large matrices commonly reach."""
ROOM = 16_384
"""Tokens of prefixes in one pass, as on a GPU."""
WAIT, PASSES = 0.05, 1 / 16


def stand_in(loaded: Any, operations: float) -> Any:
    """Return the same model without arithmetic: it sleeps for what a pass of a 7B model would take.

    Parameters
    ----------
    loaded:
        The model whose configuration and tokenizer are kept.
    operations:
        How many it makes in a second.
    """
    import torch

    from benchmarks.engine_flops import _head, _tokens, vision
    from benchmarks.engine_models import SIZES

    size = SIZES["llava", "7b"]
    row = loaded.model.get_output_embeddings().bias.clone()

    class StandIn(torch.nn.Module):  # type: ignore[misc]
        """Answers every place with the same logits."""

        config, generation_config = loaded.model.config, loaded.model.generation_config
        passes = prefixes = rows = 0
        inside = 0.0

        def get_output_embeddings(self) -> Any:
            """As the real one's."""
            return loaded.model.get_output_embeddings()

        def get_decoder(self) -> Any:
            """As the real one's."""
            return loaded.model.get_decoder()

        def forward(
            self, input_ids: Any, past_key_values: Any, logits_to_keep: Any = 1, pixel_values: Any = None, **_: Any
        ) -> Any:
            """Keep nothing, wait, and return logits."""
            began = time.thread_time()
            rows, width = input_ids.shape
            kept = logits_to_keep if isinstance(logits_to_keep, int) else len(logits_to_keep)
            before = past_key_values.get_seq_length()
            past_key_values.update(*[torch.zeros(rows, 1, width, 1)] * 2, 0)
            work = rows * (_tokens(size, before, width) + _head(size, kept))
            if pixel_values is not None:
                self.prefixes, self.rows = self.prefixes + 1, self.rows + rows
                work += rows * vision("llava", size)
            self.passes += 1
            time.sleep(work / operations)
            out = SimpleNamespace(logits=row.repeat(rows, kept, 1))
            self.inside += time.thread_time() - began
            return out

    return replace(loaded, model=StandIn())


def _requests(count: int, first: int, end: int) -> Iterator[Any]:
    """Requests about pictures, JPEG files of 512 pixels, with so many questions about each."""
    from benchmarks.engine_models import SIZES, picture
    from benchmarks.engine_prompts import SAMPLING, questions
    from facevalue.types import Image, Request, Stimulus

    asked = questions("stylisticbias")[:count]
    for number in range(first, end):
        buffer = io.BytesIO()
        picture(SIZES["llava", "70m"], number).resize((512, 512)).save(buffer, "JPEG")
        images = (Image(buffer.getvalue(), "image/jpeg"),)
        stimulus = Stimulus(str(number), str(number), {}, partial(tuple, images))
        yield from (Request(0, 0, 1, stimulus, each, SAMPLING["stylisticbias"], True) for each in asked)


def _model(loaded: Any, room: int) -> Any:
    """Return an adapter of a model that has been made."""
    from facevalue.models.hf.adapter import HFModel
    from facevalue.models.hf.engine import Engine

    model = HFModel.__new__(HFModel)
    model.name, model.engine, model._failing = "hf/made", Engine(loaded), set()
    model.engine.room._limit = room
    return model


def _small() -> Any:
    """Return a model with few tokens: what a GPU does with all their logits is no work for this machine."""
    from benchmarks import engine_models

    shape = engine_models.Size((64, 128, 2, 4, 4), (32, 64, 2, 2), 2_000, 336)
    engine_models.SIZES = {**engine_models.SIZES, ("llava", "small"): shape}
    loaded = engine_models.build("llava", "small")
    engine_models.favour(loaded, "stylisticbias")
    return loaded


def outside(count: int, room: int) -> dict[str, float]:
    """Ask a stand-in about pictures; return passes for each picture, and milliseconds for each judgment.

    Parameters
    ----------
    count:
        Questions about each picture.
    room:
        Tokens of prefixes in one pass.
    """
    from facevalue.models.hf.check import SelfCheck

    SelfCheck.compare = lambda *_: None  # type: ignore[method-assign] # a stand-in has nothing to compare with
    model = _model(stand_in(_small(), OPERATIONS), room)
    model.engine.trials.allow = lambda *_: True
    list(model.respond(_requests(count, 0, 4)))
    stub, inside, spans = model.engine.loaded.model, model.engine.scores, []
    stub.passes = stub.prefixes = stub.rows = 0
    stub.inside = 0.0

    def scores(asked: Any) -> Any:
        began = time.perf_counter()
        yield from inside(asked)
        spans.append((began, time.perf_counter()))

    model.engine.scores = scores
    asked = list(_requests(count, 4, 4 + PICTURES))
    cpu, mine = time.process_time(), time.thread_time()
    judgments = sum(1 for _ in model.respond(asked))
    cpu, mine = time.process_time() - cpu, time.thread_time() - mine
    waited = sum(after - before for (_, before), (after, _) in pairwise(spans))
    return {
        "prefixes": stub.prefixes / PICTURES,
        "passes": stub.passes / PICTURES,
        "rows": stub.rows / stub.prefixes,
        "waited": 1000 * waited / judgments,
        "preparation": 1000 * (cpu - mine) / judgments,
        "thread": 1000 * (mine - stub.inside) / judgments,
    }


def main() -> None:
    """Measure, print, store."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        print(f"bench_pictures: SKIPPED, {', '.join(missing)} not installed ('make engine' adds what it needs).")
        return
    results: list[Result] = []
    for count in COUNTS:
        many, single = fresh(outside, count, ROOM), fresh(outside, count, 0)
        of = f"{count} question{'s' * (count != 1)} a picture"
        waits = f"{of}: the model waits for pictures"
        results += [
            at_most(f"{of}: passes over prefixes, each picture", many["prefixes"], "passes", PASSES),
            Result(f"{of}: all passes, each picture", many["passes"], "passes"),
            Result(f"{of}: all passes, one picture at a time", single["passes"], "passes"),
            at_most(waits, many["waited"], "ms/judgment", WAIT)
            if count == max(COUNTS)
            else Result(waits, many["waited"], "ms/judgment"),
            Result(f"{of}: preparation, in its thread", many["preparation"], "ms/judgment"),
            Result(f"{of}: the model's thread, outside the model", many["thread"], "ms/judgment"),
        ]
    finish("pictures", "Many pictures at once", results)


if __name__ == "__main__":
    main()
