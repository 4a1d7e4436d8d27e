"""Open replies in one continuous batch against `generate()` in batches: reply tokens a second of processor time.

Run with `python -m benchmarks.bench_open`; `--size 70m` takes an hour of one core. Prompts are Counterfactuals', three
seeds each, at most 512 tokens. Weights are random, and every token ends a reply with a probability of 1 in 100, so
that lengths are geometric. One thread; both ways in turn, medians.
"""

import argparse
import dataclasses
import math
import statistics
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Any

from benchmarks._harness import Result, at_least, finish, fresh

BATCHES = (15, 60)
STOP, MOST, SEEDS = 0.01, 512, 3
COMPARED = 8  # pictures for `generate()`: their replies fill whole batches
TIMES, FILLED = 3.0, 0.9


def _model(size: str) -> tuple[Any, list[Any], list[str]]:
    import torch

    from benchmarks.engine_models import SIZES, build, picture
    from facevalue.studies.counterfactuals.settings import MAIN

    torch.set_num_threads(1)
    loaded = build("llava", size)
    loaded = dataclasses.replace(loaded, marks=frozenset({loaded.model.config.image_token_id}))
    head = loaded.model.get_output_embeddings()
    with torch.no_grad():
        head.weight.mul_(0.02)
    bias = torch.zeros(len(head.weight))
    bias[list(loaded.stop_ids)] = math.log(STOP / (1 - STOP) * len(head.weight) / len(loaded.stop_ids))
    head.bias = torch.nn.Parameter(bias, requires_grad=False)
    loaded.model.generation_config.eos_token_id = sorted(loaded.stop_ids)
    return loaded, [picture(SIZES["llava", size], number) for number in range(64)], list(MAIN.values())


def ours(size: str, pictures: int) -> tuple[float, float, float]:
    """Reply tokens a second, share of the budget that was filled while enough waited, and tokens a pass in all."""
    from facevalue.models.hf.engine import Engine, Wish
    from facevalue.models.hf.open_replies import OpenReplies
    from facevalue.types import Question, Sampling

    loaded, images, prompts = _model(size)
    engine = Engine(loaded)
    began = time.process_time()
    session = OpenReplies[int](engine.opening)
    for number in range(pictures):
        wishes = [
            Wish(Question(prompt, ()), Sampling(1.0, 1.0, MOST), 10_000 * number + 100 * place + seed)
            for place, prompt in enumerate(prompts)
            for seed in range(SEEDS)
        ]
        session.add(number, engine.to_reply([images[number]], wishes))
    replies: list[Any] = [reply for _, _, reply, _ in session.replies(to_the_end=True)]
    took = time.process_time() - began
    session.close()
    tally = session.batch.tally
    filled = tally.full_tokens / (engine.opening.limits.width * max(1, tally.full_passes))
    return sum(reply.completion_tokens for reply in replies) / took, filled, tally.tokens / tally.passes


def generated(size: str, pictures: int, batch: int) -> float:
    """Reply tokens a second of `generate()` in batches of so many."""
    import torch

    loaded, images, prompts = _model(size)
    words = loaded.tokenizer
    words.padding_side = "left"
    texts = [
        words.apply_chat_template(
            [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": prompt}]}],
            add_generation_prompt=True,
            tokenize=False,
        )
        for prompt in prompts
    ]
    jobs = [(image, text) for image in images[:pictures] for text in texts for _ in range(SEEDS)]
    torch.manual_seed(0)
    began, tokens = time.process_time(), 0
    for first in range(0, len(jobs), batch):
        some = jobs[first : first + batch]
        given = loaded.processor(
            text=[text for _, text in some], images=[image for image, _ in some], return_tensors="pt", padding=True
        )
        with torch.inference_mode():
            out = loaded.model.generate(**given, do_sample=True, top_k=0, max_new_tokens=MOST, pad_token_id=0)
        new = out[:, given["input_ids"].shape[1] :]
        ended = torch.isin(new, torch.tensor(sorted(loaded.stop_ids)))
        tokens += int(torch.where(ended.any(1), ended.int().argmax(1) + 1, new.shape[1]).sum())
    return tokens / (time.process_time() - began)


def run(size: str, pictures: int, rounds: int) -> Iterator[Result]:
    """Measure both ways in turn."""
    found: dict[int, list[float]] = {batch: [] for batch in BATCHES}
    mine = []
    for _ in range(rounds):
        mine.append(fresh(ours, size, pictures, cores=1))
        for batch in BATCHES:
            found[batch].append(fresh(generated, size, COMPARED, batch, cores=1))
    rate = statistics.median(each for each, *_ in mine)
    yield Result("continuous batch", rate, "tokens/s")
    yield at_least("share of the budget that is filled while enough waits", mine[0][1], "", FILLED)
    yield Result("tokens a pass, the tail included", mine[0][2], "tokens")
    for batch, rates in found.items():
        theirs = statistics.median(rates)
        yield Result(f"generate() in batches of {batch}", theirs, "tokens/s")
        if batch == BATCHES[0]:
            yield at_least("times as fast as that", rate / theirs, "times", TIMES)
        else:
            yield Result("times as fast as that", rate / theirs, "times")


def main(given: Sequence[str] | None = None) -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", default="tiny", choices=("tiny", "70m", "245m"))
    parser.add_argument("--pictures", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(given)
    if missing := [name for name in ("torch", "transformers") if find_spec(name) is None]:
        print(f"bench_open: SKIPPED, {', '.join(missing)} not installed ('make engine' adds what it needs).")
        return
    results = list(run(options.size, options.pictures, options.rounds))
    finish(f"open-{options.size}", f"Open replies, {options.size} LLaVA: one thread, random weights", results)


if __name__ == "__main__":
    main()
