"""Texts by simulated respondents: comparisons, descriptions, forms.

What is tilted is drawn at random, as all that is planted: a word or a value that goes with a group says nothing about
anybody. Where nothing is planted, only chance makes texts of groups differ.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from facevalue.types import Request

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Utilities = Callable[[Sequence[Mapping[str, str | None]], Sequence[str], Sequence[str]], Array]
"""From factors, scenarios and options to utilities, of shape (factors, scenarios, options)."""
Uniforms = Callable[[Codes, Codes, int], Array]
"""From trials, repeats and the number of a stream to uniform draws."""

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
    """Writes comparisons, descriptions and forms. `uniforms` are draws that depend on trial and repeat alone."""

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

    def said(self, answer: str, style: int) -> str:
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
        rows_of: dict[tuple[str, str], list[int]] = {}
        for at, request in enumerate(requests):
            rows_of.setdefault((request.question.factors[KEYWORDS] or "[]", scenario_of(request)), []).append(at)
        for (text, scenario), rows in rows_of.items():
            lists: list[list[str]] = json.loads(text)
            chosen = self._words(
                [requests[at] for at in rows], [(f"{scenario} {number}", words) for number, words in enumerate(lists)]
            )
            for at, words_of_row in zip(rows, chosen.tolist(), strict=True):
                out[at] = ", ".join(words[word] for words, word in zip(lists, words_of_row, strict=True))
        return out

    def forms(self, requests: Sequence[Request]) -> list[str]:
        """Complete forms: what is filled in stays, and shifts what is put in the other fields."""
        trial, repeat = _numbers(requests)
        styles = self._uniforms(trial, repeat, 3)
        out = []
        for row, request in enumerate(requests):
            fields = self._form(request.question.factors.get(FIELDS) or "{}")
            before: dict[str, str] = json.loads(request.stimulus.factors.get(FILLED) or "{}")
            planted = {**before, "image": request.stimulus.key}
            values = dict(before)
            for number, (field, choices) in enumerate(fields.items()):
                if field in before:
                    continue
                utilities = ASSOCIATION * self._utilities([planted], [field], choices)[:, 0]
                chosen_levels = self._drawn(utilities, trial[row : row + 1], repeat[row : row + 1], _STREAM + number)
                values[field] = choices[int(chosen_levels[0])]
                if self._uniforms(trial[row : row + 1], repeat[row : row + 1], _STREAM + 64 + number)[0] < 0.02:
                    values[field] = _OPEN
            text = json.dumps({field: values[field] for field in fields}, indent=2)
            out.append(f"```json\n{text}\n```" if styles[row] < 0.7 else f"Here is the completed form:\n{text}")
        return out

    def statements(self, requests: Sequence[Request]) -> list[str]:
        """State numbers and choices: a number moves with what is planted, and from reply to reply."""
        trial, repeat = _numbers(requests)
        out = []
        for row, request in enumerate(requests):
            ranges: dict[str, list[str] | list[float]] = json.loads(request.question.factors.get(STATED) or "{}")
            values: dict[str, str | float] = {}
            row_slice = slice(row, row + 1)
            for number, (field, choices) in enumerate(ranges.items()):
                scenario = f"{scenario_of(request)} {field}".strip()
                stream = _STATED_STREAM + number
                names = [choice for choice in choices if isinstance(choice, str)]
                if names:
                    utilities = self._utilities([request.stimulus.factors], [scenario], names)[:, 0]
                    values[field] = names[int(self._drawn(utilities, trial[row_slice], repeat[row_slice], stream)[0])]
                    continue
                low, high = (float(choice) for choice in choices)
                planted = self._utilities([request.stimulus.factors], [scenario], ("more",))[0, 0, 0]
                noise = self._uniforms(trial[row_slice], repeat[row_slice], stream)[0] - 0.5
                share = 0.5 + _SCALE * (planted + 2 * noise)
                values[field] = round(low + (high - low) * float(np.clip(share, 0.0, 1.0)))
            out.append(f"About {values['']}." if "" in values else json.dumps(values))
        return out

    def lists(self, requests: Sequence[Request]) -> list[str]:
        """Name several options, each by what is planted for it, in one of several ways of writing lists."""
        trial, repeat = _numbers(requests)
        styles = self._uniforms(trial, repeat, 3)
        out = []
        for row, request in enumerate(requests):
            options, fewest, greatest = json.loads(request.question.factors.get(LISTED) or "[[], 0, 20]")
            words: list[str] = options or [word for _, listed in SENTENCES for word in listed]
            planted = self._utilities([request.stimulus.factors], [scenario_of(request)], words)[0, 0]
            row_slice = slice(row, row + 1)
            draws = np.array(
                [
                    self._uniforms(trial[row_slice], repeat[row_slice], _LISTED_STREAM + at)[0]
                    for at in range(len(words))
                ]
            )
            # The logit of naming an option: its utility, from a share that all have without any
            margin = planted + np.log(SHARE_LISTED / (1 - SHARE_LISTED)) - np.log(draws / (1 - draws))
            many = int(np.clip((margin > 0).sum(), fewest, min(greatest, len(words))))
            names = [words[at] for at in sorted(np.argsort(-margin, kind="stable")[:many])]
            out.append(_listed(names, float(styles[row])))
        return out

    def _words(self, requests: Sequence[Request], slots: Sequence[tuple[str, Sequence[str]]]) -> Codes:
        """Draw a word for each (scenario, words), of shape (requests, slots)."""
        places: dict[str, int] = {}
        factors: list[Mapping[str, str | None]] = []
        for request in requests:
            if places.setdefault(request.stimulus.key, len(places)) == len(factors):
                factors.append(request.stimulus.factors)
        at = np.array([places[request.stimulus.key] for request in requests])
        trial, repeat = _numbers(requests)
        return np.stack(
            [
                self._drawn(self._utilities(factors, [scenario], words)[at, 0], trial, repeat, _STREAM + slot)
                for slot, (scenario, words) in enumerate(slots)
            ],
            axis=1,
        )

    def _drawn(self, utilities: Array, trial: Codes, repeat: Codes, stream: int) -> Codes:
        """Draw one option for each row of utilities, of shape (rows, options)."""
        shares = np.exp(utilities - utilities.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        u = self._uniforms(trial, repeat, stream)
        chosen: Codes = (u[:, None] >= np.cumsum(shares, axis=1)[:, :-1]).sum(axis=1)
        return chosen


def is_comparison(levels: tuple[str, ...]) -> bool:
    """Whether options are those of a yes-no question."""
    return levels == YES_NO


def is_form(request: Request) -> bool:
    """Whether a request asks for a form."""
    return request.question.factors.get(FIELDS) is not None


def is_statement(request: Request) -> bool:
    """Whether a request asks for numbers or fields."""
    return request.question.factors.get(STATED) is not None


def names_words(request: Request) -> bool:
    """Whether a request asks for keywords."""
    return request.question.factors.get(KEYWORDS) is not None


def is_list(request: Request) -> bool:
    """Whether a request asks to name several things."""
    return request.question.factors.get(LISTED) is not None


def _listed(names: Sequence[str], style: float) -> str:
    """A list as models write them."""
    if not names:
        return "None."
    if style < 0.5:
        return "\n".join(f"{number}. {name.capitalize()}" for number, name in enumerate(names, start=1))
    if style < 0.8:
        return ", ".join(names)
    return json.dumps(list(names)) if style < 0.9 else "\n".join(f"- **{name}**" for name in names)


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
