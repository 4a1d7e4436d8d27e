"""Answers in several languages: their options, the word between these, and words that decline or deny."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import polars as pl
import pytest

from facevalue.errors import FaceValueError
from facevalue.protocol.protocol import Protocol
from facevalue.runs import RunSettings, run
from facevalue.runs.joined_runs import estimate
from facevalue.runs.stored_run import StoredRun
from facevalue.studies import file_text
from facevalue.types import Request, Response, Status
from tests.plain_model import PlainModel
from tests.protocol.conftest import Reader

TRAITS = file_text("trait-languages").replace('people = "24"', 'people = "4"')
BY_ITEM = """
name = "small"
item = [
  {question = "kind-en", language = "English", text = "Is this person {options}?", good = "kind", bad = "rude"},
  {question = "kind-de", language = "German", text = "Ist diese Person {options}?", good = "nett", bad = "grob"},
]
[pictures]
kind = "portraits"
people = "4"
[prompt]
text = "{text} {options}"
[answer]
kind = "choice"
options = {good = "{good}", bad = "{bad}"}
favourable = "good"
orderings = "both"
language = "language"
[answer.languages.German]
or = "oder"
refusals = ["Das kann ich nicht sagen"]
[[estimand]]
statistic = "mean"
by = ["language"]
"""
YES_NO = """
name = "small"
[pictures]
kind = "portraits"
people = "4"
[prompt]
text = "{tongue}: {options}?"
[factor.tongue]
levels = {en = "Would you hire this person", fr = "Recruteriez-vous cette personne"}
[answer]
kind = "yes-no"
orderings = "both"
language = "tongue"
[answer.languages.fr]
or = "ou"
refusals = ["je ne peux pas"]
options = {yes = "Oui", no = "Non"}
[[estimand]]
statistic = "mean"
by = ["tongue"]
"""


class Fixed(PlainModel):
    """A model that replies to each prompt with the first of its texts whose beginning the prompt has; keeps prompts."""

    name = "fixed"

    def __init__(self, replies: Mapping[str, str]) -> None:
        self.replies = replies
        self.prompts: set[str] = set()

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        for request in requests:
            prompt = request.question.prompt
            self.prompts.add(prompt)
            text = next(reply for start, reply in self.replies.items() if prompt.startswith(start))
            yield Response(request.trial, request.repeat, Status.OK, text)


def asked(protocol: Protocol, folder: Path, replies: Mapping[str, str]) -> tuple[set[str], pl.DataFrame]:
    """Prompts that were sent, and the estimates of the replies."""
    model = Fixed(replies)
    run(protocol.study({}), model, folder / "run", RunSettings())
    return model.prompts, estimate([StoredRun.open(folder / "run")])[0]


def rates(estimates: pl.DataFrame, measure: str, label: str) -> dict[str, float | None]:
    """Value of a measure by a label."""
    rows = estimates.filter(pl.col("measure") == measure, pl.col(label).is_not_null())
    return dict(rows.select(label, "value").iter_rows())


def test_wordings_are_languages_with_options_of_their_own(read: Reader, tmp_path: Path) -> None:
    prompts, estimates = asked(
        read(TRAITS),
        tmp_path,
        {"Is ": "I'm sorry, I can't.", "Ist": "Die Person ist nicht unfreundlich, (a).", "图": "抱歉，我无法判断。"},
    )
    assert "Ist die Person auf dem Bild (a) ehrlich oder (b) unehrlich? Antworte nur mit (a) oder (b)." in prompts
    assert "图中的人是(b) 愚蠢 还是 (a) 聪明？只回答 (a) 或 (b)。" in prompts
    refused = rates(estimates, "refusal_rate", "wording")
    assert (refused["1"], refused["3"]) == (1.0, 1.0)
    assert refused["2"] == 0.0


@pytest.mark.parametrize(
    ("reply", "refusals", "means"),
    [
        ("Das kann ich nicht sagen, die Person wirkt nett.", {"English": 0.0, "German": 1.0}, {"English": None}),
        ("nett", {"English": 0.0, "German": 0.0}, {"English": None, "German": 1.0}),
    ],
)
def test_a_column_of_the_items_is_the_language(
    reply: str, refusals: dict[str, float], means: dict[str, float | None], read: Reader, tmp_path: Path
) -> None:
    text = BY_ITEM.replace("{options}?", "").replace('text = "{text} {options}"', 'text = "{text} {options}?"')
    prompts, estimates = asked(read(text), tmp_path, {"": reply})
    assert prompts >= {"Is this person  (a) kind or (b) rude?", "Ist diese Person  (a) nett oder (b) grob?"}
    assert rates(estimates, "refusal_rate", "language") == refusals
    found = rates(estimates, "mean", "language")
    assert {name: found[name] for name in means} == means


def test_yes_and_no_have_words_in_each_language(read: Reader, tmp_path: Path) -> None:
    prompts, estimates = asked(read(YES_NO), tmp_path, {"Would": "Yes.", "Recruteriez": "Oui."})
    assert "Recruteriez-vous cette personne: Non ou Oui?" in prompts
    assert rates(estimates, "mean", "tongue") == {"en": 1.0, "fr": 1.0}


def test_yes_and_no_are_declined_in_each_language(read: Reader, tmp_path: Path) -> None:
    _, estimates = asked(read(YES_NO), tmp_path, {"Would": "Je ne peux pas.", "Recruteriez": "Non, je ne peux pas."})
    assert rates(estimates, "refusal_rate", "tongue") == {"en": 0.0, "fr": 1.0}
    assert set(rates(estimates, "mean", "tongue").values()) == {None}


def test_a_denied_option_is_none_and_a_cut_reply_neither(read: Reader, tmp_path: Path) -> None:
    reply = {"Is ": "friendly", "Ist": "Die Person ist nicht freundlich.", "图": "友好 还是"}
    _, estimates = asked(read(TRAITS), tmp_path, reply)
    missing = rates(estimates, "na_rate", "wording")
    assert (missing["2"], missing["3"]) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("text", "table", "replies", "label"),
    [
        (
            BY_ITEM.replace("{options}?", ""),
            "[answer.languages.German]",
            ("Vielleicht nett.", "Beide, eher nett."),
            "language",
        ),
        (YES_NO, "[answer.languages.fr]", ("Peut-être : oui.", "Les deux, oui."), "tongue"),
    ],
)
def test_a_reply_that_hedges_in_the_language_asked_is_no_answer(
    text: str, table: str, replies: tuple[str, str], label: str, read: Reader, tmp_path: Path
) -> None:
    known = text.replace(table, f'{table}\nhedges = ["vielleicht", "beide", "peut-être", "les deux"]')
    for number, reply in enumerate(replies):
        found = [
            rates(asked(read(study), tmp_path / f"{number} {place}", {"": reply})[1], "na_rate", label)
            for place, study in enumerate((known, text))
        ]
        assert set(found[0].values()) == {1.0}
        assert min(found[1].values()) == 0.0  # type: ignore[type-var] # of words that no table names


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('language = "wording"', 'language = "wordin"', "Unknown factor of languages 'wordin'"),
        ("[answer.languages.3]", "[answer.languages.4]", "Unknown level of wording '4'"),
        ("good = \"{good_zh}\"", "goood = \"{good_zh}\"", r"line 45: Unknown option 'goood'\. Did you mean 'good'"),
        ("{bad_de}", "{bad_d}", "Unknown slot of the options 'bad_d'"),
        ('or = "还是"', 'oder = "还是"', "Unknown key 'oder'"),
        ('"抱歉"', '"…"', "'…' has no letter"),
        ('or = "还是"', 'or = "还是"\nhedges = ["?"]', r"'\?' has no letter: replies that hedge"),
        ("{bad_de}", "{good_de}", "have one wording, 'freundlich'"),
        ("[titles]", "[variant.other]\noptions = {good = 'kind'}\n[titles]", "has options in several languages"),
    ],
)  # fmt: skip
def test_mistakes_are_named(before: str, after: str, said: str, read: Reader) -> None:
    assert before in TRAITS
    with pytest.raises(FaceValueError, match=said):
        read(TRAITS.replace(before, after)).study({})


def test_other_kinds_of_answers_have_no_languages(read: Reader) -> None:
    text = BY_ITEM.replace('kind = "choice"', 'kind = "number"')
    with pytest.raises(FaceValueError, match="Unknown key 'options'"):
        read(text)


def test_a_language_may_be_left_out_of_a_run(read: Reader) -> None:
    assert read(YES_NO).study({"tongue": ["en"]}).design.size == 8
    assert read(BY_ITEM.replace("{options}?", "")).study({"question": ["kind-en"]}).design.size == 8


def test_a_column_of_the_pictures_is_the_language(read: Reader) -> None:
    rows = 'kind = "none"\nunit = "identity"\nrows = [{identity = "1", tongue = "fr"}, {identity = "2", tongue = "fr"}]'
    text = YES_NO.replace('kind = "portraits"\npeople = "4"', rows).replace("{tongue}: {options}", "Recruter {options}")
    factor = text[text.index("[factor.tongue]") : text.index("[answer]")]
    text = text.replace(factor, "")
    study = read(text.replace('by = ["tongue"]', "")).study({})
    assert {question.prompt for question in study.ask(study.design.trials(range(study.design.size)))} == {
        "Recruter Oui ou Non?", "Recruter Non ou Oui?"
    }  # fmt: skip
