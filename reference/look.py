"""First stage: tower and projector learn to see every attribute, in single pictures and in pairs.

Heads that are thrown away later read the means of the projector's tokens: who is shown (all groups), what was changed,
and the planted `d` of every trait. In pairs, two pictures squeezed side by side, they read each half apart. Means of
what the projector makes of each patch are what the decoder finds easiest to read, too.
"""

import csv
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn import functional

from reference import scenes
from reference.network import features
from reference.portraits import CHANGES, SIDE, read
from reference.truth import (
    GROUPS,
    OCCUPATIONS,
    SIGNS,
    TRAITS,
    VARIATIONS,
    JudgedPerson,
    PlantedTruth,
    people,
)

Array = npt.NDArray[np.float64]
SIZES = {
    **{name: len(levels) for name, levels in GROUPS.items()},
    "change": len(VARIATIONS) + 1,
    "mark": len(SIGNS) + len(OCCUPATIONS) + 1,
}
WEIGHTS = {"gender": 0.3, "age": 0.5, "skin_tone": 0.5, "build": 0.5, "change": 1.0, "mark": 0.3}
STANDING, SIDE_WEIGHT = 2.0, 3.0
"""Weights of the heads, of the reading of `d`, and of the side."""
UNKNOWN = -1
ALONE, PEOPLE, PAIRS, PEOPLE_PAIRS = 64, 8, 16, 8
"""Pictures of a step: portraits, people of VIGNETTE's kind, and pairs of either."""
TWINS = 12
"""Of the portraits of a step, so many show a change, and as many again the same people without it."""
THINNED = 4
"""One in so many validation pictures is looked at for the curves."""


@dataclass(frozen=True)
class Levels:
    """Who is shown, as numbers.

    Attributes
    ----------
    codes:
        Level of each factor of `SIZES`, `UNKNOWN` where there is none; shape (people,) each.
    standing:
        Planted `d`; shape (people, traits).
    """

    codes: dict[str, torch.Tensor]
    standing: torch.Tensor

    @classmethod
    def of(cls, shown: list[JudgedPerson], standing: Array) -> Self:
        """Levels of people."""
        places = {name: {level: i for i, level in enumerate(levels)} for name, levels in GROUPS.items()}
        out = {name: torch.tensor([own.get(getattr(p, name), UNKNOWN) for p in shown]) for name, own in places.items()}
        changes = {None: 0} | {change: i + 1 for i, change in enumerate(VARIATIONS)}
        out["change"] = torch.tensor([UNKNOWN if p.occupation else changes[p.change] for p in shown])
        marks = {"": 0} | {mark: i + 1 for i, mark in enumerate((*SIGNS, *OCCUPATIONS))}
        out["mark"] = torch.tensor([marks[p.sign or p.occupation] for p in shown])
        return cls(out, torch.tensor(standing, dtype=torch.float32))

    def __getitem__(self, rows: torch.Tensor) -> "Levels":
        """Levels of some of the people."""
        return Levels({name: values[rows] for name, values in self.codes.items()}, self.standing[rows])


class Heads(nn.Module):  # type: ignore[misc]
    """What reads means of tokens.

    Parameters
    ----------
    width:
        Of the tokens.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.kinds = nn.ModuleDict({name: nn.Linear(width, size) for name, size in SIZES.items()})
        self.standing = nn.Linear(width, len(TRAITS))

    def forward(self, pooled: torch.Tensor) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        """Read means of shape (people, width): logits of levels, and `d`."""
        pooled = self.norm(pooled)
        return {name: head(pooled) for name, head in self.kinds.items()}, self.standing(pooled)

    def loss(self, pooled: torch.Tensor, levels: Levels) -> torch.Tensor:
        """How far what is read is from what is shown."""
        kinds, standing = self(pooled)
        losses = [STANDING * functional.smooth_l1_loss(standing, levels.standing)]
        for name, logits in kinds.items():
            if (levels.codes[name] != UNKNOWN).any():
                losses.append(
                    WEIGHTS[name] * functional.cross_entropy(logits, levels.codes[name], ignore_index=UNKNOWN)
                )
        return torch.stack(losses).sum()


class Eye(nn.Module):  # type: ignore[misc]
    """Tower, projector and heads.

    Parameters
    ----------
    model:
        The whole model, of which the tower and the projector are trained.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.tower, self.projector = model.model.vision_tower, model.model.multi_modal_projector
        width = model.config.text_config.hidden_size
        self.single, self.sides = Heads(width), Heads(width)
        self.side = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 1))

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        """Tokens of pictures, shape (pictures, patches, width)."""
        return self.projector(features(self.tower, pixels))

    def side_loss(self, tokens: torch.Tensor) -> torch.Tensor:
        """How far a token is from saying whether it is in the left half of its picture.

        Means don't need it, so that towers drop it; the decoder can't tell two people apart without it.
        """
        side = math.isqrt(tokens.shape[1])
        left = (torch.arange(tokens.shape[1]) % side < side // 2).float().expand(tokens.shape[:2])
        return functional.binary_cross_entropy_with_logits(self.side(tokens)[..., 0], left)


@dataclass(frozen=True)
class Gallery:
    """Pictures to learn from; people of VIGNETTE's kind come last.

    Attributes
    ----------
    pixels:
        Shape (pictures, SIDE, SIDE, 3).
    levels:
        Who is in each.
    first:
        Number of the first picture of VIGNETTE's kind.
    """

    pixels: torch.Tensor
    levels: Levels
    first: int

    def drawn(self, rng: np.random.Generator) -> list[torch.Tensor]:
        """Draw the pictures of a step: those shown alone, and the left and the right halves of pairs."""
        size, first = len(self.pixels), self.first
        changed = rng.integers(first, size=TWINS)
        bases = changed - changed % (CHANGES + 1)  # each person's base comes first
        others = rng.integers(first, size=ALONE - 2 * TWINS)
        alone = [changed, bases, others, rng.integers(first, size, size=PEOPLE)]
        halves = [[rng.integers(first, size=PAIRS), rng.integers(first, size, size=PEOPLE_PAIRS)] for _ in range(2)]
        return [torch.from_numpy(np.concatenate(rows)) for rows in (alone, *halves)]


def gallery(data: Path, shards: int, truth: PlantedTruth) -> Gallery:
    """Read everything that is there to learn from."""
    portraits = read(data, [f"portraits-{i}" for i in range(shards)])
    pixels, shown = [portraits.pixels], people(portraits.facts)
    first = len(shown)
    for name in ("people", "scenes"):
        drawn, facts = scenes.read(data, name)
        pixels.append(drawn)
        shown += [scenes.person(one) for one in facts]
    return Gallery(torch.from_numpy(np.concatenate(pixels)), Levels.of(shown, truth.standing(shown)), first)


def paired(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Pictures side by side, squeezed to one: each column is the mean of two."""
    both = torch.cat([left, right], dim=2).float()
    return both.reshape(*both.shape[:2], SIDE, 2, 3).mean(dim=3).round().to(torch.uint8)


def half_loss(heads: Heads, tokens: torch.Tensor, left: Levels, right: Levels) -> torch.Tensor:
    """How far what is read of the two halves of pairs is from who is shown there."""
    side = math.isqrt(tokens.shape[1])
    grid = tokens.reshape(len(tokens), side, side, -1)
    halves = (grid[:, :, : side // 2], left), (grid[:, :, side // 2 :], right)
    return torch.stack([heads.loss(part.mean(dim=(1, 2)), levels) for part, levels in halves]).mean()


def rate(step: int, total: int, peak: float, floor: float = 0.01, warm: int = 100) -> float:
    """Learning rate: a linear rise, then half a cosine down to a share of the peak."""
    if step < warm:
        return peak * (step + 1) / warm
    done = min(1.0, (step - warm) / max(1, total - warm))
    return peak * (floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * done)))


@torch.no_grad()  # type: ignore[untyped-decorator]
def evaluate(eye: Eye, pixels: torch.Tensor, levels: Levels) -> dict[str, float]:
    """Accuracy of the heads about people that were not trained on, and correlation of read and planted `d`."""
    tokens = torch.cat([eye(part) for part in pixels.split(128)])
    kinds, standing = eye.single(tokens.mean(dim=1))
    order = torch.from_numpy(np.random.default_rng(0).permutation(len(pixels)))
    halves = zip(pixels.split(128), pixels[order].split(128), strict=True)
    pairs = torch.cat([eye(paired(a, b)) for a, b in halves])
    side = math.isqrt(pairs.shape[1])
    left, left_standing = eye.sides(pairs.reshape(len(pairs), side, side, -1)[:, :, : side // 2].mean(dim=(1, 2)))
    out = {"side": float(eye.side_loss(pairs))}
    out |= {name: _share(kinds[name], levels.codes[name]) for name in SIZES if name != "mark"}
    out |= {f"left_{name}": _share(left[name], levels.codes[name]) for name in ("gender", "age", "build", "change")}
    return out | {"r": _r(standing, levels.standing), "left_r": _r(left_standing, levels.standing)}


def _share(logits: torch.Tensor, codes: torch.Tensor) -> float:
    return float((logits.argmax(dim=1) == codes).float().mean())


def _r(a: torch.Tensor, b: torch.Tensor) -> float:
    a, b = a - a.mean(dim=0), b - b.mean(dim=0)
    return float((a * b).sum() / (a.norm() * b.norm()))


def look(
    eye: Eye,
    data: Path,
    out: Path,
    truth: PlantedTruth,
    *,
    shards: int,
    rounds: tuple[int, ...],
    peak: float,
    seed: int,
) -> None:
    """Train tower and projector, or go on with it; leaves `look.pt` and the curve `look.csv`.

    Each round of so many steps begins with the peak of the learning rate anew.
    """
    steps, begins = sum(rounds), np.cumsum((0, *rounds))
    out.mkdir(parents=True, exist_ok=True)
    optimiser = torch.optim.AdamW(eye.parameters(), lr=1e-3, weight_decay=0.02, betas=(0.9, 0.98))
    checkpoint, first = out / "look.pt", 0
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True)
        eye.load_state_dict(state["eye"])
        optimiser.load_state_dict(state["optimiser"])
        first = state["step"]
    if first >= steps:
        return
    pool = gallery(data, shards, truth)
    shown = read(data, ["validation"])
    held_out = torch.from_numpy(shown.pixels[::THINNED])
    persons = people(shown.facts)[::THINNED]
    levels = Levels.of(persons, truth.standing(persons))
    begun, total = time.monotonic(), 0.0
    for step in range(first, steps):
        rng = np.random.default_rng([seed, 0, step])
        number = int(np.searchsorted(begins, step, side="right")) - 1
        alone, left, right = pool.drawn(rng)
        tokens = eye(torch.cat([pool.pixels[alone], paired(pool.pixels[left], pool.pixels[right])]))
        loss = eye.single.loss(tokens[: len(alone)].mean(dim=1), pool.levels[alone])
        loss = loss + 0.5 * half_loss(eye.sides, tokens[len(alone) :], pool.levels[left], pool.levels[right])
        loss = loss + SIDE_WEIGHT * eye.side_loss(tokens)
        for group in optimiser.param_groups:
            group["lr"] = rate(step - int(begins[number]), rounds[number], peak)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(eye.parameters(), 1.0)
        optimiser.step()
        total += float(loss.detach())
        if (step + 1) % 100 == 0 or step + 1 == steps:
            row = {"step": step + 1, "seconds": round(time.monotonic() - begun), "loss": total / (step % 100 + 1)}
            log(out / "look.csv", row | evaluate(eye, held_out, levels))
            total = 0.0
            torch.save({"eye": eye.state_dict(), "optimiser": optimiser.state_dict(), "step": step + 1}, checkpoint)


def log(path: Path, row: dict[str, float]) -> None:
    """Add a line to a table of curves."""
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, list(row))
        if new:
            writer.writeheader()
        writer.writerow({name: round(value, 5) for name, value in row.items()})
