"""Rehearsals: a small run of a declared study, measured and reported, on simulated answers before anything is asked."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from facevalue.answers.sorting import stand_in
from facevalue.errors import DataError, FaceValueError
from facevalue.measures.families import Preregistration
from facevalue.models.base import Capabilities
from facevalue.models.sim import SimModel
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.study import Study
from facevalue.protocol.toml_tables import interventions_of
from facevalue.protocol.variants import add_interventions
from facevalue.report.collect import report
from facevalue.runs.runner import run
from facevalue.runs.settings import RunSettings
from facevalue.runs.stored_run import StoredRun
from facevalue.statistics.sets import APART
from facevalue.stimuli.base import Kind
from facevalue.store.manifest import INTERVENTIONS
from facevalue.types import STUDY_TEXT, OptionValue, Request, Response, Status, Stimulus

MOST = 2_000
"""Requests of a rehearsal, about: some tenths of a second."""
_SEEDS, _FEW = 2, 60
"""Seeds of a larger study that are rehearsed, and units that are in any case."""
_EVERY = 8
"""One reply in so many has no valid answer."""


def rehearse(protocol: Protocol, study: Study, *, exact: bool = False, declared: Preregistration | None = None) -> None:
    """Run a declared study on simulated answers, measure and report it; nothing is kept.

    Every level and option occurs, and every status that a reply can have; of a study of more than `MOST` requests as
    many pictures, seeds and levels of the prompt as fit, but those of sixty units at least.

    Parameters
    ----------
    protocol, study:
        What is to be asked, declared without `build`, and as it is compiled with the user's settings and interventions.
    declared:
        What the user declares before the run.

    Raises
    ------
    DataError
        The run could not be measured or reported, and why.
    """
    options = {name: value for name, value in study.options.items() if name not in (STUDY_TEXT, INTERVENTIONS)}
    small, table = _reduce_study(protocol, study, options)
    complete = table.height == study.manifest.height and small == options
    tried = add_interventions(protocol.study(small, table), interventions_of(study.options))
    tried = replace(tried, source=_Unseen(study.source.kind))
    settings = RunSettings(exact=exact, check=False, max_invalid=1.0, preregistration=declared if complete else None)
    with TemporaryDirectory(prefix="facevalue-rehearsal-") as name:
        folder = Path(name) / "run"
        if run(tried, _Rehearsed(), folder, settings).interrupted:
            raise KeyboardInterrupt
        try:
            opened = StoredRun.open(folder, stand_in, protocol=None if protocol.text else protocol)
            report([opened], Path(name) / "report.html")
        except Exception as error:
            reason = (str(error).splitlines() or [""])[0][:400]
            kind = "" if isinstance(error, FaceValueError) else f"{type(error).__name__}: "
            raise DataError(
                f"{study.name} was not asked, as it could not be reported; a rehearsal on simulated answers "
                f"failed with {kind}{reason}"
            ) from error


def _reduce_study(
    protocol: Protocol, study: Study, options: dict[str, OptionValue]
) -> tuple[dict[str, OptionValue], pl.DataFrame]:
    """Settings and pictures of a study of about `MOST` requests with every level of the pictures."""
    small = dict(options)
    prompts = {block.constants.get("task", ""): block.prompt for block in study.design.blocks}
    sizes = [{factor.name: len(factor) for factor in factors} for factors in prompts.values()]
    if study.design.size * study.repeats <= MOST:
        return small, study.manifest
    seeds = small["seeds"]
    if isinstance(seeds, list):
        small["seeds"] = seeds[:_SEEDS]
    units = _units(study)
    pictures = study.manifest.filter(pl.col(units.name).is_in(units.head(_FEW).implode())).height
    repeats = min(study.repeats, _SEEDS)
    levels_of = {factor.name: list(factor.levels) for ask in protocol.asks.values() for factor in ask.named_factors}
    for name in sorted(levels_of, key=lambda name: -max(factors.get(name, 0) for factors in sizes)):
        chosen = small.get(name)
        levels = (chosen if isinstance(chosen, list) else []) or levels_of[name]
        per_picture = sum(prod(factors.values()) for factors in sizes) * repeats
        fits = max(2, min(len(levels), MOST * len(levels) // (per_picture * pictures)))
        small[name] = levels[:fits]
        sizes = [factors | ({name: len(levels[:fits])} if name in factors else {}) for factors in sizes]
    per_picture = sum(prod(factors.values()) for factors in sizes) * repeats
    counts = study.manifest[units.name].value_counts()
    taken = pl.DataFrame(units).join(counts, on=units.name, how="left", maintain_order="left")
    fitting = taken.filter((pl.int_range(pl.len()) < _FEW) | (pl.col("count").cum_sum() * max(per_picture, 1) <= MOST))
    return small, study.manifest.filter(pl.col(units.name).is_in(fitting[units.name].implode()))


def _units(study: Study) -> pl.Series:
    """Units, those first that are the first or the last with a level of the pictures."""
    table, key = study.manifest, study.asked_together[0]
    names = [name for name in table.columns if name not in (*APART, key)]
    ends = [frame.unique(name, keep="first", maintain_order=True).drop_nulls(name)
            for name in names for frame in (table, table.reverse())]  # fmt: skip
    return pl.concat([*(frame[key] for frame in ends), table[key]]).unique(maintain_order=True)


class _Unseen:
    """Stimuli whose pictures are never looked at."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def stimulus(self, number: int, levels: Mapping[str, str | None]) -> Stimulus:
        """Name a stimulus, without its picture."""
        return Stimulus(str(number), "", levels, tuple)

    def check(self, levels: Mapping[str, list[str | None]]) -> None:
        """Check nothing, as no picture can be missing."""


class _Rehearsed:
    """The simulated respondent, of whose replies one in `_EVERY` has no valid answer, in each way in turn."""

    def __init__(self) -> None:
        self._model = SimModel("default")
        self.name = self._model.name

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities of the simulated respondent, with as many pictures as are asked for."""
        return replace(self._model.capabilities, images_per_request=100)

    def settings(self) -> Mapping[str, str | int | float | bool]:
        """Settings of the simulated respondent."""
        return self._model.settings()

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Answer requests; now and then one fails."""
        for number, response in enumerate(self._model.respond(requests), start=1):
            yield response if number % _EVERY else _spoilt(response, number // _EVERY)

    def close(self) -> None:
        """Release nothing, as nothing is held."""


def _spoilt(response: Response, number: int) -> Response:
    ways = (
        {"status": Status.ERROR, "text": None, "probs": None, "error": "a rehearsed failure"},
        {"status": Status.REFUSED, "text": None, "probs": None},
        {"status": Status.TRUNCATED, "text": "An answer that breaks", "probs": None},
        {"status": Status.OK, "text": "", "probs": None},
        {"status": Status.OK, "text": "Neither of these \u2013 \u4e0d\u77e5\u9053.", "probs": None},
    )
    return response._replace(**ways[number % len(ways)])
