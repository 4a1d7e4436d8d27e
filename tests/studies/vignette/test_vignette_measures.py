"""The definitions of VIGNETTE's measures."""

from facevalue.studies.vignette.measures import MEASURES

PROMISED = {
    *("selection_frequency", "selection_gap", "log_odds", "paircomp", "polarity", "error_rate"),
    *("outcome_share", "spread", "impact_ratio", "impact_shortfall", "normalised_score", "vision_minus_text"),
    *("positional_shift", "positional_correlation", "full_match", "partial_match", "all_different"),
    *("place_share.first", "place_share.left", "na_rate", "selection_frequency.as released", "log_odds.as released"),
}


def test_every_measure_has_one_definition_with_equation_and_source() -> None:
    names = [measure.key for measure in MEASURES]
    assert len(names) == len(set(names))
    assert set(names) >= PROMISED
    assert all(measure.equation and measure.source and measure.title for measure in MEASURES)


def test_units_and_limits_agree() -> None:
    for measure in MEASURES:
        low, high = measure.limits
        if measure.unit == "%":
            assert (low, high) == (0.0, 100.0)
        if measure.unit == "pp":
            assert -100 <= low < high <= 100


def test_what_is_ours_and_what_is_published_are_told_apart() -> None:
    ours = {"selection_gap", "spread", "impact_ratio", "impact_shortfall", "outcome_share"}
    for measure in MEASURES:
        if measure.name in ours:
            assert measure.source.startswith("FaceValue")
        if measure.key in {"selection_frequency", "log_odds", "paircomp", "polarity"}:
            assert measure.source.startswith("VIGNETTE")
