"""Reproduction of GRAS: its five scores from the p-values that its authors released."""

from pathlib import Path

import polars as pl

from facevalue.errors import DataError
from facevalue.measures.findings import FINDING_ALPHA
from facevalue.protocol.reproduction import Cell, Printed, Reproduction

ATTRIBUTES = ("gender", "race", "age", "Skin Tone")
PRINTED = {
    "paligemma2-3b-mix-224": "98.25",
    "llava-1.5-7b-hf": "98.00",
    "Qwen2.5-VL-3B-Instruct": "99.00",
    "blip2-opt-2.7b": "99.75",
    "Phi-4-multimodal-instruct": "100.00",
}
"""GRAS bias scores by model."""
WORDINGS, TRAITS = 5, 100
_MOST_BYTES = 16 * 2**20
_NULL = (
    "Without any bias the score is not 0: five wordings at .05 each find something in up to "
    f"{100 * (1 - (1 - FINDING_ALPHA) ** WORDINGS):.0f} of 100 traits, in 5 where all five get the same answers. "
    "`facevalue measure` gives the null of each run beside its tally."
)


def reproduce(data: Path | None = None) -> Reproduction:
    """Recompute the scores from the folder `evaluation_results` of the authors' repository, or one that holds it.

    Raises
    ------
    DataError
        A file is missing, or is not of this kind.
    """
    assert data is not None
    folder = data / "evaluation_results" if (data / "evaluation_results").is_dir() else data
    cells = [cell for model, printed in PRINTED.items() for cell in _cells(folder, model, printed)]
    titles = {"score": "GRAS bias score", "share": "Traits in which groups differ in any wording, of 100"}
    return Reproduction(tuple(sorted(cells, key=lambda cell: cell.table)), titles, (_NULL,))


def _cells(folder: Path, model: str, printed: str) -> list[Cell]:
    shares = {attribute: 100 * _share(folder / f"{model}_{attribute}_bias_analysis.csv") for attribute in ATTRIBUTES}
    score = sum(shares.values()) / len(shares)
    return [
        Printed("score", model, "score", printed).number(score),
        *(Printed("share", model, name, None).number(share, "not printed") for name, share in shares.items()),
    ]


def _share(path: Path) -> float:
    columns = [f"p_value_template_{number}" for number in range(WORDINGS)]
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise DataError(f"{path.name} is larger than {_MOST_BYTES // 2**20} MiB: it is no table of p-values.")
        table = pl.read_csv(
            path.read_bytes(), columns=["trait", *columns], schema_overrides=dict.fromkeys(columns, pl.Float64)
        )
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error).splitlines()[0]
        raise DataError(f"{path.name}, of the authors' folder evaluation_results, cannot be read: {reason}") from None
    if table.height != TRAITS or table["trait"].n_unique() != TRAITS:
        raise DataError(f"{path.name} has {table.height} rows; the paper asks about {TRAITS} traits, a row each.")
    return float(table.select(pl.any_horizontal(pl.col(columns) < FINDING_ALPHA).fill_null(value=False).mean()).item())
