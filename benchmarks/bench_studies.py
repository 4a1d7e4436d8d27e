"""What asking costs beside the model in each published study: an instant model, one core, processor time.

Run with `python -m benchmarks.bench_studies`. What a picture is, is worked out once for each picture, whatever is asked
about it, and is counted apart: drawings are drawn for that.
"""

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from time import process_time

import numpy as np

from benchmarks._harness import Result, at_most, finish, fresh
from facevalue import studies
from facevalue.models.base import Capabilities
from facevalue.runs import RunSettings, run
from facevalue.runs.requests import RequestBuilder
from facevalue.studies.registry import PUBLISHED
from facevalue.types import Request, Response, Status

MOST = 60_000
"""Requests, of studies that have so many."""
SEEDS = {"visbias": ["1", "2", "3", "4"], "modscan": ["1", "2", "3", "4"], "counterfactuals": ["0", "1", "2", "3"]}
REPEATS = 3


class _Instant:
    """Says the option shown first at once, or a sentence."""

    name = "instant"
    capabilities = Capabilities(images_per_request=2)

    def settings(self) -> Mapping[str, str | int | float | bool]:
        """Nothing to set."""
        return {}

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Answer."""
        for request in requests:
            first = next(iter(request.question.options), None)
            text = "A calm person stands in the middle." if first is None else first.label or first.text
            yield Response(request.trial, request.repeat, Status.OK, text, None, 300, 2, 1.0)

    def close(self) -> None:
        """Nothing to release."""


def asked(name: str) -> tuple[float, float, int, int]:
    """Milliseconds of a judgment and of a picture; how many there are of them."""
    study = studies.protocol(name).study({"seeds": SEEDS[name]} if name in SEEDS else {})
    whole = study.design.size * study.repeats
    numbers = study.sample(MOST, 0, study.repeats) if whole > MOST else np.arange(study.design.size)
    firsts = numbers[np.unique(study.design.stimulus_numbers(numbers), return_index=True)[1]]
    builder = RequestBuilder(study, exact=False)
    chunk = builder.chunk(firsts, np.ones((firsts.size, 1), dtype=np.bool_))
    start = process_time()
    pictures = sum(1 for _ in builder.stimuli(chunk))
    of_pictures = process_time() - start
    with tempfile.TemporaryDirectory() as place:
        settings = RunSettings(sample=MOST if whole > MOST else None, check=False, max_invalid=1.0)
        start = process_time()
        summary = run(study, _Instant(), Path(place) / "run", settings)
        elapsed = process_time() - start
    return elapsed / summary.asked * 1e3, of_pictures / pictures * 1e3, summary.asked, pictures


def main() -> None:
    """Measure, print, store."""
    results: list[Result] = []
    for name in PUBLISHED:
        rows = [fresh(asked, name) for _ in range(REPEATS)]
        judgment, picture = (float(np.median([row[at] for row in rows])) for at in (0, 1))
        *_, requests, pictures = rows[0]
        results += [
            at_most(f"{name}, {requests:,} requests: beside the model", judgment, "ms/judgment", 0.04),
            Result(f"{name}, {pictures:,} pictures: what each is", picture, "ms/picture"),
        ]
    finish("studies", "Asking: the five studies, one core, processor time", results)


if __name__ == "__main__":
    main()
