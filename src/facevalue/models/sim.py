"""Simulated respondents whose bias is planted, so that an audit can be checked against the truth.

Effects are drawn at random from a seeded table over whatever factors a study has: they mean nothing about any people. A
respondent looks at factor levels, never at pixels, and answers in text through the same parser as any model.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from hashlib import blake2b
from itertools import islice

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from facevalue.design import mix
from facevalue.errors import ModelSpecError, UnknownNameError
from facevalue.models._sim_replies import (
    Preferences,
    Writer,
    is_comparison,
    is_form,
    is_list,
    is_pair,
    is_statement,
    names_words,
    scenario_of,
)
from facevalue.models.base import Capabilities
from facevalue.types import Option, Request, Response, Status

Array = npt.NDArray[np.float64]

_BATCH = 4096
_NO_EFFECT = frozenset({"image", "path", "identity", "set", "seed", "trial", "block"})
REFUSAL = "I'm sorry, but I can't judge a person by their appearance."
GIBBERISH = "The the of and picture 7 ,,"
_STYLES = ("{label}", "{letter}", "{upper}.", "{label} {text}", "Option {upper}", "**{label}**")
_STYLE_ENDS = np.cumsum([0.70, 0.10, 0.05, 0.07, 0.05, 0.03])
_REFUSED, _GIBBERISH = -1, -2


@dataclass(frozen=True, slots=True)
class Planted:
    """Effects planted in a respondent. Standard deviations and biases are on the logit scale.

    `effect` is the SD of a level's effect on a scenario; a share `none` of levels has none. `identity` is the SD
    between people, and `image` between pictures of one person, per scenario: it makes an effect differ from face to
    face. `position` and `letter` prefer the option shown first, and the one labelled (a). `refusal` and `gibberish` are
    shares of replies. `knowledge` is how much more the right answer weighs than each other one, where there is one.
    """

    seed: int = 0
    effect: float = 0.6
    none: float = 0.5
    identity: float = 1.0
    image: float = 0.4
    position: float = 0.25
    letter: float = 0.1
    refusal: float = 0.01
    gibberish: float = 0.01
    knowledge: float = 3.0


PRESETS: dict[str, Planted] = {
    "default": Planted(),
    "null": Planted(effect=0.0),
    "strong": Planted(effect=1.5, none=0.3),
    "first": Planted(position=2.0),
    "refuser": Planted(refusal=1.0, gibberish=0.0),
    "mumbler": Planted(refusal=0.1, gibberish=0.4),
}


class Respondent:
    """Turns planted effects into utilities and utilities into replies, vectorised."""

    def __init__(self, planted: Planted) -> None:
        self.planted = planted
        self._effect = lru_cache(maxsize=None)(self._draw_effect)

    def _draw_effect(self, factor: str, level: str, scenario: str, option: str) -> float:
        """Effect of a factor level on an option's utility: half common to all scenarios, half the scenario's own."""
        p = self.planted
        if p.effect == 0 or _uniform(p.seed, "none", factor, level) < p.none:
            return 0.0
        common = _normal(p.seed, "common", factor, level, option)
        effect = _normal(p.seed, "own", factor, level, scenario, option)
        return p.effect * 0.5 * (common + effect)

    def effects(
        self, factors: Sequence[Mapping[str, str | None]], scenarios: Sequence[str], options: Sequence[str]
    ) -> Array:
        """Planted utilities, (stimuli, scenarios, options), without what is random between people and pictures.

        A difference of two utilities is a logit.
        """
        out = np.zeros((len(factors), len(scenarios), len(options)))
        for name in sorted({name for f in factors for name in f if name not in _NO_EFFECT}):  # sums depend on the order
            levels = [f.get(name) for f in factors]
            distinct = list(dict.fromkeys(level for level in levels if level is not None))
            table = np.zeros((len(distinct) + 1, len(scenarios), len(options)))  # the last row is for no level
            for i, level in enumerate(distinct):
                table[i] = [[self._effect(name, level, s, o) for o in options] for s in scenarios]
            places = {level: i for i, level in enumerate(distinct)}
            out += table[[places.get(level, -1) if level is not None else -1 for level in levels]]
        return out

    def utilities(
        self, factors: Sequence[Mapping[str, str | None]], scenarios: Sequence[str], options: Sequence[str]
    ) -> Array:
        """Utilities of options, shape (stimuli, scenarios, options): planted effects, person and picture."""
        p = self.planted
        out = self.effects(factors, scenarios, options)
        for sd, key in ((p.identity, "identity"), (p.image, "image")):
            if not sd:
                continue
            people = np.array([_word(p.seed, key, f.get(key) or "") for f in factors], dtype=np.uint64)
            nobody = np.array(
                [f.get(key) is None and f.get("shown") == "text" for f in factors]
            )  # one for all otherwise
            questions = np.array([[_word(p.seed, key, s, o) for o in options] for s in scenarios], dtype=np.uint64)
            with np.errstate(over="ignore"):
                words = mix(mix(people)[:, None, None] + questions[None])
            out += np.where(nobody[:, None, None], 0.0, sd / np.sqrt(2.0) * ndtri(_unit(words)))
        return out

    def preferences(self) -> Preferences:
        """Preferences planted about two people in one picture."""
        p = self.planted
        normal, uniform = partial(_normal, p.seed), partial(_uniform, p.seed)
        return Preferences(p.effect, p.none, p.image, p.knowledge, normal, uniform)

    def probabilities(self, utilities: Array, letter: npt.NDArray[np.int64]) -> Array:
        """Chance of each option as shown, (n, options), given a valid answer; `letter` is the place of (a), or -1."""
        u = utilities.copy()
        u[:, 0] += self.planted.position
        has = letter >= 0
        u[np.flatnonzero(has), letter[has]] += self.planted.letter
        u = np.exp(u - u.max(axis=1, keepdims=True))
        return u / u.sum(axis=1, keepdims=True)

    def choose(
        self, probabilities: Array, trial: npt.NDArray[np.int64], repeat: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Draw a reply for each row: an option as shown, or -1 for a refusal, -2 for gibberish.

        The draw depends on seed, trial and repeat alone, so that order and batches don't matter.
        """
        p = self.planted
        u = self._uniforms(trial, repeat, 1)
        choice = (u[:, None] >= np.cumsum(probabilities, axis=1)[:, :-1]).sum(axis=1)
        spoil = self._uniforms(trial, repeat, 2)
        choice = np.where(spoil < p.refusal, _REFUSED, choice)
        return np.where((spoil >= p.refusal) & (spoil < p.refusal + p.gibberish), _GIBBERISH, choice)

    def _uniforms(self, trial: npt.NDArray[np.int64], repeat: npt.NDArray[np.int64], stream: int) -> Array:
        low, high = repeat.astype(np.uint64) % np.uint64(256), repeat.astype(np.uint64) // np.uint64(256)
        with np.errstate(over="ignore"):
            words = trial.astype(np.uint64) * np.uint64(256) + low
            words = np.where(high > 0, mix(words ^ mix(high)), words)
            return _unit(mix(mix(words) + np.uint64(_word(self.planted.seed, "stream", str(stream)))))

    def writer(self) -> Writer:
        """Writer of texts."""
        return Writer(self.utilities, self._uniforms)

    def spoil(self, trial: npt.NDArray[np.int64], repeat: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Mask of the texts that are refused (-1) or gibberish (-2) instead; 0 for all others."""
        return self.choose(np.ones((trial.size, 1)), trial, repeat)

    def style(self, trial: npt.NDArray[np.int64], repeat: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Style in which the respondent writes its answer, for each row."""
        return np.searchsorted(_STYLE_ENDS, self._uniforms(trial, repeat, 3), side="right").clip(0, len(_STYLES) - 1)


class SimModel:
    """`sim/NAME`: a simulated respondent as a model, one of `PRESETS`, with `@SEED` for other effects ("null@7")."""

    def __init__(self, name: str) -> None:
        preset, _, seed = name.partition("@")
        if preset not in PRESETS:
            raise UnknownNameError(
                "simulated model", f"sim/{preset}", (f"sim/{preset_name}" for preset_name in PRESETS)
            )
        if seed and not seed.isdigit():
            raise ModelSpecError(f"The seed in 'sim/{name}' is not a whole number: write sim/{preset}@7.")
        self.name = f"sim/{name}"
        self.planted = replace(PRESETS[preset], seed=int(seed or 0))
        self._respondent = Respondent(self.planted)
        self._preferences = self._respondent.preferences()
        self._writer = self._respondent.writer()
        self.capabilities = Capabilities(probabilities="full", images_per_request=2, seeds=True, sight="stated")

    def settings(self) -> Mapping[str, str | int | float | bool]:
        """Settings of all that is planted."""
        return asdict(self.planted)

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Answer in batches."""
        stream = iter(requests)
        while batch := list(islice(stream, _BATCH)):
            groups: dict[tuple[str, ...], list[Request]] = {}
            for request in batch:
                groups.setdefault(_levels(request.question.options), []).append(request)
            for levels, group in groups.items():
                if len(levels) > 1:
                    yield from self._choose(group, levels)
                    continue
                yield from self._write(group)

    def _write(self, group: list[Request]) -> list[Response]:
        """Answer in free text, where there are no options at all."""
        reason = "a simulated respondent needs two options to choose from"
        closed = [r for r in group if r.question.options or r.exact]
        texts = [r for r in group if not (r.question.options or r.exact)]
        kinds = ((is_form, self._writer.forms), (is_statement, self._writer.statements),
                 (names_words, self._writer.keywords), (is_list, self._writer.lists))  # fmt: skip
        written: list[Response] = []
        for is_one, write in kinds:
            written += self._spoilt([r for r in texts if is_one(r)], write)
            texts = [r for r in texts if not is_one(r)]
        written += self._spoilt(texts, self._writer.descriptions)
        return [Response(r.trial, r.repeat, Status.ERROR, error=reason) for r in closed] + written

    def _spoilt(self, batch: list[Request], write: Callable[[Sequence[Request]], list[str]]) -> list[Response]:
        """Texts, some of them refused or gibberish instead."""
        if not batch:
            return []
        trial = np.array([request.trial for request in batch])
        repeat = np.array([_draw(request) for request in batch])
        spoilt = {_REFUSED: REFUSAL, _GIBBERISH: GIBBERISH}
        texts = zip(batch, write(batch), self._respondent.spoil(trial, repeat).tolist(), strict=True)
        return [Response(r.trial, r.repeat, Status.OK, spoilt.get(fault, text)) for r, text, fault in texts]

    def _choose(self, batch: list[Request], levels: tuple[str, ...]) -> list[Response]:
        if is_comparison(levels):
            utilities = self._writer.leaning(batch)
        else:
            utilities = (
                self._preferences.utilities(batch, levels) if is_pair(levels) else self._shown_utilities(batch, levels)
            )
        letter = np.array([_letter(request.question.options) for request in batch])
        probabilities = self._respondent.probabilities(utilities, letter)
        answered = 1.0 - self.planted.refusal - self.planted.gibberish
        trial = np.array([request.trial for request in batch])
        repeat = np.array([_draw(request) for request in batch])
        choices = self._respondent.choose(probabilities, trial, repeat).tolist()
        styles = self._respondent.style(trial, repeat).tolist()
        exact = (probabilities * answered).tolist()
        out = []
        for request, choice, style, probs in zip(batch, choices, styles, exact, strict=True):
            if request.exact:
                out.append(Response(request.trial, request.repeat, Status.OK, None, tuple(probs)))
            else:
                options = request.question.options
                if is_comparison(levels) and choice >= 0:
                    text = self._writer.phrase_answer(options[choice].text, style)
                else:
                    text = _reply(options, choice, style)
                out.append(Response(request.trial, request.repeat, Status.OK, text))
        return out

    def _shown_utilities(self, batch: list[Request], levels: tuple[str, ...]) -> Array:
        """Utilities of each request's options in the order shown, computed once per stimulus and scenario."""
        stimuli: dict[str, int] = {}
        scenarios: dict[str, int] = {}
        factors: list[Mapping[str, str | None]] = []
        at, requests_shown = [], []
        for request in batch:
            place = stimuli.setdefault(request.stimulus.key, len(stimuli))
            if place == len(factors):
                factors.append(request.stimulus.factors)
            at.append(place)
            requests_shown.append(scenarios.setdefault(scenario_of(request), len(scenarios)))
        utilities = self._respondent.utilities(factors, list(scenarios), levels)
        order = np.array([_order(request.question.options) for request in batch])
        return utilities[np.array(at)[:, None], np.array(requests_shown)[:, None], order]


def _draw(request: Request) -> int:
    """Number of a request's draw: that of its seed, so that equal seeds give equal replies and others don't.

    Seeds 1, 2, 3 are the draws 0, 1, 2 of a trial.
    """
    return (request.seed - 1) % 2**32


@lru_cache(maxsize=4096)
def _levels(options: tuple[Option, ...]) -> tuple[str, ...]:
    return tuple(sorted(option.level for option in options))


@lru_cache(maxsize=4096)
def _order(options: tuple[Option, ...]) -> tuple[int, ...]:
    levels = _levels(options)
    return tuple(levels.index(option.level) for option in options)


@lru_cache(maxsize=4096)
def _letter(options: tuple[Option, ...]) -> int:
    return next((i for i, option in enumerate(options) if option.label.strip("().").lower() == "a"), -1)


@lru_cache(maxsize=65536)
def _reply(options: tuple[Option, ...], choice: int, style: int) -> str:
    if choice == _REFUSED:
        return REFUSAL
    if choice == _GIBBERISH:
        return GIBBERISH
    option = options[choice]
    if not option.label:
        return option.text
    letter = option.label.strip("().")
    return _STYLES[style].format(label=option.label, letter=letter, upper=letter.upper(), text=option.text)


def _word(seed: int, *words: str) -> int:
    """A 64-bit word that depends on every part; stable across processes and versions."""
    text = "\x1f".join((str(seed), *words))
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def _unit(words: npt.NDArray[np.uint64]) -> Array:
    """Words to uniforms in (0, 1), ends excluded."""
    return ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def _uniform(seed: int, *words: str) -> float:
    return float(_unit(np.array([_word(seed, *words)], dtype=np.uint64))[0])


def _normal(seed: int, *words: str) -> float:
    return float(ndtri(_uniform(seed, *words)))
