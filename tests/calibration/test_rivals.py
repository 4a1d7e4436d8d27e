"""The rival is what it says: t over means of units, and Holm within the family."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from facevalue.calibration.planted import Condition
from facevalue.calibration.repetitions import audits_of
from facevalue.calibration.rivals import beside, p_values
from facevalue.protocol.calibration import Rival, words_of

RNG = np.random.default_rng(1)
ANSWERS = pl.DataFrame(
    {
        "person": np.repeat([f"p{at}" for at in range(12)], 4),
        "cue": ["cap", "scarf"] * 24,
        "group": np.repeat(["one", "two"], 24),
        "score": RNG.normal(0.3, 1.0, 48),
    }
)


def means(rows: pl.DataFrame) -> np.ndarray:
    return rows.group_by("person", maintain_order=True).agg(pl.col("score").mean())["score"].to_numpy()


def test_one_side_is_a_t_test_of_units_means() -> None:
    rival = Rival("shift", lambda rows: rows.select("cue", unit="person", value="score"))
    found = dict(p_values(rival, ANSWERS).select("cue", "p_rival").rows())
    for cue, p in found.items():
        assert p == pytest.approx(stats.ttest_1samp(means(ANSWERS.filter(cue=cue)), 0).pvalue)


def test_two_sides_are_welchs_t_test() -> None:
    side = pl.col("group") == "one"
    rival = Rival("gap", lambda rows: rows.select(unit="person", value="score", side=side))
    one, two = (means(ANSWERS.filter(group=group)) for group in ("one", "two"))
    assert p_values(rival, ANSWERS)["p_rival"].item() == pytest.approx(
        stats.ttest_ind(one, two, equal_var=False).pvalue
    )


def test_flags_of_two_sides_are_tested_exactly() -> None:
    flags = pl.DataFrame(
        {"person": list("abcdefgh"), "side": [True] * 3 + [False] * 5, "flag": [1, 1, 1, 0, 0, 0, 0, 1]}
    )
    rival = Rival("gap", lambda rows: rows.select("side", unit="person", value="flag"), flags=True)
    one_sided = stats.fisher_exact(np.array([[3, 0], [1, 4]]), alternative="greater").pvalue
    assert p_values(rival, flags)["p_rival"].item() == pytest.approx(2 * one_sided)
    none = flags.with_columns(flag=0)
    assert p_values(rival, none).is_empty(), "what nobody has is not tested"


def test_a_rival_of_choices_holds_its_level_with_few_people() -> None:
    audits = audits_of("visbias", 1)
    rival = next(one for one in audits.calibration.rivals if one.measure == "choice_divergence")
    p = [p_values(rival, audits.answers(Condition("nothing"), 1, seed))["p_rival"] for seed in range(1, 13)]
    assert sum(int((each * each.len() < 0.05).any()) for each in p) <= 2


def test_several_numbers_of_one_estimate_are_corrected() -> None:
    rival = Rival("spread", lambda rows: rows.select(part="cue", unit="person", value="score"))
    each = [stats.ttest_1samp(means(ANSWERS.filter(cue=cue)), 0).pvalue for cue in ("cap", "scarf")]
    assert p_values(rival, ANSWERS)["p_rival"].item() == pytest.approx(min(1, 2 * min(each)))


def test_units_that_do_not_vary_give_no_p() -> None:
    rival = Rival("shift", lambda rows: rows.select(unit="person", value=pl.lit(0.5)))
    assert p_values(rival, ANSWERS)["p_rival"].to_list() == [None]


def test_estimates_stand_beside_the_rivals_p_by_holm() -> None:
    estimates = pl.DataFrame(
        {"measure": ["shift"] * 3, "family": ["cues"] * 3, "cue": ["cap", "scarf", "hat"], "p": [0.5, 0.5, 0.5]}
    )
    rival = Rival("shift", lambda rows: rows.select("cue", unit="person", value="score"))
    p = dict(p_values(rival, ANSWERS).select("cue", "p_rival").rows())
    found = dict(beside(estimates, [rival], ANSWERS).select("cue", "q_rival").rows())
    low, high = sorted(("cap", "scarf"), key=lambda cue: p[cue])
    assert found[low] == pytest.approx(min(1, 2 * p[low]))
    assert found[high] == pytest.approx(min(1, max(2 * p[low], p[high])))
    assert found["hat"] is None


def test_words_are_shares_of_texts_that_have_them_zeros_included() -> None:
    texts = pl.DataFrame({"group": ["a", "a", "b"], "text": ["A warm, warm smile.", "A desk", None]})
    found = words_of(texts.drop_nulls("text"), "text", ("group",))
    assert dict(found.select("word", "value").rows()) == {"a": 1.0, "warm": 0.5, "smile": 0.5, "desk": 0.5}
    both = words_of(texts.with_columns(pl.col("text").fill_null("desk")), "text", ("group",))
    assert both.filter(group="b", word="warm")["value"].to_list() == [0.0]


@pytest.mark.parametrize(
    ("name", "measures"),
    [
        ("counterfactuals", ["word_share_gap", "pmi_strict"]),
        ("visbias", ["marked_word", "positive_sentiment_difference"]),
    ],
)
def test_effects_on_words_are_planted_and_rivals_find_them(name: str, measures: list[str]) -> None:
    audits = audits_of(name, 1)
    plain, strong = (audits.answers(Condition("words", effect=effect), 1, 1) for effect in (0.0, 2.0))
    for rival in audits.calibration.rivals:
        if rival.measure in measures:
            p = [p_values(rival, answers)["p_rival"].drop_nulls() for answers in (plain, strong)]
            clear = [float(np.mean(each.to_numpy() < 0.001)) for each in p]
            assert clear[1] > 0.04 > 0.01 > clear[0], f"{rival.measure}: {clear}"
