"""Facets: whom the leads of studies are about, and names that groups have in common."""

import pytest

import facevalue as fv
from facevalue.protocol import Ask, Portraits, Protocol, yes_or_no
from facevalue.protocol.facets import CONTRASTS, GroupName, Kinds, group_name
from facevalue.protocol.page import Findings
from facevalue.statistics import Estimand, Gap, Shift, Spread
from facevalue.studies.registry import PUBLISHED, STUDIES

KNOWN = {name: {first, second, ""} for name, first, second in CONTRASTS}
KNOWN["about"] |= {"perception", "description"}


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_every_published_study_says_whom_its_leads_are_about(name: str) -> None:
    make = STUDIES[name].page
    if make is None:
        pytest.skip("its page follows from its estimands")
    facets = [lead.facet for lead in make().lead if isinstance(lead, Findings) and lead.facet is not None]
    assert facets
    for facet in facets:
        assert all(getattr(facet.kinds, field) in levels for field, levels in KNOWN.items())
        assert facet.title[:1].isupper()
        assert facet.group


def test_takes_of_an_own_study_have_facets_without_a_word() -> None:
    hiring = Protocol(
        name="hiring",
        title="Who is invited?",
        stimuli=Portraits(cues={"tattoos": ("facial-tattoo",)}, people="24"),
        ask=Ask(prompts=("Would you invite this person?",), reply=yes_or_no()),
        estimands=(
            Estimand(Shift(), by=("variation",)),
            Estimand(Shift()),
            Estimand(Gap(factor="gender")),
            Estimand(Gap(factor="age")),
            Estimand(Spread(factor="gender")),
        ),
    )
    page = hiring.study().page
    assert page is not None
    cue, whole, gender, age, spread = (lead.facet for lead in page().lead if isinstance(lead, Findings))
    assert cue is not None
    assert (cue.dimension, cue.group) == ("variation", "{variation}")
    assert whole is not None
    assert whole.group == "facial-tattoo"
    assert gender is not None
    assert (gender.dimension, gender.versus) == ("gender", "{contrast:gender}")
    assert age is not None
    assert age.versus == ""  # all others are no single group
    assert spread is None
    assert cue.kinds == Kinds()


def test_the_study_of_two_people_says_so() -> None:
    page = STUDIES["vignette"].page
    assert page is not None
    facets = [lead.facet for lead in page().lead if isinstance(lead, Findings)]
    assert {facet.kinds.people for facet in facets if facet} == {"two people"}


@pytest.mark.parametrize(
    ("dimension", "group", "common"),
    [
        ("gender", "female", GroupName("gender", "women")),
        ("Sex", "Woman", GroupName("gender", "women")),
        ("skin_tone", "medium-dark-skinned", GroupName("skin tone", "medium-dark")),
        ("skin tone x gender", "medium-dark male", GroupName("skin tone × gender", "medium-dark × men")),
        ("skin-tone-gender", "dark-skinned female", GroupName("skin tone × gender", "dark × women")),
        ("Skin tone and gender", "dark-skinned female", GroupName("skin tone × gender", "dark × women")),
        ("race-gender", "Middle Eastern man", GroupName("race × gender", "Middle Eastern × men")),
        ("race", "caucasian", GroupName("race", "White")),
        ("variation", "Cap", GroupName("visual cue", "cap (accessories)")),
        ("age", "middle aged", GroupName("age", "middle-aged")),
        ("nationality", "Thai", GroupName("nationality", "Thai")),
        ("job x", "x", GroupName("job x", "x")),
    ],
)
def test_names_of_groups_are_common_where_the_table_says_so(dimension: str, group: str, common: GroupName) -> None:
    assert group_name(dimension, group) == common


def test_groups_that_are_not_said_to_be_the_same_stay_apart() -> None:
    assert group_name("race", "Hispanic") != group_name("race", "Latino")
    assert group_name("skin tone", "monk-09") != group_name("skin tone", "dark")
    assert group_name("visual cue", "light (makeup)") != group_name("skin tone", "light")


def test_no_name_stands_for_two_groups() -> None:
    import tomllib
    from importlib.resources import files

    from facevalue.protocol.facets import _plain

    table = tomllib.loads(files("facevalue.protocol").joinpath("group_names.toml").read_text("utf-8"))
    for names in (table["dimensions"], *table["groups"].values()):
        spellings = [_plain(name) for key, aliases in names.items() for name in (key, *aliases)]
        assert len(spellings) == len(set(spellings))


def test_the_python_function_is_public() -> None:
    assert fv.profile.__name__ == "profile"
