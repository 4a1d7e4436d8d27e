"""Words of pages."""

from pathlib import Path

import pytest

from facevalue.protocol.look import Of
from facevalue.protocol.words import Words
from facevalue.studies.counterfactuals import page as counterfactuals
from facevalue.studies.stylisticbias import page as stylisticbias

WORDS = """
[cues]
title = "Cues"
lead = '''
One paragraph
in two lines.'''
[cues.chart]
heads = ["Cue", "Attribute"]
of = { measure = "sbs", by = ["variation"], where = { attribute = "hat" } }
[[rates]]
of = { measure = "na_rate" }
[titles.group]
male = "Men"
"""


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Words:
    package = tmp_path / "worded"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "words.toml").write_text(WORDS)
    monkeypatch.syspath_prepend(tmp_path)
    return Words("worded")


def test_a_table_holds_arguments_of_what_is_declared(words: Words) -> None:
    assert words("cues") == {"title": "Cues", "lead": "One paragraph in two lines."}
    assert words("cues.chart") == {
        "heads": ("Cue", "Attribute"),
        "of": Of("sbs", ("variation",), {"attribute": "hat"}),
    }
    assert words.rows("rates") == [{"of": Of("na_rate")}]
    assert words.titles() == {"group": {"male": "Men"}}
    assert words.text("cues.title") == "Cues"


def test_words_that_nothing_takes_are_listed(words: Words) -> None:
    words("cues")
    assert words.unused() == ["cues.chart", "rates", "titles.group"]


@pytest.mark.parametrize(
    ("words", "in_functions"),
    [
        (stylisticbias.WORDS, {"cues.framing", "groups.reversal", "groups.counted", "missing.worst", "unmeasured"}),
        (counterfactuals.WORDS, {"unnamed", "words.table", "words.judged", "scorers.larger"}),
    ],
)
def test_no_words_of_a_page_are_left_behind(words: Words, in_functions: set[str]) -> None:
    assert set(words.unused()) <= in_functions
