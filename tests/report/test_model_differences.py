"""Reports of several models: each less the first, as `facevalue compare` takes it, at the level of one page."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import facevalue as fv
from facevalue.measures.multitest import adjust_p
from facevalue.report.collect import report

MODELS = ("sim/null@1", "sim/strong", "sim/null@2", "sim/refuser")


@pytest.fixture(scope="module", autouse=True)
def few_groups() -> Iterator[None]:
    """For the page as for what it is held against."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("facevalue.protocol.kept_answers.JACKKNIFE_GROUPS", 4)
        yield


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[fv.Run]:
    study = fv.study("stylisticbias", faces="6", attributes=["eyewear"], scenario=["wealthy"], seeds=["1"])
    folder = tmp_path_factory.mktemp("runs")
    return [fv.run(study, model, folder / str(at), progress=False) for at, model in enumerate(MODELS)]


def written(runs: list[fv.Run], folder: Path) -> tuple[str, dict[str, Any], list[str]]:
    page = folder / "report.html"
    told = report([run.stored for run in runs], page)
    return page.read_text(), json.loads(json.dumps(told.page(), allow_nan=False)), list(told.lines)


@pytest.fixture(scope="module")
def page(runs: list[fv.Run], tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any], list[str]]:
    return written(runs, tmp_path_factory.mktemp("page"))


@pytest.mark.slow
def test_differences_are_those_of_compare_judged_together(
    runs: list[fv.Run], page: tuple[str, dict[str, Any], list[str]]
) -> None:
    pairs = page[1]["models_compared"]
    assert [(pair["first"], pair["second"]) for pair in pairs] == [(MODELS[0], MODELS[1]), (MODELS[0], MODELS[2])]
    for pair, second in zip(pairs, runs[1:3], strict=True):
        alone = fv.compare(runs[0], second)
        assert [cell["delta"] for cell in pair["cells"]] == pytest.approx(alone.cells["delta"].to_list())
        for name in ("low", "high", "p"):
            assert [cell[name] for cell in pair["cells"]] == pytest.approx(alone.cells[name].to_list())
    cells = [cell for pair in pairs for cell in pair["cells"]]
    together = adjust_p(np.array([cell["p"] for cell in cells]), "bh")
    assert [cell["q"] for cell in cells] == pytest.approx(together.tolist())
    for cell in cells:
        assert (cell["verdict"] == "difference found") == (cell["page_low"] > 0 or cell["page_high"] < 0)


def test_the_page_names_every_pair_and_links_to_the_section(page: tuple[str, dict[str, Any], list[str]]) -> None:
    html, _, told = page
    assert 'id="between-models"' in html
    assert 'href="#between-models"' in html
    assert html.count("Compared on the 6 people that both runs were asked about.") == 2
    assert "Without a valid answer, and not compared: sim/refuser." in html
    assert len(told) == 2
    assert all(MODELS[0] in line for line in told)


def test_a_report_of_one_model_compares_nothing(runs: list[fv.Run], tmp_path: Path) -> None:
    html, data, told = written(runs[:1], tmp_path)
    assert 'id="between-models"' not in html
    assert data["models_compared"] == []
    assert told == []
