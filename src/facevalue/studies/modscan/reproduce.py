"""Reproduction of ModSCAN's printed figures from its other figures. docs/reproduce.md says what differs."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from facevalue.measures.group_bias import Choices, bias_scores
from facevalue.protocol.reproduction import Cell, Reproduction, number, word
from facevalue.studies.modscan.tables import RACES, read

TITLES = {
    "4": "Table 4 and section 5: similarity of models",
    "5": "Table 5 and section 5.2: blank and original images, gender in language (male less female, %)",
    "S6": "Section 6: the order of terms",
    "6": "Table 6 and section 5.3: bias scores",
    "7": "Table 7: terms in LCS-558K",
    "8": "Table 8: scores with SR and Debiasing",
    "9": "Table 9: scores with VisDebiasing",
    "12": "Table 12: scores with roles",
    "13": "Table 13 and appendix C: similarity with roles",
    "22": "Figure 22: races beside each other, CogVLM",
}
ROUNDING = 1e-4
"""Of a score after a change: that of both printed numbers."""
_HABIT = (
    "a model that always names the first term says it of any blank image: the 200 orders are drawn once, with seed 0"
)
_ALL = "its percentages are of all queries, and the share of valid answers by trait is not printed"
_FOLLOWS = "follows from both scores"
_MEAN = "recomputed from the rounded percentages"


def reproduce(_: Path | None = None) -> Reproduction:
    """Recompute what follows from the paper's own tables."""
    cells = (*_similar(), *_blank(), *_order(), *_scores(), *_corpus(), *_changed(), *_roles(), *_matrices())
    order = list(TITLES)
    notices = (
        "Figures 6 to 8 and 11 to 21 are left out: no numbers are legible in them, and answers are not released.",
        "Tables 4 and 13 are compared with what the text says of them: answers are not released.",
    )
    return Reproduction(tuple(sorted(cells, key=lambda c: order.index(c.table))), TITLES, notices)


def _score(shares: Sequence[float]) -> float:
    """Bias score of shares of one of two groups (equation 2), all answers valid."""
    chosen = np.array([[[share, 1 - share] for share in shares]])
    ones, one, shown = np.ones((1, len(shares))), np.zeros(1, dtype=np.int64), np.ones(chosen.shape)
    return bias_scores(Choices(chosen, shown, ones, ones, 0.5, (one, one), shown), 0, 1)["all"].value


def _similar() -> Iterator[Cell]:
    table = read("published.toml")["table_4"]
    pairs = table["pairs"]
    for setting in read("published.toml")["settings"]:
        values = [float(value) for value in table[setting]]
        most, least = pairs[values.index(max(values))], pairs[values.index(min(values))]
        if setting == "race/language/persona":
            yield word("4", setting, "highest", pairs[0], most)
            continue
        statement = pairs[1] if setting.startswith("race") or "language" in setting else pairs[2]
        yield word("4", setting, "highest", statement, most, _other(values))
        if "vision" in setting:
            yield word("4", setting, "lowest", pairs[0], least, _other(values))


def _other(values: Sequence[float]) -> str:
    return f"the table has {', '.join(f'{value:.2f}' for value in values)}: the text does not hold for all scenarios"


def _blank() -> Iterator[Cell]:
    table = read("published.toml")["table_5"]
    differences = np.array([row[1:] for row in table["rows"]], dtype=np.float64)
    for at, column in enumerate(table["columns"]):
        column_values = differences[:, at]
        is_printed = column in ("CogVLM/blank", "LLaVA-v1.5/blank", "LLaVA-v1.5/original")
        score = _score((0.5 + column_values / 200).tolist()) if is_printed else None
        note = _MEAN if is_printed else _ALL
        yield number("5", "Bias Score", column, table["scores"][at], score, note=note)
        beyond = float((np.abs(column_values) > 10).sum())
        yield number("5", "traits beyond 10%", column, table["beyond"][at], beyond)
    for column, printed in (("LLaVA-v1.5", "27.79"), ("MiniGPT-v2", "23.89"), ("CogVLM", "49.00")):
        mean = float(np.abs(differences[:, table["columns"].index(f"{column}/original")]).mean())
        yield number("5", "mean |difference|", column, printed, mean, note=_MEAN, digits=2)
    outdoors = differences[[row[0] for row in table["rows"]].index("loves outdoors"), 4]
    yield number("5", "male for loves outdoors, blank", "LLaVA-v1.5", "81", 50 + outdoors / 2)


def _order() -> Iterator[Cell]:
    """What the released code's order of terms alone gives: 200 lists, drawn once."""
    generator = random.Random(0)  # noqa: S311 as the authors' code draws
    male = sum(generator.sample(("male", "female"), 2)[0] == "male" for _ in range(200))
    yield number("S6", "lists that begin with male", "of 200", None, float(male), note=_HABIT)
    always = 100 * (2 * male - 200) / 200
    yield number("S6", "male less female of a model that names the first", "%", "-6.00", always)
    said, found = "a slight preference for specific genders", "the order of terms"
    yield word("S6", "ten blank traits at -6.00%", "LLaVA-v1.5", said, found, _HABIT)


def _scores() -> Iterator[Cell]:
    table = read("published.toml")["table_6"]
    models = read("published.toml")["models"]
    columns = [table[model][kind::2] for model in models for kind in (0, 1)]
    averages = []
    names = [f"{model}/{kind}" for model in models for kind in ("-", "N/A Filtered")]
    for column, values, printed in zip(names, columns, table["average"], strict=False):
        mean = float(np.mean([float(value) for value in values]))
        averages.append(mean)
        statement = "the mean of the printed column is another"
        yield number("6", "Average", column, printed, mean, note=statement, slack=5e-5)
    ensemble = float(np.mean([float(value) for value in table["ensemble"]]))
    yield number("6", "Average", "Ensemble", table["average"][-1], ensemble, slack=5e-5)
    llava, _, minigpt, filtered, *_ = (float(printed) for printed in table["average"])
    rows = (
        ("LLaVA-v1.5 above MiniGPT-v2", "7.21", llava),
        ("CogVLM above MiniGPT-v2", "16.47", averages[4]),
        ("MiniGPT-v2, N/A filtered", "12.79", filtered),
    )
    for row, printed, mean in rows:
        note = "follows from the average as printed; that of the column is lower" if "CogVLM" in row else None
        yield number("6", row, "%", printed, 100 * (mean / minigpt - 1), note=note, digits=2)
    for model in models:
        for at, setting in enumerate(read("published.toml")["settings"]):
            score, valid = (float(value) for value in table[model][2 * at : 2 * at + 2])
            yield number("6", setting, f"{model}/valid share", None, score / valid, note=_FOLLOWS, digits=4)


def _corpus() -> Iterator[Cell]:
    for row, _, male, female, printed in read("published.toml")["table_7"][0]["rows"]:
        total = male + female
        if not total:
            yield word("7", row, "Bias Score", printed, "N/A")
            continue
        note = "misprint: 0.0862" if row == "Chef" else None
        yield number("7", row, "Bias Score", printed, abs(male / total - 0.5), note=note)


def _changed() -> Iterator[Cell]:
    """Scores after a change, and the share of valid answers that follows."""
    plain = read("published.toml")["table_6"]
    settings = read("published.toml")["settings"]
    for part in read("published.toml")["change"]:
        for model in read("published.toml")["models"]:
            for at, setting in enumerate(settings):
                column = f"{part['prefix']}/{model}"
                change, change_valid = part[model][2 * at : 2 * at + 2]
                before = [float(value) for value in plain[model][2 * at : 2 * at + 2]]
                if change_valid == "-0.791":
                    change_valid = "-0.0791"
                    note = "misprint: no score can fall by more than it is"
                    yield number(part["table"], setting, f"{column}/change of valid", "-0.791", -0.0791, note=note)
                score, valid = before[0] + float(change), before[1] + float(change_valid)
                yield number(part["table"], setting, f"{column}/-", None, score, note="plain + change", digits=4)
                column_name = f"{column}/N/A Filtered"
                yield number(part["table"], setting, column_name, None, valid, note="plain + change", digits=4)
                yield _share(part["table"], setting, column, score, valid)


def _share(table: str, setting: str, column: str, score: float, valid: float) -> Cell:
    """The share of valid answers that both scores imply; more than 1 is impossible."""
    share = score / valid
    if score - ROUNDING > valid + ROUNDING:
        note = (
            f"a score of {score:.4f} and one of {valid:.4f} among valid answers cannot both be: inconsistent as printed"
        )
        return word(table, setting, f"{column}/valid share", "at most 1", f"{share:.3f}", note)
    return number(table, setting, f"{column}/valid share", None, min(share, 1.0), note=_FOLLOWS, digits=3)


def _roles() -> Iterator[Cell]:
    table = read("published.toml")["table_13"]
    for model in ("LLaVA-v1.5", "MiniGPT-v2"):
        for at, setting in enumerate(read("published.toml")["settings"]):
            if "language" in setting:
                continue
            values = table[model][at]
            statement = table["roles"][0 if "occupation" in setting else 1]
            role = table["roles"][values.index(max(values))]
            yield word("13", setting, f"{model}/closest role", statement, role, _other(values))


def _matrices() -> Iterator[Cell]:
    scores = []
    for name, rows in read("published.toml")["figure_22"].items():
        chosen = np.array(rows)  # [race 2, race 1]
        for i, one in enumerate(RACES):
            for j, other in enumerate(RACES):
                if i < j:
                    total = float(chosen[i, j] + chosen[j, i])
                    yield number("22", name, f"{one} and {other}", "1.00", total, slack=0.006, note="both are rounded")
        score = float(np.abs(chosen.sum(axis=0) / (len(RACES) - 1) - 0.5).mean())
        scores.append(score)
        yield number("22", name, "score against 1/2", None, score, note="Table 6 has .1555 over all traits", digits=3)
    against = "of the order of .1555" if 0.1 < float(np.mean(scores)) < 0.2 else "of another order"
    yield word("22", "three traits", "scores against 1/2", "of the order of .1555", against)
