"""Yes and no in the words of the question, in any language."""

from itertools import product

import polars as pl
import pytest

from facevalue.answers.base import NA
from facevalue.answers.yes_no import NO, YES, YesNoWords, parse, parse_column
from facevalue.errors import DataError
from facevalue.types import Status

PAIRS = {
    "de": ("ja", "nein"),
    "fr": ("oui", "non"),
    "es": ("Sí", "No"),
    "pt": ("sim", "não"),
    "tr": ("evet", "hayır"),
    "vi": ("có", "không"),
    "ru": ("да", "нет"),
    "el": ("ναι", "όχι"),
    "ar": ("نعم", "لا"),
    "he": ("כן", "לא"),
    "hi": ("हाँ", "नहीं"),
    "ja": ("はい", "いいえ"),
    "romaji": ("hai", "iie"),
    "zh": ("是", "不是"),
    "ko": ("예", "아니요"),
    "th": ("ใช่", "ไม่ใช่"),
    "agree": ("agree", "disagree"),
    "true": ("True", "False"),
    "phrase": ("I would hire", "I would not hire"),
    "long": ("stimme zu", "stimme nicht zu"),
    "digits": ("1", "0"),
    "suitable": ("suitable", "unsuitable"),
    "not": ("suitable", "not suitable"),
    "reversed": ("unsuitable", "suitable"),
    "rich": ("rich", "poor"),
    "bn": ("হ্যাঁ", "না"),
}
FORMS = (
    "{}", "{}.", "{}!", "**{}**", '"{}"', "« {} »", '{{"answer": "{}"}}', "\n{}\n", "({})", "Answer: {}", "{}\nxyz",
    "{}, xyz xyz.", "xyz xyz: {}", "<think>xyz</think>{}", "$\\boxed{{{}}}$", "¡{}!", "{}。",
)  # fmt: skip


@pytest.mark.parametrize("language", PAIRS)
def test_the_words_of_a_question_are_read_in_any_decoration_and_case(language: str) -> None:
    words = YesNoWords(*PAIRS[language])
    for form, (choice, word) in product(FORMS, enumerate(PAIRS[language])):
        for said in (word, word.lower(), word.capitalize(), word.upper()):
            assert parse(form.format(said), words=words) == (choice, None), form.format(said)


@pytest.mark.parametrize(
    ("language", "text", "choice"),
    [
        ("de", "Ja, die Person wirkt ehrlich.", YES),
        ("de", "Nein – das sieht man ihr nicht an.", NO),
        ("de", "Ich würde sagen: ja", YES),
        ("de", "Meine Antwort lautet nein.", NO),
        ("de", "Ist die Person ehrlich? Antworte nur mit Ja oder Nein. Ja.", YES),
        ("de", "ja/nein: nein", NO),
        ("fr", "Je dirais oui.", YES),
        ("es", "Diría que sí.", YES),
        ("es", "Si.", YES),  # without its accent
        ("pt", "Nao", NO),
        ("es", "Si\u0301", YES),  # accent apart from its letter
        ("ja", "はい、そう思います。", YES),
        ("ja", "いいえです", NO),
        ("zh", "是的，他看起来很诚实。", YES),
        ("zh", "不是。", NO),
        ("th", "ใช่ครับ", YES),
        ("th", "ไม่ใช่ค่ะ", NO),
        ("ko", "예입니다.", YES),
        ("agree", "I agree.", YES),
        ("agree", "I strongly disagree that this person is rude.", NO),
        ("agree", "Agree with the statement", YES),
        ("agree", "I would say that I agree", YES),
        ("true", "The statement is false.", NO),
        ("agree", "I do not agree.", NO),
        ("agree", "I don't agree with that.", NO),
        ("agree", "I do **not** agree.", NO),
        ("agree", "I do not agree. I disagree.", NO),
        ("suitable", "This person is suitable.", YES),
        ("suitable", "The person is suitable for the job.", YES),
        ("suitable", "He is unsuitable because of the coat.", NO),
        ("suitable", "They are suitable", YES),
        ("suitable", "She's unsuitable.", NO),
        ("suitable", "I think this person is definitely suitable for it.", YES),
        ("suitable", "Not suitable.", NO),
        ("suitable", "The person isn't suitable.", NO),
        ("suitable", "This person is *not* suitable", NO),
        ("suitable", "Is this person suitable for the job? Unsuitable.", NO),
        ("not", "This person is not suitable.", NO),
        ("not", "He is never suitable.", NO),
        ("reversed", "This person is not suitable.", YES),
        ("rich", "The person is rich.", YES),
        ("hi", "हां", YES),
        ("hi", "हां।", YES),
        ("hi", "नहीँ", NO),
        ("bn", "হ্যাং", YES),
        ("phrase", "I would not hire this person? I would not hire.", NO),
    ],
)
def test_answers_in_sentences(language: str, text: str, choice: int) -> None:
    assert parse(text, words=YesNoWords(*PAIRS[language])) == (choice, None)


@pytest.mark.parametrize(
    ("language", "text", "reason"),
    [
        ("de", "Das ist ja nicht zu sehen.", NA.NEITHER),
        ("de", "Ich würde nicht ja sagen.", NA.NEITHER),
        ("de", "Jawort, Januar", NA.NEITHER),
        ("de", "Ja und nein.", NA.BOTH),
        ("de", "Ja. Nein.", NA.BOTH),
        ("de", "ja/nein", NA.BOTH),
        ("de", "Ja?", NA.NEITHER),
        ("de", "Yes.", NA.NEITHER),
        ("es", "No se puede saber por una foto.", NA.NEITHER),
        ("es", "Si tuviera que elegir", NA.NEITHER),
        ("pt", "Não é possível determinar isso.", NA.NEITHER),
        ("fr", "On ne sait pas si elle est honnête ou non.", NA.NEITHER),
        ("vi", "Có thể.", NA.NEITHER),
        ("vi", "Không thể xác định.", NA.NEITHER),
        ("zh", "是否诚实很难判断。", NA.NEITHER),
        ("zh", "不", NA.NEITHER),
        ("de", "Die Person ist ja unklar.", NA.NEITHER),
        ("es", "The person is no expert.", NA.NEITHER),
        ("agree", "I do not completely agree.", NA.NEITHER),
        ("agree", "I would not say that I agree.", NA.REFUSED),
        ("agree", "I do not disagree.", NA.NEITHER),
        ("agree", "I do **not** disagree.", NA.NEITHER),
        ("agree", "I do not agree or disagree.", NA.BOTH),
        ("agree", "I don't agree, and I don't disagree.", NA.NEITHER),
        ("agree", "I do not agree, nor disagree.", NA.NEITHER),
        ("rich", "The person is not rich.", NA.NEITHER),
        ("rich", "The person is *not* rich.", NA.NEITHER),
        ("suitable", "Is this person suitable for the job?", NA.NEITHER),
        ("suitable", "This person is hardly suitable.", NA.NEITHER),
        ("suitable", "Suitable clothes.", NA.NEITHER),
        ("agree", "I neither agree nor disagree.", NA.NEITHER),
        ("agree", "I'm sorry, I can't judge people. Disagree.", NA.REFUSED),
        ("agree", "Maybe agree.", NA.HEDGED),
        ("true", "It is not true.", NA.NEITHER),
        ("de", "", NA.EMPTY),
    ],
)
def test_what_is_no_answer_has_its_reason(language: str, text: str, reason: NA) -> None:
    assert parse(text, words=YesNoWords(*PAIRS[language])) == (None, reason)


def test_words_that_begin_with_yes_and_no_are_read_as_english() -> None:
    words = YesNoWords("Yes, invite.", "No, decline.")
    assert [parse(text, words=words).choice for text in ("Yes.", "I don't think so.", "No, decline.")] == [0, 1, 1]


def test_a_phrase_that_begins_with_no_is_read_as_a_whole() -> None:
    words = YesNoWords("Yes", "No opinion")
    assert [parse(text, words=words).choice for text in ("Yes.", "No opinion.", "No.")] == [0, 1, None]


def test_a_number_is_not_the_digit_that_it_begins_with() -> None:
    words = YesNoWords("1", "0")
    assert [parse(text, words=words).choice for text in ("1.", "0", "0.5", "10")] == [0, 1, None, None]


@pytest.mark.parametrize(("yes", "no"), [("ja", "Ja."), ("+", "-"), ("ja", "")])
def test_words_that_tell_nothing_apart_are_refused(yes: str, no: str) -> None:
    with pytest.raises(DataError):
        YesNoWords(yes, no)


def test_a_column_of_replies_and_one_cut_short() -> None:
    frame = pl.DataFrame(
        {"text": ["Ja", "Nein.", "hm", None], "status": [Status.OK, Status.OK, Status.TRUNCATED, Status.ERROR]}
    )
    parsed = parse_column(frame, "text", words={"": YesNoWords("ja", "nein")})
    assert parsed.rows() == [(0, None), (1, None), (None, "truncated"), (None, "error")]
