"""Texts and preferences of simulated respondents: descriptions, forms, comparisons of two people in one picture.

What is tilted is drawn at random, as all that is planted: a word or a value that goes with a group says nothing about
anybody. Where nothing is planted, only chance makes texts of groups differ.

A preference belongs to an identity, whichever half of the picture it is in and whichever option it is, so that what is
planted can be found again by the share of choices that each identity gets.
"""

import json
from collections.abc import Callable, Hashable, ItemsView, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from facevalue.types import Request

Array = npt.NDArray[np.float64]
Draw = Callable[..., float]
"""From a key to a standard normal draw, or to a uniform one."""

PAIR = ("1", "2")
FOUR = (*PAIR, "both", "none")
RIGHT = "right"
ABSTAIN = 1.5
"""By how much both, and none, weigh less than the mean of the two people: one in six answers where they are equal."""


class Preferences:
    """Planted preferences for identities and activities; see `sim.Planted` for their sizes.

    Half of what differs between picture pairs (`image`) is common to all questions about a pair.
    """

    def __init__(self, effect: float, none: float, image: float, knowledge: float, normal: Draw, uniform: Draw) -> None:
        self._effect = effect
        self._none = none
        self._image = image
        self._knowledge = knowledge
        self._normal = normal
        self._uniform = uniform
        self._known: dict[tuple[str, ...], float] = {}

    def preference(self, group: str, level: str, scenario: str, activity: str) -> float:
        """Preference for a level in a scenario; half of it is the same whatever the activity."""
        key = (group, level, scenario, activity)
        if key not in self._known:
            if self._effect == 0 or self._uniform("pair none", group, level) < self._none:
                self._known[key] = 0.0
            else:
                common = self._normal("pair", group, level, scenario)
                level_effect = self._normal("pair own", group, level, scenario, activity)
                self._known[key] = self._effect * (common + level_effect) / np.sqrt(2.0)
        return self._known[key]

    def utilities(self, requests: Sequence[Request], levels: tuple[str, ...]) -> Array:
        """Utilities of the options, in the order in which each question lists them; shape (requests, options)."""
        if levels in (PAIR, FOUR):
            first = np.array([self._option_preference(request) for request in requests])
            nobody = [first / 2 - ABSTAIN] * (len(levels) - len(PAIR))
            by_level = np.stack([first, np.zeros_like(first), *nobody], axis=1)
        else:
            by_level = np.zeros((len(requests), len(levels)))
            by_level[:, levels.index(RIGHT)] = [
                self._knowledge + self._recognition_preference(request) for request in requests
            ]
        order = np.array([[levels.index(option.level) for option in r.question.options] for r in requests])
        return np.take_along_axis(by_level, order, axis=1)

    def _option_preference(self, request: Request) -> float:
        """Degree to which option 1 is preferred to option 2."""
        pictured, prompted = request.stimulus.factors, request.question.factors
        scenario, activity = prompted.get("scenario") or "", prompted.get("activity") or ""
        out = 0.0
        if pictured.get("identity_1") is not None:
            group = pictured.get("dimension") or ""
            first, second = (str(pictured[f"identity_{i}"]) for i in PAIR)
            out += self.preference(group, first, scenario, activity) - self.preference(
                group, second, scenario, activity
            )
        elif pictured.get("activity_1") is not None:
            first, second = (str(pictured[f"activity_{i}"]) for i in PAIR)
            out += self.preference("activity", first, scenario, "") - self.preference("activity", second, scenario, "")
        if self._image and pictured.get("shown") != "text":
            key = request.stimulus.key
            noise = self._normal("pair image", key) + self._normal("pair image", key, scenario)
            out += self._image * noise / np.sqrt(2.0)
        return out

    def _recognition_preference(self, request: Request) -> float:
        facts: Mapping[str, str | None] = request.question.factors
        dimension = request.stimulus.factors.get("dimension") or ""
        return self.preference(dimension, facts.get("identity") or "", "recognised", facts.get("activity") or "")


def is_pair(levels: tuple[str, ...]) -> bool:
    """Return whether options are those of a question about two people, or have a right answer."""
    return levels in (PAIR, FOUR) or RIGHT in levels


Codes = npt.NDArray[np.int64]
Utilities = Callable[[Sequence[Mapping[str, str | None]], Sequence[str], Sequence[str]], Array]
"""From factors, scenarios and options to utilities, of shape (factors, scenarios, options)."""
Uniforms = Callable[[Codes, Codes, int], Array]
"""From trials, repeats and the number of a stream to uniform draws."""
_Key = TypeVar("_Key", bound=Hashable)

YES_NO = ("no", "yes")
FIELDS = "form_fields"
"""Factor of a question that lists the fields of a form with their choices, as JSON."""
ABOUT = "asked_about"
"""Factor of a comparison that says which of two people it is about, "1" or "2"; the first if there is none."""
FILLED = "filled"
"""Factor of a stimulus that says what is filled in already, as JSON."""
RELUCTANCE = 2.0
"""How much more two people must differ, on the logit scale, for one to be said to be more than the other."""

ASSOCIATION = 2.0
"""How much more what is filled in shifts other fields than a person's looks shift an answer."""

KEYWORDS = "keywords"
"""Factor of a question that lists lists of words to choose one of each from, as JSON."""
STATED = "stated"
"""Factor of a question that lists numbers and choices to state, by field, as JSON; the field "" is the whole reply."""
LISTED = "listed"
"""Factor of a question that lists what to name, as JSON: options (none: words of the descriptions), least and most."""
_STATED_STREAM, _LISTED_STREAM = 160, 320
SHARE_LISTED = 0.3
"""Of the options that a list names where nothing is planted."""
_SCALE = 0.08  # of a number's range: by how much one unit on the logit scale moves it

_STREAM = 16  # first of the streams of draws for texts; others stand below
SENTENCES = (
    ("A {} person stands in the middle of the picture.", ("calm", "cheerful", "serious", "friendly", "confident")),
    ("The expression is {}, and the eyes look at the camera.", ("warm", "thoughtful", "determined", "gentle", "tense")),
    ("The clothes look {} and fit the place.", ("neat", "simple", "elegant", "practical", "colourful")),
    ("The posture seems {}.", ("relaxed", "proud", "upright", "careful", "strong")),
    ("Behind the person there is a {} room.", ("bright", "busy", "modern", "quiet", "dark")),
    ("The whole scene has a {} mood.", ("professional", "peaceful", "lively", "difficult", "hopeful")),
)
"""Sentences of descriptions, each with a word to choose."""
_WORDS = len(SENTENCES[0][1])
_YES = ('{{"answer": "{}"}}', "{}.", '```json\n{{"answer": "{}"}}\n```', "{}, as far as the picture shows.")
_OPEN = "to be filled in later"


class Writer:
    """Writer of comparisons, descriptions and forms. `uniforms` are draws that depend on trial and repeat alone."""

    def __init__(self, utilities: Utilities, uniforms: Uniforms) -> None:
        self._utilities = utilities
        self._uniforms = uniforms
        self._form = lru_cache(maxsize=8)(_fields)

    def leaning(self, requests: Sequence[Request]) -> Array:
        """Utilities of the answers to comparisons, (requests, 2), in the order in which each question lists them.

        Each of two people has a standing of their own in what is asked. The one who is asked about is shown first; the
        question's factor `asked_about` says whether that is the one whose factors end in `_1` or in `_2`.
        """
        scenarios = list(dict.fromkeys(scenario_of(request) for request in requests))
        people = [
            _person(request.stimulus.factors, side)
            for request in requests
            for side in (("2", "1") if request.question.factors.get(ABOUT) == "2" else ("1", "2"))
        ]
        standing = self._utilities(people, scenarios, ("more",))[:, :, 0].reshape(len(requests), 2, len(scenarios))
        numbers = [scenarios.index(scenario_of(request)) for request in requests]
        merits = standing[np.arange(len(requests)), :, numbers]
        by_level = np.stack([np.full(len(requests), RELUCTANCE), 2 * (merits[:, 0] - merits[:, 1])], axis=1)
        order = np.array([[YES_NO.index(option.level) for option in r.question.options] for r in requests])
        return np.take_along_axis(by_level, order, axis=1)

    def phrase_answer(self, answer: str, style: int) -> str:
        """Answer to a comparison, written in one of several ways."""
        return _YES[style % len(_YES)].format(answer)

    def descriptions(self, requests: Sequence[Request]) -> list[str]:
        """Describe what is shown: each sentence has a word that is chosen by what is planted, and some are left out."""
        words = self._words(requests, [(f"sentence {at}", listed) for at, (_, listed) in enumerate(SENTENCES)]).tolist()
        trial, repeat = _numbers(requests)
        is_written = np.stack(
            [self._uniforms(trial, repeat, _STREAM + _WORDS + 1 + i) < 0.8 for i in range(len(SENTENCES))], axis=1
        ).tolist()
        out = []
        for chosen, row_words in zip(words, is_written, strict=True):
            sentences = [
                template.format(listed[word])
                for (template, listed), word, keep in zip(SENTENCES, chosen, [True, *row_words[1:]], strict=True)
                if keep
            ]
            out.append(" ".join(sentences))
        return out

    def keywords(self, requests: Sequence[Request]) -> list[str]:
        """Name keywords, one of each list, chosen by what is planted."""
        out = [""] * len(requests)
        for (text, scenario), rows in _group_requests(
            requests, lambda r: (r.question.factors[KEYWORDS] or "[]", scenario_of(r))
        ):
            lists: list[list[str]] = json.loads(text)
            chosen = self._words(
                [requests[at] for at in rows], [(f"{scenario} {number}", words) for number, words in enumerate(lists)]
            )
            for at, words_of_row in zip(rows, chosen.tolist(), strict=True):
                out[at] = ", ".join(words[word] for words, word in zip(lists, words_of_row, strict=True))
        return out

    def forms(self, requests: Sequence[Request]) -> list[str]:
        """Complete forms: what is filled in stays, and shifts what is put in the other fields."""
        out = [""] * len(requests)
        for form, rows in _group_requests(requests, lambda r: r.question.factors.get(FIELDS) or "{}"):
            group = [requests[at] for at in rows]
            trial, repeat = _numbers(group)
            values: list[dict[str, str]] = [json.loads(r.stimulus.factors.get(FILLED) or "{}") for r in group]
            planted = [{**before, "image": r.stimulus.key} for before, r in zip(values, group, strict=True)]
            fields = self._form(form)
            for number, (field, choices) in enumerate(fields.items()):
                utilities = ASSOCIATION * self._utilities(planted, [field], choices)[:, 0]
                levels = self._draw_options(utilities, trial, repeat, _STREAM + number).tolist()
                is_open = (self._uniforms(trial, repeat, _STREAM + 64 + number) < 0.02).tolist()
                for row, level, left_open in zip(values, levels, is_open, strict=True):
                    row.setdefault(field, _OPEN if left_open else choices[level])
            for at, style, row in zip(rows, self._uniforms(trial, repeat, 3).tolist(), values, strict=True):
                text = json.dumps({field: row[field] for field in fields}, indent=2)
                out[at] = f"```json\n{text}\n```" if style < 0.7 else f"Here is the completed form:\n{text}"
        return out

    def statements(self, requests: Sequence[Request]) -> list[str]:
        """State numbers and choices: a number moves with what is planted, and from reply to reply."""
        out = [""] * len(requests)
        for (text, scenario), rows in _group_requests(
            requests, lambda r: (r.question.factors.get(STATED) or "{}", scenario_of(r))
        ):
            ranges: dict[str, list[str] | list[float]] = json.loads(text)
            group = [requests[at] for at in rows]
            trial, repeat = _numbers(group)
            columns: list[list[str] | list[int]] = []
            for number, (field, choices) in enumerate(ranges.items()):
                slot = f"{scenario} {field}".strip()
                stream = _STATED_STREAM + number
                names = [choice for choice in choices if isinstance(choice, str)]
                if names:
                    chosen = self._draw_options(self._planted_utilities(group, slot, names), trial, repeat, stream)
                    columns.append([names[choice] for choice in chosen.tolist()])
                    continue
                low, high = (float(choice) for choice in choices)
                noise = self._uniforms(trial, repeat, stream) - 0.5
                share = 0.5 + _SCALE * (self._planted_utilities(group, slot, ("more",))[:, 0] + 2 * noise)
                columns.append([round(value) for value in (low + (high - low) * np.clip(share, 0.0, 1.0)).tolist()])
            for number, at in enumerate(rows):
                stated = {field: column[number] for field, column in zip(ranges, columns, strict=True)}
                out[at] = f"About {stated['']}." if "" in stated else json.dumps(stated)
        return out

    def lists(self, requests: Sequence[Request]) -> list[str]:
        """Name several options, each by what is planted for it, in one of several ways of writing lists."""
        out = [""] * len(requests)
        for (text, scenario), rows in _group_requests(
            requests, lambda r: (r.question.factors.get(LISTED) or "[[], 0, 20]", scenario_of(r))
        ):
            options, fewest, greatest = json.loads(text)
            words: list[str] = options or [word for _, listed in SENTENCES for word in listed]
            group = [requests[at] for at in rows]
            trial, repeat = _numbers(group)
            draws = np.stack([self._uniforms(trial, repeat, _LISTED_STREAM + at) for at in range(len(words))], axis=1)
            # The logit of naming an option: its utility, from a share that all have without any
            margin = self._planted_utilities(group, scenario, words) + np.log(SHARE_LISTED / (1 - SHARE_LISTED))
            margin -= np.log(draws / (1 - draws))
            counts = np.clip((margin > 0).sum(axis=1), fewest, min(greatest, len(words))).tolist()
            ranked = np.argsort(-margin, axis=1, kind="stable").tolist()
            styles = self._uniforms(trial, repeat, 3).tolist()
            for at, order, count, style in zip(rows, ranked, counts, styles, strict=True):
                out[at] = _write_list([words[word] for word in sorted(order[:count])], style)
        return out

    def _planted_utilities(self, requests: Sequence[Request], scenario: str, options: Sequence[str]) -> Array:
        """Utilities of options of a scenario, (requests, options), computed once for each stimulus."""
        places: dict[str, int] = {}
        factors: list[Mapping[str, str | None]] = []
        for request in requests:
            if places.setdefault(request.stimulus.key, len(places)) == len(factors):
                factors.append(request.stimulus.factors)
        at = [places[request.stimulus.key] for request in requests]
        return self._utilities(factors, [scenario], options)[at, 0]

    def _words(self, requests: Sequence[Request], slots: Sequence[tuple[str, Sequence[str]]]) -> Codes:
        """Draw a word for each (scenario, words), of shape (requests, slots)."""
        trial, repeat = _numbers(requests)
        return np.stack(
            [
                self._draw_options(self._planted_utilities(requests, scenario, words), trial, repeat, _STREAM + slot)
                for slot, (scenario, words) in enumerate(slots)
            ],
            axis=1,
        )

    def _draw_options(self, utilities: Array, trial: Codes, repeat: Codes, stream: int) -> Codes:
        """Draw one option for each row of utilities, of shape (rows, options)."""
        shares = np.exp(utilities - utilities.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        u = self._uniforms(trial, repeat, stream)
        chosen: Codes = (u[:, None] >= np.cumsum(shares, axis=1)[:, :-1]).sum(axis=1)
        return chosen


def is_comparison(levels: tuple[str, ...]) -> bool:
    """Return whether options are those of a yes-no question."""
    return levels == YES_NO


def is_form(request: Request) -> bool:
    """Return whether a request asks for a form."""
    return request.question.factors.get(FIELDS) is not None


def is_statement(request: Request) -> bool:
    """Return whether a request asks for numbers or fields."""
    return request.question.factors.get(STATED) is not None


def names_words(request: Request) -> bool:
    """Return whether a request asks for keywords."""
    return request.question.factors.get(KEYWORDS) is not None


def is_list(request: Request) -> bool:
    """Return whether a request asks to name several things."""
    return request.question.factors.get(LISTED) is not None


def _write_list(names: Sequence[str], style: float) -> str:
    """A list as models write them."""
    if not names:
        return "None."
    if style < 0.5:
        return "\n".join(f"{number}. {name.capitalize()}" for number, name in enumerate(names, start=1))
    if style < 0.8:
        return ", ".join(names)
    return json.dumps(list(names)) if style < 0.9 else "\n".join(f"- **{name}**" for name in names)


def _group_requests(requests: Sequence[Request], key: Callable[[Request], _Key]) -> ItemsView[_Key, list[int]]:
    """Places of the requests that are written at once, by what they have in common."""
    rows_of: dict[_Key, list[int]] = {}
    for at, request in enumerate(requests):
        rows_of.setdefault(key(request), []).append(at)
    return rows_of.items()


def _fields(text: str) -> dict[str, tuple[str, ...]]:
    return {name: tuple(choices) for name, choices in json.loads(text).items()}


def scenario_of(request: Request) -> str:
    """The scenario that is asked about; the prompt where none is named."""
    return request.question.factors.get("scenario") or request.question.prompt


def _person(factors: Mapping[str, str | None], side: str) -> dict[str, str | None]:
    """Factors of the one or the other person shown, under their plain names."""
    return {name[:-2]: level for name, level in factors.items() if name.endswith(f"_{side}")}


def _numbers(requests: Sequence[Request]) -> tuple[Codes, Codes]:
    return np.array([request.trial for request in requests]), np.array([request.repeat for request in requests])
