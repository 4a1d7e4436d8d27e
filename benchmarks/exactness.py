"""What local models' probabilities are exact to: `python -m benchmarks.exactness` prints a table.

docs/how-to/local-models.md shows it.

Tiny models of the tests answer questions as in a run, sharing what may be shared. Each log-probability that was read on
the way is compared with one forward pass of the whole prompt and the reply so far, in the same format or in float32.
"""

import os
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np

from facevalue.models.hf.chat import prepare
from facevalue.models.hf.decoding import mask_picture_tokens
from facevalue.models.hf.engine import Engine
from facevalue.models.hf.loading import Loaded, load_model
from facevalue.models.hf.reference_pass import plain_logits
from facevalue.types import Option, Question, Sampling
from tests.models.hf import planted, tiny

_FAMILIES: dict[str, Callable[..., Path]] = {
    "LLaVA": tiny.llava,
    "Qwen2-VL": tiny.qwen2_vl,
    "Gemma 3": tiny.gemma3,
    "PaliGemma": tiny.paligemma,
}
_OPTIONS = (Option("(a)", "competent", "up"), Option("(b)", "honest", "down"))
_QUESTIONS = [Question(f"Is this person (a) {word} or (b) honest?", _OPTIONS) for word in ("competent", "warm", "lazy")]
_SIZES = ((40, 40), (60, 40), (28, 56))
_BACKENDS = ("bitsandbytes", "torchao", "hqq", "optimum")

Shown = Sequence[Sequence[Any]]
Values = dict[tuple[int, int, tuple[int, ...], int], float]
"""Log-probabilities by request, question, reply so far and token."""
_ALONE = " (one by one)"


def read(loaded: Loaded, shown: Shown) -> tuple[Values, str]:
    """Ask as a run does; also whether the questions had to be asked one by one."""
    engine, values = Engine(loaded), Values()
    for at, pictures in enumerate(shown):
        for number, score, _ in engine.score(pictures, _QUESTIONS, Sampling()):
            values |= {(at, number, each.reply, each.token): each.logprob for each in score.evidence}  # type: ignore[union-attr]
    return values, _ALONE if engine.trials.notes else ""


def plain(loaded: Loaded, shown: Shown, wanted: Values) -> Values:
    """Compute the same by a forward pass for each reply."""
    values = Values()
    for at, pictures in enumerate(shown):
        for group in prepare(loaded, pictures, _QUESTIONS):
            for number in group.members:
                inputs = group.full(number)
                for reply in {key[2] for key in wanted if key[:2] == (at, number)}:
                    logits, _ = mask_picture_tokens(loaded, plain_logits(loaded, inputs, reply, [len(reply)]))
                    logs = logits.double().log_softmax(1)[0].tolist()
                    values |= {key: logs[key[3]] for key in wanted if key[:3] == (at, number, reply)}
    return values


def apart(one: Values, other: Values) -> float:
    """Return the largest difference of a probability among what both have."""
    both = one.keys() & other.keys()
    if not both:
        raise ValueError("nothing to compare")
    return max(abs(np.exp(one[key]) - np.exp(other[key])) for key in both)


def differences(build: Callable[..., Path]) -> dict[str, str]:
    """Return the largest difference of a probability in each case, of one family."""
    single = [[tiny.picture(f"{size}", size)] for size in _SIZES]
    double = [[tiny.picture("left", one), tiny.picture("right", other)] for one, other in pairwise(_SIZES)]
    found: dict[str, str] = {}
    with TemporaryDirectory() as place:
        folder = str(planted.plant(build(Path(place))))
        full = load_model(folder, dtype="float32", device="cpu", threads=1)
        for dtype in ("float32", "bfloat16", "float16"):
            loaded = load_model(folder, dtype=dtype, device="cpu", threads=1)
            for what, shown in (("one picture", single), ("two pictures in a request", double)):
                ours, alone = read(loaded, shown)
                found[f"{dtype}, {what}: plain passes in {dtype}"] = (
                    f"{apart(ours, plain(loaded, shown, ours)):.1g}{alone}"
                )
                if dtype != "float32":
                    found[f"{dtype}, {what}: plain passes in float32"] = (
                        f"{apart(ours, plain(full, shown, ours)):.1g}{alone}"
                    )
        sides = []
        for side in ("left", "right"):
            padded = load_model(folder, dtype="float32", device="cpu", threads=1)
            padded.tokenizer.padding_side = side
            sides.append(read(padded, single)[0])
        found["float32, a tokenizer that pads left: one that pads right"] = f"{apart(*sides):.1g}"
    return found


def main() -> None:
    """Print the table."""
    columns = [differences(build) for build in _FAMILIES.values()]
    lines = [("read", "compared with", *_FAMILIES), *[("---",) * (2 + len(columns))]]
    lines += [(*case.split(": "), *(column[case] for column in columns)) for case in columns[0]]
    sys.stdout.writelines(f"| {' | '.join(line)} |\n" for line in lines)
    there = [name for name in _BACKENDS if find_spec(name)]
    sys.stdout.write(f"\nBackends of quantised weights that are installed: {', '.join(there) or 'none'}.\n")


if __name__ == "__main__":
    main()
