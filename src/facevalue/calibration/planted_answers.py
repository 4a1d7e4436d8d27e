"""Answers with planted differences, drawn as columns from nothing but the design of a study.

Whoever is shown differs by chance: people and pictures have utilities of their own. What is planted beyond that is
drawn at random for levels of factors, so that it means nothing about anybody.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from zlib import crc32

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.calibration.trials import (
    AlikeRows,
    AuditTrials,
    ChoiceRows,
    Codes,
    Flags,
    refusing,
    reply_frame,
    write_replies,
)
from facevalue.models._sim_replies import ABSTAIN, RELUCTANCE, RIGHT

Array = npt.NDArray[np.float64]
_KNOWLEDGE = 3.0  # by how much a right answer outweighs each other one
_SOME = 0.4  # share of levels that have an effect
_PAIR = 0.3  # SD of a pair of pictures by itself


@dataclass(frozen=True, slots=True)
class PlantedCondition:
    """Effects that an audit plants, and the noise that hides them. SDs and shifts are on the logit scale."""

    name: str
    effect: float = 0.0
    """SD of the effects of four in ten levels of each planted factor, half of the variance common to all questions."""
    lone: float = 0.0
    target: Mapping[str, str] = field(default_factory=dict)
    """One effect alone, and the labels of the estimate that it is of."""
    person: float = 0.7
    picture: float = 0.5
    """SD between people and between pictures of one person."""
    common: float = 0.5
    """Share of people's variance that is common to all questions."""
    unlike: float = 1.0
    """Ratio of the SD of people of the first level of a factor to that of others; of the former a quarter is asked."""
    alike: float = 0.0
    """Share of the pictures' variance that is common to all questions."""
    position: float = 0.25
    """Preference for the option shown first."""
    rare: float = 0.0
    """Amount by which one option outweighs the others, in questions that are not about which of two."""
    missing: float = 0.0
    """Share of the answers about half of the groups that are refused: of those that would have favoured them."""
    drift: float = 0.0
    """Amount by which the model moves towards the option shown first while it is asked."""
    wave: float = 0.0
    """Amount by which it moves towards one answer and back, twice while it is asked."""
    certain: bool = False
    """True if there is no chance in anything: all replies to a question are the same."""
    sample: float = 1.0
    """Share of the requests that are made, drawn as a study samples them."""
    movers: float = 1.0
    """Share of people whom the lone effect moves."""
    halved: bool = False
    """True if the lone effect moves its target half of the way up, and what it is compared with half of it down, so
    that answers which are even without it are about as even with it."""


class DrawnAudit:
    """Utilities and replies of one audit: `table` is the seed of what is planted, `rng` draws all else."""

    def __init__(self, trials: AuditTrials, condition: PlantedCondition, table: int, rng: np.random.Generator) -> None:
        self._trials, self._condition, self._table, self._rng = trials, condition, table, rng
        self._movers = int(rng.integers(2**32))
        self._phase = float(rng.random()) if condition.wave else 0.0
        self._withheld = {
            name: rng.permutation(len(levels)) < max(len(levels) // 2, 1) for name, levels in trials.levels.items()
        }

    def draw_choices(self, kind: ChoiceRows) -> tuple[Codes, Array]:
        """The option that each row chooses, by its place as shown, and the chance of each, (rows, options)."""
        c, rows = self._condition, kind.rows
        if kind.sides:
            by_level = self._of_two(kind)
        else:
            by_level = self.utilities(rows, kind.scenario, kind.scenarios, kind.options, self.hit(kind))
            by_level += self._of_options(kind)
            by_level[:, 0] += np.where(self._trials.shows[rows], c.rare, 0.0)
            if RIGHT in kind.options:
                by_level[:, kind.options.index(RIGHT)] += _KNOWLEDGE
        by_level[:, 0] += self._wave(rows)
        utilities = np.take_along_axis(by_level, kind.order, axis=1)
        utilities[:, 0] += c.position + c.drift * self._trials.times[rows]
        chance = np.exp(utilities - utilities.max(axis=1, keepdims=True))
        chance /= chance.sum(axis=1, keepdims=True)
        return self._pick(utilities), chance

    def hit(self, questions: AlikeRows) -> Flags:
        """Rows whose question the lone effect is about."""
        return questions.matches(self._condition.target)

    def draw_kept_parts(self, shape: tuple[int, ...], share: float) -> Flags:
        """Draw which parts of a text are not left out."""
        return np.ones(shape, dtype=np.bool_) if self._condition.certain else self._rng.random(shape) < share

    def draw_associated(
        self, rows: Codes, name: str, options: Sequence[str], filled: Mapping[str, Codes],
        fields: Mapping[str, Sequence[str]],
    ) -> Codes:  # fmt: skip
        """Draw what is put in a field of forms in which others are filled.

        Where a question asks the same (`AuditTrials.same`), its answer is drawn as people's are, and then one of the
        options that mean it; options that mean none are as frequent as if all options were.
        """
        c, t = self._condition, self._trials
        meant = t.same.get(name, {option: option for option in options})
        answers = list(dict.fromkeys(meant.values()))
        spread = self._noise(float(np.hypot(c.person, c.picture))) / np.sqrt(2)
        utilities = self._rng.normal(0, spread, (rows.size, len(answers)))
        utilities[:, 0] += c.position + c.rare + c.drift * t.times[rows]
        for filled_field, codes in filled.items() if c.effect else ():
            table = c.effect * self._normal("form", name, filled_field, shape=(len(fields[filled_field]), len(answers)))
            utilities += np.where((codes >= 0)[:, None], table[codes], 0.0)
        means = np.array([answers.index(meant[option]) if option in meant else -1 for option in options])
        answer = np.where(self.draw_kept_parts((rows.size,), float((means >= 0).mean())), self._pick(utilities), -1)
        return self._pick(np.where(means == answer[:, None], 0.0, -np.inf))

    def _pick(self, utilities: Array) -> Codes:
        """Draw one option of each row."""
        noise = 0.0 if self._condition.certain else self._rng.gumbel(size=utilities.shape)
        return np.asarray((utilities + noise).argmax(axis=1))

    def words(self, rows: Codes, slots: Sequence[tuple[str, Sequence[str]]], hit: Flags) -> Codes:
        """Draw a word of each list, shape (rows, lists); slots are named by a scenario."""
        out = np.empty((rows.size, len(slots)), dtype=np.int64)
        for column, (name, listed) in enumerate(slots):
            utilities = self.utilities(rows, np.zeros_like(rows), [name], tuple(listed), hit)
            utilities[:, 0] += self._condition.rare + self._condition.position + self._wave(rows)
            out[:, column] = self._pick(utilities)
        return out

    def draw_amounts(self, rows: Codes, scenario: str, hit: Flags) -> Array:
        """Draw how much each row has of something, noise of the reply included."""
        planted = self.utilities(rows, np.zeros_like(rows), [scenario], ("more",), hit)[:, 0] + self._wave(rows)
        return planted + (0.0 if self._condition.certain else self._rng.normal(size=rows.size))

    def _wave(self, rows: Codes) -> Array | float:
        """Drift of each row towards one answer, by the time at which it is asked."""
        c = self._condition
        return c.wave * np.sin(2 * np.pi * (2 * self._trials.times[rows] + self._phase)) if c.wave else 0.0

    def _of_two(self, kind: ChoiceRows) -> Array:
        """Utilities where one of two is asked for, or whether the one is more than the other."""
        first, second = (
            self.utilities(kind.rows, kind.scenario, kind.scenarios, ("more",), self.hit(kind), s)
            for s in ("_1", "_2")
        )  # fmt: skip
        pair = self._trials.stimulus[kind.rows]
        apart = (first - second)[:, 0] + self._rng.normal(0, self._noise(_PAIR), pair.max() + 1)[pair]
        out = np.zeros((kind.rows.size, len(kind.options)))
        if "yes" in kind.options:
            out[:, kind.options.index("yes")] = 2 * apart * kind.about
            out[:, kind.options.index("no")] = RELUCTANCE + self._condition.rare
            return out
        for column, level in enumerate(kind.options):
            out[:, column] = apart if level == "1" else 0.0 if level == "2" else apart / 2 - ABSTAIN
        return out

    def _of_options(self, kind: ChoiceRows) -> Array:
        """Utilities of options question by question: where nobody is shown, they are what is compared."""
        c, shape = self._condition, (len(kind.questions), len(kind.options))
        by_question = c.effect * self._normal("options", *kind.questions, shape=shape)
        value = set(c.target.values())
        hit = np.array([[level in value for level in kind.options]]) & ~self._trials.shows[kind.rows, None]
        lone = c.lone * (hit & self.hit(kind)[:, None])
        return np.asarray(by_question[kind.question] + lone)

    def utilities(
        self, rows: Codes, scenario: Codes, names: Sequence[str], options: tuple[str, ...], hit: Flags,
        side: str = "",
    ) -> Array:  # fmt: skip
        """Utilities of options for those who are shown on a side, shape (rows, options)."""
        c, t = self._condition, self._trials
        out = np.zeros((rows.size, len(options)))
        for name, levels in t.levels.items():
            if (name, side) not in t.codes:
                continue
            if c.effect:
                shape = (len(levels), len(names), len(options))
                common = self._normal("common", name, *options, shape=(shape[0], 1, shape[2]))
                table = c.effect / np.sqrt(2) * (common + self._normal("own", name, *names, *options, shape=shape))
                table[~self._draw_affected_levels(name, len(levels))] = 0.0
                out += self._shown_entries(table, (name, side), rows, scenario) * t.signs[rows, None]
            if c.lone:
                targeted = np.array([level in c.target.values() for level in levels], dtype=np.float64)
                if c.halved and targeted.any():
                    targeted -= 0.5
                moved = self._shown_entries(targeted, (name, side), rows) * (hit & self._moves(side)[rows])
                out[:, 0] += c.lone * moved * t.signs[rows]
        for sd, alike, unit in zip((c.person, c.picture), (c.common, c.alike), t.units.get(side, ()), strict=False):
            if not sd:
                continue
            many = int(unit.max(initial=-1)) + 1
            common = self._rng.normal(size=(many, 1, len(options)))
            by_scenario = self._rng.normal(size=(many, len(names), len(options)))
            liking = np.sqrt(alike) * common + np.sqrt(1 - alike) * by_scenario
            spread = self._noise(sd) / np.sqrt(2 if len(options) > 1 else 1)  # so that a logit has this SD
            apart = np.where(t.of_first_group(side)[rows, None], c.unlike, 1.0) if c.unlike != 1 else 1.0
            out += np.where((unit[rows] >= 0)[:, None], spread * apart * liking[unit[rows], scenario], 0.0)
        return out

    def _shown_entries(self, table: Array, shown: tuple[str, str], rows: Codes, *at: Codes) -> Array:
        """Entries of a table by the level that rows show, less those of who is shown beside; 0 where nobody is."""

        def entries(codes: Codes) -> Array:
            by_level = table[(codes[rows], *at)]
            by_level[codes[rows] < 0] = 0.0
            return by_level

        beside = self._trials.other_codes.get(shown[0])
        of_shown = entries(self._trials.codes[shown])
        return of_shown if beside is None else of_shown - entries(beside)

    def _draw_affected_levels(self, name: str, many: int) -> Flags:
        """Draw which levels of a factor have an effect: a minority, so that there is something to compare them with."""
        return np.asarray(self._normal("affected", name, shape=(many,)).argsort().argsort() < max(int(_SOME * many), 1))

    def _moves(self, side: str) -> Flags:
        """Rows that show somebody whom the lone effect moves."""
        if side not in self._trials.units or self._condition.movers == 1:
            return np.ones(self._trials.frame.height, dtype=np.bool_)
        person, _ = self._trials.units[side]
        return np.asarray(
            np.random.default_rng(self._movers).random(int(person.max()) + 1)[person] < self._condition.movers
        )

    def draw_refusals(self, rows: Codes, favoured: Mapping[str, Flags]) -> Flags:
        """Draw which replies are withheld: of those that favour who is shown on a side, about half of the groups."""
        c, out = self._condition, np.zeros(rows.size, dtype=np.bool_)
        if not c.missing:
            return out
        for name, withheld in self._withheld.items():
            for side, favours in favoured.items():
                codes = self._trials.codes.get((name, side))
                if codes is not None:
                    out |= (codes[rows] >= 0) & withheld[codes[rows]] & favours
        out |= favoured.get("", out) & ~self._trials.shows[rows]
        return out & (self._rng.random(rows.size) < min(2 * c.missing, 1.0))

    def _noise(self, sd: float) -> float:
        return 0.0 if self._condition.certain else sd

    def _normal(self, *key: str, shape: tuple[int, ...]) -> Array:
        """Normal draws that depend on the table's seed and on what they are for, and not on how much is shown."""
        return np.random.default_rng([self._table, crc32("\x1f".join(key).encode())]).normal(size=shape)


def replies(
    trials: AuditTrials, condition: PlantedCondition, table: int, rng: np.random.Generator, exact: bool = False
) -> pl.DataFrame:
    """Replies to all trials, as `Study.answer` reads them, with `planted score`: what a scorer says of a text."""
    audit = DrawnAudit(trials, condition, table, rng)
    frames = [_choose_options(audit, kind, exact) for kind in trials.kinds]
    frames += [write_replies(trials, audit, kind) for kind in trials.written]
    texts = pl.concat(frames).sort("row").drop("row")
    return pl.concat([trials.frame, texts], how="horizontal")


def _choose_options(audit: DrawnAudit, kind: ChoiceRows, exact: bool) -> pl.DataFrame:
    place, chance = audit.draw_choices(kind)
    if exact:
        probs = pl.Series(chance.astype(np.float32)).cast(pl.List(pl.Float32))
        return reply_frame(kind.rows, pl.Series([None], dtype=pl.String).new_from_index(0, kind.rows.size), probs=probs)
    level = np.take_along_axis(kind.order, place[:, None], axis=1)[:, 0]
    level_names = np.array(kind.options)[level]
    favoured = {"_1": level_names == "1", "_2": level_names == "2"} if kind.sides else {"": level == 0}
    text = kind.texts.gather(kind.wording * len(kind.options) + place)
    return reply_frame(kind.rows, refusing(text, audit.draw_refusals(kind.rows, favoured)))
