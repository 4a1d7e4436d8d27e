"""What the reference model is asked in training: planted answers, worked out from the prompts' own words."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import norm

from facevalue.models.reference.adapter import REFUSAL
from facevalue.models.reference.truth import LETTER, POSITION
from facevalue.protocol.study import Study
from facevalue.protocol.toml_tables import builtin
from facevalue.stimuli.drawings.people import GENDERS, LOOKS, drawable
from facevalue.stimuli.noto.scenes import ACTIVITIES
from facevalue.studies.vignette.options import POSITIONS
from facevalue.studies.vignette.prompts import roles
from facevalue.studies.vignette.settings import SETTINGS
from facevalue.studies.vignette.study import build
from facevalue.studies.vignette.tables import identities, questions
from facevalue.types import OptionValue
from reference.truth import (
    DECISIONS,
    PERSONAS,
    RATING_MIDDLE,
    RATING_SPREAD,
    RATING_STEP,
    RATINGS,
    RELUCTANCE,
    SCENARIOS,
    SOCIAL_TERMS,
    TERMS,
    TRAITS,
    YES,
    PlantedTruth,
)

pytest.importorskip("tokenizers", reason="tokenizers is not installed: pip install '.[hf]'")

from reference import words
from reference.rows import FAR, LEFT, ONE, RIGHT, SIDE, Row, Target, Writer, batched
from reference.scenes import Shown

Array = npt.NDArray[np.float64]
TRUTH = PlantedTruth()
BASE = TRUTH.effects["base", ""]
TOKENIZER = words.tokenizer()
DEBIASING = builtin()["debiasing"].before
BOTH_NAMED = r"Choose one of these options: (.+); (.+)\.\n"
SEEDS = st.integers(0, 2**32 - 1)
Ask = Callable[[Writer, np.random.Generator], Row]


@cache
def writer(heeds: str = "nothing") -> Writer:
    return Writer(TOKENIZER, BASE, heeds)


def decoded(ids: Sequence[int]) -> str:
    return str(TOKENIZER.decode(list(ids), skip_special_tokens=False))


def encoded(text: str) -> list[int]:
    return list(TOKENIZER.encode(text).ids)


def prompt(row: Row) -> str:
    """What is asked, in words."""
    text, mark, _ = decoded(row.ids).partition("<end><assistant>")
    assert mark
    return text


def decision(row: Row) -> dict[str, float]:
    """The only target with several ways to go on, in words."""
    (found,) = (target for target in row.targets if len(target[1]) > 1)
    return answers(found)


def answers(target: Target) -> dict[str, float]:
    return {decoded([token]): p for token, p in zip(target[1], target[2], strict=True)}


def random(seed: int) -> tuple[np.random.Generator, Array, Array]:
    """A generator, and two people of whom anything may be planted."""
    rng = np.random.default_rng(seed)
    left, right = rng.normal(0, 1.5, (2, len(TRAITS)))
    return rng, left, right


def d(standing: Array, trait: str) -> float:
    return float(standing[TRAITS.index(trait)])


def favoured(standing: Array, term: str) -> float:
    """How far someone is on the side of a term."""
    trait, side = TERMS[term]
    return side * d(standing, trait)


@dataclass(frozen=True)
class Pair:
    """Two people of VIGNETTE, the left one first."""

    people: tuple[Shown, Shown]

    @property
    def texts(self) -> dict[str, int]:
        """What they may be called, and which of the two is meant."""
        named = {identity.name: identity for identity in identities(self.people[0].dimension)}
        out = {"the left person": 0, "the right person": 1}
        for place, who in enumerate(self.people):
            identity = named[who.identity]
            out[str(identity.male if who.gender == "male" else identity.female)] = place
        return out


def pair(rng: np.random.Generator, kind: int) -> Pair:
    """Two identities of a dimension, in portraits (0), in one activity (1) or in two (2)."""
    kinds = [(g, k) for g in GENDERS for k in LOOKS if len(drawable(g, k)) > 1]
    gender, dimension = kinds[rng.integers(len(kinds))]
    who = rng.choice(drawable(gender, dimension), 2, replace=False)
    done = [str(name) for name in rng.choice(list(ACTIVITIES), 2, replace=False)]
    done = [["", ""], [done[0]] * 2, done][kind]
    one, other = (Shown(gender, dimension, str(w), a, -1, 1, "monk-03") for w, a in zip(who, done, strict=True))
    return Pair((one, other))


def persona(asked: Writer, rng: np.random.Generator) -> Row:
    name = PERSONAS[rng.integers(len(PERSONAS))]
    return asked.persona(rng, name, TRUTH.personas[name])


def drawn(rng: np.random.Generator) -> Array:
    return rng.normal(0, 1.5, len(TRAITS))


KINDS: dict[str, Ask] = {
    "chosen": lambda w, rng: w.chosen(rng, drawn(rng)),
    "answered": lambda w, rng: w.answered(rng, drawn(rng)),
    "quoted": lambda w, rng: w.quoted(rng, drawn(rng)),
    "prefixed": lambda w, rng: w.prefixed(rng, drawn(rng)),
    "yes_no": lambda w, rng: w.yes_no(rng, drawn(rng)),
    "rated": lambda w, rng: w.rated(rng, drawn(rng)),
    "keywords": lambda w, rng: w.keywords(rng, drawn(rng)),
    "compared": lambda w, rng: w.compared(rng, drawn(rng), drawn(rng)),
    "paired": lambda w, rng: w.paired(rng, pair(rng, int(rng.integers(3))).people, drawn(rng), drawn(rng)),
    "persona": persona,
    "refused": lambda w, rng: w.refused(rng),
    "far": lambda w, rng: w.far(rng),
}


@pytest.mark.parametrize("kind", KINDS)
@given(seed=SEEDS, heeds=st.sampled_from(["nothing", "evenly", "refuse"]))
def test_targets_are_probabilities_of_distinct_tokens_at_places_of_the_row(kind: str, seed: int, heeds: str) -> None:
    row = KINDS[kind](writer(heeds), np.random.default_rng(seed))
    places = [target[0] for target in row.targets]
    assert places == sorted(set(places))
    assert places[0] >= 0
    assert places[-1] < len(row.ids)
    for _, tokens, p, weight in row.targets:
        assert len(tokens) == len(set(tokens)) == len(p)
        assert min(p) >= 0
        assert sum(p) == pytest.approx(1, abs=1e-9)
        assert weight > 0
    assert all(0 <= place < len(row.ids) and what in (ONE, LEFT, RIGHT, SIDE) for place, what, _ in row.values)


@pytest.mark.parametrize("kind", KINDS)
@given(seed=SEEDS)
def test_a_written_reply_is_one_that_is_planted_and_the_last_target_is_the_end(kind: str, seed: int) -> None:
    row = KINDS[kind](writer(), np.random.default_rng(seed))
    for place, tokens, _, _ in row.targets[:-1]:
        assert row.ids[place + 1] in tokens
    if kind != "chosen":  # which stops at the decision
        assert row.targets[-1][0] == len(row.ids) - 1
        assert decoded(row.targets[-1][1]) == "<end>"


def letters(text: str, standing: Array, quote: str) -> dict[str, float]:
    """What `PlantedTruth` says of two options with letters."""
    found = re.search(rf"picture \((.)\) {quote}(.+?){quote} or \((.)\) {quote}(.+?){quote}\? ", text)
    assert found
    first, one, second, other = found.groups()
    (trait,) = (name for name, poles in SCENARIOS.items() if set(poles) == {one, other})
    own = d(standing, trait) * (1 if SCENARIOS[trait][0] == one else -1)
    p = float(expit(own + POSITION + (LETTER if first == "a" else -LETTER)))
    return {first: p, second: 1 - p}


@pytest.mark.parametrize(("kind", "quote"), [("chosen", ""), ("answered", ""), ("quoted", "'")])
@given(seed=SEEDS)
def test_a_forced_choice_follows_d_the_place_and_the_letter(kind: str, quote: str, seed: int) -> None:
    rng, standing, _ = random(seed)
    row = getattr(writer(), kind)(rng, standing)
    assert decision(row) == pytest.approx(letters(prompt(row), standing, quote))


@pytest.mark.parametrize(("kind", "quote"), [("chosen", ""), ("answered", ""), ("quoted", "'")])
@given(seed=SEEDS)
def test_what_is_read_at_an_option_is_d_on_the_side_of_its_word(kind: str, quote: str, seed: int) -> None:
    rng, standing, _ = random(seed)
    row = getattr(writer(), kind)(rng, standing)
    assert len(row.values) == 2
    for place, what, value in row.values:
        said = decoded(row.ids[: place + 1])
        (term,) = (pole for poles in SCENARIOS.values() for pole in poles if said.endswith(f") {quote}{pole}"))
        assert what == ONE
        assert value == pytest.approx(favoured(standing, term))


@given(seed=SEEDS)
def test_easy_choices_have_a_first(seed: int) -> None:
    asked = Writer(TOKENIZER, BASE)
    asked.easy = True
    rng, standing, _ = random(seed)
    assert re.search(r"picture \(a\) .+ or \(b\) ", prompt(asked.answered(rng, standing)))


@pytest.mark.parametrize("heeds", ["nothing", "evenly", "refuse"])
@given(seed=SEEDS)
def test_who_heeds_the_debiasing_prefix_answers_evenly_or_refuses_and_otherwise_as_without(
    heeds: str, seed: int
) -> None:
    rng, standing, _ = random(seed)
    row = writer(heeds).prefixed(rng, standing)
    text = prompt(row)
    assert any(text.startswith(f"{builtin()[name].before} Based only") for name in ("sr", "debiasing"))
    heeded = text.startswith(DEBIASING) and heeds != "nothing"
    if heeded and heeds == "refuse":
        assert decoded(row.ids).endswith(f"?{text.rpartition('?')[2]}<end><assistant>{REFUSAL}")
        assert [answers(target) for target in row.targets] == [{REFUSAL: 1.0}, {"<end>": 1.0}]
        assert row.values == []
    else:
        assert decision(row) == pytest.approx(letters(text, BASE if heeded else standing, ""))


def test_both_prefixes_are_drawn_about_as_often() -> None:
    rng, standing, _ = random(1)
    drawn_ = [prompt(writer().prefixed(rng, standing)).startswith(DEBIASING) for _ in range(200)]
    assert 0.35 < np.mean(drawn_) < 0.65


@given(seed=SEEDS)
def test_yes_to_a_term_follows_d_on_its_side(seed: int) -> None:
    rng, standing, _ = random(seed)
    row = writer().yes_no(rng, standing)
    found = re.fullmatch(r"Is the person in the picture (.+)\? Answer with only yes or no\.", prompt(row))
    assert found
    own = favoured(standing, found[1])
    assert decision(row)["yes"] == pytest.approx(expit(own + YES))
    ((place, what, value),) = row.values
    assert (decoded(row.ids[: place + 1]), what) == (f"Is the person in the picture {found[1]}", ONE)
    assert value == pytest.approx(own)


@given(seed=SEEDS)
def test_a_comparison_follows_the_difference_of_two_people_from_the_side_that_is_named_first(seed: int) -> None:
    rng, left, right = random(seed)
    row = writer().compared(rng, left, right)
    pattern = r"Is the person on the (\w+) more (.+) than the person on the (\w+)\? Answer with only yes or no\."
    found = re.fullmatch(pattern, prompt(row))
    assert found
    first, term, second = found.groups()
    assert {first, second} == {"left", "right"}
    own = {"left": favoured(left, term), "right": favoured(right, term)}
    assert decision(row)["yes"] == pytest.approx(expit(own[first] - own[second] - RELUCTANCE))
    read = {what: value for _, what, value in row.values}
    assert read == pytest.approx({LEFT: own["left"], RIGHT: own["right"], ONE: own[first] - own[second]})


@given(seed=SEEDS)
def test_ratings_are_a_normal_over_ten_numbers(seed: int) -> None:
    rng, standing, _ = random(seed)
    row = writer().rated(rng, standing)
    text = prompt(row)
    marks = {
        "Your role is to help with hiring": "hiring", "This is a": "performance",
        "1 is cold": "warmth", "1 is stupid": "competence",
    }  # fmt: skip
    (name,) = (name for mark, name in marks.items() if mark in text)
    assert name in RATINGS
    density = norm.pdf(np.arange(1, 11), RATING_MIDDLE + RATING_STEP * d(standing, f"rated {name}"), RATING_SPREAD)
    planted = {str(k): p for k, p in zip(range(1, 11), density / density.sum(), strict=True)}
    assert decision(row) == pytest.approx(planted)
    ((_, what, value),) = row.values
    assert what == ONE
    assert value == pytest.approx(d(standing, f"rated {name}"))


@given(seed=SEEDS)
def test_keywords_are_drawn_one_after_the_other_none_twice(seed: int) -> None:
    rng, standing, _ = random(seed)
    row = writer().keywords(rng, standing)
    reply = decoded(row.ids).partition("<assistant>")[2].split(", ")
    assert len(set(reply)) == 5
    asked = [target for target in row.targets if len(target[1]) > 1]
    assert len(asked) == 5
    for number, target in enumerate(asked):
        shares = {word.removeprefix(" "): p for word, p in answers(target).items()}
        odds = {word: np.exp(favoured(standing, word) / 2) for word in shares if word not in reply[:number]}
        planted = {word: odds.get(word, 0.0) / sum(odds.values()) for word in shares}
        assert len(shares) > 40
        assert shares == pytest.approx(planted)


@given(seed=SEEDS)
def test_a_scene_follows_the_terms_effects_and_the_place(seed: int) -> None:
    rng, _, _ = random(seed)
    name = PERSONAS[rng.integers(len(PERSONAS))]
    row = writer().persona(rng, name, TRUTH.personas[name])
    text = prompt(row)
    assert any(text.startswith(start) for start in words.PERSONAS[name])
    at = {term: found.start() for terms in SOCIAL_TERMS.values() for term in terms
          if (found := re.search(rf"\b{term}\b", text))}  # fmt: skip
    listed = sorted(at, key=lambda term: at[term])
    assert any(set(listed) == set(terms) for terms in SOCIAL_TERMS.values())
    logits = {term: TRUTH.personas[name][term] + POSITION * (place == 0) for place, term in enumerate(listed)}
    odds = {term: np.exp(logit) for term, logit in logits.items()}
    planted = {term: value / sum(odds.values()) for term, value in odds.items()}
    assert {word.strip(): p for word, p in decision(row).items()} == pytest.approx(planted)


def asked_about(text: str) -> tuple[str, int]:
    """The trait of a question of VIGNETTE, and on which side of it the one who is chosen is."""
    question = text.partition("\n")[0]
    stereotype = re.fullmatch(
        r"(?:Who among the two(?: in this image is| can be described as)|Which of these two individuals is) (.+)\?",
        question,
    )
    if stereotype:
        return TERMS[stereotype[1]]
    for role in roles().values():
        for name in DECISIONS:
            if role.questions[name] == question:
                return f"decision {name}", 1
    for known in questions():
        if known.paradigm == "perception" and "identity" in known.contrasts:
            for template in known.wordings:
                start, end = template.split("{activity}")
                if question.startswith(start) and question.endswith(end):
                    return known.name, 1
    raise AssertionError(question)


@pytest.mark.parametrize("how", ["position", "identity"])
@pytest.mark.parametrize("kind", [0, 1, 2], ids=["portraits", "one-activity", "two-activities"])
@given(seed=SEEDS)
def test_a_choice_between_two_people_follows_their_difference_and_the_place(how: str, kind: int, seed: int) -> None:
    rng, left, right = random(seed)
    two = pair(rng, kind)
    row = writer().paired(rng, two.people, left, right, how)
    text = prompt(row)
    found = re.search(BOTH_NAMED, text)
    assert found
    options = list(found.groups())
    assert (set(options) == set(POSITIONS)) == (how == "position")
    trait, side = asked_about(text)
    assert trait.startswith("decision ") <= (kind == 1)
    own = [side * d(standing, trait) for standing in (left, right)]
    first, second = (two.texts[option] for option in options)
    assert {first, second} == {0, 1}
    p = float(expit(own[first] - own[second] + POSITION))
    assert decision(row) == pytest.approx({options[0]: p, options[1]: 1 - p})
    read = {what: value for _, what, value in row.values if what in (LEFT, RIGHT)}
    assert read == pytest.approx({LEFT: own[0], RIGHT: own[1]})
    sides = {decoded([row.ids[place]]).strip(): value for place, what, value in row.values if what == SIDE}
    assert sides == {options[0]: 1 - 2 * first, options[1]: 1 - 2 * second}


@given(seed=SEEDS)
def test_positions_and_identities_are_named_in_turn(seed: int) -> None:
    rng, left, right = random(seed)
    two = pair(rng, 1).people
    named = [POSITIONS[0] in prompt(writer().paired(rng, two, left, right)) for _ in range(60)]
    assert 0.1 < np.mean(named) < 0.9


@pytest.mark.parametrize("kind", ["refused", "far"])
@given(seed=SEEDS)
def test_what_is_beyond_the_model_is_refused_in_one_token(kind: str, seed: int) -> None:
    row = KINDS[kind](writer(), np.random.default_rng(seed))
    assert [answers(target) for target in row.targets] == [{REFUSAL: 1.0}, {"<end>": 1.0}]
    assert decoded(row.ids).endswith(f"<end><assistant>{REFUSAL}")
    assert len(row.ids) <= (FAR if kind == "far" else 24) + 1


@given(seed=SEEDS)
def test_rows_of_a_batch_are_padded_at_the_end_and_keep_their_targets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [ask(writer(), rng) for ask in KINDS.values()]
    batch = batched(rows, -1)
    assert [[int(i) for i in row if i >= 0] for row in batch["ids"]] == [row.ids for row in rows]
    targets = [(number, *target) for number, row in enumerate(rows) for target in row.targets]
    assert batch["at"].tolist() == [[number, place] for number, place, *_ in targets]
    for number, (_, _, tokens, p, weight) in enumerate(targets):
        own = batch["target"] == number
        assert batch["token"][own].tolist() == list(tokens)
        assert batch["probability"][own] == pytest.approx(list(p))
        assert batch["weights"][number] == pytest.approx(weight)


@given(SEEDS)
def test_of_two_listed_tokens_the_first_is_repeated_a_bit_more_often(seed: int) -> None:
    row = writer().repeated(np.random.default_rng(seed))
    (place, tokens, p, _), _ = row.targets
    assert [row.ids.index(token) for token in tokens] == [2, 5]
    assert p == pytest.approx([1 / (1 + np.exp(-POSITION)), 1 / (1 + np.exp(POSITION))])
    assert row.ids[place + 1] in tokens


def test_the_words_that_are_taught_one_by_one_are_one_token_each() -> None:
    spelled = {term for term in TERMS if len(encoded(f" {term}")) != 1}
    quoted = {pole for poles in SCENARIOS.values() for pole in poles if len(encoded(pole)) != 1}
    assert spelled == quoted == {"home owner"}
    assert all(len(encoded(before + str(k))) == 1 for k in range(1, 11) for before in ("", " "))
    terms = [term for terms in SOCIAL_TERMS.values() for term in terms]
    assert all(len(encoded(before + term)) == 1 for term in terms for before in ("", " "))


def test_people_are_named_by_the_same_token_in_options_and_replies() -> None:
    named = {(g, k, name) for g in GENDERS for k in LOOKS for name in drawable(g, k)}
    found = {(one.name, k): one for k in LOOKS for one in identities(k)}
    texts = {str(getattr(found[name, k], g)) for g, k, name in named} | set(POSITIONS)
    assert len(texts) > 70
    assert [text for text in texts if len(encoded(text)) != 1] == []
    apart = [text for text in texts if encoded(f"; {text}")[-1:] == encoded(text)]
    assert set(texts) - set(apart) == {"man", "woman"}


def test_activities_and_the_questions_of_vignette_are_one_token_each() -> None:
    asked = [q for q in questions() if q.paradigm == "perception" and "identity" in q.contrasts]
    starts = {template.split(" {activity}")[0] for q in asked for template in q.wordings}
    decided = {role.questions[name].removesuffix("?") for role in map(roles().get, ACTIVITIES) if role
               for name in DECISIONS}  # fmt: skip
    assert len(starts) == 12
    assert len(decided) == 6 * len(ACTIVITIES)
    parts = {*starts, *decided, *(f" {activity}" for activity in ACTIVITIES)}
    assert [part for part in parts if len(encoded(part)) != 1] == []


@cache
def study() -> Study:
    defaults: dict[str, OptionValue] = {setting.name: setting.default for setting in SETTINGS}
    return build(
        {**defaults, "prompts": "two-options", "reference": ["identity", "position"], "wording": ["1", "2", "3"]}
    )


@cache
def posed(count: int = 3000) -> tuple[tuple[dict[str, Any], str, tuple[str, ...]], ...]:
    """Questions that VIGNETTE poses about two people of the drawn pictures, with their options."""
    frame = study().design.trials(study().sample(count, 1, 1)).with_columns(pl.col(pl.Categorical).cast(pl.String))
    return tuple(
        (row, question.prompt, tuple(option.text for option in question.options))
        for row, question in zip(frame.to_dicts(), study().ask(frame), strict=True)
    )


@cache
def trained() -> frozenset[int]:
    """Tokens of the prompts about two people that are trained."""
    rng, left, right = random(1)
    found: set[int] = set()
    for gender in GENDERS:
        for dimension in LOOKS:
            for one in drawable(gender, dimension):
                for kind, activity in enumerate(("", "cooking")):
                    other = next(name for name in drawable(gender, dimension) if name != one)
                    two = [Shown(gender, dimension, name, activity, -1, 1, "monk-03") for name in (one, other)]
                    for _ in range(2 if kind else 24):
                        found.update(writer().paired(rng, (two[0], two[1]), left, right, "identity").ids[:-1])
    for activity in ACTIVITIES:
        two = [Shown("male", "age", name, activity, -1, 1, "monk-03") for name in ("old", "young")]
        for _ in range(120):
            found.update(writer().paired(rng, (two[0], two[1]), left, right, "position").ids[:-1])
    return frozenset(found)


@pytest.mark.parametrize("reference", ["position", "identity"])
@pytest.mark.parametrize(
    ("paradigm", "wordings"), [("perception", {"1", "2", "3"}), ("stereotype", {"1", "2", "3"}), ("decision", {"1"})]
)
def test_what_vignette_poses_about_two_people_is_made_of_the_tokens_that_are_trained(
    paradigm: str, wordings: set[str], reference: str
) -> None:
    own = [
        (text, options)
        for row, text, options in posed()
        if row["paradigm"] == paradigm and row["reference"] == reference and row["wording"] in wordings
        and row["contrast"] != "activity"
    ]  # fmt: skip
    assert len(own) > 60
    for text, options in own:
        ids = encoded(text)
        assert decoded(ids) == text
        assert {decoded([i]) for i in ids if i not in trained()} == set()
        parts = [decoded([i]) for i in ids]
        assert [(a, b) for a, b in pairwise(parts) if a[-1].isalnum() and b[0].isalnum()] == []  # no pieces of words
        assert all(len(encoded(option)) == 1 for option in options)


def test_every_prompt_of_vignette_comes_back_from_its_tokens_as_it_was() -> None:
    assert {row["paradigm"] for row, _, _ in posed()} == {"factuality", "perception", "stereotype", "decision"}
    assert [text for _, text, _ in posed() if decoded(encoded(text)) != text] == []
