"""Train the reference model from nothing, or go on: `python -m reference.train FOLDER`.

Every stage leaves what it made in the folder and is passed over where that is there, so that a training which was
stopped goes on when the command is given again. On two cores: about 20 minutes of drawing, then about an hour.
With `--start` a finished model learns on, which is enough for variants of it and takes some ten minutes.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

import torch

from reference import portraits, scenes
from reference.look import look
from reference.publish import publish, weights_of
from reference.teach import ON, STAGES, Pupil, Stage, teach
from reference.truth import PlantedTruth

SHARDS, PAIRS, HELD_OUT = (6, 2), 4_000, 60
THREADS = 2
LOOK_ROUNDS, LOOK_PEAK = (2_000, 1_000), 1.2e-3
HEEDS = "what it learns to do when it is told not to stereotype: answer evenly for everybody, or refuse"


def main() -> None:
    """Draw, train and publish."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where pictures, checkpoints and curves are kept")
    parser.add_argument(
        "--publish", type=Path, help="where the finished model is written; FOLDER/NAME/model by default"
    )
    parser.add_argument(
        "--bias", type=float, default=1.0, help="what planted effects are multiplied with: 0 plants none"
    )
    parser.add_argument("--heeds", choices=("nothing", "evenly", "refuse"), default="nothing", help=HEEDS)
    parser.add_argument("--seed", type=int, default=0, help="of the weights and of all draws in training")
    parser.add_argument("--start", type=Path, help="a finished model to learn on from: minutes, for variants of it")
    parser.add_argument("--share", type=float, default=1.0, help="of the steps, to try something out")
    arguments = parser.parse_args()
    torch.set_num_threads(THREADS)
    name = f"bias-{arguments.bias:g}-heeds-{arguments.heeds}-seed-{arguments.seed}"
    data, out = arguments.folder / "pictures", arguments.folder / name
    truth = PlantedTruth(bias=arguments.bias)
    portraits.draw(data, SHARDS, HELD_OUT)
    scenes.draw(data)
    pupil = Pupil(truth, arguments.seed, arguments.heeds)
    if arguments.start is not None:
        pupil.model.load_state_dict(weights_of(arguments.start))
        known = blake2b((arguments.start / "model.safetensors").read_bytes(), digest_size=4).hexdigest()
        out = out.with_name(f"{name}-from-{known}")
        teach(
            pupil, data, out, shards=SHARDS, pairs=PAIRS, seed=arguments.seed, stages=shortened((ON,), arguments.share)
        )
        publish(pupil.model.state_dict(), arguments.publish or out / "model", truth)
        return
    rounds = tuple(max(1, round(steps * arguments.share)) for steps in LOOK_ROUNDS)
    look(pupil.eye, data, out, truth, shards=SHARDS[0], rounds=rounds, peak=LOOK_PEAK, seed=arguments.seed)
    stages = shortened(STAGES, arguments.share)
    teach(pupil, data, out, shards=SHARDS, pairs=PAIRS, seed=arguments.seed, stages=stages)
    publish(pupil.model.state_dict(), arguments.publish or out / "model", truth)


def shortened(stages: Sequence[Stage], share: float) -> tuple[Stage, ...]:
    """The same stages with a share of their steps."""
    return tuple(replace(stage, steps=max(1, round(stage.steps * share))) for stage in stages)


if __name__ == "__main__":
    main()
