"""VIGNETTE's tables against what the paper prints."""

from collections import Counter
from math import comb
from string import Formatter

import pytest

from facevalue.errors import UnknownNameError
from facevalue.studies.vignette.tables import (
    CONTRASTS,
    GENDERS,
    PARADIGMS,
    SocialIdentity,
    activities,
    dimensions,
    identities,
    overlaps,
    questions,
    similar_activities,
    term_pairs,
    times,
    wording,
)

# Table 8 by title: identities, individual images, identity, activity and identity-activity contrast; male, then female.
TABLE_8 = {
    "Ability": ((10, 750, 3375, 27750, 249750), (10, 750, 3375, 27750, 249750)),
    "Age": ((9, 675, 2700, 24975, 199800), (9, 675, 2700, 24975, 199800)),
    "Nationality": ((26, 1950, 24375, 72150, 1803750), (26, 1950, 24375, 72150, 1803750)),
    "Race/Ethnicity/Color": ((14, 1050, 6825, 38850, 505050), (14, 1050, 6825, 38850, 505050)),
    "Physical Traits": ((40, 3000, 58500, 111000, 4329000), (37, 2775, 49950, 102675, 3696300)),
    "Religion": ((12, 900, 4950, 33300, 366300), (12, 900, 4950, 33300, 366300)),
    "Socioeconomic Status": ((54, 4050, 107325, 149850, 7942050), (54, 4050, 107325, 149850, 7942050)),
    "Gender": ((2, 150, 75, 5550, 5550), (0, 0, 0, 0, 0)),
}
TOTALS = ((167, 12525, 208125, 463425, 15401250), (162, 12150, 199500, 449550, 14763000))
# Table 6's counts.
TABLE_6 = {
    "ability": 10, "age": 9, "gender": 2, "nationality": 26, "physical traits": 40, "race": 14, "religion": 12,
    "socioeconomic": 54,
}  # fmt: skip
# Table 5's and Table 7's, counted in print.
TABLE_5 = {"sociability": 7, "morality": 5, "ability": 5, "agency": 5, "status": 6, "politics": 2}
TABLE_7 = {"necessary": 9, "committed": 8, "contracted": 9, "free": 49}
# Table 11.
MATCHES = {
    ("factuality", "doing"): (68, 25, 7),
    ("factuality", "who"): (63, 29, 8),
    ("perception", "struggle"): (62, 28, 10),
    ("perception", "capability"): (59, 30, 11),
    ("perception", "enjoyment"): (65, 26, 9),
    ("perception", "dislike"): (61, 27, 12),
    ("stereotype", "term"): (70, 23, 7),
    ("decision", "role"): (66, 25, 9),
}
PLACEHOLDERS = {
    ("factuality", "doing"): ({"identity"}, {"identity"}, {"identity"}),
    ("stereotype", "term"): ({"term"}, {"term"}, {"term"}),
    ("decision", "role"): ({"a_role"}, {"role"}, {"role"}),
}


def row_of_table_8(n: int) -> tuple[int, ...]:
    k = len(activities())
    return n, k * n, k * comb(n, 2), n * comb(k, 2), comb(n, 2) * k * (k - 1)


def everyone() -> list[SocialIdentity]:
    return [identity for dimension in dimensions() for identity in identities(dimension.name)]


@pytest.mark.parametrize("gender", GENDERS)
def test_every_cell_of_table_8_follows_from_the_tables(gender: str) -> None:
    column = GENDERS.index(gender)
    counted = {one.title: row_of_table_8(len(identities(one.name, gender))) for one in dimensions()}
    assert counted == {title: rows[column] for title, rows in TABLE_8.items()}
    assert tuple(map(sum, zip(*counted.values(), strict=True))) == TOTALS[column]


def test_portraits_make_2775_male_and_2660_female_pairs() -> None:
    pairs = [sum(comb(len(identities(one.name, gender)), 2) for one in dimensions()) for gender in GENDERS]
    assert pairs == [2775, 2660]


def test_dimensions_come_in_the_order_and_sizes_of_table_6() -> None:
    assert [(one.name, len(identities(one.name))) for one in dimensions()] == list(TABLE_6.items())


def test_women_lack_three_physical_traits_and_the_dimension_of_gender() -> None:
    lacking = {one.name for one in everyone() if one.female is None}
    assert lacking == {"handsome", "bearded", "clean-shaven", "woman", "man"}
    assert all(one.male for one in everyone())


def test_identity_names_are_lower_case_and_unique_even_between_dimensions() -> None:
    names = [one.name for one in everyone()]
    assert len(set(names)) == len(names)
    assert all(name == name.lower() for name in names)


def test_wordings_tell_identities_apart_within_a_gender() -> None:
    for gender in GENDERS:
        worded = [wording(one, gender) for one in everyone() if getattr(one, gender)]
        assert len(set(worded)) == len(worded)


def test_wordings_name_the_gender_except_where_the_authors_do_not() -> None:
    marked = {"male": ("man", "boy", "male", "Filipino"), "female": ("woman", "girl", "female", "Filipina", "waitress")}
    silent = {
        (one.name, gender)
        for gender in GENDERS
        for one in everyone()
        if one.dimension != "gender" and getattr(one, gender)
        if not any(mark in wording(one, gender) for mark in marked[gender])
    }
    assert silent == {("eskimo", "male"), ("eskimo", "female"), ("mafia", "male"), ("hillbilly", "male")}


def test_names_of_peoples_and_religions_have_capitals_in_wordings() -> None:
    for dimension in ("nationality", "race", "religion"):
        for one in identities(dimension):
            assert one.male is not None
            expected = "white American man" if one.name == "white american" else one.male.title()
            assert one.male == expected.replace("Man", "man")


def test_a_wording_that_is_not_there_is_refused_with_those_that_are() -> None:
    bearded = next(one for one in identities("physical traits") if one.name == "bearded")
    with pytest.raises(UnknownNameError, match="female identity in physical traits 'bearded'"):
        wording(bearded, "female")
    with pytest.raises(UnknownNameError, match="Did you mean 'female' or 'male'"):
        wording(bearded, "mal")


def test_activities_are_75_in_the_four_kinds_of_time_of_table_7() -> None:
    assert Counter(one.time for one in activities()) == TABLE_7
    assert list(times()) == list(TABLE_7)
    assert len({one.name for one in activities()}) == 75


def test_terms_are_30_pairs_of_60_terms_in_the_six_traits_of_table_5() -> None:
    assert Counter(pair.trait for pair in term_pairs()) == TABLE_5
    assert len({term for pair in term_pairs() for term in (pair.high, pair.low)}) == 60
    assert len({pair.name for pair in term_pairs()}) == 30


def test_only_pairs_of_politics_have_no_better_pole_and_keep_the_order_of_print() -> None:
    political = [pair for pair in term_pairs() if not pair.valenced]
    assert [(pair.high, pair.low) for pair in political] == [
        ("traditional", "modern"),
        ("narrow-minded", "open-minded"),
    ]
    assert {pair.trait for pair in political} == {"politics"}


def test_match_rates_are_those_of_table_11_and_cover_all_answers() -> None:
    rates = {(one.paradigm, one.name): one.match for one in questions() if one.match}
    assert rates == MATCHES
    assert all(sum(row) == 100 for row in rates.values())


def test_each_question_has_three_distinct_wordings_with_its_placeholders() -> None:
    for one in questions():
        assert len(set(one.wordings)) == 3
        default = ({"identity", "activity_1", "activity_2"} if one.contrasts == ("activity",) else {"activity"},) * 3
        expected = PLACEHOLDERS.get((one.paradigm, one.name), default)
        for text, placeholders in zip(one.wordings, expected, strict=True):
            assert {name for _, name, _, _ in Formatter().parse(text) if name} == placeholders
            assert text.endswith("?")


def test_only_the_activity_form_of_perception_has_wordings_of_ours() -> None:
    ours = {(one.name, one.contrasts): set(one.ours) for one in questions() if one.ours}
    form = ("activity",)
    assert ours == {
        ("struggle", form): {2, 3},
        ("capability", form): {1, 2, 3},
        ("enjoyment", form): {1, 2, 3},
        ("dislike", form): {1, 2, 3},
    }


def test_each_contrast_asks_what_section_4_says() -> None:
    asked = {contrast: [(one.paradigm, one.name) for one in questions(contrast=contrast)] for contrast in CONTRASTS}
    perception = [("perception", name) for name in ("struggle", "capability", "enjoyment", "dislike")]
    assert asked == {
        "identity": [("factuality", "doing"), *perception, ("decision", "role")],
        "activity": perception,
        "identity-activity": [("factuality", "doing"), ("factuality", "who"), *perception],
        "portrait": [("stereotype", "term")],
    }
    assert {one.paradigm for one in questions()} == set(PARADIGMS)


def test_overlaps_are_pairs_of_known_identities_of_their_dimension() -> None:
    for dimension in dimensions():
        names = {one.name for one in identities(dimension.name)}
        for pair in overlaps(dimension.name):
            assert len(pair) == 2
            assert pair <= names
    assert frozenset({"beautiful", "attractive"}) in overlaps("physical traits")  # the paper's own example
    assert not overlaps("gender")


def test_similar_activities_are_pairs_of_known_activities() -> None:
    names = {one.name for one in activities()}
    assert all(len(pair) == 2 and pair <= names for pair in similar_activities())


def test_unknown_names_are_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'religion'"):
        identities("religoin")
    with pytest.raises(UnknownNameError, match="Did you mean 'age' or 'race'"):
        overlaps("races")
    with pytest.raises(UnknownNameError, match="Did you mean 'perception' or 'stereotype'"):
        questions("stereotyping")
