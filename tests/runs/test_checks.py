"""What is looked at before the first request is paid for."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from facevalue import studies
from facevalue.errors import DataError, ModelError, RunError, SettingError
from facevalue.runs import RunSettings, run
from facevalue.types import Option, Question, Sampling
from tests.runs.tiny import TinyModel, TinySource, failed, mixed, tiny_study


def test_more_images_than_the_model_takes(tmp_path: Path) -> None:
    model = TinyModel(images_per_request=1)
    with pytest.raises(ModelError, match=r"tiny shows 2 images in one request \(block 'all'\); tiny takes 1 image\."):
        run(tiny_study(source=TinySource(images=2)), model, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_text_only_model_takes_none_but_needs_none(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="takes none"):
        run(tiny_study(), TinyModel(images_per_request=0), tmp_path / "run")
    source = TinySource(images=0)
    assert run(tiny_study(source=source), TinyModel(images_per_request=0), tmp_path / "run").complete
    assert source.checked == []


def test_no_probabilities(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="gives no option probabilities"):
        run(tiny_study(), TinyModel(probabilities="none"), tmp_path / "run", RunSettings(exact=True))


def test_no_options(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="asks for free text"):
        run(tiny_study(options=()), TinyModel(probabilities="full"), tmp_path / "run", RunSettings(exact=True))


def test_blocks_that_have_options_are_named_by_the_setting_that_asks_for_them_alone(tmp_path: Path) -> None:
    study = studies.build("visbias", {"forms": 1, "species": "drawn"})
    with pytest.raises(
        RunError, match=r"'description' of visbias asks for free text.* \(--task mcq,yesno\), or run it"
    ):
        run(study, TinyModel(probabilities="full"), tmp_path / "run", RunSettings(exact=True))
    assert not (tmp_path / "run").exists()
    alone = studies.build("visbias", {"task": ["form"], "forms": 1})
    with pytest.raises(RunError, match=r"which has no option probabilities\. Run it sampled\.$"):
        run(alone, TinyModel(probabilities="full"), tmp_path / "run", RunSettings(exact=True))


def test_too_many_repeats(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="more than the 256 repeats"):
        run(tiny_study(seeds=tuple(range(129)), reasks=1), TinyModel(), tmp_path / "run")


def test_all_images_to_be_shown_are_checked_first_and_once(tmp_path: Path) -> None:
    source = TinySource()
    run(tiny_study(faces=6, source=source), TinyModel(), tmp_path)
    assert [columns["face"] for columns in source.checked] == [[f"f{i}" for i in range(6)]]


def test_only_images_still_to_be_shown_are_checked(tmp_path: Path) -> None:
    run(tiny_study(), TinyModel(lambda r: failed(r) if r.trial == 4 else mixed(r)), tmp_path)
    source = TinySource()
    run(tiny_study(source=source), TinyModel(), tmp_path)
    assert [columns["face"] for columns in source.checked] == [["f1"]]
    run(tiny_study(source=source), TinyModel(), tmp_path)
    assert len(source.checked) == 1


def test_a_missing_image_stops_the_run_before_it_begins(tmp_path: Path) -> None:
    class Missing(TinySource):
        def check(self, levels):  # type: ignore[no-untyped-def]
            raise DataError("f3.png is missing")

    model = TinyModel()
    with pytest.raises(DataError, match=r"f3\.png is missing"):
        run(tiny_study(source=Missing()), model, tmp_path)
    assert model.asked == []


def test_checks_can_be_left_out(tmp_path: Path) -> None:
    source = TinySource()
    run(tiny_study(source=source), TinyModel(), tmp_path, RunSettings(check=False))
    assert source.checked == []


def test_no_pair_is_drawn_before_anything_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """VIGNETTE's blocks each show pairs of two drawings; how many pictures these are, is known without them."""
    drawn: list[object] = []
    monkeypatch.setattr("facevalue.stimuli.pairs.encode", drawn.append)
    study = studies.build("vignette", {"dimension": ["age"], "paradigm": ["perception"], "people": 1})
    run(study, TinyModel(), tmp_path / "run", RunSettings(sample=50))
    assert not drawn
    with pytest.raises(ModelError, match=r"shows 1 image in one request .*; tiny takes none"):
        run(study, TinyModel(images_per_request=0), tmp_path / "none", RunSettings(sample=50))


ODD: Any = cast(Any, 7)


@pytest.mark.parametrize(
    ("question", "why"),
    [
        (Question(ODD), r"Question: prompt is a text, not 7 \(int\)\."),
        (Question("a", ODD), r"Question: options is a sequence, not 7 \(int\)\."),
        (Question("a", (ODD,)), "Question: options is a sequence, not "),
        (Question("a", factors=ODD), "Question: factors is a mapping, not 7"),
        (Question("a", turns=(("user", ODD),)), "Question: turns is a sequence, not "),
        (Question("a", (Option("(a)", ODD, "up"),)), "Option: text is a text, not 7"),
        (
            Question("a", sampling=Sampling(temperature=cast(Any, "hot"))),
            "Sampling: temperature is a number, not 'hot'",
        ),
        (Question("a", sampling=Sampling(max_tokens=0)), "Sampling: max_tokens is at least 1"),
        (ODD, "tiny: what it asks is a Question, not 7"),
        (Question("a", sampling=ODD), "Question: sampling is a Sampling or None, not 7"),
    ],
)
def test_questions_of_one_s_own_with_fields_of_another_kind_are_one_sentence(
    question: Question, why: str, tmp_path: Path
) -> None:
    model = TinyModel()
    with pytest.raises(SettingError, match=why):
        run(replace(tiny_study(), ask=lambda frame: [question] * frame.height), model, tmp_path / "run")
    assert model.asked == []
    assert not (tmp_path / "run").exists()
