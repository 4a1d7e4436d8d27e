"""The engine's benchmark on tiny models: its variants agree, its operations are right, its results can be read."""

import csv
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed: pip install '.[hf]'")
pytest.importorskip("transformers", reason="transformers is not installed: pip install '.[hf]'")

from benchmarks import bench_engine  # noqa: E402
from benchmarks.engine_flops import Prompts, each_alone, shared  # noqa: E402
from benchmarks.engine_measure import times  # noqa: E402
from benchmarks.engine_models import SIZES, build, favour, picture  # noqa: E402
from benchmarks.engine_prompts import questions  # noqa: E402
from benchmarks.engine_report import rows, write  # noqa: E402
from benchmarks.engine_variants import Agreement, forward, inner, lead  # noqa: E402
from facevalue.models.hf.chat import prepare  # noqa: E402
from facevalue.models.hf.scoring import Evidence, OptionScore  # noqa: E402

FAMILIES = ("llava", "qwen2.5-vl", "idefics3")


@pytest.mark.parametrize("family", ["llava", *(pytest.param(name, marks=pytest.mark.slow) for name in FAMILIES[1:])])
def test_all_ways_to_ask_give_the_same_probabilities(family: str) -> None:
    made = times(family, "tiny", "cpu", "2,3", 0.0, 1)
    assert made["compared"] >= 10
    assert made["share"] < 1e-5
    assert len(made["rounds"]) == 1


def test_a_difference_is_noticed() -> None:
    agreement = Agreement()
    said = (Evidence((), 0, -0.1), Evidence((), 1, -2.4))
    agreement.enter(OptionScore((), 0.0, (), 0.0, 1, said), [torch.tensor([0.0, 0.0])], [0, 1])
    assert agreement.share > 0.3
    with pytest.raises(AssertionError, match="place 1"):
        agreement.enter(OptionScore((), 0.0, (), 0.0, 1, said), [torch.tensor([0.0, 0.0])] * 2, [0, 1])


@pytest.mark.parametrize("family", FAMILIES)
def test_the_operations_are_those_that_torch_counts(family: str) -> None:
    from torch.utils.flop_counter import FlopCounterMode

    def attention(q: Any, k: Any, v: Any, dropout: float = 0.0, causal: bool = False, *_: Any, **__: Any) -> float:
        rows, heads, asked, width = q
        return 4 * rows * heads * width * (asked * (asked + 1) / 2 if causal else asked * k[2])

    loaded, size = build(family, "tiny"), SIZES[family, "tiny"]
    favour(loaded, "stylisticbias")
    asked, image = questions("stylisticbias")[:1], picture(size, 1)
    (group,) = prepare(loaded, [image], asked)
    prompts = Prompts(len(group.prefix_ids), group.suffixes, [inner(loaded, asked[0])], [len(lead(loaded, asked[0]))])
    mine = {torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: attention}
    forward(loaded, image, asked)  # the first time it is tried whether prompt and reply may go through at once
    with FlopCounterMode(display=False, custom_mapping=mine) as counter:
        forward(loaded, image, asked)
    assert counter.get_total_flops() == pytest.approx(each_alone(family, size, prompts, generate=False), rel=0.01)


def prompts(count: int, alike: int = 0) -> Prompts:
    """Prompts of which so many tokens after the prefix are alike."""
    rows = [[*range(alike), *range(1000 * n, 1000 * n + 30 - alike)] for n in range(1, count + 1)]
    return Prompts(610, rows, [3] * count, [4] * count)


def test_what_prompts_share_with_each_other_is_run_once() -> None:
    size = SIZES["llava", "7b"]
    one, two = shared("llava", size, prompts(1)), 2 * shared("llava", size, prompts(2))
    apart, all_alike = two - one, 2 * shared("llava", size, prompts(2, alike=30)) - one
    # The second prompt's 30 tokens and 3 places within its options, or those places alone; and 4 places are read.
    head = 4 * 2 * 4096 * 32_064
    assert (apart - head) / (all_alike - head) == pytest.approx(11, rel=0.01)


def test_the_floor_is_lower_the_more_prompts_share_a_picture() -> None:
    def floor(count: int) -> float:
        return shared("llava", SIZES["llava", "7b"], prompts(count))

    alone = each_alone("llava", SIZES["llava", "7b"], prompts(1), generate=True)
    assert floor(300) < floor(100) < floor(10) < alone


def _made(family: str) -> dict[str, Any]:
    cases = [("naive", "stylisticbias", 0, 4), ("forward", "stylisticbias", 0, 2), ("batched", "stylisticbias", 0, 8)]
    cases += [("shared", "stylisticbias", count, count) for count in (10, 100)]
    took = [[(0.8, 0.9), (0.6, 0.7), (0.8, 0.9), (0.1, 0.1), (0.04, 0.05)]] * 3
    return {
        "family": family, "size": "70m", "device": "cpu", "parameters": 7e7, "cases": cases, "rounds": took,
        "load": [1, 2], "passes": [5.0, 1.0, 0.7, 0.3, 0.04],
        "compared": 3, "share": 1e-6, "log": 1e-5, "operations": [50.0, 48.0, 50.0, 8.0, 2.5],
        "memory_prompts": 100,
        "tokens": {"stylisticbias": {"prefix": 600, "suffix": 30.0, "inner": 3.0}},
        "memory": {"naive": 20.0, "forward": 20.0, "batched": 200.0, "shared": None},
    }  # fmt: skip


def test_ratios_are_to_naive_in_the_same_round() -> None:
    made = _made("llava")
    made["rounds"] = [[(x * n, y * n) for x, y in case] for n, case in enumerate(made["rounds"], 1)]
    table = {(row.variant, row.prompts): row for row in rows(made)}
    assert table["shared", 100].times == pytest.approx((20, 20, 20))
    assert table["shared", 100].floor == 20
    assert table["shared", 100].extra_mb is None


def test_results_are_written_as_a_table_and_a_plot(tmp_path: Path) -> None:
    write(tmp_path, "engine", [_made("llava"), _made("idefics3")])
    with (tmp_path / "engine.csv").open() as file:
        read = list(csv.DictReader(file))
    assert len(read) == 10
    assert {row["extra_mb"] for row in read if row["variant"] == "shared"} == {""}
    drawn = ElementTree.fromstring((tmp_path / "engine.svg").read_text())
    assert len(drawn.findall(".//{*}polyline")) == 10
    assert "20 (20–20)" in (tmp_path / "engine.md").read_text()


def test_without_torch_it_says_that_it_is_skipped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench_engine, "find_spec", lambda name: None)
    bench_engine.main([])
    assert "SKIPPED" in capsys.readouterr().out
