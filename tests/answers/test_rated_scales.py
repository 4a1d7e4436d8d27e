"""Several ratings in one reply, however it is written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.answers import NA, rated_scales

NAMES = {"competence": ("Competence",), "warmth": ("Warmth",), "trust": ("Trustworthiness",)}
ALL = {"competence": 5.0, "warmth": 4.0, "trust": 3.0}


@pytest.mark.parametrize(
    "reply",
    [
        "Competence: 5\nWarmth: 4\nTrustworthiness: 3",
        "Trust: 3\nCompetence: 5\nWarmth: 4",
        "Competence: 5, Warmth: 4, Trustworthiness: 3",
        "competence = 5; warmth = 4; trust = 3",
        "**Competence:** 5/7\n**Warmth**: 4/7\n- *Trustworthiness* - 3 out of 7",
        "1. Competence (1-7): 5 - ten years of work, in 3 towns\n2. Warmth: 4. A smile.\n3. Trust: **3**",
        "Here you are:\n\n| Scale | Rating |\n|---|---|\n| Competence | 5 |\n| Warmth | 4 |\n| Trust | 3 |",
        "### Competence\nRating: 5\nReason: 10 years.\n\n### Warmth\n**Rating:** 4/7\n\n### Trust\nScore = 3",
        '```json\n{"Competence": 5, "warmth": "4/7", "Trustworthiness": {"rating": 3, "reason": "2 jobs"}}\n```',
        '{"competence": 5, "warmth": 4, "trust": 3,}',
        "<think>Competence: 1</think>Competence: 5\nWarmth: 4\nTrust: 3",
        "Competence 5\nWarmth 4/7\nTrust **3**",
        "Competence ..... 5\nWarmth → 4\nQ3. Trust -> 3",
    ],
)
def test_forms_of_one_answer(reply: str) -> None:
    assert rated_scales.parse(reply, NAMES, 1, 7) == (ALL, None)


@pytest.mark.parametrize(
    ("reply", "rated"),
    [
        ("Competence: 5", {"competence": 5.0}),
        ("Competence: 5\nWarmth: n/a\nTrust: high", {"competence": 5.0}),
        ("Competence: 5\nWarmth: 9\nTrust: 0", {"competence": 5.0}),
        ("Competence: 5/10\nWarmth: 4\nTrust: 30%", {"warmth": 4.0}),
        ("Competence: 4-5\nWarmth: 4 or 5\nTrust: 3", {"trust": 3.0}),
        ("Competence: 5\nWarmth: 4\nCompetence: 6", {"warmth": 4.0}),
        ("Competence: 5\nCompetence: 5.0\nWarmth: 4", {"warmth": 4.0}),
        ('{"Competence": 5, "Warmth": null}', {"competence": 5.0}),
        ('{"Competence": [5, 6], "Warmth": 4}', {"warmth": 4.0}),
        ("Likability: 5\nWarmth: 4", {"warmth": 4.0}),
        ('{"Competence": 1e400, "Warmth": 4, "Trust": 5E-1}', {"warmth": 4.0}),
    ],
)
def test_a_scale_is_missing_on_its_own(reply: str, rated: dict[str, float]) -> None:
    assert rated_scales.parse(reply, NAMES, 1, 7) == (dict.fromkeys(NAMES) | rated, None)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("I'm sorry, but I can't rate people.", NA.REFUSED),
        ("I can't judge that.\nCompetence: 4", NA.REFUSED),
        ("A fine person.", NA.NEITHER),
        (" \n", NA.EMPTY),
    ],
)
def test_replies_without_a_rating_say_why(reply: str, reason: NA) -> None:
    assert rated_scales.parse(reply, NAMES, 1, 7) == (dict.fromkeys(NAMES), reason)


def test_a_line_that_is_cut_is_no_rating() -> None:
    cut = rated_scales.parse("Competence: 5\nWarmth: 1", NAMES, 1, 10, truncated=True)[0]
    assert cut == {"competence": 5.0, "warmth": None, "trust": None}


@given(st.text(alphabet=st.sampled_from('Competence: Warmth 5/7-|*#{}[]",\n.'), max_size=200))
def test_any_text_is_read_or_refused(reply: str) -> None:
    rated, reason = rated_scales.parse(reply, NAMES, 1, 7)
    assert set(rated) == set(NAMES)
    assert all(value is None or 1 <= value <= 7 for value in rated.values())
    if reason is not None:
        assert not any(value is not None for value in rated.values())


def test_long_replies_take_bounded_time() -> None:
    for piece in ("Competence: ", "| ", "1. ", "(" * 50, "5, a"):
        rated_scales.parse(piece * 20_000, NAMES, 1, 7)
