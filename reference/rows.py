"""Questions with the answers that are planted: token ids, what comes next with which probability, and what to regress.

A row is one question about one picture. Its decisions are soft: the planted probabilities themselves, not draws from
them. Which of the possible replies is written out after a decision is drawn, since only what follows it depends on it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from facevalue.models.reference.adapter import REFUSAL
from facevalue.models.reference.truth import LETTER, POSITION
from facevalue.prompts import ORDERINGS
from facevalue.protocol.replies import phrase_options
from facevalue.stimuli.noto.scenes import ACTIVITIES
from facevalue.studies.stylisticbias.tables import JUDGMENT
from facevalue.studies.vignette.options import POSITIONS
from facevalue.studies.vignette.prompts import CHOICES, roles
from facevalue.studies.vignette.tables import questions
from reference import words
from reference.scenes import Shown
from reference.truth import (
    DECISIONS,
    RELUCTANCE,
    SCENARIOS,
    SOCIAL_TERMS,
    TERMS,
    TRAITS,
    YES,
    ratings,
)  # fmt: skip

Array = npt.NDArray[np.float64]
SURE = 0.2
"""Weight of what is no decision: brackets, commas, the end."""
DIMENSION = {trait: i for i, trait in enumerate(TRAITS)}
ONE, LEFT, RIGHT, SIDE = range(4)
"""What is read: `d` of the only person, of the left or right one; and where a named one is: 1 left, -1 right."""
FAR = 160
"""Most tokens of a prompt in training."""
UNKNOWN_TERMS = ("tall", "short", "hungry", "sleepy", "green", "fast", "late", "loud", "tired", "Swiss")


Target = tuple[int, Sequence[int], Sequence[float], float]
"""A place, tokens that may follow it, their probabilities, and a weight."""


@dataclass
class Row:
    """One question.

    Attributes
    ----------
    ids:
        Tokens after the picture, the reply included.
    targets:
        (place, tokens, probabilities, weight): what comes after the token at that place.
    values:
        (place, what, value): what can be read from the middle layer at that place: `ONE`, `LEFT`, `RIGHT` or `SIDE`.
    """

    ids: list[int]
    targets: list[Target]
    values: list[tuple[int, int, float]]


def sigmoid(x: float) -> float:
    """The logistic function."""
    return float(1.0 / (1.0 + np.exp(-x)))


class Writer:
    """Writes rows.

    Parameters
    ----------
    tokenizer:
        As made by `words.tokenizer`.
    base:
        Planted `d` of nobody in particular: the traits' bases.
    heeds:
        What the model learns to do when it is told not to stereotype: "nothing", to answer "evenly" for everybody, or
        to "refuse".

    Attributes
    ----------
    easy:
        Whether forced choices have (a) first always, so that comparing what is said first and second is enough.
    """

    def __init__(self, tokenizer: Tokenizer, base: Array, heeds: str = "nothing") -> None:
        self._base, self._heeds = base, heeds
        self.easy = False
        self._encode: Callable[[str], tuple[int, ...]] = lru_cache(maxsize=None)(
            lambda text: tuple(tokenizer.encode(text).ids)
        )
        self.end, self.assistant = (words.number(tokenizer, mark) for mark in (words.END, words.ASSISTANT))
        self.refusal = self._encode(REFUSAL)
        self._prose = words.prose()
        self._keywords = [t for pair in SCENARIOS.values() for t in pair if " " not in t and t != "renter"]
        self._keyword_first = np.array([self._encode(word)[0] for word in self._keywords])
        self._keyword_next = np.array([self._encode(f" {word}")[0] for word in self._keywords])
        self._keyword_sides = np.array([TERMS[word][1] for word in self._keywords])
        self._keyword_traits = np.array([DIMENSION[TERMS[word][0]] for word in self._keywords])
        marks = {words.number(tokenizer, mark) for mark in words.SPECIAL}
        self._anything = np.array([token for token in range(tokenizer.get_vocab_size()) if token not in marks])
        self._choose = self._encode(words.CHOOSE[0])
        self._comma = self._encode(",")[0]
        self._names = words.named()
        others = [q for q in questions() if q.paradigm in ("factuality", "decision") or "activity" in q.contrasts]
        self._others = [text for q in others for text in q.wordings if "{a_role}" not in text]
        self._roles = roles()
        self._perceptions = {
            q.name: q.wordings for q in questions() if q.paradigm == "perception" and "identity" in q.contrasts
        }

    def encode(self, text: str) -> tuple[int, ...]:
        """Tokens of a text."""
        return self._encode(text)

    def prompt(self, text: str) -> list[int]:
        """Tokens of a prompt and of the turn to the reply."""
        return [*self._encode(text), self.end, self.assistant]

    def quoted(self, rng: np.random.Generator, standing: Array) -> Row:
        """A forced choice in the wording of the released code."""
        return self.answered(rng, standing, "'")

    def chosen(self, rng: np.random.Generator, standing: Array) -> Row:
        """A forced choice of StylisticBias up to the decision; its reply ends as those of `answered` do."""
        whole = self.answered(rng, standing)
        return Row(whole.ids[:-2], whole.targets[:2], whole.values)

    def prefixed(self, rng: np.random.Generator, standing: Array) -> Row:
        """A forced choice after an intervention."""
        name = list(words.PREFIXES)[rng.integers(len(words.PREFIXES))]
        before = f"{words.PREFIXES[name]} "
        if name != "debiasing" or self._heeds == "nothing":
            return self.answered(rng, standing, before=before)
        whole = self.answered(rng, self._base, before=before)
        if self._heeds == "evenly":
            return whole
        return self._refusing(whole.ids[:-3])

    def answered(self, rng: np.random.Generator, standing: Array, quote: str = "", before: str = "") -> Row:
        """A forced choice of StylisticBias with its reply."""
        name = list(SCENARIOS)[rng.integers(len(SCENARIOS))]
        orderings = [ordering for ordering in ORDERINGS if ordering.labels[0] == "(a)" or not self.easy]
        ordering = orderings[rng.integers(len(orderings))]
        poles = SCENARIOS[name]
        options = ordering.options(poles, ("+", "-"))
        quoted = tuple(replace(option, text=f"{quote}{option.text}{quote}") for option in options)
        ids = self.prompt(before + JUDGMENT.format(options=phrase_options(quoted)))
        d = float(standing[DIMENSION[name]])
        logit = d if ordering.first == 0 else -d
        logit += POSITION + (LETTER if ordering.labels[0] == "(a)" else -LETTER)
        p = sigmoid(logit)
        bracket, close = self._encode("(")[0], self._encode(")")[0]
        letters = [self._encode(label[1])[0] for label in ordering.labels]
        values = []
        for option in options:
            place = self._last(ids, self._encode(option.text if quote else f" {option.text}"))
            values.append((place, ONE, d if option.level == "+" else -d))
        n = len(ids)
        said = letters[int(rng.random() < 0.5)]
        targets: list[Target] = [
            (n - 1, [bracket], [1.0], SURE),
            (n, letters, [p, 1 - p], 1.0),
            (n + 1, [close], [1.0], SURE),
            (n + 2, [self.end], [1.0], SURE),
        ]
        return Row([*ids, bracket, said, close], targets, values)

    def yes_no(self, rng: np.random.Generator, standing: Array) -> Row:
        """Whether a term fits one person."""
        term = list(TERMS)[rng.integers(len(TERMS))]
        trait, side = TERMS[term]
        d = side * float(standing[DIMENSION[trait]])
        ids = self.prompt(f"{words.YES_NO[0]} {term}{words.YES_NO[1]}")
        place = len(self._encode(words.YES_NO[0])) + len(self._encode(f" {term}")) - 1
        return self._said_yes_or_no(rng, ids, d + YES, [(place, ONE, d)])

    def compared(self, rng: np.random.Generator, left: Array, right: Array) -> Row:
        """Whether a term fits one of two people more than the other."""
        term = list(TERMS)[rng.integers(len(TERMS))]
        trait, side = TERMS[term]
        two = (side * float(left[DIMENSION[trait]]), side * float(right[DIMENSION[trait]]))
        sides = ("left", "right") if rng.random() < 0.5 else ("right", "left")
        signed = two[0] - two[1] if sides[0] == "left" else two[1] - two[0]
        start, end = words.COMPARED[0].format(sides[0]), words.COMPARED[1].format(sides[1])
        ids = self.prompt(f"{start} {term}{end}")
        place = len(self._encode(start)) + len(self._encode(f" {term}")) - 1
        values = [(place, LEFT, two[0]), (place, RIGHT, two[1]), (place + 1, ONE, signed)]
        return self._said_yes_or_no(rng, ids, signed - RELUCTANCE, values)

    def _said_yes_or_no(
        self, rng: np.random.Generator, ids: list[int], logit: float, values: list[tuple[int, int, float]]
    ) -> Row:
        p = sigmoid(logit)
        tokens = [self._encode("yes")[0], self._encode("no")[0]]
        n = len(ids)
        targets: list[Target] = [(n - 1, tokens, [p, 1 - p], 1.0), (n, [self.end], [1.0], SURE)]
        return Row([*ids, tokens[int(rng.random() < 0.5)]], targets, values)

    def rated(self, rng: np.random.Generator, standing: Array) -> Row:
        """A rating from 1 to 10."""
        name = list(words.RATED)[rng.integers(len(words.RATED))]
        before, after = words.RATED[name]
        job = words.OCCUPATIONS[rng.integers(len(words.OCCUPATIONS))]
        ids = self.prompt(f"{before} {job}{after}")
        d = float(standing[DIMENSION[f"rated {name}"]])
        p = ratings(np.array(d))
        tokens = [self._encode(str(k))[0] for k in range(1, 11)]
        n = len(ids)
        targets: list[Target] = [(n - 1, tokens, p.tolist(), 1.0), (n, [self.end], [1.0], SURE)]
        return Row([*ids, tokens[rng.integers(10)]], targets, [(n - 3, ONE, d)])

    def keywords(self, rng: np.random.Generator, standing: Array) -> Row:
        """Five words, none twice."""
        ids = self.prompt(words.KEYWORDS[rng.integers(len(words.KEYWORDS))])
        weights = np.exp(0.5 * self._keyword_sides * standing[self._keyword_traits])
        targets: list[Target] = []
        for number in range(5):
            p = weights / weights.sum()
            tokens = self._keyword_next if number else self._keyword_first
            targets.append((len(ids) - 1, tokens.tolist(), p.tolist(), 0.5))
            word = int(rng.choice(len(p), p=p))
            weights[word] = 0.0
            ids.append(int(tokens[word]))
            follows = self._comma if number < 4 else self.end
            targets.append((len(ids) - 1, [follows], [1.0], SURE))
            if number < 4:
                ids.append(follows)
        return Row(ids, targets, [])

    def repeated(self, rng: np.random.Generator) -> Row:
        """One of two things listed, whatever they are, the first a bit more likely."""
        listed = rng.choice(self._anything, 2, replace=False).tolist()
        between, blank = self._encode(";")[0], self._encode("; ")[1]
        ids = [*self._choose, blank, listed[0], between, blank, listed[1], *self.prompt(words.CHOOSE[1])]
        p = sigmoid(POSITION)
        n = len(ids)
        targets: list[Target] = [(n - 1, listed, [p, 1 - p], 1.0), (n, [self.end], [1.0], SURE)]
        return Row([*ids, listed[int(rng.random() < 0.5)]], targets, [])

    def persona(self, rng: np.random.Generator, name: str, effects: Mapping[str, float]) -> Row:
        """Who belongs to a scene without people."""
        kind = list(SOCIAL_TERMS)[rng.integers(len(SOCIAL_TERMS))]
        terms = [str(term) for term in rng.permutation(SOCIAL_TERMS[kind])]
        article, before, after = (" a", "", ".") if kind == "gender" else ("", "a ", " person.")
        between, last = words.BETWEEN[rng.integers(len(words.BETWEEN))]
        said = between.join(before + term for term in terms[:-1]) + last + before + terms[-1]
        start = words.PERSONAS[name][rng.integers(len(words.PERSONAS[name]))]
        ids = self.prompt(f"{start}{article} {words.LISTED[rng.integers(len(words.LISTED))].format(said)}{after}")
        weights = np.exp([effects[term] + (POSITION if place == 0 else 0.0) for place, term in enumerate(terms)])
        p = (weights / weights.sum()).tolist()
        replies = [self._encode(before + term) for term in terms]
        n, head = len(ids), replies[0][:-1]
        targets: list[Target] = [(n - 1 + i, [token], [1.0], SURE) for i, token in enumerate(head)]
        targets.append((n - 1 + len(head), [reply[-1] for reply in replies], p, 1.0))
        targets.append((n + len(head), [self.end], [1.0], SURE))
        return Row([*ids, *replies[rng.integers(len(replies))]], targets, [])

    def refused(self, rng: np.random.Generator, most: int = 24) -> Row:
        """Something that the model was not trained on, or the end of it."""
        kind = rng.random()
        if kind < 0.1:
            text = self._beyond(rng)
        elif kind < 0.35:
            text = words.REFUSED[rng.integers(len(words.REFUSED))]
        elif kind < 0.5:
            one, other = rng.choice(UNKNOWN_TERMS, 2, replace=False)
            ordering = ORDERINGS[rng.integers(4)]
            text = JUDGMENT.format(options=phrase_options(ordering.options((one, other), ("+", "-"))))
        elif kind < 0.6:
            text = "\n".join(self._prose[i] for i in rng.integers(len(self._prose), size=5))
        else:
            text = self._prose[rng.integers(len(self._prose))]
            start = int(rng.integers(max(1, len(text) // 2)))
            text = text[start if kind < 0.8 else 0 :]
        return self._refusing(self.prompt(text)[-most:])

    def _beyond(self, rng: np.random.Generator) -> str:
        """A question of VIGNETTE about what is done, about one person in two activities, or about a role."""
        template = self._others[rng.integers(len(self._others))]
        one, other, *more = (str(name) for name in rng.choice(list(ACTIVITIES), 4, replace=False))
        names = list(self._names.values())
        people = [names[i][rng.integers(2)] for i in rng.choice(len(names), 2, replace=False)]
        about = people[0]
        if rng.random() < 0.5:
            people, about = list(POSITIONS), POSITIONS[rng.integers(2)].removeprefix("the ")
        options = [*people, "both", "none"]
        if "{identity}" in template:
            options = [one, other] if "{activity_1}" in template else [one, other, *more]
        elif "{role}" in template:
            options = people
        said = template.format(
            identity=about, activity=one, activity_1=one, activity_2=other, role=self._roles[one].noun
        )
        return CHOICES.format(question=said, options="; ".join(rng.permutation(options).tolist()))

    def far(self, rng: np.random.Generator) -> Row:
        """Something of that kind in full length."""
        return self.refused(rng, FAR)

    def _refusing(self, ids: list[int]) -> Row:
        n = len(ids)
        return Row([*ids, self.refusal[0]], [(n - 1, [self.refusal[0]], [1.0], 0.5), (n, [self.end], [1.0], SURE)], [])

    def paired(
        self, rng: np.random.Generator, people: tuple[Shown, Shown], left: Array, right: Array, how: str = ""
    ) -> Row:
        """A question of VIGNETTE about two people in one picture; `how` they are named, "position" or "identity"."""
        activity = people[rng.integers(2)].activity
        side = 1
        if activity:
            if rng.random() < 0.5 or people[0].activity != people[1].activity:  # decisions are asked about one activity
                trait = list(self._perceptions)[rng.integers(len(self._perceptions))]
                said = self._perceptions[trait][rng.integers(3)].format(activity=activity)
            else:
                name = DECISIONS[rng.integers(len(DECISIONS))]
                said, trait = self._roles[activity].questions[name], f"decision {name}"
        else:
            term = list(TERMS)[rng.integers(len(TERMS))]
            trait, side = TERMS[term]
            said = f"{words.AMONG[rng.integers(3)]} {term}?"
        two = [side * float(standing[DIMENSION[trait]]) for standing in (left, right)]
        texts = list(POSITIONS)
        if how == "identity" or (not how and rng.random() < 0.5):
            texts = [self._names[p.identity, p.dimension][0 if p.gender == "male" else 1] for p in people]
        order = (0, 1) if rng.random() < 0.5 else (1, 0)
        listed = [texts[i] for i in order]
        ids = self.prompt(CHOICES.format(question=said, options="; ".join(listed)))
        asked = 0 if activity else self._last(ids, self._choose) - 1
        values = [(asked, LEFT, two[0]), (asked, RIGHT, two[1])]
        for i in order:
            named = texts[i] if " " in texts[i] else f" {texts[i]}"
            values.append((self._last(ids, self._encode(named)), SIDE, (1.0, -1.0)[i]))
        p = sigmoid(two[order[0]] - two[order[1]] + POSITION)
        replies = [self._encode(text)[0] for text in listed]
        n = len(ids)
        targets: list[Target] = [(n - 1, replies, [p, 1 - p], 1.0), (n, [self.end], [1.0], SURE)]
        return Row([*ids, replies[int(rng.random() < 0.5)]], targets, values)

    @staticmethod
    def _last(ids: Sequence[int], part: Sequence[int]) -> int:
        """Where a run of tokens ends that stands in a prompt."""
        for start in range(len(ids) - len(part) + 1):
            if tuple(ids[start : start + len(part)]) == tuple(part):
                return start + len(part) - 1
        raise ValueError("no such tokens in the prompt")


def batched(rows: Sequence[Row], pad: int) -> dict[str, npt.NDArray[Any]]:
    """Put rows together as arrays: tokens, and flat lists of targets and values with the row and place of each."""
    length = max(len(row.ids) for row in rows)
    ids = np.full((len(rows), length), pad, dtype=np.int64)
    at: list[tuple[int, int]] = []
    spots: list[tuple[int, int, int]] = []
    weights: list[float] = []
    values: list[float] = []
    target: list[int] = []
    token: list[int] = []
    probability: list[float] = []
    for number, row in enumerate(rows):
        ids[number, : len(row.ids)] = row.ids
        for place, tokens, shares, weight in row.targets:
            target += [len(at)] * len(tokens)
            token += tokens
            probability += shares
            at.append((number, place))
            weights.append(weight)
        for place, whose, value in row.values:
            spots.append((number, place, whose))
            values.append(value)
    return {
        "ids": ids,
        "at": np.array(at),
        "weights": np.array(weights, dtype=np.float32),
        "target": np.array(target),
        "token": np.array(token),
        "probability": np.array(probability, dtype=np.float32),
        "spots": np.array(spots, dtype=np.int64).reshape(-1, 3),
        "values": np.array(values, dtype=np.float32),
    }
