"""A study of four faces and three questions, and models that answer at once: all that the runner needs."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from facevalue.design import Block, Design, Factor, sample
from facevalue.errors import DataError
from facevalue.models.base import Capabilities
from facevalue.protocol.study import About, Draws, Estimated, Study
from facevalue.stimuli.base import Kind
from facevalue.types import Image, Option, Question, Request, Response, Sampling, Status, Stimulus


@dataclass
class TinySource:
    """Draws nothing; the content of every picture is a string."""

    content: str = "v1"
    images: int = 1
    made: list[int] = field(default_factory=list)
    checked: list[dict[str, list[str | None]]] = field(default_factory=list)
    fail_at: int | None = None

    kind = Kind.ILLUSTRATED

    def stimulus(self, number: int, levels: Mapping[str, str | None]) -> Stimulus:
        if number == self.fail_at:
            raise DataError(f"No image of {levels['face']}.")
        self.made.append(number)
        images = tuple(Image(b"png", "image/png") for _ in range(self.images))
        return Stimulus(str(number), f"{self.content}:{levels['face']}", dict(levels), lambda: images)

    def check(self, levels: Mapping[str, list[str | None]]) -> None:
        self.checked.append(dict(levels))


OPTIONS = (Option("(a)", "competent", "up"), Option("(b)", "incompetent", "down"))


def tiny_study(
    faces: int = 4,
    prompts: int = 3,
    *,
    seeds: tuple[int, ...] = (11,),
    reasks: int = 0,
    source: TinySource | None = None,
    wording: str = "Is this person",
    options: tuple[Option, ...] = OPTIONS,
    version: int = 1,
    answer: Callable[[pl.DataFrame], pl.DataFrame] | None = None,
) -> Study:
    face = Factor("face", tuple(f"f{i}" for i in range(faces)))
    scenario = Factor("scenario", tuple(f"s{i}" for i in range(prompts)))
    design = Design((Block("all", (face,), (scenario,)),))
    questions = {
        level: Question(f"{wording} {level}?", options, factors={"scenario": level}) for level in scenario.levels
    }
    return Study(
        name="tiny",
        version=version,
        about=About(title="Tiny", citation="none", content_note=""),
        options={"faces": faces, "kinds": ["x", "y"]},
        manifest=pl.DataFrame({"image": list(face.levels), "identity": list(face.levels), "set": list(face.levels)}),
        design=design,
        draws=Draws(seeds=seeds, sampling=Sampling(), reasks=reasks),
        source=source or TinySource(),
        ask=lambda frame: [questions[level] for level in frame["scenario"]],
        sample=lambda wanted, seed, repeats: sample(design, max(wanted // repeats, 1), seed),
        answer=answer or parse,
        analyse=lambda answers: pl.DataFrame(),
        estimates=Estimated(measures=()),
    )


def parse(frame: pl.DataFrame) -> pl.DataFrame:
    """ "(a)" is 1, "(b)" is 0, everything else no answer; probabilities count as they are."""
    text = pl.col("text").str.strip_chars()
    from_probs = pl.col("probs").list.first().cast(pl.Float64)
    weight = from_probs.fill_null(pl.when(text == "(a)").then(1.0).when(text == "(b)").then(0.0))
    return (
        frame.with_columns(weight.alias("weight"))
        .with_columns(
            pl.when(pl.col("weight").is_null()).then(pl.lit("unclear")).alias("na"),
            pl.col("weight").is_not_null().cast(pl.Float64).alias("mass"),
        )
        .drop("text", "probs")
    )


Reply = Callable[[Request], Response]


def say(text: str) -> Reply:
    return lambda r: Response(r.trial, r.repeat, Status.OK, text, prompt_tokens=10, completion_tokens=2, latency_ms=1.0)


def mixed(r: Request) -> Response:
    """A reply that depends on the request and nothing else."""
    text = "(a)" if (r.trial * 7 + r.repeat + r.seed) % 3 else "(b)"
    return Response(r.trial, r.repeat, Status.OK, text, None, 10, 2, 1.0)


def failed(r: Request) -> Response:
    return Response(r.trial, r.repeat, Status.ERROR, error="no luck")


def for_a_while(count: int, then: Callable[[], object]) -> Reply:
    """Answer so many requests, whichever they are, then do something else before each."""
    left = iter(range(count))

    def reply(r: Request) -> Response:
        if next(left, None) is None:
            then()
        return mixed(r)

    return reply


def fails(error: type[BaseException], *said: str) -> Callable[[], object]:
    def fail() -> None:
        raise error(*said)

    return fail


class TinyModel:
    """Answers with `reply`, and writes down what it was asked."""

    def __init__(
        self,
        reply: Reply = mixed,
        *,
        name: str = "tiny",
        delay: float = 0.0,
        log: Path | None = None,
        ahead: int = 1,
        facts: Mapping[str, Any] | None = None,
        **can: Any,
    ) -> None:
        self.name = name
        self.asked: list[Request] = []
        self.closed = False
        self._reply = reply
        self._delay = delay
        self._log = log
        self._ahead = ahead
        self._facts = dict(facts or {})
        self.capabilities = Capabilities(**can)

    def settings(self) -> Mapping[str, str | int | float | bool]:
        return self._facts

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        held: list[Request] = []
        for request in requests:
            held.append(request)
            if len(held) >= self._ahead:
                yield from self._answer(held)
                held = []
        yield from self._answer(held)

    def _answer(self, held: Sequence[Request]) -> Iterator[Response]:
        for request in reversed(held):  # any order is allowed
            if self._delay:
                time.sleep(self._delay)
            self.asked.append(request)
            if self._log is not None:
                with self._log.open("a") as file:
                    file.write(f"{request.trial} {request.repeat}\n")
            yield self._reply(request)

    def close(self) -> None:
        self.closed = True


def keys(requests: Iterable[Request]) -> list[tuple[int, int]]:
    return [(r.trial, r.repeat) for r in requests]
