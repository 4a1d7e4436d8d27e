"""`python -m tests.faults --out docs/results/faults.csv`: faults at random, and what became of each kind."""

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

from tests.faults import bits, folders, kept, replies

KINDS: dict[str, Callable[[random.Random, int, Path], Iterator[str]]] = {
    "process killed at one file operation": folders.killed,
    "one file operation fails": folders.refused,
    "power cut at one file operation": folders.cut,
    "process killed at a random moment": folders.killed_at_random,
    "one bit flipped in a run folder": bits.flipped,
    "judge, annotate or review ends at one file operation": kept.at_every_operation,
    "judge or annotate killed at a random moment": kept.at_random,
    "reply of a server with one broken part": replies.broken,
}
GOOD = ("as without the fault", "named error")
"""What may become of a case. Everything else is a loss: of answers, of money, or of truth."""


def main() -> int:
    """Run all kinds, print and write the table; the exit status says whether everything held."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--cases", type=int, default=200, help="of each kind that is drawn at random")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    rows = []
    for name, cases in KINDS.items():
        with tempfile.TemporaryDirectory() as place:
            found = Counter(cases(random.Random(f"{asked.seed} {name}"), asked.cases, Path(place)))
        other = {what: count for what, count in found.items() if what not in GOOD}
        rows.append(
            {
                "fault": name,
                "cases": found.total(),
                **{what: found[what] for what in GOOD},
                "something else": sum(other.values()),
            }
        )
        print(rows[-1], other or "", flush=True)
    table = pl.DataFrame(rows)
    if asked.out is not None:
        table.write_csv(asked.out)
    return int(table["something else"].sum() > 0)


if __name__ == "__main__":
    with pytest.MonkeyPatch.context():
        sys.exit(main())
