"""Rules of acceptance from a file, and what is refused of one."""

from pathlib import Path

import pytest

from facevalue.errors import FaceValueError
from facevalue.protocol.picture_checks import PictureRule, read_rules


def rules(folder: Path, text: str) -> tuple[PictureRule, ...]:
    (folder / "rules.toml").write_text(text)
    return read_rules(folder / "rules.toml")


def test_a_file_has_a_table_for_each_rule(tmp_path: Path) -> None:
    text = """
    [[rule]]
    quantity = "structure"
    at_least = 0.9
    [[rule]]
    quantity = "zoom"
    at_least = -2
    at_most = 2
    cues = ["glasses"]
    [[rule]]
    quantity = "identity_distance"
    at_most = "calibrated"
    [[rule]]
    quantity = "lookalikes"
    at_most = 0
    """
    first, second, third, fourth = rules(tmp_path, text)
    assert first == PictureRule("structure", low=0.9)
    assert second.text == "zoom at least -2 and at most 2 (glasses)"
    assert third.calibrated == "at_most"
    assert fourth.high == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1 to 100 tables"),
        ("rules = 1", "Did you mean 'rule'"),
        (
            "[[rule]]\nquantity = 'structur'\nat_least = 1",
            "line 2: Unknown quantity 'structur'.",
        ),
        ("[[rule]]\nquantity = 'zoom'", "line 2: A rule has a limit"),
        ("[[rule]]\nat_most = 1", "quantity"),
        ("[[rule]]\nquantity = 'zoom'\nat_most = 'much'", "line 3: A limit is a number or \"calibrated\", not 'much'"),
        ("[[rule]]\nquantity = 'zoom'\nat_most = 1\nat_least = 2", "line 3: Nothing is at least 2 and at most 1"),
        ("[[rule]]\nquantity = 'zoom'\nat_mots = 1", "line 3: Unknown key 'at_mots'"),
        ("[[rule]]\nquantity = 'faces'\nat_most = 'calibrated'", "which faces is not about"),
        ("[[rule]]\nquantity = 'lookalikes'\nat_most = 'calibrated'", "which lookalikes is not about"),
        ("[[rule]]\nquantity = 'zoom'\nat_most = 'calibrated'\nat_least = 0", "stands alone"),
        ("[[rule]]\nquantity = 'structure'\nat_least = 2", "line 3: structure goes from -1 to 1"),
        ("[[rule]]\nquantity = 'zoom'\nat_most = 1\ncues = 3", "cues"),
        ("[[rule]\n", "rules.toml"),
    ],
)
def test_a_mistake_is_one_sentence_with_its_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(FaceValueError, match=r"^[^\n]*$") as error:
        rules(tmp_path, text)
    assert message in str(error.value)


def test_a_file_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(FaceValueError, match=r"no\.toml"):
        read_rules(tmp_path / "no.toml")
