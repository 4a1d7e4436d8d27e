"""Folders whose paths say what is shown, in files of own studies: what is read, and ten mistakes and more."""

from pathlib import Path

import pytest

from facevalue import studies
from facevalue.errors import FaceValueError

TEXT = """name = "people"
[pictures]
kind = "folder"
path = "photographs"
pattern = "{occupation}/{race}_{gender}/{n}"
[pictures.levels]
occupation = ["nurse", "ceo"]
gender = ["female", "male"]
[pictures.aliases.race]
"middle eastern" = ["ME"]
[prompt]
text = "Is this person kind? Answer with only {options}."
[answer]
kind = "yes-no"
[[estimand]]
statistic = "gap"
factor = "gender"
"""
PATTERN = "{occupation}/{race}_{gender}/{n}"
PATHS = ("nurse/ME_female/1.png", "CEO/asian_male/2.jpg", "ceo/asian_male/10.jpg")


def written(folder: Path, text: str = TEXT, paths: tuple[str, ...] = PATHS) -> str:
    for path in paths:
        (folder / "photographs" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "photographs" / path).touch()
    (folder / "people.toml").write_text(text)
    return str(folder / "people.toml")


def test_fields_are_columns_and_each_picture_is_a_unit(tmp_path: Path) -> None:
    manifest = studies.protocol(written(tmp_path)).study().manifest
    assert manifest.select("occupation", "race", "gender").rows() == [
        ("ceo", "asian", "male"), ("ceo", "asian", "male"), ("nurse", "middle eastern", "female"),
    ]  # fmt: skip


def test_a_run_keeps_the_pattern_and_its_pictures(tmp_path: Path) -> None:
    study = studies.protocol(written(tmp_path)).study()
    (tmp_path / "people.toml").unlink()
    again = studies.build("people", study.options, study.manifest)
    assert again.design.size == study.design.size


def test_a_cue_within_sets_is_compared_with_its_base(tmp_path: Path) -> None:
    text = TEXT.replace(PATTERN, "{set}_{hat}").replace(
        "[pictures.levels]", 'cue = "hat"\nbase = "none"\n[pictures.levels]'
    )
    text = text.replace('occupation = ["nurse", "ceo"]\ngender = ["female", "male"]', 'hat = ["none", "cap"]')
    text = text.replace(
        '[pictures.aliases.race]\n"middle eastern" = ["ME"]', '[pictures.aliases.hat]\ncap = ["red hat"]'
    )
    text = text.replace('statistic = "gap"\nfactor = "gender"', 'statistic = "shift"\nby = ["hat"]')
    paths = ("anna_maria_none.png", "anna_maria-red_hat.png", "bo_none.png", "bo_cap.png")
    study = studies.protocol(written(tmp_path, text, paths)).study()
    assert study.manifest.select("set", "hat").rows() == [
        ("anna_maria", "cap"), ("anna_maria", "none"), ("bo", "cap"), ("bo", "none"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (PATTERN, "{occupation}/{race}{gender}/{n}", "line 5: In the pattern .* nothing divides two fields"),
        (PATTERN, "{occupation}/{Race}_{gender}/{n}", "line 5: .* a brace without a name of small letters"),
        (PATTERN, "{occupation}/{race}_{gender", "line 5: .* a brace without a name of small letters"),
        (PATTERN, "photographs", "line 5: The pattern 'photographs' has no field"),
        (PATTERN, "{occupation}/{race}_{gender}/{n}.jpg", "line 5: .* the ending of a picture: leave it out"),
        (PATTERN, "{occupation}/{gender}_{gender}/{n}", "line 5: .* has the field {gender} twice"),
        (PATTERN, "../{occupation}/{race}_{gender}/{n}", "line 5: .* is not a path below the folder"),
        (PATTERN, "{occupation}/{status}_{gender}/{n}", "line 5: No field can be called 'status'"),
        ("gender = [", "gendr = [", "line 8: Unknown field of the pattern 'gendr'. Did you mean 'gender'?"),
        ("aliases.race", "aliases.rase", "line 9: Unknown field of the pattern 'rase'. Did you mean 'race'?"),
        (
            '.race]\n"middle eastern" = ["ME"]',
            '.gender]\nfemal = ["woman"]',
            "line 10: Unknown level of gender 'femal'. Did you mean 'female' or 'male'?",
        ),
        (
            '.race]\n"middle eastern" = ["ME"]',
            '.gender]\nfemale = ["Male"]',
            "line 9: 'male' is gender 'female' and 'male': one spelling of two levels",
        ),
        ('["ME"]', "3", "line 10: 'middle eastern' is a list of texts in quotes, not 3"),
        ("[pictures.levels]", 'unit = "set"\n[pictures.levels]', "line 6: Unknown field of the pattern 'set'"),
        ("[pictures.levels]", 'cue = "gendr"\n[pictures.levels]', "line 6: .* 'gendr'. Did you mean 'gender'?"),
        ("pattern =", "patern =", "line 5: Unknown key 'patern'. Did you mean 'path' or 'pattern'?"),
        ("[pictures.levels]", "[pictures.level]", "line 6: Unknown key 'level'. Did you mean 'levels'?"),
    ],
)
def test_mistakes_have_their_line_and_the_nearest_choice(tmp_path: Path, before: str, after: str, says: str) -> None:
    assert before in TEXT
    pattern = "people.toml: " + says.replace("{", r"\{").replace("?", r"\?")
    with pytest.raises(FaceValueError, match=pattern) as refused:
        studies.protocol(written(tmp_path, TEXT.replace(before, after))).study()
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("nurses/asian_male/1.png", "unknown occupation 'nurses', did you mean 'nurse'?"),
        ("nurse/asian_mael/1.png", "unknown gender 'mael', did you mean 'male'?"),
        ("nurse/1.png", "nurse/1.png: not a path {occupation}/{race}_{gender}/{n}."),
        ("CEO/asian_male/2.png", "CEO/asian_male/2.png show the same: ceo, asian, male, 2. Keep one."),
    ],
)
def test_pictures_that_do_not_match_are_named(tmp_path: Path, path: str, says: str) -> None:
    with pytest.raises(FaceValueError) as refused:
        studies.protocol(written(tmp_path, paths=(*PATHS, path))).study()
    assert str(refused.value).endswith(says)
