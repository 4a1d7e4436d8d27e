"""Words of pages."""

from importlib import import_module
from pathlib import Path

import pytest

from facevalue.protocol.look import Of, Words

WORDS = """
[cues]
title = "Cues"
lead = '''
One paragraph
in two lines.'''
[cues.chart]
heads = ["Cue", "Attribute"]
of = { measure = "shift", by = ["variation"], where = { attribute = "hat" } }
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
        "of": Of("shift", ("variation",), {"attribute": "hat"}),
    }
    assert words.rows("rates") == [{"of": Of("na_rate")}]
    assert words.titles() == {"group": {"male": "Men"}}
    assert words.text("cues.title") == "Cues"


def test_words_that_nothing_takes_are_listed(words: Words) -> None:
    words("cues")
    assert words.unused_paths() == ["cues.chart", "rates", "titles.group"]


@pytest.mark.parametrize(
    ("study", "in_functions"),
    [
        ("counterfactuals", {"unnamed", "words.table", "words.judged", "scorers.larger", "facets"}),
        ("modscan", {"people.drawn", "people.checked"}),
        ("stylisticbias", {"cues.framing", "groups.reversal", "groups.counted", "missing.worst", "unmeasured"}),
        ("visbias", {"asked", "fields", "no_fields", "lost", "examples.answer", "descriptions.found", "species.absent",
                     "forms.said", "forms.kept", "forms.found", "forms.links", "forms.table", "panels.said",
                     "examples.row", "examples.pair"}),
        ("vignette", {"dimensions.profile", "dimensions.patterns", "impact.noise", "unmeasured"}),
    ],
)  # fmt: skip
def test_no_words_of_a_page_are_left_behind(study: str, in_functions: set[str]) -> None:
    words = import_module(f"facevalue.studies.{study}.page").WORDS
    assert set(words.unused_paths()) <= in_functions
