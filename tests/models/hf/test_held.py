"""What a way of reading differs by from the model's own `generate` is stated; beyond the tolerance it isn't used."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from facevalue.errors import ModelError
from facevalue.types import Option, Question, Sampling
from tests.models.hf import planted, tiny
from tests.models.hf.test_adapter import CPU, answers, requests, shown
from tests.models.hf.test_scoring import QUESTIONS, scores
from tests.models.hf.test_text_only import written

torch: Any = tiny.torch

from facevalue.models.hf import reference_pass  # noqa: E402
from facevalue.models.hf.adapter import HFModel  # noqa: E402
from facevalue.models.hf.decoding import CopiedDecoding  # noqa: E402
from facevalue.models.hf.prefix import Branch  # noqa: E402
from facevalue.models.hf.resumption import Resumed  # noqa: E402

BEYOND, WITHIN = 2e-4, 5e-5
"""Of a probability: more and less than rounding explains in float32."""
ASKED = [Question("Kind?", (Option("", "yes", "yes"), Option("", "no", "no")))]
ZAMBA2 = {
    "num_hidden_layers": 4,
    "layers_block_type": ["mamba", "hybrid"] * 2,
    "num_mem_blocks": 1,
    "mamba_d_state": 8,
    "mamba_headdim": 8,
    "n_mamba_heads": 8,
    "chunk_size": 8,
}


@pytest.fixture(scope="module")
def llava(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return planted.plant(tiny.llava(tmp_path_factory.mktemp("llava")))


def moved(logits: Any, by: float) -> Any:
    """Take so much probability from the likeliest token of each row and give it to the next."""
    probs = logits.double().softmax(1)
    top = probs.topk(2).indices
    probs.scatter_add_(1, top, torch.tensor([[-by, by]], dtype=probs.dtype).expand(len(probs), 2))
    return probs.log().float()


def perturb(patch: pytest.MonkeyPatch, owner: Any, name: str, by: float) -> None:
    right: Callable[..., Any] = getattr(owner, name)
    patch.setattr(owner, name, lambda *given: moved(right(*given), by))


def test_a_shared_path_beyond_the_tolerance_is_left_and_the_run_says_so(
    llava: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = requests(shown("one"))
    right = answers(HFModel(f"hf/{llava}", CPU), wanted)
    perturb(monkeypatch, Branch, "grow", BEYOND)
    perturb(monkeypatch, CopiedDecoding, "read", BEYOND)
    model = HFModel(f"hf/{llava}", CPU)
    (note,) = [note for note in model.notes if "sharing was tried" in note]
    assert "a probability differs by 0.0002 from plain passes, where rounding explains 0.0001" in note
    for trial, response in answers(model, wanted).items():
        assert response.probs == pytest.approx(right[trial].probs, abs=1e-6)
    found = model.findings()
    assert "differs by 0.0002" in str(found["plain"])
    assert "shared" not in found
    assert float(found["largest_difference"]) < 1e-5, "of what was used"


def test_a_difference_within_the_tolerance_is_stated(llava: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    perturb(monkeypatch, Branch, "grow", WITHIN)
    model = HFModel(f"hf/{llava}", CPU)
    answers(model, requests(shown("one")))
    found = model.findings()
    assert "places in the tree 5e-05" in str(found["shared"])
    assert found["largest_difference"] == pytest.approx(WITHIN, rel=0.1)


def test_what_goes_beyond_the_tolerance_after_its_trial_ends_the_run(
    llava: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = planted.untried(planted.engine(llava))
    perturb(monkeypatch, Branch, "grow", BEYOND)
    with pytest.raises(ModelError, match=r"differs from a plain forward pass by 0\.0002; .* at most 0\.0001"):
        scores(engine, QUESTIONS, Sampling())


def test_copies_of_a_state_beyond_the_tolerance_are_not_used(llava: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = scores(planted.untried(planted.engine(llava), shares=False), QUESTIONS, Sampling())
    perturb(monkeypatch, Resumed, "read", BEYOND)
    engine = planted.untried(planted.engine(llava), shares=False)
    found = scores(engine, QUESTIONS, Sampling())
    assert engine.loaded.differences["copied_state_difference"] >= BEYOND / 1.1
    for one, other in zip(found, right, strict=True):
        assert one.probs == pytest.approx(other.probs, abs=1e-6)


def test_one_pass_beyond_the_tolerance_is_told_at_the_start(llava: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    perturb(monkeypatch, reference_pass, "_at_once", BEYOND)
    model = HFModel(f"hf/{llava}", CPU)
    (note,) = [note for note in model.notes if "in one pass" in note]
    assert "; rounding explains 0.0001" in note
    answers(model, requests(shown("one")))
    found = model.findings()
    # at least what was moved: a tenth of the difference of logs, where it is larger, depends on the replies tried
    assert 0.8 * BEYOND < float(found["one_pass_difference"]) < 5 * BEYOND
    assert f"by {float(found['one_pass_difference']):.2g};" in note
    assert float(found["largest_difference"]) < 1e-5


def test_zamba2_which_clamps_its_steps_in_long_passes_alone_is_asked_token_by_token(tmp_path: Path) -> None:
    """transformers 5.23 does so; a pass of prompt and reply gives what no reply of the model is drawn by."""
    model = HFModel(f"hf/{written('Zamba2', **ZAMBA2)(tmp_path)}", CPU)
    assert any("in one pass" in note for note in model.notes), model.engine.loaded.differences
    assert len(list(model.engine.score([], ASKED, Sampling()))) == 1
    assert model.engine.check.difference < 1e-5
