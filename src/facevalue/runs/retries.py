"""Retries: replies without a valid answer, as the study reads them."""

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.protocol.study import Study
from facevalue.thinking import spoken


def without_answer(study: Study, responses: pl.DataFrame) -> npt.NDArray[np.bool_]:
    """Which stored responses are replies without a valid answer; those with an error are no replies."""
    return missing_reasons(study, responses).is_not_null().to_numpy()


def missing_reasons(study: Study, responses: pl.DataFrame) -> pl.Series:
    """Why each stored response holds no valid answer; null where it does, and where it is an error and no reply."""
    replied = np.flatnonzero((responses["status"] != "error").to_numpy())
    replies = responses.select("trial", *study.reading.columns)[replied].with_columns(spoken(pl.col("text")))
    frame = study.design.trials(replies["trial"].to_numpy().astype(np.int64))
    answered = study.answer(pl.concat([frame, replies.drop("trial")], how="horizontal"))
    return (
        pl.Series("na", [None], pl.String)
        .new_from_index(0, responses.height)
        .scatter(replied, answered["na"].cast(pl.String))
    )
