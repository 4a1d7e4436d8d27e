"""What there is to look at in the second stage: portraits alone, and pairs of portraits, people and scenes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from reference import scenes
from reference.look import paired
from reference.network import features
from reference.portraits import CHANGES, PEOPLE, SIDE, kept, read
from reference.truth import VARIATIONS, JudgedPerson, PlantedTruth, people

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
Pair = tuple[scenes.Shown, scenes.Shown]


class Pictures:
    """Pictures by number, as the tower sees them.

    Parameters
    ----------
    pixels:
        Shape (pictures, SIDE, SIDE, 3).
    """

    def __init__(self, pixels: torch.Tensor) -> None:
        self.pixels = pixels
        self._seen = torch.empty(0)

    def __len__(self) -> int:
        return len(self.pixels)

    def look(self, tower: nn.Module) -> None:
        """Look at every picture once, with a tower that will not change."""
        self._seen = seen(tower, self.pixels)

    def tokens(self, rows: Places) -> torch.Tensor:
        """Tokens of some pictures that have been looked at."""
        return self._seen[rows].float()


@dataclass
class Material:
    """What is looked at.

    Attributes
    ----------
    alone:
        Single portraits; the last is blank.
    standing:
        Planted `d` of who is shown; that of the blank one is the traits' bases.
    pairs:
        Two people side by side.
    left, right:
        Who is on the left and right of each pair.
    left_standing, right_standing:
        Their planted `d`.
    shown:
        How VIGNETTE knows the two; None for pairs of portraits.
    empty:
        Scenes without people.
    personas:
        Their names.
    together:
        Portraits of each person that are drawn at the size a study shows them: rows of the base and of the changes that
        the paper keeps for the person's gender, and which of `VARIATIONS` these are; nobody who has none.
    """

    alone: Pictures
    standing: Array
    pairs: Pictures
    left: list[JudgedPerson]
    right: list[JudgedPerson]
    left_standing: Array
    right_standing: Array
    shown: list[Pair | None]
    empty: Pictures
    personas: list[str]
    together: list[tuple[Places, Places]]


@torch.no_grad()  # type: ignore[untyped-decorator]
def seen(tower: nn.Module, pixels: torch.Tensor) -> torch.Tensor:
    """Tokens of the tower for many pictures, in half precision."""
    return torch.cat([features(tower, part).half() for part in pixels.split(128)])


def material(data: Path, shards: Sequence[int], truth: PlantedTruth, pairs: int) -> Material:
    """Read the training pictures, and put a pool of pairs together: of portraits, of people, of scenes."""
    portraits = read(data, [f"portraits-{i}" for i in range(sum(shards))])
    pixels = torch.from_numpy(portraits.pixels)
    blank = torch.full((1, SIDE, SIDE, 3), 255, dtype=torch.uint8)
    who = people(portraits.facts)
    rng = np.random.default_rng([truth.seed, 1])
    a, b = (rng.integers(len(pixels), size=pairs) for _ in range(2))
    composed, left, right = [side_by_side(pixels, a, b)], [who[i] for i in a], [who[i] for i in b]
    shown: list[Pair | None] = [None] * pairs
    for name, together in (("people", True), ("scenes", True), ("scenes", False)):
        drawn, facts = scenes.read(data, name)
        own = [scenes.person(one) for one in facts]
        a, b = partners(facts, pairs if name == "people" else pairs // 2, rng, together)
        composed.append(side_by_side(torch.from_numpy(drawn), a, b))
        left += [own[i] for i in a]
        right += [own[i] for i in b]
        shown += [(facts[i], facts[j]) for i, j in zip(a, b, strict=True)]
    empty, personas = scenes.read_personas(data, "personas")
    return Material(
        Pictures(torch.cat([pixels, blank])),
        np.concatenate([truth.standing(who), truth.effects["base", ""][None]]),
        Pictures(torch.cat(composed)),
        left,
        right,
        truth.standing(left),
        truth.standing(right),
        shown,
        Pictures(torch.from_numpy(empty)),
        personas,
        by_person(who, shards[0] * PEOPLE),
    )


def by_person(who: list[JudgedPerson], first: int = 0) -> list[tuple[Places, Places]]:
    """The portraits of each person from the `first` on, of whom the base comes first: see `Material`."""
    known = {gender: kept(gender) for gender in ("male", "female")}
    out = []
    for base in range(first * (CHANGES + 1), len(who), CHANGES + 1):
        rows = [row for row in range(base + 1, base + CHANGES + 1) if who[row].change in known[who[base].gender]]
        if rows:
            changes = [VARIATIONS.index(change) for row in rows if (change := who[row].change)]
            out.append((np.array([base, *rows]), np.array(changes)))
    return out


def side_by_side(pixels: torch.Tensor, left: Places, right: Places) -> torch.Tensor:
    """Pairs of pictures, some at a time to spare memory."""
    parts = max(1, len(left) // 256)
    halves = zip(np.array_split(left, parts), np.array_split(right, parts), strict=True)
    return torch.cat([paired(pixels[a], pixels[b]) for a, b in halves])


def partners(
    facts: list[scenes.Shown], count: int, rng: np.random.Generator, together: bool = True
) -> tuple[Places, Places]:
    """Pairs of pictures of one gender and dimension that show two identities, `together` in one activity."""
    groups: dict[tuple[str, str, str], list[int]] = {}
    for number, one in enumerate(facts):
        groups.setdefault((one.gender, one.dimension, one.activity if together else ""), []).append(number)
    usable = [rows for rows in groups.values() if len({facts[i].identity for i in rows}) > 1]
    sizes = np.array([len(rows) for rows in usable], dtype=np.float64)
    out: list[tuple[int, int]] = []
    while len(out) < count:
        rows = usable[rng.choice(len(usable), p=sizes / sizes.sum())]
        i, j = rng.choice(rows, 2, replace=False)
        if facts[i].identity != facts[j].identity:
            out.append((int(i), int(j)))
    return np.array([i for i, _ in out]), np.array([j for _, j in out])
