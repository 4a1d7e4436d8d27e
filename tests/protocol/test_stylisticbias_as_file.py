"""StylisticBias as a file: it asks what the package asks, and its estimates are those of the package."""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from facevalue.measures.definitions import rows_of
from facevalue.protocol import own_studies
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.study import Study
from facevalue.runs import RunSettings, run
from facevalue.runs.joined_runs import estimate
from facevalue.runs.stored_run import StoredRun
from facevalue.studies import file_text
from facevalue.studies.registry import find_protocol
from facevalue.types import OptionValue, Request, Response, Status
from tests.plain_model import PlainModel

NAME = "stylisticbias-declared"
SCENARIOS = "competent,polite,honest,home-owner,wealthy"
NUMBERS = [
    *("value", "low", "high", "level", "se", "n", "clusters", "p", "q", "p_paper", "q_paper", "p_least"),
    *("floor", "floor_high", "bound_low", "bound_high", "bound_se"),
]
LABELS = ["attribute", "variation", "category", "scenario", "gender", "age", "skin_tone", "build"]
CHECKS = ("na_rate", "refusal_rate", "spread.no valid answer", "response_bias.position", "response_bias.letter")


class Hashed(PlainModel):
    """A model whose reply follows from the picture, the prompt and the repeat alone; it has some for each."""

    name = "hashed"

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        for request in requests:
            prompt, image = request.question.prompt, request.stimulus.factors["image"]
            digest = blake2b(f"{image}|{prompt}|{request.repeat}".encode(), digest_size=2).digest()
            liked = 90 + 12 * (len(str(image)) % 7) + (40 if "(a) polite" in prompt else 0)
            text = "I cannot judge that." if digest[1] < 6 else "(a)" if digest[0] < liked else "(b)"
            yield Response(request.trial, request.repeat, Status.OK, text)


def estimates_of(protocol: Protocol, options: Mapping[str, OptionValue], folder: Path) -> pl.DataFrame:
    run(protocol.study(options), Hashed(), folder, RunSettings())
    return estimate([StoredRun.open(folder)])[0]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[pl.DataFrame, pl.DataFrame]:
    folder = tmp_path_factory.mktemp("runs")
    (folder / f"{NAME}.toml").write_text(file_text(NAME))
    chosen: dict[str, OptionValue] = {"seeds": ["1"]}
    names = SCENARIOS.split(",")
    package = {**chosen, "faces": "12", "scenario": list(names)}
    declared = {**chosen, "people": "12", "scenario": list(names)}
    return (
        estimates_of(find_protocol("stylisticbias"), package, folder / "package"),
        estimates_of(own_studies.read(folder / f"{NAME}.toml", find_protocol), declared, folder / "declared"),
    )


def in_own_words(package: pl.DataFrame) -> pl.DataFrame:
    """Estimates of the package with each dimension a label of its own, as own studies have them."""
    spread = pl.col("measure") == "spread"
    return package.with_columns(
        *(pl.when(pl.col("dimension") == name).then("group").alias(name) for name in LABELS[4:]),
        dimension=pl.when(spread).then("dimension"),
        contrast=pl.when(pl.col("measure") == "shift_gap").then("other_group"),
    )


def prompts(study: Study) -> set[tuple[str, str]]:
    trials = study.design.trials(np.arange(study.design.size))
    images = trials["image"].cast(pl.String)
    return {(image, question.prompt) for image, question in zip(images, study.ask(trials), strict=True)}


def test_it_asks_what_the_package_asks() -> None:
    package = find_protocol("stylisticbias").study({"faces": "12"})
    declared = own_studies.parse(file_text(NAME)).study({"people": "12"})
    assert prompts(declared) == prompts(package)
    assert (declared.draws.sampling, declared.draws.seeds) == (package.draws.sampling, package.draws.seeds)


@pytest.mark.parametrize(
    "measure", ["shift", "abs_shift", "abs_shift_corrected", "mean", "spread", "shift_gap", *CHECKS]
)
def test_its_estimates_are_those_of_the_package(measure: str, both: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    package, declared = (table.filter(rows_of([measure])) for table in (in_own_words(both[0]), both[1]))
    labels = [*LABELS, "dimension", "contrast"]
    assert package.height
    joined = package.select(*labels, *NUMBERS).join(
        declared.select(*labels, *NUMBERS), on=labels, how="left", nulls_equal=True, suffix=" declared",
        maintain_order="left",
    )  # fmt: skip
    assert joined.height == package.height
    assert_frame_equal(
        joined.select(pl.col(f"{name} declared").alias(name) for name in NUMBERS), package.select(NUMBERS),
        rel_tol=1e-9, abs_tol=1e-9,
    )  # fmt: skip
