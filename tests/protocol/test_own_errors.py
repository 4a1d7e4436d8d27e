"""Bad input: one sentence each, with the line and the nearest valid name."""

import pytest

from facevalue.errors import FaceValueError
from facevalue.protocol.own_studies import MAX_KEPT
from tests.protocol.conftest import MINIMAL, Reader

JOB = '[factor.job]\nlevels = ["nurse", "cook"]'
HIRED = '[[estimand]]\nstatistic = "shift"\nby = ["job"]'
ANSWER = '[answer]\nkind = "yes-no"'


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("[answer]", "[anser]", "small.toml: line 15: Unknown key 'anser'. Did you mean 'answer'?"),
        ('by = ["job"]', 'by = ["jib"]', "line 17: Unknown factor in a shift 'jib'. Did you mean 'job'?"),
        ('by = ["job"]', 'by = ["job", "job"]', "line 19: 'by' names 'job' twice."),
        ('by = ["job"]', "by = 3", "line 19: 'by' is a list of texts in quotes, not 3."),
        ('statistic = "shift"', 'statistic = "shft"', "line 18: Unknown statistic 'shft'. Did you mean 'shift'?"),
        (ANSWER, '[answer]\nkind = "yesno"', "Unknown kind of answer 'yesno'. Did you mean 'yes-no'?"),
        (ANSWER, '[answer]\nkind = "yes-no"\nfavourable = "maybe"', "Unknown favourable answer 'maybe'"),
        (ANSWER, '[answer]\nkind = "choice"\noptions = ["a", "b"]\nfavourable = "c"', "Unknown favourable option 'c'"),
        (ANSWER, '[answer]\nkind = "choice"\noptions = ["a", "a"]\nfavourable = "a"', "'options' names 'a' twice."),
        (ANSWER, '[answer]\nkind = "choice"\noptions = {x = "a", y = "a"}\nfavourable = "x"', "have one wording"),
        (ANSWER, '[answer]\nkind = "choice"\noptions = ["a", "b"]', "either one option that is favourable, or"),
        (ANSWER, '[answer]\nkind = "rating"\nlow = 5\nhigh = 1', "has 2 to 20 steps from 0 or more, not 5 to 1."),
        (ANSWER, '[answer]\nkind = "number"\nlow = 5\nhigh = 1', "The least amount, 5, is not below the greatest, 1."),
        (ANSWER, '[answer]\nkind = "salry"', "Unknown kind of answer 'salry'. Did you mean 'salary'?"),
        (ANSWER, '[answer]\nkind = "salary"\nunit = "EUR"', "Unknown key 'unit'."),
        (ANSWER, '[answer]\nkind = "salary"\nlow = 1000', "Unknown key 'low'."),
        (ANSWER, '[answer]\nkind = "text"\ntake = ["lenght"]', "Unknown what is taken of a text 'lenght'"),
        ("as a {job}", "as a {jop}", "line 12: The prompt has no slot {job} for the factor 'job'."),
        ("from {city}", "from {town}", "line 12: Unknown slot of the prompt 'town'."),
        (JOB, '[factor.value]\nlevels = ["a"]', "The prompt has no slot {value}"),
        ('cue = "first"', 'cue = "frst"', "Unknown column of the pictures 'frst'. Did you mean 'first'?"),
        ('base = "Emily"', 'base = "Emili"', "Unknown level of first 'Emili'. Did you mean 'Emily'?"),
        ('base = "Emily"\n', "", "no first is empty, so no row is a base. Say which level is: base = 'Emily',"),
        ('kind = "none"', 'kind = "non"', "line 4: Unknown kind of pictures 'non'."),
        ('name = "small"', 'name = "a b"', "line 2: The name 'a b' is not made of letters"),
        ('name = "small"', 'name = "stylisticbias"', "a published study is called 'stylisticbias'"),
        ('name = "small"', "name = small", "is not valid TOML"),
        ('name = "small"', 'name = "small"\nversion = -1', "line 3: 'version' is a whole number from 1, not -1."),
        ('name = "small"', 'like = "vignete"', "Unknown study 'vignete'. Did you mean 'vignette'?"),
        (HIRED, "", "estimates nothing"),
        (HIRED, '[[estimand]]\nstatistic = "gap"', "A gap needs a factor of its own"),
        (HIRED, '[[estimand]]\nstatistic = "gap"\nfactor = "city"\nversus = "Paris"', "Unknown level of city 'Paris'"),
        (HIRED, '[[estimand]]\nstatistic = "gap"\nfactor = "city"\nends = ["Oslo"]', "`ends` names all levels of"),
        (HIRED, f'{HIRED}\ntested = "no"', "line 20: 'tested' is true or false, not 'no'."),
        (HIRED, f"{HIRED}\ntested = false\nmargin = 0.1", "line 17: A shift that is not tested has no family and no"),
        (HIRED, '[[estimand]]\nstatistic = "mean"\nmargin = -1', "A mean is never tested, so that it has no margin"),
        (HIRED, '[[estimand]]\nstatistic = "mean"\nscores = ["x"]', "Unknown score 'x'"),
        (HIRED, '[[estimand]]\nstatistic = "preference"', "A preference is one of pairs side by side"),
        (HIRED, '[[estimand]]\nstatistic = "spread"\nfactor = "first"', "'first' is not a factor in which units"),
        (HIRED, f"{HIRED}\nmargin = 5", "line 17: The margin of shift is 5, and shift never lies further than 1"),
        (HIRED, f"{HIRED}\n[sampling]\nmax_tokens = 0", "line 21: max_tokens is the longest reply, 1 to 1,000,000"),
        (HIRED, f"{HIRED}\n[sampling]\nseeds = [1, 1]", "line 21: Seeds are 1 to 80 different whole numbers"),
        (HIRED, f"{HIRED}\n[sampling]\ntemperature = 3", "line 21: The temperature is 3.0: it must be between 0"),
        (HIRED, f"{HIRED}\nmargin = 0.1\n{HIRED}\nmargin = 0.2", "The measure 'shift' has two margins: 0.1 and 0.2."),
    ],
)  # fmt: skip
def test_each_mistake_is_one_sentence(before: str, after: str, says: str, read: Reader) -> None:
    from facevalue import studies

    assert before in MINIMAL
    path = read.folder / "small.toml"
    path.write_text(MINIMAL.replace(before, after, 1))
    with pytest.raises(FaceValueError) as caught:
        studies.protocol(str(path)).study()
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_wrong_with_a_setting_of_a_published_study_has_its_line(read: Reader) -> None:
    from facevalue import studies

    path = read.folder / "narrow.toml"
    for line, says in {
        "max_tokens = 9": "Unknown setting of stylisticbias 'max_tokens'.",
        'grid = "al"': "Unknown grid 'al'. Did you mean 'all'?",
        "seeds = [1, 1]": "Seeds are 1 to 80 different whole numbers",
        "temperature = 9.0": "The temperature is 9.0: it must be between 0 (greedy) and 2.",
    }.items():
        path.write_text(f'like = "stylisticbias"\n[settings]\n{line}\n')
        with pytest.raises(FaceValueError, match=r"^narrow\.toml: line 3: ") as caught:
            studies.protocol(str(path))
        assert says in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ('faces = "4"\nroot = "pictures"', "line 4: --root has no effect without --manifest"),
        ('scenario = ["wealthy",\n  "nope"]', "line 3: Unknown scenario 'nope'"),
        ('faces = "0"', "line 3: No faces asked for"),
        ('root = "pictures"\nscenario = ["nope"]', "line 3: --root has no effect without --manifest"),
    ],
)
def test_a_setting_that_makes_no_published_study_has_its_line_when_it_is_made(
    lines: str, says: str, read: Reader
) -> None:
    from facevalue import studies

    path = read.folder / "narrow.toml"
    path.write_text(f'like = "stylisticbias"\n[settings]\n{lines}\n')
    protocol = studies.protocol(str(path))
    with pytest.raises(FaceValueError, match=f"^narrow.toml: {says}"):
        protocol.study()
    with pytest.raises(FaceValueError, match=r"^No faces asked for"):  # what the user says has no line
        protocol.study({"faces": "0M,0F", "root": "", "scenario": []})


@pytest.mark.parametrize("name", ["value", "contrast", "verdict", "mass", "share", "model"])
def test_no_factor_has_the_name_of_another_column(name: str, read: Reader) -> None:
    text = (
        MINIMAL.replace("{job}", f"{{{name}}}")
        .replace("[factor.job]", f"[factor.{name}]")
        .replace('"job"', f'"{name}"')
    )
    with pytest.raises(FaceValueError, match=f"No factor can be called '{name}'"):
        read(text).study()


def test_a_study_is_not_like_itself(read: Reader) -> None:
    (read.folder / "a.toml").write_text('like = "b.toml"')
    (read.folder / "b.toml").write_text('like = "a.toml"')
    with pytest.raises(FaceValueError, match="a study cannot be like itself"):
        read('like = "a.toml"', "c.toml")
    with pytest.raises(FaceValueError, match="a study cannot be like itself"):
        read('like = "d.toml"', "d.toml")


def test_slots_are_filled_literally(read: Reader) -> None:
    """No attribute or index of anything is reached, and what is filled in is not looked at again."""
    text = MINIMAL.replace("as a {job}?", "as a {job}? {job.__class__} {0} {city!r} {options}", 1)
    text = text.replace('["nurse", "cook"]', '["{city}", "cook"]')
    study = read(text).study()
    prompt = study.ask(study.design.trials([0]))[0].prompt
    assert prompt.startswith("Would you hire Emily from Rome as a {city}? {job.__class__} {0} {city!r} Yes or No")


def test_a_run_s_text_names_no_other_file(read: Reader) -> None:
    from facevalue import studies

    with pytest.raises(FaceValueError, match="a run keeps whole studies"):
        studies.build("small", {"study": 'like = "/etc/passwd.toml"'})
    with pytest.raises(FaceValueError, match="larger than 4 MiB"):
        studies.build("small", {"study": "#" * (MAX_KEPT + 1)})


@pytest.mark.parametrize("name", ["seeds", "temperature", "a-b", "ä"])
def test_no_factor_has_the_name_of_a_setting_or_cannot_be_written(name: str, read: Reader) -> None:
    text = MINIMAL.replace("{job}", f"{{{name}}}").replace("[factor.job]", f'[factor."{name}"]')
    with pytest.raises(FaceValueError, match=f"{name}"):
        read(text.replace('by = ["job"]', "")).study()


def test_a_file_is_like_another(read: Reader) -> None:
    (read.folder / "deep").mkdir()
    (read.folder / "deep" / "base.toml").write_text(
        MINIMAL.replace('kind = "none"', 'kind = "manifest"\nmanifest = "list.csv"').split("rows = [")[0]
        + MINIMAL[MINIMAL.index("[prompt]") :]
    )
    made = read('like = "deep/base.toml"\n[factor.job]\nlevels = ["judge"]\n[sampling]\nseeds = [7]', "like.toml")
    assert made.name == "small"
    assert made.seeds == (7,)
    assert made.ask is not None
    assert list(made.ask.slots["job"]) == ["judge"]
    assert {one.name: one.default for one in made.settings}["manifest"] == str(read.folder / "deep" / "list.csv")
    (read.folder / "b.toml").write_text(MINIMAL)
    mistaken = read('like = "b.toml"\n\n[[estimand]]\nstatistic = "mean"\nby = ["x"]', "like2.toml")
    with pytest.raises(FaceValueError, match=r"like2.toml: line 3: Unknown factor in a mean 'x'"):
        mistaken.study()


def test_a_confirmatory_spread_is_declared_for_its_own_factor(read: Reader) -> None:
    estimands = "".join(
        f'[[estimand]]\nstatistic = "spread"\nfactor = "{of}"\nconfirmatory = true\n' for of in ("city", "age")
    )
    rows = 'city = "Rome"}', 'city = "Rome", age = "1"}', 'city = "Oslo"}', 'city = "Oslo", age = "2"}'
    text = MINIMAL.replace(*rows[:2]).replace(*rows[2:]) + estimands
    declared = read(text).study().estimates.declared
    assert declared is not None
    assert [family.where["dimension"] for family in declared().families] == [("city",), ("age",)]


def test_a_table_of_another_study_is_refused(read: Reader) -> None:
    import polars as pl

    protocol = read(MINIMAL)
    for table in (pl.DataFrame({"image": ["a"]}), pl.DataFrame({"image": [1]}), pl.DataFrame({"image": []})):
        with pytest.raises(FaceValueError, match="not of this study"):
            protocol.study({}, table)


def test_what_is_listed_of_a_study_may_change_while_it_runs(read: Reader) -> None:
    plain = read(MINIMAL)
    listed = read(f'needs = "people of your own"\nleft_out = "all of its videos"\n{MINIMAL}')
    assert (listed.needs, listed.left_out) == ("people of your own", "all of its videos")
    assert listed.text == plain.text
