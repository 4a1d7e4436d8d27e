"""What people said of pictures that were made, as estimates of the run that made them, or of one that checked them."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from facevalue.errors import FaceValueError
from facevalue.measures.cluster_bootstrap import LEVEL
from facevalue.measures.estimates import complete_columns, stack_estimates
from facevalue.places import MAKING_FOLDER
from facevalue.protocol.making_study import MAKING
from facevalue.protocol.people_look import AGREEMENT, FACTOR, FINE, PRINTED, QUESTION, SHOWN, TICKED
from facevalue.runs.picture_ratings import PictureSet
from facevalue.runs.rated_pictures import RatedPictures
from facevalue.runs.ratings import read_kept
from facevalue.runs.stored import StoredRun
from facevalue.studies.declared.pictures import PROTOCOL as CHECKS

_LABELS = (QUESTION, FACTOR, SHOWN, PRINTED)


def rated_in(run: StoredRun) -> RatedPictures | None:
    """What people said of the pictures that a run made or checked; None where nobody looked."""
    making = _making(run)
    ratings = None if making is None else read_kept(making.folder)
    if making is None or ratings is None:
        return None
    people = PictureSet.of(making).rated(ratings)
    return people if people.questions.height else None


def people_estimates(run: StoredRun, people: RatedPictures) -> pl.DataFrame:
    """Shares and agreement as estimates of a run; shares of a single unit have no interval and are left out."""
    fine = dict(people.questions.select("question", "fine").iter_rows())
    rows = list(people.questions.iter_rows(named=True))
    rows += [
        {**row, "fine": fine[row["question"]]} for row in people.groups.iter_rows(named=True) if row["low"] is not None
    ]
    constants = {"study": run.study.name, "model": run.model, "level": LEVEL, "source": "FaceValue"}
    tables = [pl.DataFrame([{**constants, **_share(row)} for row in rows], infer_schema_length=None)]
    agreement = [{**constants, **_agreement(row)} for row in rows if row["kappa"] is not None]
    tables += [pl.DataFrame(agreement, infer_schema_length=None)] if agreement else []
    return stack_estimates([complete_columns(table, _LABELS) for table in tables])


def _making(run: StoredRun) -> StoredRun | None:
    """The run that made the pictures that a run is about, beside it or beside their list; None where there is none.

    The list of pictures in object storage is a copy, beside which no making lies.
    """
    if run.study.name == MAKING:
        return run
    if run.study.name != CHECKS.name:
        return None
    for place in (run.folder.parent, Path(str(run.study.options["manifest"])).parent):
        with suppress(FaceValueError, OSError):
            if (making := StoredRun.open(place / MAKING_FOLDER)).study.name == MAKING:
                return making
    return None


def _share(row: Mapping[str, Any]) -> dict[str, object]:
    """The share of answers that speak for pictures, or of ticks."""
    measure, units = FINE if row["fine"] else TICKED, row.get("units", row.get("pictures"))
    return {
        "measure": measure, **_labels(row, "printed_share", "{:.0%}"), "value": row["share"], "low": row["low"],
        "high": row["high"], "n": row["answers"], "clusters": units, "unit": "share",
        "method": row["share_method"], "detail": row["share_detail"],
    }  # fmt: skip


def _agreement(row: Mapping[str, Any]) -> dict[str, object]:
    """Agreement beyond chance."""
    units = row.get("units", row.get("pictures"))
    return {
        "measure": AGREEMENT, **_labels(row, "printed_kappa", "{:.2f}"), "value": row["kappa"],
        "low": row["kappa_low"], "high": row["kappa_high"], "n": row["answers"], "clusters": units, "unit": "1",
        "method": row["method"], "detail": row["detail"],
    }  # fmt: skip


def _labels(row: Mapping[str, Any], printed: str, form: str) -> dict[str, str | None]:
    """What an estimate is of, and what the paper prints of the same."""
    figure = row[printed]
    return {
        QUESTION: row["question"] + (" (no)" if row["fine"] == "no" else ""), FACTOR: row.get("factor"),
        SHOWN: row.get("level"), PRINTED: None if figure is None else form.format(figure),
    }  # fmt: skip
