"""How close a published model is to what is planted, for every kind of question, about people held out.

`python -m reference.kinds FOLDER PICTURES OUT` draws questions of each kind, reads the probabilities of what may
follow, and compares them with the planted ones.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import torch

from facevalue.models.reference.network import Network, read_weights, softmax
from reference import scenes, words
from reference.look import paired
from reference.material import partners
from reference.portraits import read
from reference.rows import Row, Writer
from reference.truth import PlantedTruth, people

Pixels = npt.NDArray[np.uint8]
ONE = ("chosen", "quoted", "prefixed", "yes_no", "rated", "keywords")
REFUSED = ("refused", "far")
PAIRS = (
    ("portraits of VIGNETTE", False, True),
    ("scenes of VIGNETTE", True, True),
    ("scenes of VIGNETTE, two activities", True, False),
)
"""Pairs of VIGNETTE: what they are called, whether people do something, and whether both do the same."""
EACH = 4
"""Questions of a kind about each picture."""


class Asked(NamedTuple):
    """A question about a picture."""

    kind: str
    pixels: Pixels
    rows: list[Row]


def asked(writer: Writer, data: Path, truth: PlantedTruth, pictures: int) -> Iterator[Asked]:
    """Questions of every kind, each about its own pictures."""
    rng = np.random.default_rng(11)
    shown = read(data, ["test"])
    standing = truth.standing(people(shown.facts))
    for kind in (*ONE, *REFUSED):
        for i in rng.integers(len(standing), size=pictures):
            ask = getattr(writer, kind)
            rows = [ask(rng) if kind in REFUSED else ask(rng, standing[i]) for _ in range(EACH)]
            yield Asked(kind, shown.pixels[i], rows)
    pixels = torch.from_numpy(shown.pixels)
    for i, j in rng.integers(len(standing), size=(pictures, 2)):
        both = paired(pixels[i : i + 1], pixels[j : j + 1])[0].numpy()
        yield Asked("compared", both, [writer.compared(rng, standing[i], standing[j]) for _ in range(EACH)])
    drawn, facts = scenes.read(data, "people-held-out")
    own = truth.standing([scenes.person(one) for one in facts])
    pixels = torch.from_numpy(drawn)
    for kind, busy, together in PAIRS:
        rows = [i for i, one in enumerate(facts) if bool(one.activity) is busy]
        left, right = partners([facts[i] for i in rows], pictures, rng, together)
        for a, b in zip(left, right, strict=True):
            i, j = rows[a], rows[b]
            both = paired(pixels[i : i + 1], pixels[j : j + 1])[0].numpy()
            for how in ("position", "identity"):
                asked = [writer.paired(rng, (facts[i], facts[j]), own[i], own[j], how) for _ in range(EACH)]
                yield Asked(f"{kind}, by {how}", both, asked)
    drawn, names = scenes.read_personas(data, "personas-held-out")
    for empty, name in zip(drawn, names, strict=True):
        yield Asked("persona scenes", empty, [writer.persona(rng, name, truth.personas[name]) for _ in range(EACH)])


def main() -> None:
    """Measure a published model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--pictures", type=int, default=200, help="of each kind")
    parser.add_argument("--bias", type=float, default=1.0)
    parser.add_argument("--heeds", choices=("nothing", "evenly", "refuse"), default="nothing")
    arguments = parser.parse_args()
    truth = PlantedTruth(bias=arguments.bias)
    tokenizer = words.tokenizer()
    writer = Writer(tokenizer, truth.effects["base", ""], arguments.heeds)
    settings = json.loads((arguments.folder / "config.json").read_text())
    network = Network(read_weights(arguments.folder / "model.safetensors"), settings)
    user = network.embeddings[[words.number(tokenizer, words.USER)]]
    found: dict[str, list[tuple[float, float]]] = {}
    for kind, pixels, rows in asked(writer, arguments.data, truth, arguments.pictures):
        prefix = network.run(np.concatenate([user, network.look(pixels)]))
        places = [[place for place, *_ in row.targets] for row in rows]
        for row, logits in zip(rows, network.read(prefix, [row.ids for row in rows], places), strict=True):
            for (_, tokens, shares, _), values in zip(row.targets, softmax(logits.astype(np.float64)), strict=True):
                name = kind if len(tokens) > 1 or kind in REFUSED else "brackets, commas and ends"
                if tokens == [writer.refusal[0]] and kind not in REFUSED:
                    name = f"{kind}, refused"
                found.setdefault(name, []).extend(zip(values[list(tokens)].tolist(), shares, strict=True))
    lines = []
    for kind, pairs in found.items():
        learned, planted = np.array(pairs).T
        r = float(np.corrcoef(learned, planted)[0, 1]) if np.ptp(planted) > 0 else None
        lines.append((kind, len(pairs), r, float(np.abs(learned - planted).mean())))
    table = pl.DataFrame(lines, schema=["kind", "probabilities", "r", "mean_error"], orient="row")
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    table.with_columns(pl.col("r", "mean_error").round(4)).write_csv(arguments.out)
    print(table)


if __name__ == "__main__":
    main()
