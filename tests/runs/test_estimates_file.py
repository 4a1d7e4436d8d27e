"""The file of estimates in a run folder: versions, and files that a stranger may have written."""

from pathlib import Path

import polars as pl
import pytest

from facevalue import studies
from facevalue.errors import RunError
from facevalue.measures.estimates import complete_columns
from facevalue.parquet import read_metadata
from facevalue.protocol import Study
from facevalue.protocol.toml_tables import builtin
from facevalue.protocol.variants import add_interventions
from facevalue.runs.kept_estimates import estimates_bytes, read_estimates
from facevalue.studies.vignette.measures import LABELS


@pytest.fixture(scope="module")
def study() -> Study:
    plain = studies.build("vignette", {"dimension": ["age"], "gender": ["male"], "activity": ["cooking", "eating"]})
    return add_interventions(plain, [builtin()["cipher"]])


def rows() -> list[dict[str, object]]:
    """Two estimates of VIGNETTE."""
    pair = {"paradigm": "decision", "other_paradigm": "perception", "value": 0.5}
    change = {"intervention": "cipher", "versus": "no intervention"}
    return [
        {"study": "vignette", "measure": "paradigm_correlation", "score": "Pearson", "model": "m", **pair},
        {"study": "vignette", "measure": "paradigm_correlation", "score": "Pearson", "model": "m", **change, **pair},
    ]


def test_what_was_written_is_read_again(tmp_path: Path, study: Study) -> None:
    frame = complete_columns(pl.DataFrame(rows()), study.estimates.labels)
    (tmp_path / "e.parquet").write_bytes(estimates_bytes(frame))
    assert read_metadata(tmp_path / "e.parquet")["facevalue.estimates"] == "4"
    assert read_estimates(tmp_path / "e.parquet", study).equals(frame)


def written(path: Path, version: str = "4", **columns: object) -> Path:
    """A file with some columns changed."""
    frame = complete_columns(pl.DataFrame(rows()), LABELS).with_columns(**columns)  # type: ignore[arg-type]
    frame.write_parquet(path, metadata={"facevalue.estimates": version})
    return path


def test_what_cannot_be_understood_is_one_message(tmp_path: Path, study: Study) -> None:
    path = tmp_path / "e.parquet"
    with pytest.raises(RunError, match="version '3'; this FaceValue reads 4"):
        read_estimates(written(path, "3"), study)
    with pytest.raises(RunError, match="no estimates of vignette: some are of 'visbias'"):
        read_estimates(written(path, study=pl.lit("visbias")), study)
    with pytest.raises(RunError, match="some name no measure"):
        read_estimates(written(path, measure=pl.lit(None, pl.String)), study)
    with pytest.raises(RunError, match="its column 'identity' is Int32, not String"):
        read_estimates(written(path, identity=pl.lit(3)), study)
    with pytest.raises(RunError, match="its column 'value' is String, not Float64"):
        read_estimates(written(path, value=pl.lit("many")), study)
    pl.DataFrame({"study": ["vignette"]}).write_parquet(path, metadata={"facevalue.estimates": "4"})
    with pytest.raises(RunError, match="has no column 'measure'"):
        read_estimates(path, study)
    path.write_bytes(b"PAR1 and nothing else")
    with pytest.raises(RunError, match="cannot be read"):
        read_estimates(path, study)
    with pytest.raises(RunError, match="cannot be read"):
        read_estimates(tmp_path / "none.parquet", study)
