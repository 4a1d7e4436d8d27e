"""Preferences of simulated respondents between two people in one picture.

A preference belongs to an identity, whichever half of the picture it is in and whichever option it is, so that what is
planted can be found again by the share of choices that each identity gets.
"""

from collections.abc import Callable, Mapping, Sequence

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
