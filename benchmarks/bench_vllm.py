"""vLLM beside the local engine on one core: the same model, pictures and prompts, in turn; judgments per CPU-second.

Run with `make bench-vllm`, which makes an environment that holds both; `--rounds 1` is the shortest.
Weights are random, with a habit of answering "(a)" or "(b)", so that both read as many tokens as of a trained model.
Counted is the processor time of everything that takes part: of vLLM's server with all its processes and of FaceValue's
own process that asks it, or of the one process that runs the local engine.
"""

import argparse
import io
import os
import statistics
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory

from benchmarks import _harness
from benchmarks._harness import Result, finish, fresh
from facevalue.models.base import Finding, Model, ModelOptions
from facevalue.models.cached_tokens import cached_share
from facevalue.models.registry import load
from facevalue.types import Image, Request, Stimulus

PICTURES = {1: 4, 10: 2, 100: 1}
"""Pictures that are asked about in a round, by prompts per picture."""
SIZE = "70m"
WARM = 8
"""Pictures with one prompt before that: whatever is done once is done, the local engine's self-check among it."""
STRENGTH = 20.0
_STATES = ("start", "open", "letter", "close")


def write(folder: Path) -> None:
    """Write a LLaVA that says "(a)" or "(b)": the residual stream carries which of its tokens came last."""
    import torch

    from benchmarks.engine_models import build

    loaded = build("llava", SIZE)
    words, model = loaded.tokenizer, loaded.model
    after = {"(": 1, "\u0120(": 1, "a": 2, "b": 2, ")": 3}
    said = {0: {"\u0120(": 0.0}, 1: {"a": 0.0, "b": -0.5}, 2: {")": 0.0}, 3: {"</s>": 0.0}}
    inputs, outputs = model.get_input_embeddings().weight, model.get_output_embeddings().weight
    root = inputs.shape[1] ** 0.5
    with torch.no_grad():
        inputs[:, : len(_STATES)] = 0.0
        outputs[:, : len(_STATES)] = 0.0
        inputs[:, 0] = 4 * root
        for text, state in after.items():
            number = words.convert_tokens_to_ids(text)
            if number is not None and number != words.unk_token_id:
                inputs[number, 0] = 0.0
                inputs[number, state] = 4 * root
        for state, likes in said.items():
            for text, less in likes.items():
                outputs[words.convert_tokens_to_ids(text), state] = 2 * (STRENGTH + less) / root
    model.save_pretrained(folder)
    loaded.processor.save_pretrained(folder)


def requests(first: int, pictures: int, prompts: int) -> Iterator[Request]:
    """Ask so many of StylisticBias's questions about each of so many pictures, for probabilities."""
    from benchmarks.engine_models import SIZES, picture
    from benchmarks.engine_prompts import SAMPLING, questions

    asked, how = questions("stylisticbias")[:prompts], SAMPLING["stylisticbias"]
    for number in range(first, first + pictures):
        file = io.BytesIO()
        picture(SIZES["llava", SIZE], number).save(file, "PNG")
        shown = Image(file.getvalue(), "image/png")
        stimulus = Stimulus(str(number), str(number), {}, lambda shown=shown: (shown,))  # type: ignore[misc]
        for trial, question in enumerate(asked):
            yield Request(number * 1000 + trial, 0, 0, stimulus, question, how, True)


def answered(model: Model, asked: Sequence[Request]) -> dict[int, tuple[float, ...]]:
    """Probabilities by trial; all of them must have been read."""
    read = {}
    for response in model.respond(asked):
        if response.probs is None:
            raise AssertionError(f"not read: {response}")
        read[response.trial] = response.probs
    return read


def asked(first: int) -> dict[int, list[Request]]:
    """What a round asks after its first pictures, by prompts per picture."""
    out = {}
    for prompts, pictures in PICTURES.items():
        out[prompts] = list(requests(first + WARM, pictures, prompts))
        first += pictures
    return out


def local(folder: str, first: int) -> list[tuple[float, list[float]]]:
    """One round of the local engine in this process: CPU-seconds, and probabilities of the first options."""
    model = load(f"hf/{folder}", ModelOptions(device="cpu", threads=1, dtype="float32"))
    answered(model, list(requests(first, WARM, 1)))
    out = []
    for some in asked(first).values():
        began = time.process_time()
        read = answered(model, some)
        out.append((time.process_time() - began, [read[request.trial][0] for request in some]))
    return out


def tree_seconds(root: int) -> float:
    """Processor time of a process and its living descendants, in seconds."""
    ticks: dict[int, int] = {}
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        number = int(stat.parent.name)
        ticks[number] = sum(map(int, fields[11:15]))  # of its own, and of children that have ended
        children.setdefault(int(fields[1]), []).append(number)
    tree, total = [root], 0
    while tree:
        number = tree.pop()
        total += ticks.get(number, 0)
        tree += children.get(number, [])
    return total / os.sysconf("SC_CLK_TCK")


def main(given: Sequence[str] | None = None) -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often all is measured; medians count")
    parser.add_argument("--out", type=Path, help="folder of the results; benchmarks/results by default")
    options = parser.parse_args(given)
    if find_spec("vllm") is None:
        print("bench_vllm: SKIPPED, vLLM is not installed ('make bench-vllm' makes an environment for it).")
        return
    from tests.vllm.server import MODEL, renamed, serving

    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        _harness.RESULTS = options.out
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])  # of all that is started, too
    costs: dict[tuple[str, int], list[float]] = {}
    shares: dict[int, list[float]] = {}
    furthest = 0.0
    with TemporaryDirectory() as made:
        folder = Path(made) / "hf"
        write(folder)
        weights = renamed(Path(copytree(folder, Path(made) / "vllm")))
        with serving(weights, log=Path(made) / "log") as (url, keeper):
            spec, served = f"{url}#{MODEL}", ModelOptions(concurrency=16, timeout=600)
            for number in range(options.rounds):
                first = 1 + 100 * number
                answered(load(spec, served), list(requests(first, WARM, 1)))
                ours = fresh(local, str(folder), first, cores=None)
                for (prompts, some), (cost, probs) in zip(asked(first).items(), ours, strict=True):
                    model = load(spec, served)
                    before = time.process_time() + tree_seconds(keeper.pid)
                    read = answered(model, some)
                    spent = time.process_time() + tree_seconds(keeper.pid) - before
                    costs.setdefault(("vLLM", prompts), []).append(spent / len(some))
                    costs.setdefault(("hf", prompts), []).append(cost / len(some))
                    share = cached_share([model.findings()]) if isinstance(model, Finding) else None
                    shares.setdefault(prompts, []).append(share or 0.0)
                    furthest = max(furthest, *(abs(p - read[r.trial][0]) for p, r in zip(probs, some, strict=True)))
    results = []
    for prompts in PICTURES:
        for name in ("vLLM", "hf"):
            rate = 1 / statistics.median(costs[name, prompts])
            results.append(Result(f"{name}, {prompts} prompts a picture", rate, "judgments/CPU-second"))
        results.append(
            Result(
                f"vLLM, {prompts} prompts a picture: prompt tokens cached",
                100 * statistics.median(shares[prompts]),
                "%",
            )
        )
    results.append(Result("largest difference of a probability", furthest, ""))
    finish("vllm", f"vLLM and the local engine: one core, LLaVA {SIZE} of random weights", results)


if __name__ == "__main__":
    main()
