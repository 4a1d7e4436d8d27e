"""Reproduction of ModSCAN's printed figures from its other figures. docs/papers/reproduce.md says what differs."""

import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from facevalue.protocol.reproduction import Cell, Paper, Printed, Reproduction
from facevalue.studies.modscan.settings import RACES
from facevalue.studies.modscan.statistics import GroupChoices, bias_scores

PAPER = Paper.shipped(__package__)
FIGURE_22 = PAPER.document["figure_22"]
ROUNDING = 1e-4
"""Of a score after a change: that of both printed numbers."""
VALID = "N/A Filtered"
"""The column of a score of valid answers."""
Array = npt.NDArray[np.float64]
_TRAITS = 14
_ALL = "its percentages are of all queries, and the share of valid answers by trait is not printed"


def reproduce(_: Path | None = None) -> Reproduction:
    """Recompute what follows from the paper's own tables."""
    return PAPER.reproduce({
        "similar": _similar,
        "blank_score": _blank_score,
        "beyond": lambda cell: int((np.abs(_differences(cell.column)) > 10).sum()),
        "mean_difference": lambda cell: float(np.abs(_differences(f"{cell.column}/original")).mean()),
        "outdoors": lambda cell: 50 + float(PAPER.table("5")["loves outdoors"][f"{cell.column}/blank"]) / 2,
        "male_first": lambda _: float(_male_first()),
        "always_first": lambda _: 100 * (2 * _male_first() - 200) / 200,
        "habit": lambda _: "the order of terms",
        "above": _above,
        "valid_share": _valid_share,
        "corpus": _corpus,
        "changed": _check_changes,
        "closest": _closest,
        "matrix": lambda cell: _matrix(cell.column, np.array(FIGURE_22[cell.row])),
        "order_of_scores": lambda _: _order_of_scores(),
    })  # fmt: skip


def _score(shares: Sequence[float]) -> float:
    """Bias score of shares of one of two groups (equation 2), all answers valid."""
    chosen = np.array([[[share, 1 - share] for share in shares]])
    ones, people, times = np.ones((1, len(shares))), np.zeros(1, dtype=np.int64), np.ones(chosen.shape)
    scores = bias_scores(GroupChoices(chosen, times, ones, ones, 0.5, (people, people), times), 0, 1)
    return float(scores["all"].value[0])


def _scenarios(values: Sequence[float]) -> str:
    return f"the table has {', '.join(f'{value:.2f}' for value in values)}: the text does not hold for all scenarios"


def _similar(cell: Printed) -> Cell:
    """Table 4: the pair of models that is most or least alike."""
    similar = PAPER.numbers("4")[cell.row]
    pair = (max if cell.column == "highest" else min)(similar, key=similar.__getitem__)
    return cell.word(pair, _scenarios(list(similar.values())))


def _differences(column: str) -> list[float]:
    """Table 5: male less female of each trait."""
    return [row[column] for row in PAPER.numbers("5").values() if column in row][:_TRAITS]


def _blank_score(cell: Printed) -> Cell:
    if cell.column not in ("CogVLM/blank", "LLaVA-v1.5/blank", "LLaVA-v1.5/original"):
        return cell.number(None, _ALL)
    return cell.number(_score([0.5 + difference / 200 for difference in _differences(cell.column)]))


@cache
def _male_first() -> int:
    """Number of lists with the male term first, of 200 that the released code's random order alone gives."""
    generator = random.Random(0)  # noqa: S311 as the authors' code draws
    return sum(generator.sample(("male", "female"), 2)[0] == "male" for _ in range(200))


def _above(cell: Printed) -> float:
    """By how many percent an average of Table 6 lies above that of MiniGPT-v2."""
    averages = PAPER.numbers("6")["Average"]
    model, valid, _ = cell.row.partition(", N/A filtered")
    name = model.partition(" above ")[0]
    above = PAPER.average("6", f"{name}/-") if name == "CogVLM" else averages[f"{name}/{VALID if valid else '-'}"]
    return 100 * (above / averages["MiniGPT-v2/-"] - 1)


def _valid_share(cell: Printed) -> float:
    model, row = cell.column.partition("/")[0], PAPER.numbers("6")[cell.row]
    return row[f"{model}/-"] / row[f"{model}/{VALID}"]


def _corpus(cell: Printed) -> float | str:
    row = PAPER.numbers("7")[cell.row]
    total = row["male"] + row["female"]
    return abs(row["male"] / total - 0.5) if total else "N/A"


def _check_changes(cell: Printed) -> list[Cell]:
    """Scores after a change, and the share of valid answers that follows."""
    if cell.column.endswith(VALID):
        return []
    cells, before, model = [], PAPER.numbers("6")[cell.row], cell.column.rpartition("/")[2]
    changes = PAPER.numbers(cell.table)[cell.row]
    change, valid_change = changes[cell.column], changes[f"{cell.column}/{VALID}"]
    if valid_change == -0.791:
        valid_change = -0.0791
        misprint = cell.at(f"{cell.column}/change of valid", "-0.791")
        cells.append(misprint.number(valid_change, "misprint: no score can fall by more than it is"))
    score, valid = before[f"{model}/-"] + change, before[f"{model}/{VALID}"] + valid_change
    cells += [
        cell.at(f"{cell.column}/{kind}").number(value, "plain + change")
        for kind, value in (("-", score), (VALID, valid))
    ]
    return [*cells, _implied_share(cell, score, valid)]


def _implied_share(cell: Printed, score: float, valid: float) -> Cell:
    """The share of valid answers that both scores imply; more than 1 is impossible."""
    share, column = score / valid, f"{cell.column}/valid share"
    if score - ROUNDING > valid + ROUNDING:
        note = (
            f"a score of {score:.4f} and one of {valid:.4f} among valid answers cannot both be: inconsistent as printed"
        )
        return cell.at(column, "at most 1").word(f"{share:.3f}", note)
    return cell.at(column).number(round(min(share, 1.0), 3), "follows from both scores")


def _closest(cell: Printed) -> Cell:
    """Table 13: the role whose answers are most alike."""
    model = cell.column.partition("/")[0]
    alike = {
        column.partition("/")[2]: value
        for column, value in PAPER.numbers("13")[cell.row].items()
        if column.startswith(f"{model}/")
    }
    return cell.word(max(alike, key=alike.__getitem__), _scenarios(list(alike.values())))


def _matrix(column: str, chosen: Array) -> float:
    """Figure 22: the two shares of a pair together, or the score of a matrix [race 2, race 1]."""
    if " and " not in column:
        return float(np.abs(chosen.sum(axis=0) / (len(RACES) - 1) - 0.5).mean())
    first, second = (RACES.index(race) for race in column.split(" and "))
    return float(chosen[first, second] + chosen[second, first])


def _order_of_scores() -> str:
    mean = float(np.mean([_matrix("score", np.array(chosen)) for chosen in FIGURE_22.values()]))
    return "of the order of .1555" if 0.1 < mean < 0.2 else "of another order"
