"""What simulated respondents write: reproducible, read by the parsers of any model, tilted only by what is planted."""

import json

import numpy as np
import pytest

from facevalue.answers import json_fields, yes_no
from facevalue.models.sim import GIBBERISH, REFUSAL, SimModel
from facevalue.types import Option, Question, Request, Response, Sampling, Status, Stimulus

YES_NO = (Option("", "yes", "yes"), Option("", "no", "no"))
FIELDS = {"Age": ["young", "old"], "Hobby": ["Art", "Chess", "Sport"], "Gender": ["Male", "Female"]}


def request(
    trial: int, options: tuple[Option, ...] = (), asked: dict[str, str | None] | None = None, *, exact: bool = False,
    **shown: str | None,
) -> Request:  # fmt: skip
    key = str(shown.get("image") or trial)
    question = Question("?", options, None, asked or {"scenario": "description"})
    return Request(trial, 0, 1, Stimulus(key, "digest", shown, tuple), question, Sampling(), exact)


def ask(model: str, *requests: Request) -> list[Response]:
    return list(SimModel(model).respond(requests))


def texts(model: str, *requests: Request) -> list[str]:
    return [response.text or "" for response in ask(model, *requests)]


def comparison(trial: int, *, exact: bool = False, **shown: str | None) -> Request:
    return request(trial, YES_NO, {"scenario": "income"}, exact=exact, **shown)


def form(trial: int, **filled: str) -> Request:
    return request(trial, asked={"scenario": "form", "form_fields": json.dumps(FIELDS)}, filled=json.dumps(filled))


def test_texts_depend_on_seed_trial_and_image_and_not_on_batches() -> None:
    requests = [request(t, image=f"i{t % 5}", gender="a") for t in range(40)]
    whole = texts("default", *requests)
    assert whole == [text for one in requests for text in texts("default", one)]
    assert whole != texts("default@3", *requests)
    assert len(set(whole)) > 20


def test_some_texts_are_refused_or_gibberish() -> None:
    said = texts("mumbler", *(request(t, image="i") for t in range(200)))
    assert 60 < said.count(GIBBERISH) < 100
    assert 8 < said.count(REFUSAL) < 40
    assert set(texts("refuser", *(request(t, image="i") for t in range(20)))) == {REFUSAL}


def test_words_are_tilted_by_what_is_planted() -> None:
    def share(model: str, group: str) -> np.ndarray:
        said = texts(model, *(request(t, image=f"{t}", race=group) for t in range(1500)))
        words = ("calm", "cheerful", "serious", "neat", "elegant", "bright", "dark", "hopeful", "difficult")
        return np.array([np.mean([word in text for text in said]) for word in words])

    planted = np.abs(share("strong@1", "a") - share("strong@1", "b")).max()
    nothing = np.abs(share("null@1", "a") - share("null@1", "b")).max()
    assert planted > 0.15 > 0.08 > nothing  # 1,500 texts: a difference of 0.08 has a z of more than 4


def test_keywords_are_one_of_each_list_tilted_by_what_is_planted() -> None:
    lists = [["calm", "rude"], ["neat", "plain", "kind"]]
    asked: dict[str, str | None] = {"scenario": "traits", "keywords": json.dumps(lists)}

    def said(model: str, group: str) -> list[list[str]]:
        found = texts(model, *(request(n, asked=asked, image=f"{n}", race=group) for n in range(1000)))
        return [text.split(", ") for text in found if text not in (REFUSAL, GIBBERISH)]

    def share(model: str, group: str) -> np.ndarray:
        own = said(model, group)
        return np.array([np.mean([word in words for words in own]) for listed in lists for word in listed])

    chosen = said("strong@1", "a")
    assert len(chosen) > 950
    assert all(word in listed for words in chosen for word, listed in zip(words, lists, strict=True))
    assert np.abs(share("strong@1", "a") - share("strong@1", "b")).max() > 0.15
    assert np.abs(share("null@1", "a") - share("null@1", "b")).max() < 0.1


def test_comparisons_are_read_as_yes_or_no() -> None:
    said = texts("null", *(comparison(t, image_1=f"{t}", image_2=f"{t + 1}") for t in range(200)))
    read = [yes_no.parse(text) for text in said if text not in (REFUSAL, GIBBERISH)]
    assert all(one.choice is not None for one in read)
    assert 0 < sum(one.choice == yes_no.YES for one in read) < 100


def test_swapped_people_are_ranked_the_other_way() -> None:
    for number in range(30):
        one, other = f"{number}", f"{number}b"
        (plain,) = ask("default", comparison(0, exact=True, image_1=one, image_2=other))
        (swapped,) = ask("default", comparison(0, exact=True, image_1=other, image_2=one))
        (same,) = ask("default", comparison(0, exact=True, image_1=one, image_2=one))
        assert plain.probs is not None
        assert swapped.probs is not None
        assert same.probs is not None
        assert (plain.probs[0] - same.probs[0]) * (swapped.probs[0] - same.probs[0]) <= 0


def test_comparisons_answer_in_the_order_of_the_options() -> None:
    one = comparison(0, exact=True, image_1="a", image_2="b")
    turned = one._replace(question=Question("?", YES_NO[::-1], None, {"scenario": "income"}))
    (first,), (second,) = ask("null", one), ask("null", turned)
    assert first.probs is not None
    assert second.probs is not None
    # Only the preference for what stands first differs.
    assert (first.probs[0] > first.probs[1]) == (second.probs[1] > second.probs[0])


def test_forms_keep_what_is_filled_in_and_choose_among_the_choices() -> None:
    for text in texts("null", *(form(t, Age="old") for t in range(100))):
        if text in (REFUSAL, GIBBERISH):
            continue
        fields = json_fields.parse(text, {name: [] for name in FIELDS}).fields
        assert fields["Age"].values == ("old",)
        assert fields["Gender"].values[0] in (*FIELDS["Gender"], "to be filled in later")


@pytest.mark.parametrize(("model", "tilted"), [("strong@2", True), ("null@2", False)])
def test_what_is_filled_in_shifts_other_fields_where_that_is_planted(model: str, tilted: bool) -> None:
    def shares(age: str) -> np.ndarray:
        said = texts(model, *(form(t, Age=age) for t in range(800)))
        return np.array([np.mean([f'"{hobby}"' in text for text in said]) for hobby in FIELDS["Hobby"]])

    difference = np.abs(shares("old") - shares("young")).max()
    assert difference > 0.2 if tilted else difference < 0.1


def test_forms_and_texts_have_no_probabilities() -> None:
    (response,) = ask("default", request(0, image="i", exact=True))
    assert response.status is Status.ERROR
