"""What is measured of one model, in a process of its own: times in interleaved rounds, memory, agreement."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from benchmarks.engine_flops import Prompts, each_alone, shared
from benchmarks.engine_memory import extra_mb
from benchmarks.engine_models import SIZES, build, favour, picture
from benchmarks.engine_prompts import questions
from benchmarks.engine_variants import BATCH, Agreement, Plain, Shared, batched, forward, inner, lead, naive
from facevalue.models.hf.chat import prepare
from facevalue.models.hf.loading import Loaded

ALONE = {"naive": naive, "forward": forward, "batched": batched}
"""The ways that ask each question with the whole picture."""
NAIVE, FORWARDS = 4, 2
"""Questions of a round that these are asked: a part of the prompts, as each takes about as long as any other."""
_VIGNETTE = 100

Case = tuple[str, str, int, int]
"""Variant, study, prompts per picture that it stands for, and questions that are asked in a round."""


def cases(counts: Sequence[int]) -> list[Case]:
    """Return what a round consists of, in the order of its first run.

    Parameters
    ----------
    counts:
        Prompts per picture.
    """
    most = max(counts)
    alone: list[Case] = [
        ("naive", "stylisticbias", 0, NAIVE),
        ("forward", "stylisticbias", 0, FORWARDS),
        ("batched", "stylisticbias", 0, BATCH),
        ("plain", "stylisticbias", 0, NAIVE),
        ("naive", "vignette", 0, FORWARDS),
    ]
    together: list[Case] = [("shared", "stylisticbias", count, count) for count in counts]
    return [*alone, *together, ("shared", "vignette", min(most, _VIGNETTE), min(most, _VIGNETTE))]


def _timed(work: Callable[[], Any], device: str) -> tuple[float, float, Any]:
    """Seconds of the CPU, seconds by the clock, and what came out."""
    wait = torch.cuda.synchronize if device.startswith("cuda") else lambda: None
    wait()
    cpu, wall = time.process_time(), time.perf_counter()
    out = work()
    wait()
    return time.process_time() - cpu, time.perf_counter() - wall, out


def times(family: str, size: str, device: str, counts: str, seconds: float, least: int) -> dict[str, Any]:
    """Time all variants in turn, round by round, each round about a new picture and in another order.

    Parameters
    ----------
    family, size, device:
        The model.
    counts:
        Prompts per picture, separated by commas.
    seconds:
        How long to go on.
    least:
        Rounds at least.

    Returns
    -------
    dict
        Rounds, each with the CPU and clock seconds per question of each case; passes through the model per question, in
        the last round; agreement; operations per question.
    """
    if device == "cpu":
        torch.set_num_threads(1)
    loaded = build(family, size, device, _dtype(device))
    engines, agreement, passes = {"shared": Shared(loaded), "plain": Plain(loaded)}, Agreement(), [0]
    loaded.model.register_forward_hook(lambda *_: passes.append(passes.pop() + 1))
    todo = cases([int(count) for count in counts.split(",")])
    rounds: list[list[tuple[float, float]]] = []
    began = time.perf_counter()
    while len(rounds) <= least or time.perf_counter() - began < seconds:
        image = picture(SIZES[family, size], len(rounds))
        took = [(0.0, 0.0)] * len(todo)
        made = [0.0] * len(todo)
        said: dict[tuple[str, str], Any] = {}
        for step in range(len(todo)):
            at = (step + len(rounds)) % len(todo)
            variant, study, _, asked = todo[at]
            favour(loaded, study)
            work: Callable[[], Any]
            some = questions(study)[:asked]
            if variant in engines:
                engines[variant].settle(image, some[0], study)
                work = partial(engines[variant], image, some, study)
            else:
                work = partial(ALONE[variant], loaded, image, some)
            before = passes[0]
            cpu, wall, out = _timed(work, device)
            took[at] = cpu / asked, wall / asked
            made[at] = (passes[0] - before) / asked
            key = variant, study
            said[key] = max(said.get(key, out), out, key=len)
        _compare(loaded, said, agreement)
        rounds.append(took)
        if len(rounds) == 1:
            began = time.perf_counter()  # the first round warms up, and is not counted
    return {
        "parameters": sum(each.numel() for each in loaded.model.parameters()),
        "cases": todo,
        "rounds": rounds[1:],
        "passes": made,
        "compared": agreement.questions,
        "share": agreement.share,
        "log": agreement.log,
        "tokens": {study: _tokens(loaded, family, size, study) for study in ("stylisticbias", "vignette")},
        "operations": [_operations(loaded, family, size, case) for case in todo],
    }


def _dtype(device: str) -> str:
    return "float32" if device == "cpu" else "bfloat16"


def _compare(loaded: Loaded, said: dict[tuple[str, str], Any], agreement: Agreement) -> None:
    for (variant, study), all_rows in said.items():
        scores = said["shared", study]
        if variant == "plain":
            for one, own in zip(all_rows, scores, strict=False):
                apart = [abs(a - b) for a, b in zip(one.probs, own.probs, strict=True)]
                agreement.share = max(agreement.share, *apart)
        elif variant != "shared":
            for question, score, rows in zip(questions(study), scores, all_rows, strict=False):
                agreement.enter(score, rows, lead(loaded, question))


def _prompts(loaded: Loaded, family: str, size: str, study: str, count: int) -> Prompts:
    asked = questions(study)[:count]
    (group,) = prepare(loaded, [picture(SIZES[family, size], 0)], asked)
    return Prompts(
        len(group.prefix_ids),
        group.suffixes,
        [inner(loaded, question) for question in asked],
        [len(lead(loaded, question)) for question in asked],
    )


def _tokens(loaded: Loaded, family: str, size: str, study: str) -> dict[str, float]:
    """Tokens of the prefix, and on average of what is each question's own and of what is read of its options."""
    made = _prompts(loaded, family, size, study, _VIGNETTE)
    count = len(made.suffixes)
    return {"prefix": made.prefix, "suffix": sum(map(len, made.suffixes)) / count, "inner": sum(made.inner) / count}


def _operations(loaded: Loaded, family: str, size: str, case: Case) -> float:
    variant, study, _, asked = case
    prompts = _prompts(loaded, family, size, study, asked if variant == "shared" else _VIGNETTE)
    if variant == "shared":
        return shared(family, SIZES[family, size], prompts)
    return each_alone(family, SIZES[family, size], prompts, generate=variant != "forward")


def memory(family: str, size: str, device: str, variant: str, count: int) -> float | None:
    """Extra memory of one variant, in MB, when so many questions are asked about a picture."""
    if device == "cpu":
        torch.set_num_threads(1)
    loaded = build(family, size, device, _dtype(device))
    favour(loaded, "stylisticbias")
    image, asked = picture(SIZES[family, size], 0), questions("stylisticbias")[:count]
    if variant == "shared":
        engine = Shared(loaded)
        engine.settle(image, asked[0], "stylisticbias")
        engine(image, asked[:1], "stylisticbias")
        engine.settle(image, asked[0], "stylisticbias")
        return extra_mb(lambda: engine(image, asked, "stylisticbias"), device)
    ALONE[variant](loaded, image, asked[:1])
    return extra_mb(lambda: ALONE[variant](loaded, image, asked), device)
