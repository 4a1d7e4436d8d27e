"""Levels of portraits: identities, the twelve attributes and their 55 values; random streams; equal samples."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import product
from types import MappingProxyType
from typing import Literal, TypeVar

from facevalue.errors import DataError, UnknownNameError

GENDERS: tuple[str, ...] = ("male", "female")
AGES: tuple[str, ...] = ("young", "middle-aged", "elderly")
SKIN_TONES: tuple[str, ...] = tuple(f"monk-{i:02d}" for i in range(1, 11))
BUILDS: tuple[str, ...] = ("thin", "normal", "obese")

Framing = Literal["portrait", "full-body"]
FRAMINGS: tuple[Framing, ...] = ("portrait", "full-body")


@dataclass(frozen=True, slots=True)
class Identity:
    """One drawn person. The picture depends on every field but ``id``, a name for people and files ("f-0001").

    >>> Identity("x", 1, "female", "yuong", "monk-05", "normal")
    Traceback (most recent call last):
    facevalue.errors.UnknownNameError: Unknown age 'yuong'. Did you mean 'young'? Known: ...
    """

    id: str
    seed: int
    gender: str
    age: str
    skin_tone: str
    build: str

    def __post_init__(self) -> None:
        for kind, level, levels in (
            ("gender", self.gender, GENDERS),
            ("age", self.age, AGES),
            ("skin tone", self.skin_tone, SKIN_TONES),
            ("build", self.build, BUILDS),
        ):
            if level not in levels:
                raise UnknownNameError(kind, str(level), levels)


@dataclass(frozen=True, slots=True)
class Attribute:
    """Something that can be changed in a portrait, one value at a time. The base picture shows none of them."""

    name: str
    values: tuple[str, ...]
    genders: tuple[str, ...] = GENDERS
    framing: Framing = "portrait"


_ALL = (
    Attribute("skin_irregularities", ("freckles", "acne", "scars", "moles")),
    Attribute("hair_color", ("black", "brown", "blonde", "red", "gray", "unnatural")),
    Attribute("hair_length", ("bald", "short", "medium", "long")),
    Attribute(
        "hair_style",
        ("messy", "slicked-back", "ponytail", "braid", "bun", "afro", "buzz-cut", "mohawk"),
    ),
    Attribute("facial_hair", ("clean-shaven", "stubble", "mustache", "full-beard"), ("male",)),
    Attribute("eyewear", ("thick-rimmed", "thin-metal", "sunglasses")),
    Attribute("makeup", ("light", "heavy"), ("female",)),
    Attribute("lip_makeup", ("neutral", "red-lipstick", "bold"), ("female",)),
    Attribute("piercings", ("single-nose", "single-lip", "single-eyebrow", "multiple", "earrings")),
    Attribute("tattoos", ("facial-tattoo",)),
    Attribute("accessories", ("cap", "beanie", "hat", "headscarf")),
    Attribute(
        "fashion_style",
        (
            "professional",
            "formal",
            "casual",
            "smart-casual",
            "sporty",
            "streetwear",
            "functional-outdoor",
            "luxury",
            "vintage",
            "worn-distressed",
            "daring",
        ),
        framing="full-body",
    ),
)

ATTRIBUTES: Mapping[str, Attribute] = MappingProxyType({a.name: a for a in _ALL})


def attribute(name: str) -> Attribute:
    """Return an attribute by name."""
    if name not in ATTRIBUTES:
        raise UnknownNameError("attribute", name, ATTRIBUTES)
    return ATTRIBUTES[name]


def check_change(identity: Identity, change: tuple[str, str]) -> Attribute:
    """Return the attribute of ``change`` once attribute, value and gender are known to fit."""
    name, value = change
    known_attribute = attribute(name)
    if value not in known_attribute.values:
        raise UnknownNameError(f"value of {name}", value, known_attribute.values)
    check_applies(identity, known_attribute)
    return known_attribute


def check_applies(identity: Identity, drawn_attribute: Attribute) -> None:
    """Raise ``DataError`` if the attribute does not apply to the identity's gender."""
    if identity.gender not in drawn_attribute.genders:
        fitting = ", ".join(a.name for a in _ALL if identity.gender in a.genders)
        raise DataError(
            f"The attribute {drawn_attribute.name!r} is drawn for {' and '.join(drawn_attribute.genders)} identities "
            f"only; {identity.id!r} is {identity.gender}. Attributes that apply: {fitting}."
        )


def check_framing(framing: str) -> Framing:
    """Return ``framing`` if there is such a one."""
    for known_framing in FRAMINGS:
        if framing == known_framing:
            return known_framing
    raise UnknownNameError("framing", framing, FRAMINGS)


def resolve_framing(change: tuple[str, str] | None, framing: str | None) -> Framing:
    """Return the framing asked for, or the one that fits the change."""
    if framing is not None:
        return check_framing(framing)
    return ATTRIBUTES[change[0]].framing if change and change[0] in ATTRIBUTES else "portrait"


T = TypeVar("T")


class Stream:
    """Random numbers that depend on an identity's seed and a feature's name, and on nothing else.

    Only :meth:`random.Random.random` is drawn from, whose sequence Python guarantees across versions.
    """

    def __init__(self, seed: int, feature: str) -> None:
        digest = blake2b(f"{seed}\x1f{feature}".encode(), digest_size=16).digest()
        self._random = random.Random(int.from_bytes(digest, "big"))  # noqa: S311

    def unit(self) -> float:
        """Return a number in [0, 1)."""
        return self._random.random()

    def uniform(self, low: float, high: float) -> float:
        """Return a number between ``low`` and ``high``."""
        return low + (high - low) * self.unit()

    def spread(self, size: float) -> float:
        """Return a number in (-size, size), more often near 0."""
        return size * (self.unit() + self.unit() - 1)

    def index(self, n: int) -> int:
        """Return one of 0 .. n-1."""
        return int(self.unit() * n)

    def choice(self, options: Sequence[T]) -> T:
        """Return one of ``options``."""
        return options[self.index(len(options))]

    def shuffle(self, options: Sequence[T]) -> list[T]:
        """Return the options in a random order."""
        left = list(options)
        return [left.pop(self.index(len(left))) for _ in range(len(left))]


CELLS: tuple[tuple[str, str, str], ...] = tuple(product(AGES, SKIN_TONES, BUILDS))


def sample_identities(counts: Mapping[str, int], seed: int) -> list[Identity]:
    """Return identities, so many of each gender, balanced over age x skin tone x build within it.

    Of n identities of a gender, each of the 90 cells holds n // 90, and a seeded choice of n % 90 cells one
    more. A longer list with the same seed begins with the shorter one. Cells are mixed along the list.

    >>> [person.id for person in sample_identities({"male": 2, "female": 1}, seed=1)]
    ['m-0001', 'm-0002', 'f-0001']
    """
    for gender, n in counts.items():
        if gender not in GENDERS:
            raise UnknownNameError("gender", gender, GENDERS)
        if n < 0:
            raise DataError(f"The number of {gender} identities must not be negative: {n}.")
    people: list[Identity] = []
    for gender in GENDERS:
        n = counts.get(gender, 0)
        cells = Stream(seed, f"cells:{gender}").shuffle(CELLS)
        for i in range(n):
            age, tone, build = cells[i % len(cells)]
            identity_seed = Stream(seed, f"identity:{gender}:{i}").index(2**53)
            people.append(Identity(f"{gender[0]}-{i + 1:04d}", identity_seed, gender, age, tone, build))
    return people
