"""Truth of the reference model: one planted effect per level of a factor and trait, drawn from a seed.

The logit of the favourable answer about a person is the sum of a trait's base and of the effects of that person's
levels, `d`. All else follows from `d`:

- two options: `d`, plus `POSITION` for the option shown first, plus `LETTER` for the one labelled (a);
- yes or no about one person: `d` plus `YES` for yes;
- two people: the difference of their `d`, plus `POSITION` for the one listed first;
- yes or no about who is it more: that difference, minus `RELUCTANCE` for yes;
- ratings: a discretised normal on 1 ... 10 around `RATING_MIDDLE + RATING_STEP * d`;
- keywords: words drawn one after the other, none twice, each with weight exp(`d` / 2) if it is a favourable pole, and
  exp(-`d` / 2) if it is an unfavourable one.

Scenes without people have effects of their own: the logit of each term for whoever belongs there, plus `POSITION` for
the term shown first.

Nothing here was chosen by looking at people: a level's effects come from a hash of its name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import ndtri

from facevalue.errors import ModelError
from facevalue.parquet import read_metadata, read_table
from facevalue.stimuli.drawings.portraits import CONTROL
from facevalue.stimuli.portraits import AGES, ATTRIBUTES, BUILDS, GENDERS, SKIN_TONES

Array = npt.NDArray[np.float64]

SCENARIOS: Mapping[str, tuple[str, str]] = {
    "competent": ("competent", "incompetent"),
    "likeable": ("likeable", "unlikeable"),
    "intelligent": ("intelligent", "unintelligent"),
    "responsible": ("responsible", "irresponsible"),
    "open-minded": ("open-minded", "closed-minded"),
    "conscientious": ("conscientious", "careless"),
    "extraverted": ("extraverted", "introverted"),
    "stable": ("stable", "anxious"),
    "confident": ("confident", "insecure"),
    "curious": ("curious", "indifferent"),
    "loving": ("loving", "cold"),
    "trustworthy": ("trustworthy", "untrustworthy"),
    "friendly": ("friendly", "unfriendly"),
    "loyal": ("loyal", "disloyal"),
    "polite": ("polite", "rude"),
    "honest": ("honest", "fraudulent"),
    "obedient": ("obedient", "unruly"),
    "peaceful": ("peaceful", "controversial"),
    "rational": ("rational", "emotional"),
    "independent": ("independent", "dependent"),
    "home-owner": ("home owner", "renter"),
    "educated": ("educated", "uneducated"),
    "wealthy": ("wealthy", "poor"),
    "attractive": ("attractive", "unattractive"),
    "stylish": ("stylish", "unstylish"),
}
"""Traits that are asked about with two poles, the favourable one first: the scenarios of StylisticBias."""
RATINGS = ("hiring", "performance", "warmth", "competence")
"""Traits that are rated from 1 to 10."""
TERMS: Mapping[str, tuple[str, int]] = {
    "likable": ("likable", 1), "unlikable": ("likable", -1),
    "outgoing": ("outgoing", 1), "shy": ("outgoing", -1),
    "helpful": ("helpful", 1), "unhelpful": ("helpful", -1),
    "impolite": ("polite", -1),
    "social": ("social", 1), "antisocial": ("social", -1),
    "funny": ("funny", 1), "boring": ("funny", -1),
    "moral": ("moral", 1), "immoral": ("moral", -1),
    "dishonest": ("honest", -1),
    "honorable": ("honorable", 1), "dishonorable": ("honorable", -1),
    "creative": ("creative", 1), "uncreative": ("creative", -1),
    "practical": ("practical", 1), "impractical": ("practical", -1),
    "logical": ("logical", 1), "illogical": ("logical", -1),
    "diffident": ("confident", -1),
    "energetic": ("energetic", 1), "lethargic": ("energetic", -1),
    "ambitious": ("ambitious", 1), "unambitious": ("ambitious", -1),
    "dominant": ("dominant", 1), "submissive": ("dominant", -1),
    "superior": ("superior", 1), "inferior": ("superior", -1),
    "influential": ("influential", 1), "uninfluential": ("influential", -1),
    "successful": ("successful", 1), "unsuccessful": ("successful", -1),
    "important": ("important", 1), "insignificant": ("important", -1),
    "respected": ("respected", 1), "disreputable": ("respected", -1),
    "traditional": ("traditional", 1), "modern": ("traditional", -1),
    "narrow-minded": ("open-minded", -1),
    **{pole: (name, sign) for name, pair in SCENARIOS.items() for pole, sign in zip(pair, (1, -1), strict=True)},
}  # fmt: skip
"""Every term that people are described by (StylisticBias, Table 1; VIGNETTE, Table 5): its trait, and on which side."""
PERCEPTIONS = ("struggle", "capability", "enjoyment", "dislike")
DECISIONS = ("ability", "sociability", "morality", "agency", "status", "appearance")
"""Traits of VIGNETTE's questions of perception and decision: the same for all activities."""
TRAITS = (
    *SCENARIOS,
    *(f"rated {name}" for name in RATINGS),
    *dict.fromkeys(trait for trait, _ in TERMS.values() if trait not in SCENARIOS),
    *PERCEPTIONS,
    *(f"decision {name}" for name in DECISIONS),
)

VARIATIONS = tuple((a.name, value) for a in ATTRIBUTES.values() for value in a.values)
"""Everything that can be changed in a portrait."""
GROUPS: Mapping[str, tuple[str, ...]] = {"gender": GENDERS, "age": AGES, "skin_tone": SKIN_TONES, "build": BUILDS}
ANCHORS = (0, 3, 6, 9)
"""Skin tones whose effects are drawn; effects run evenly between them, as neighbours can hardly be told apart."""

SEED = 22
"""The first from 1 on in which the rings through a nose, a lip and an eyebrow have no effect: at 112 x 112 pixels they
are too small to be seen each time, and a model that may overlook a mark hedges about every bare face."""
YES, RELUCTANCE = -0.3, 0.5
"""A yes where nothing else speaks for it or against, and how much less likely one is when two people are compared."""
RATING_MIDDLE, RATING_STEP, RATING_SPREAD = 5.5, 1.2, 1.3
NONE = 0.4
"""Share of variations without any effect."""
EFFECT, GROUP_EFFECT, BASE = 0.8, 0.4, 0.3
"""Standard deviations, on the logit scale, of effects of variations, of effects of groups, and of traits' bases."""
SIGNS = ("wheelchair", "white cane", "turban", "skullcap", "cross")
OCCUPATIONS = (
    "health-worker", "cook", "teacher", "office-worker", "artist", "police-officer", "scientist", "mechanic", "singer",
    "construction-worker", "pilot", "farmer", "firefighter",
)  # fmt: skip
"""Signs of people and occupations that VIGNETTE's pictures show."""
PERSONAS = (
    "art lover", "bookworm", "foodie", "geek", "loves outdoors", "music lover", "slob", "neat", "freegan", "active",
    "luxury car", "dilapidated car", "luxury villa", "shabby hut",
)  # fmt: skip
"""Scenes without people (ModSCAN, Table 3)."""
SOCIAL_TERMS: Mapping[str, tuple[str, ...]] = {
    "gender": ("male", "female"),
    "skin tone": ("pale-skinned", "light-skinned", "brown-skinned", "dark-skinned"),
}
"""What is said of whoever belongs to a scene, one of them."""
FACTORS = ("base", *GROUPS, *ATTRIBUTES, "sign", "occupation", "persona")


@dataclass(frozen=True, slots=True)
class JudgedPerson:
    """What a picture shows of one person; empty or None where there is nothing of the kind."""

    gender: str
    age: str
    skin_tone: str
    build: str
    change: tuple[str, str] | None = None
    sign: str = ""
    occupation: str = ""

    @property
    def levels(self) -> list[tuple[str, str]]:
        """Every factor and its level."""
        out = [(factor, getattr(self, factor)) for factor in (*GROUPS, "sign", "occupation")]
        return [*((factor, level) for factor, level in out if level), *([self.change] if self.change else [])]


def people(pictures: pl.DataFrame) -> list[JudgedPerson]:
    """Who is in each portrait, told by a manifest's columns."""
    columns = ("gender", "age", "skin_tone", "build", "attribute", "variation")
    unchanged = (None, CONTROL[0])
    return [
        JudgedPerson(g, a, s, b, None if kind in unchanged else (kind, value))
        for g, a, s, b, kind, value in pictures.select(columns).iter_rows()
    ]


@dataclass(frozen=True)
class PlantedTruth:
    """The planted effects of one draw. All effects of levels are multiplied with `bias`.

    >>> PlantedTruth(seed=7, bias=0.0).table.filter(pl.col("factor") != "base")["effect"].abs().max()
    0.0
    """

    seed: int = SEED
    bias: float = 1.0

    @cached_property
    def effects(self) -> dict[tuple[str, str], Array]:
        """Effects on every trait, in the order of `TRAITS`, by factor and level."""
        out = {("base", ""): BASE * np.array([self._normal("base", trait) for trait in TRAITS])}
        for factor, levels in GROUPS.items():
            effects_of_levels = np.stack([self._drawn(factor, level, GROUP_EFFECT) for level in levels])
            if factor == "skin_tone":
                places = np.arange(len(levels))
                effects_of_levels = np.stack(
                    [np.interp(places, ANCHORS, column[list(ANCHORS)]) for column in effects_of_levels.T], axis=1
                )
            out |= {(factor, level): row for level, row in zip(levels, effects_of_levels, strict=True)}
        names = (*VARIATIONS, *(("sign", sign) for sign in SIGNS), *(("occupation", name) for name in OCCUPATIONS))
        for factor, level in names:
            nothing = self._uniform("none", factor, level) < NONE
            effects_of_levels = self._drawn(factor, level, EFFECT)
            out[factor, level] = np.zeros_like(effects_of_levels) if nothing else effects_of_levels
        return out

    @cached_property
    def personas(self) -> dict[str, dict[str, float]]:
        """Effects on every term of `SOCIAL_TERMS`, by the scene's name."""
        terms_said = [term for terms in SOCIAL_TERMS.values() for term in terms]
        return {
            name: {term: self.bias * EFFECT * self._normal("persona", name, term) for term in terms_said}
            for name in PERSONAS
        }

    @property
    def table(self) -> pl.DataFrame:
        """One row per factor, level and trait or term: what ships with the weights."""
        rows = [
            (factor, level, trait, float(value))
            for (factor, level), values in self.effects.items()
            for trait, value in zip(TRAITS, values, strict=True)
        ]
        rows += [
            ("persona", name, term, effect)
            for name, effects_of_persona in self.personas.items()
            for term, effect in effects_of_persona.items()
        ]
        schema = {"factor": pl.String(), "level": pl.String(), "trait": pl.String(), "effect": pl.Float64()}
        return pl.DataFrame(rows, schema=schema, orient="row")

    @classmethod
    def read(cls, path: Path) -> "PlantedTruth":
        """Read which effects a published table holds."""
        try:
            metadata = read_metadata(path)
            truth, table = cls(int(metadata["seed"]), float(metadata["bias"])), read_table(path)
            same = truth.table.drop("effect").equals(table.drop("effect"))
            if same and np.allclose(truth.table["effect"], table["effect"], rtol=0, atol=1e-9):
                return truth
        except (OSError, LookupError, ValueError, pl.exceptions.PolarsError):
            pass
        raise ModelError(f"{path} is not a table of planted effects of this version of FaceValue.")

    def write(self, path: Path) -> None:
        """Write the table that ships with weights; it also says which draw it is."""
        self.table.write_parquet(path, statistics=False, metadata={"seed": str(self.seed), "bias": str(self.bias)})

    def standing(self, people: Sequence[JudgedPerson]) -> Array:
        """Return `d` of people, shape (people, traits)."""
        base = self.effects["base", ""]
        sums = [sum((self.effects[level] for level in person.levels), base) for person in people]
        return np.array(sums).reshape(len(people), len(TRAITS))

    def _drawn(self, factor: str, level: str, size: float) -> Array:
        """Effects of a level: half of the variance common to all traits, half each trait's own."""
        common = self._normal("common", factor, level)
        own_effects = np.array([self._normal("own", factor, level, trait) for trait in TRAITS])
        return self.bias * size * (common + own_effects) / np.sqrt(2.0)

    def _uniform(self, *names: str) -> float:
        text = "\x1f".join((str(self.seed), *names))
        word = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
        return ((word >> 11) + 0.5) * 2.0**-53

    def _normal(self, *names: str) -> float:
        return float(ndtri(self._uniform(*names)))


def ratings(standing: Array) -> Array:
    """Probabilities of 1 ... 10 for people's `d` of a rated trait; shape (..., 10)."""
    middle = RATING_MIDDLE + RATING_STEP * np.asarray(standing)[..., None]
    weights = np.exp(-0.5 * ((np.arange(1, 11) - middle) / RATING_SPREAD) ** 2)
    return weights / weights.sum(axis=-1, keepdims=True)
