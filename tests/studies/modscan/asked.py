"""ModSCAN asked of models that answer by a rule, without a run folder."""

from collections.abc import Callable, Iterator
from typing import Any

import polars as pl

from facevalue import studies
from facevalue.measures.definitions import rows_of
from facevalue.models.sim import SimModel
from facevalue.protocol.study import Study
from facevalue.types import Request, Status

Say = Callable[[dict[str, Any]], str]


def build(**options: Any) -> Study:
    """The study with some settings changed."""
    return studies.build("modscan", options)


def answered(study: Study, say: Say) -> pl.DataFrame:
    """Answers to every trial: what `say` makes of its row, in which `left` is the group on the left."""
    frame = study.design.trials(range(study.design.size))
    texts = [
        say(row | {"prompt": q.prompt}) for row, q in zip(frame.iter_rows(named=True), study.ask(frame), strict=True)
    ]
    replies = pl.DataFrame({"text": texts}).with_columns(
        status=pl.lit(Status.OK.value), repeat=pl.lit(0), probs=pl.lit(None, pl.List(pl.Float64))
    )
    return study.answer(pl.concat([frame, replies], how="horizontal"))


def estimates(study: Study, say: Say, **models: Say) -> pl.DataFrame:
    """Estimates of a model "m", and others by name."""
    whole = {"m": say, **models}
    return study.analyse({name: iter([answered(study, one)]) for name, one in whole.items()})


def simulated(study: Study, model: str = "sim/default") -> pl.DataFrame:
    """Answers of a simulated respondent."""
    frame = study.design.trials(range(study.design.size))
    return study.answer(pl.concat([frame, replies(study, SimModel(model.removeprefix("sim/")))], how="horizontal"))


def replies(study: Study, model: SimModel) -> pl.DataFrame:
    """What a model says to every trial."""
    out = sorted(model.respond(_requests(study)), key=lambda response: response.trial)
    return pl.DataFrame({"text": [one.text for one in out]}, schema={"text": pl.String}).with_columns(
        status=pl.lit("ok"), repeat=pl.lit(0), probs=pl.lit(None, pl.List(pl.Float64))
    )


def _requests(study: Study) -> Iterator[Request]:
    frame = study.design.trials(range(study.design.size))
    for number, (row, question) in enumerate(zip(frame.iter_rows(named=True), study.ask(frame), strict=True)):
        stimulus = study.source.stimulus(int(study.design.stimulus_numbers([number])[0]), row)
        yield Request(number, 0, 1, stimulus, question, study.draws.sampling, exact=False)


def attribute(study: Study, name: str) -> tuple[str | None, ...]:
    """A column of what the first block shows."""
    return next(column.values for column in study.design.blocks[0].stimulus[0].columns() if column.name == name)


def one(frame: pl.DataFrame, measure: str, **labels: str | None) -> dict[str, Any]:
    """The estimate at these labels; other labels of the study are null."""
    names = (
        *("versus", "modality", "attribute", "scenario_kind", "instance", "group", "other_group", "reason"),
        "other_model",
    )
    wanted = {name: labels.get(name) for name in names}
    found = frame.filter(rows_of([measure]), *(pl.col(n).eq_missing(pl.lit(v)) for n, v in wanted.items()))
    return found.row(0, named=True)
