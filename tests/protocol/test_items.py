"""Items: a table of questions whose texts fill slots of the prompt and of its options."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import facevalue as fv
from facevalue.design import Factor
from facevalue.errors import FaceValueError
from facevalue.protocol.asks import MOST_ITEMS, ORDERING, Ask
from facevalue.protocol.replies import choice
from facevalue.types import Status
from tests.protocol.conftest import MINIMAL, Reader

ITEM = """[[item]]
trait = "kind"
of = "warmth"
good = "kind"
bad = "rude"
"""
SECOND = ITEM.replace("kind", "able").replace("rude", "inept").replace("warmth", "skill")
STUDY = (
    MINIMAL.replace('as a {job}?"', 'as a {job}, or is {first} {options}?"')
    .replace('kind = "yes-no"', 'kind = "choice"\noptions = {good = "{good}", bad = "{bad}"}\nfavourable = "good"')
    .replace("[answer]", f"{ITEM}{SECOND}[answer]")
)
POLES = ({"trait": "kind", "good": "kind", "bad": "rude"}, {"trait": "able", "good": "able", "bad": "inept"})


def ask(**more: Any) -> Ask:
    reply = choice({"good": "{good}", "bad": "{bad}"}, "good", "all")
    return Ask(**{"prompts": ("Is this person {options}?",), "reply": reply, "items": POLES, **more})


def test_each_item_is_asked_with_its_own_options(read: Reader) -> None:
    study = read(STUDY).study()
    prompts = {question.prompt for question in study.ask(study.design.trials(range(study.design.size)))}
    assert "Would you hire Emily from Rome as a nurse, or is Emily (a) kind or (b) rude?" in prompts
    assert "Would you hire Lakisha from Oslo as a cook, or is Lakisha (a) inept or (b) able?" in prompts
    assert len(prompts) == 4 * 2 * 2 * 2


def test_replies_are_read_with_the_options_of_their_item() -> None:
    orders, traits = pl.Enum(ask().reply.orderings), pl.Enum(["kind", "able"])
    first, _, turned, _ = ask().reply.orderings
    frame = pl.DataFrame(
        {
            "trait": pl.Series(["kind", "able", "able", "kind"], dtype=traits),
            ORDERING: pl.Series([first, first, turned, turned], dtype=orders),
            "text": ["rude", "able", "inept", "able"],
            "status": [Status.OK.value] * 4,
            "probs": pl.Series([None] * 4, dtype=pl.List(pl.Float64)),
        }
    )
    read = ask().read(frame)
    assert read["share"].to_list() == [0.0, 1.0, 0.0, None]
    assert read["na"].is_null().to_list() == [True, True, True, False]


def test_columns_that_fill_no_slot_are_coarser_factors(read: Reader) -> None:
    study = read(STUDY.replace('by = ["job"]', 'by = ["of"]')).study()
    assert {"trait", "of"} <= set(study.estimates.labels)
    assert not {"good", "bad"} & set(study.estimates.labels)
    assert Factor("trait", ("kind", "able"), {"of": ("warmth", "skill")}) in study.design.blocks[0].prompt


def test_a_gap_of_a_coarser_factor_is_the_difference_of_its_means(read: Reader, tmp_path: Path) -> None:
    read(f'{STUDY}[[estimand]]\nstatistic = "gap"\nfactor = "of"')
    opened = fv.run(tmp_path / "small.toml", "sim/strong", tmp_path / "run")
    gap = opened.estimates().filter(pl.col("measure") == "paired_gap").to_dicts()
    base = opened.answers().filter(pl.col("first") == "Emily")
    means = dict(base.group_by(pl.col("of").cast(pl.String)).agg(pl.col("share").mean()).iter_rows())
    assert [row["of"] for row in gap] == ["skill"]
    assert gap[0]["value"] == pytest.approx(means["skill"] - means["warmth"])


def test_items_are_chosen_by_name(read: Reader) -> None:
    protocol = read(STUDY)
    assert "trait" in {setting.name for setting in protocol.settings}
    chosen = protocol.study({"trait": ["able"]}).design.blocks[0].prompt
    assert Factor("trait", ("able",), {"of": ("skill",)}) in chosen
    with pytest.raises(FaceValueError, match=r"Unknown trait 'abel'\. Did you mean 'able'\?"):
        protocol.study({"trait": ["abel"]})


def test_what_stands_in_an_item_is_not_filled_again() -> None:
    item = {"trait": "kind", "good": "{bad}", "bad": "{options}"}
    assert [option.text for option in ask(items=(item,)).options(item, "1")] != ["{options}", "{bad}"]
    assert {option.text for option in ask(items=(item,)).options(item, ask().reply.orderings[0])} == {
        "{bad}",
        "{options}",
    }


def test_levels_of_a_factor_fill_options_too() -> None:
    asked = ask(items=(), slots={"good": {"kind": "kind", "able": "able"}, "bad": {"rude": "rude"}})
    assert [factor.name for factor in asked.question_factors] == ["good", "bad"]


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (SECOND, SECOND.replace('bad = "inept"\n', ""), "line 20: The question about able lacks 'bad', which leaves 1"),
        (SECOND, SECOND.replace('"inept"', '" "'), "line 20: The question about able lacks 'bad', which leaves 1"),
        (SECOND, SECOND.replace('of = "skill"\n', ""), "line 20: Item 2 has no 'of': each item has a text in all"),
        (SECOND, f'{SECOND}worst = "x"\n', "line 20: Unknown column of item 2 'worst'. Known: bad, good, of, trait."),
        (SECOND, SECOND.replace('"able"', '"kind"', 1), "line 20: Two items are called 'kind': their first column"),
        (SECOND, SECOND.replace('"inept"', "3"), "line 24: 'bad' is a text in quotes, not 3."),
        (SECOND, SECOND.replace('bad = "inept"', 'bad = "able"'), "line 20: Two options of able have one wording"),
        (SECOND, SECOND.replace("inept", "Able!"), "line 20: The options 'able' and 'Able!' read as one: word"),
        ('"{good}"', '"{god}"', "line 27: Unknown slot of the options 'god'. Did you mean 'good'?"),
        ('"{good}"', '"{options}"', "line 27: Unknown slot of the options 'options'."),
        ('"{good}"', '"{town}"', "line 27: Unknown slot of the options 'town'."),
        ("trait =", "ordering =", "No factor can be called 'ordering', which stands for the ordering of the question"),
        ("trait =", "value =", "No factor can be called 'value', which is a column of the estimates. Rename it."),
        ("trait =", "city =", "The factor 'city' is one of the pictures and of the slots and items of the prompt."),
        ("trait =", "job =", "'job' is a column of the items and a factor of its own. Rename one of them."),
        ("trait =", '"a trait" =', "The factor 'a trait' is not made of letters, digits and underscores."),
        ("of =", "share =", "No factor can be called 'share', which is a column of the answers. Rename it."),
        ('by = ["job"]', 'by = ["good"]', "Unknown factor in a shift 'good'. Known: "),
        ('by = ["job"]', 'by = ["trat"]', "Unknown factor in a shift 'trat'. Did you mean 'trait'?"),
        (ITEM + SECOND, '[item]\ntrait = "kind"\n', "'item' is written as [[item]] tables, not {'trait': 'kind'}."),
        (ITEM + SECOND, "[[item]]\n", "line 15: An item has columns; the first of them names it."),
    ],
)  # fmt: skip
def test_each_mistake_is_one_sentence(before: str, after: str, says: str, read: Reader) -> None:
    assert before in STUDY
    with pytest.raises(FaceValueError) as error:
        read(STUDY.replace(before, after)).study()
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_items_that_fill_no_slot_are_refused() -> None:
    with pytest.raises(FaceValueError, match="has a slot for a column of the items"):
        ask(reply=choice({"good": "good", "bad": "bad"}, "good", "all"))


def test_a_slot_in_an_option_without_items_does_not_reach_the_model(read: Reader) -> None:
    with pytest.raises(FaceValueError, match="Unknown slot of the options 'good'"):
        read(STUDY.replace(ITEM + SECOND, "")).study()


def test_too_many_items_are_refused() -> None:
    items = tuple({"trait": str(number), "good": f"a{number}", "bad": "b"} for number in range(MOST_ITEMS + 1))
    with pytest.raises(FaceValueError, match="10,001 items; 10,000 are the most"):
        ask(items=items)


SEVERAL = """
name = "jobs"
[pictures]
kind = "none"
cue = "first"
base = "Emily"
rows = [{identity = "1", first = "Emily"}, {identity = "1", first = "Lakisha"}]
[prompt]
text = "What is {first}, {of}? {options}"
[[item]]
of = "at the bank"
a = "teller"
b = "manager"
[[item]]
of = "at the hospital"
a = "nurse"
b = "surgeon"
c = "cleaner"
[answer]
kind = "choice"
options = {low = "{a}", high = "{b}", other = "{c}"}
favourable = "high"
orderings = "both"
[[estimand]]
statistic = "shift"
by = ["of"]
"""


def test_items_may_have_options_of_differing_number(read: Reader) -> None:
    study = read(SEVERAL).study()
    prompts = {question.prompt for question in study.ask(study.design.trials(range(study.design.size)))}
    assert "What is Emily, at the bank? (a) teller or (b) manager" in prompts
    assert "What is Emily, at the bank? (a) manager or (b) teller" in prompts
    assert "What is Emily, at the hospital? \n(a) cleaner\n(b) surgeon\n(c) nurse" in prompts
    assert len(prompts) == 2 * 2 * 2
    assert "response_bias.position" not in {measure.key for measure in study.estimates.measures}


def test_answers_to_options_of_differing_number_are_read_sampled_and_exact(read: Reader) -> None:
    asked = read(SEVERAL).ask
    assert asked is not None
    ordering = pl.Enum(asked.reply.orderings)
    rows = {"of": ["at the bank", "at the hospital"] * 3, ORDERING: ["1", "2", "2", "1", "1", "2"]}
    frame = pl.DataFrame(rows, schema={"of": pl.Enum(["at the bank", "at the hospital"]), ORDERING: ordering})
    frame = frame.with_columns(
        text=pl.Series(["(b)", "(b)", "(b)", "cleaner", None, None]),
        status=pl.lit(Status.OK.value),
        probs=pl.Series([None, None, None, None, [0.25, 0.75], [0.5, 0.3, 0.2]], dtype=pl.List(pl.Float64)),
    )
    read_answers = asked.read(frame)
    assert read_answers["share"].to_list() == [1.0, 1.0, 0.0, 0.0, 0.75, 0.3]
    assert read_answers["(first)"].to_list() == [0.0, 0.0, 0.0, 0.0, 0.25, 0.5]


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ('a = "teller"\nb = "manager"\n', "", "line 10: The question about at the bank lacks 'a', 'b', 'c'"),
        ('orderings = "both"', 'orderings = "rotations"', "line 10: The question about at the bank has 2 of 3 options"),
        ('orderings = "both"', 'orderings = "all"', "line 10: The question about at the bank has 2 of 3 options"),
        ('b = "manager"\n', 'c = "manager"\n', "line 10: All options of at the bank count the same."),
        ('of = "at the hospital"\n', "", "line 14: Item 2 has no 'of'"),
        ('c = "cleaner"', 'd = "cleaner"', "line 14: Unknown column of item 2 'd'. Known: a, b, c, of."),
        ('favourable = "high"', 'favourable = "hgh"', "line 22: Unknown favourable option 'hgh'. Did you mean 'high'?"),
        ('c = "cleaner"', 'c = "nurse"', "line 14: Two options of at the hospital have one wording, 'nurse'."),
        ('favourable = "high"', 'favourable = "{key}"', "line 21: Unknown column that names an option"),
        ('favourable = "high"', 'favourable = "{a}"', "line 10: Unknown option (column 'a' of at the bank) 'teller'."),
    ],
)  # fmt: skip
def test_mistakes_in_options_of_items_are_one_sentence(before: str, after: str, says: str, read: Reader) -> None:
    assert before in SEVERAL
    text = SEVERAL.replace(before, after, 1)
    with pytest.raises(FaceValueError) as error:
        read(text).study()
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_options_that_begin_each_other_need_letters(read: Reader) -> None:
    text = SEVERAL.replace('b = "manager"', 'b = "Teller manager"')
    read(text).study()
    with pytest.raises(
        FaceValueError, match="line 10: The option 'teller' begins 'Teller manager', and a reply may be"
    ):
        read(text.replace('"both"', '"both"\nletters = false'))


def test_a_key_must_be_an_option_that_its_item_shows(read: Reader) -> None:
    keyed = SEVERAL.replace('a = "teller"', 'a = "teller"\nkey = "other"').replace(
        'a = "nurse"', 'a = "nurse"\nkey = "high"'
    )
    with pytest.raises(
        FaceValueError, match=r"line 10: Unknown option \(column 'key' of at the bank\) 'other'\. Known: high, low"
    ):
        read(keyed.replace('favourable = "high"', 'favourable = "{key}"')).study()


def test_ten_thousand_items_are_asked_and_one_more_is_refused(read: Reader) -> None:
    def many(count: int) -> str:
        rows = ",".join(f'{{of="{number}",a="x"}}' for number in range(count))
        items = SEVERAL[SEVERAL.index("[[item]]") : SEVERAL.index("[answer]")]
        text = SEVERAL.replace(items, "").replace("name = ", f"item = [{rows}]\nname = ", 1)
        return text.replace('high = "{b}", other = "{c}"', 'high = "none of these"').replace('by = ["of"]', "")

    assert read(many(MOST_ITEMS)).study({"of": ["7"]}).design.size == 2 * 2
    with pytest.raises(FaceValueError, match=r"small\.toml: line \d+: There are 10,001 items; 10,000 are the most"):
        read(many(MOST_ITEMS + 1))


@pytest.mark.parametrize(("of", "by"), [("of", "trait"), ("city", "identity_town")])
def test_levels_that_are_never_asked_together_are_not_compared(of: str, by: str, read: Reader) -> None:
    text = STUDY.replace("city = ", 'identity_town = "t", city = ') if by == "identity_town" else STUDY
    for number, city in enumerate(("Rome", "Oslo")):
        text = text.replace(f'"t", city = "{city}"', f'"town {number}", city = "{city}"')
    text = text.replace(
        'statistic = "shift"\nby = ["job"]', f'statistic = "gap"\nfactor = "{of}"\nby = ["job", "{by}"]'
    )
    with pytest.raises(FaceValueError, match=rf"Each '{by}' has one level of '{of}', so that a gap by {by}"):
        read(text).study()
    read(
        text.replace("[[estimand]]", "[[estimand]]\noptional = true", 1) + '\n[[estimand]]\nstatistic = "mean"\n'
    ).study()
