"""First stage: the vision tower learns to see every attribute, in single portraits and in pairs.

Heads that are thrown away later read the tower's tokens: who is shown (all groups), what was changed, and the planted
`d` of every trait. In pairs, two portraits squeezed side by side, they read each half apart.
"""

import argparse
import csv
import math
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn import functional

from facevalue.models.reference.truth import GROUPS, OCCUPATIONS, SIGNS, TRAITS, VARIATIONS, Person, Truth
from reference import scenes
from reference.network import configuration, features, network
from reference.portraits import SIDE, Portraits, read

SIZES = {
    **{name: len(levels) for name, levels in GROUPS.items()},
    "change": len(VARIATIONS) + 1,
    "mark": len(SIGNS) + len(OCCUPATIONS) + 1,
}
WEIGHTS = {"gender": 0.3, "age": 0.5, "skin_tone": 0.5, "build": 0.5, "change": 1.0, "mark": 0.3}
UNKNOWN = -1
ALONE, PEOPLE, PAIRS, PEOPLE_PAIRS = 64, 8, 16, 8
"""Pictures of a step: portraits, people of VIGNETTE's kind, and pairs of either."""


class Heads(nn.Module):
    """What reads the tower during the first stage."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.kinds = nn.ModuleDict({name: nn.Linear(width, size) for name, size in SIZES.items()})
        self.standing = nn.Linear(width, len(TRAITS))

    def forward(self, pooled: torch.Tensor) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        """Read tokens' means; shape (people, width)."""
        pooled = self.norm(pooled)
        return {name: head(pooled) for name, head in self.kinds.items()}, self.standing(pooled)


@dataclass(frozen=True)
class Material:
    """Pictures to learn from; people of VIGNETTE's kind come last, without known levels of some factors.

    Attributes
    ----------
    pixels:
        Shape (pictures, SIDE, SIDE, 3).
    shown:
        Who is in each.
    first:
        Number of the first picture of VIGNETTE's kind.
    """

    pixels: torch.Tensor
    shown: list[Person]
    first: int


def material(data: Path, shards: int) -> Material:
    """Read everything that is there to learn from."""
    portraits = read(data, [f"portraits-{i}" for i in range(shards)])
    pixels, shown = [portraits.pixels], people(portraits)
    first = len(shown)
    for name in ("people", "scenes"):
        drawn, facts = scenes.read(data, name)
        pixels.append(drawn)
        shown += [scenes.person(one) for one in facts]
    return Material(torch.from_numpy(np.concatenate(pixels)), shown, first)


def people(pictures: Portraits) -> list[Person]:
    """Who is in each picture."""
    columns = ("gender", "age", "skin_tone", "build", "attribute", "variation")
    return [
        Person(g, a, s, b, None if kind is None else (kind, value))
        for g, a, s, b, kind, value in pictures.facts.select(columns).iter_rows()
    ]


def drawn(rng: np.random.Generator, pool: Material) -> tuple[npt.NDArray, npt.NDArray, npt.NDArray]:
    """Draw the pictures of a step: those shown alone, and both halves of pairs."""
    size = len(pool.shown)
    alone = np.concatenate([rng.integers(pool.first, size=ALONE), rng.integers(pool.first, size, size=PEOPLE)])
    halves = [
        np.concatenate([rng.integers(pool.first, size=PAIRS), rng.integers(pool.first, size, size=PEOPLE_PAIRS)])
        for _ in range(2)
    ]
    return alone, halves[0], halves[1]


def thinned(pictures: Portraits, every: int) -> Portraits:
    """Every so many-th picture."""
    return Portraits(pictures.pixels[::every], pictures.facts.gather_every(every))


def codes(shown: list[Person]) -> dict[str, torch.Tensor]:
    """Levels as numbers, `UNKNOWN` where there is none."""
    places = {name: {level: i for i, level in enumerate(levels)} for name, levels in GROUPS.items()}
    out = {name: torch.tensor([own.get(getattr(p, name), UNKNOWN) for p in shown]) for name, own in places.items()}
    changes = {None: 0} | {change: i + 1 for i, change in enumerate(VARIATIONS)}
    out["change"] = torch.tensor([UNKNOWN if p.occupation else changes[p.change] for p in shown])
    marks = {"": 0} | {mark: i + 1 for i, mark in enumerate((*SIGNS, *OCCUPATIONS))}
    out["mark"] = torch.tensor([marks[p.sign or p.occupation] for p in shown])
    return out


def paired(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Pictures side by side, squeezed to one: each column is the mean of two."""
    both = torch.cat([left, right], dim=2).float()
    return both.reshape(*both.shape[:2], SIDE, 2, 3).mean(dim=3).round().to(torch.uint8)


def pools(tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Means of the tokens of the left and of the right half; shape (pictures, width) each."""
    side = math.isqrt(tokens.shape[1])
    grid = tokens.reshape(len(tokens), side, side, -1)
    return grid[:, :, : side // 2].mean(dim=(1, 2)), grid[:, :, side // 2 :].mean(dim=(1, 2))


def rate(step: int, total: int, peak: float, warm: int = 200) -> float:
    """Learning rate: a linear rise, then half a cosine down to a hundredth."""
    if step < warm:
        return peak * (step + 1) / warm
    return peak * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warm) / max(1, total - warm)))))


def evaluate(
    tower: nn.Module, single: Heads, half: Heads, shown: Portraits, standing: torch.Tensor
) -> dict[str, float]:
    """Accuracy of the heads, and the correlation of read and planted `d`, on people that were not trained on."""
    levels = codes(people(shown))
    pixels = torch.from_numpy(shown.pixels)
    with torch.no_grad():
        tokens = torch.cat([features(tower, part) for part in pixels.split(128)])
        kinds, read_out = single(tokens.mean(dim=1))
        order = torch.from_numpy(np.random.default_rng(0).permutation(len(pixels)))
        pairs = torch.cat([features(tower, paired(a, b)) for a, b in zip(pixels.split(128), pixels[order].split(128))])
        left, _ = half(pools(pairs)[0])
    out = {name: float((kinds[name].argmax(1) == levels[name]).float().mean()) for name in SIZES if name != "mark"}
    out |= {
        f"left_{name}": float((left[name].argmax(1) == levels[name]).float().mean())
        for name in ("gender", "age", "change")
    }
    a, b = read_out - read_out.mean(0), standing - standing.mean(0)
    out["r_standing"] = float((a * b).sum() / (a.norm() * b.norm()))
    return out


def main() -> None:
    """Train the tower: `python -m reference.look DATA OUT --steps 2000`."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--shards", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bias", type=float, default=1.0)
    parser.add_argument("--peak", type=float, default=1.5e-3)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    arguments.out.mkdir(parents=True, exist_ok=True)
    pool = material(arguments.data, arguments.shards)
    held_out = thinned(read(arguments.data, ["validation"]), 4)
    truth = Truth(bias=arguments.bias)
    standing = torch.tensor(truth.standing(pool.shown), dtype=torch.float32)
    levels, pixels = codes(pool.shown), pool.pixels
    other = torch.tensor(truth.standing(people(held_out)), dtype=torch.float32)

    tower = network(configuration(8, 3, 0, 1), arguments.seed).model.vision_tower
    width = tower.config.hidden_size
    single, half = Heads(width), Heads(width)
    weights = [*tower.parameters(), *single.parameters(), *half.parameters()]
    optimiser = torch.optim.AdamW(weights, lr=1e-3, weight_decay=0.02, betas=(0.9, 0.98))
    checkpoint = arguments.out / "look.pt"
    first = 0
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True)
        tower.load_state_dict(state["tower"])
        single.load_state_dict(state["single"])
        half.load_state_dict(state["half"])
        optimiser.load_state_dict(state["optimiser"])
        first = state["step"]
    begun = time.monotonic()
    apart = ALONE + PEOPLE
    for step in range(first, arguments.steps):
        rng = np.random.default_rng([arguments.seed, step])
        alone, left, right = (torch.from_numpy(rows) for rows in drawn(rng, pool))
        tokens = features(tower, torch.cat([pixels[alone], paired(pixels[left], pixels[right])]))
        by_half = pools(tokens[apart:])
        loss = torch.zeros(())
        read_rows = ((single(tokens[:apart].mean(dim=1)), alone), (half(by_half[0]), left), (half(by_half[1]), right))
        for (kinds, read_out), who in read_rows:
            share = len(who) / (len(alone) + 2 * len(left))
            for name, logits in kinds.items():
                loss = loss + share * WEIGHTS[name] * functional.cross_entropy(
                    logits, levels[name][who], ignore_index=UNKNOWN
                )
            loss = loss + share * 2.0 * functional.smooth_l1_loss(read_out, standing[who])
        for group in optimiser.param_groups:
            group["lr"] = rate(step, arguments.steps, arguments.peak)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(weights, 1.0)
        optimiser.step()
        if (step + 1) % 100 == 0 or step + 1 == arguments.steps:
            row = {"step": step + 1, "seconds": round(time.monotonic() - begun), "loss": float(loss.detach())}
            row |= evaluate(tower, single, half, held_out, other)
            log = arguments.out / "look.csv"
            new = not log.exists()
            with log.open("a", newline="") as file:
                writer = csv.DictWriter(file, list(row))
                if new:
                    writer.writeheader()
                writer.writerow({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()})
            torch.save(
                {
                    "tower": tower.state_dict(), "single": single.state_dict(), "half": half.state_dict(),
                    "optimiser": optimiser.state_dict(), "step": step + 1,
                },
                checkpoint,
            )  # fmt: skip


if __name__ == "__main__":
    main()
