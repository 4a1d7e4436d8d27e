"""What a published model has learned, exactly, about people it was never trained on, beside what was planted.

`python -m reference.measure FOLDER DATA OUT` asks every forced choice of StylisticBias about every test portrait, in
all four orderings, reads the probabilities, and writes mean shifts by variation and scenario.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.models.reference.network import Network, read_weights
from facevalue.models.reference.replies import Tokens
from facevalue.models.reference.truth import LETTER, POSITION
from facevalue.prompts import ORDERINGS
from facevalue.protocol.replies import phrase_options
from facevalue.studies.stylisticbias.tables import JUDGMENT
from reference.portraits import Portraits, read
from reference.probe import related
from reference.truth import SCENARIOS, TRAITS, PlantedTruth, people

Array = npt.NDArray[np.float64]
TEMPERATURES = (1.0, 0.2)
"""The model's own, and that at which StylisticBias samples."""


def prompts(tokens: Tokens) -> tuple[list[list[int]], npt.NDArray[np.int64]]:
    """Rows up to the letter, orderings outermost; and the letter's token of the favourable pole and of the other."""
    rows, letters = [], []
    for ordering in ORDERINGS:
        for poles in SCENARIOS.values():
            options = ordering.options(poles, ("+", "-"))
            text = JUDGMENT.format(options=phrase_options(options))
            turn = [tokens.id("<end>"), tokens.id("<assistant>"), *tokens.encode("(")]
            rows.append([*tokens.encode(text), *turn])
            own = {option.level: tokens.encode(option.label[1])[0] for option in options}
            letters.append([own["+"], own["-"]])
    return rows, np.array(letters)


def learned(folder: Path, shown: Portraits) -> Array:
    """Logits of the favourable pole, given (a) or (b); shape (pictures, orderings, scenarios)."""
    network = Network(read_weights(folder / "model.safetensors"), json.loads((folder / "config.json").read_text()))
    tokens = Tokens(folder / "tokenizer.json")
    rows, letters = prompts(tokens)
    places = [[len(row) - 1] for row in rows]
    first = network.embeddings[[tokens.id("<user>")]]
    out = []
    for pixels in shown.pixels:
        prefix = network.run(np.concatenate([first, network.look(pixels)]))
        logits = np.concatenate(network.read(prefix, rows, places))
        pair = np.take_along_axis(logits, letters, axis=1).astype(np.float64)
        out.append(pair[:, 0] - pair[:, 1])
    return np.array(out).reshape(len(out), len(ORDERINGS), len(SCENARIOS))


def planted(shown: Portraits, truth: PlantedTruth) -> Array:
    """Planted logits, in the same shape."""
    standing = truth.standing(people(shown.facts))[:, [TRAITS.index(name) for name in SCENARIOS]]
    out = []
    for ordering in ORDERINGS:
        side = 1 if ordering.first == 0 else -1
        letter = LETTER if ordering.labels[0] == "(a)" else -LETTER
        out.append(standing + side * (POSITION + letter))
    return np.stack(out, axis=1)


def shifts(shown: Portraits, logits: Array, temperature: float) -> pl.DataFrame:
    """Mean shift of every variation and scenario at a temperature."""
    phi = (1 / (1 + np.exp(-logits / temperature))).mean(axis=1)
    frame = shown.facts.select("identity", "attribute", "variation").with_columns(
        pl.Series(name, phi[:, i]) for i, name in enumerate(SCENARIOS)
    )
    base = frame.filter(pl.col("attribute").is_null()).drop("attribute", "variation")
    varied = frame.filter(pl.col("attribute").is_not_null()).join(base, on="identity", suffix=" base")
    names = list(SCENARIOS)
    return (
        varied.select("attribute", "variation", *((pl.col(n) - pl.col(f"{n} base")).alias(n) for n in names))
        .unpivot(names, index=["attribute", "variation"], variable_name="scenario", value_name="shift")
        .group_by("attribute", "variation", "scenario", maintain_order=True)
        .agg(pl.col("shift").mean())
    )


def main() -> None:
    """Measure a published model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--bias", type=float, default=1.0)
    parser.add_argument("--every", type=int, default=1, help="only every so many-th person")
    arguments = parser.parse_args()
    shown = read(arguments.data, ["test"])
    names = list(dict.fromkeys(shown.facts["identity"]))[:: arguments.every]
    rows = np.flatnonzero(shown.facts["identity"].is_in(names).to_numpy())
    shown = Portraits(shown.pixels[rows], shown.facts[rows])
    own, wanted = learned(arguments.folder, shown), planted(shown, PlantedTruth(bias=arguments.bias))
    parts = []
    for temperature in TEMPERATURES:
        table = shifts(shown, wanted, temperature).rename({"shift": "planted"})
        table = table.with_columns(shifts(shown, own, temperature)["shift"].alias("learned"))
        parts.append(table.with_columns(temperature=pl.lit(temperature)))
        x, y = table["planted"].to_numpy(), table["learned"].to_numpy()
        p, q = (1 / (1 + np.exp(-logits / temperature)) for logits in (wanted, own))
        none = y[x == 0]
        r, slope = related(x, y)
        print(
            f"temperature {temperature}: r of probabilities {np.corrcoef(p.ravel(), q.ravel())[0, 1]:.4f}, "
            f"mean error {np.abs(p - q).mean():.4f}; r of effects {r:.4f}, "
            f"slope {slope:.3f}; SD where nothing is planted {none.std():.4f}, "
            f"largest {np.abs(none).max(initial=0):.4f}"
        )
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    pl.concat(parts).with_columns(pl.col("planted", "learned").round(5)).write_csv(arguments.out)


if __name__ == "__main__":
    main()
