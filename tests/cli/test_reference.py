"""The reference model from the command line: audited, shown, compared with what was planted."""

import json
from pathlib import Path
from typing import cast

import polars as pl
import pytest

from facevalue.measures.estimates import label_columns
from facevalue.studies.stylisticbias import DEMO
from tests.cli.conftest import Command

FEW = ("--faces", "2", "--scenario", "wealthy", "--attributes", "eyewear", "--seeds", "1", "--model", "reference")


@pytest.mark.parametrize("exact", [(), ("--exact",)])
def test_the_reference_model_is_audited_without_anything_installed(facevalue: Command, exact: tuple[str, ...]) -> None:
    outcome = facevalue("run", "stylisticbias", *FEW, *exact)
    assert outcome.status == 0, outcome.err
    assert facevalue("report", "runs/stylisticbias-reference").status == 0
    text = Path("runs/stylisticbias-reference/report.html").read_text()
    assert "reference model: its bias was drawn at random" in text.replace("&#39;", "'")


@pytest.mark.slow
def test_the_demo_shows_what_was_planted_and_found(facevalue: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    options = cast("dict[str, object]", DEMO.options)
    monkeypatch.delitem(options, "fashion_base")
    for name, value in {"faces": "3M,3F", "attributes": ["eyewear", "fashion_style"]}.items():
        monkeypatch.setitem(options, name, value)
    outcome = facevalue("demo")
    assert outcome.status == 0, outcome.err
    assert "Planted and found" in outcome.out
    assert outcome.out.rstrip().endswith("--sample 20000")
    assert Path("demo/report.html").stat().st_size > 20_000
    assert "Planted and found" in Path("demo/report.html").read_text()
    effects = json.loads(facevalue("demo", "--json").out)["effects"]
    assert any(effect["found"] for effect in effects)
    kept = pl.read_parquet("demo/run/estimates.parquet")
    others = [name for name in label_columns(kept) if name not in ("attribute", "variation")]
    cues = kept.filter(pl.col("variation").is_not_null(), pl.all_horizontal(pl.col(others).is_null()), measure="shift")
    assert cues.height == 11
    for low, high in cues.sort(pl.col("value").abs(), descending=True).head(1).select("low", "high").iter_rows():
        assert f"[{100 * low:+.1f}, {100 * high:+.1f}]".replace("-", "−") in outcome.out
