"""Reproduction of VIGNETTE's printed figures from its tables and design. docs/reproduce.md says what differs.

Answers are not released, so that selection frequencies cannot be recomputed; what can are the counts (Tables 5 to 8)
and the summaries of other printed tables (Tables 11 to 13).
"""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import polars as pl

from facevalue.measures.robustness import chance
from facevalue.measures.run_comparison import STATISTICS, match, summarise
from facevalue.protocol.reproduction import Cell, Reproduction, number, word
from facevalue.protocol.settings import defaults
from facevalue.studies.vignette import tables
from facevalue.studies.vignette.design import product_layout
from facevalue.studies.vignette.image_prompts import generation_prompts
from facevalue.studies.vignette.settings import SETTINGS, selection
from facevalue.studies.vignette.sources import casts, everyone

TITLES = {
    "1": "Section 1: size of the benchmark",
    "3": "Section 3: pictures of one person",
    "5": "Table 5: pairs of terms",
    "6": "Table 6: identities",
    "7": "Table 7: activities",
    "8": "Table 8: pictures",
    "11": "Table 11: prompt variations (%)",
    "12": "Table 12: real against synthetic, overall (pp)",
    "13": "Table 13: real against synthetic, by model and task (pp)",
    "A.3": "Appendix A.3: options, and what is said of Table 11",
}
COLUMNS = ("Identities", "Individual Images", "Identity Contrast", "Activity Contrast", "Identity-Activity Contrast")
CONTRASTS = ("identity", "activity", "identity-activity")

_IMPOSSIBLE = (
    "impossible with the two options of 4.2, possible with the four of A.3, which offers both and none too: the paper "
    "contradicts itself, and Table 11 agrees with A.3"
)
_OPTIONS = "A.3 offers both and none beside the two people, 4.2 the two alone; `--prompts paper` follows A.3"
_KEYS = ["model", "identity", "activity"]


def reproduce(_: Path | None = None) -> Reproduction:
    """Recompute what follows from the paper's own tables and from the design."""
    cells = (*_counts(), *_pictures(), *_wordings(), *_real_against_synthetic())
    order = list(TITLES)
    notices = (
        "Tables 3, 4 and 14 to 19 and Figures 3 to 17 are left out: they rest on answers that are not released.",
        "Tables 9 and 10 are left out: the ratings behind them are not released.",
    )
    return Reproduction(tuple(sorted(cells, key=lambda c: order.index(c.table))), TITLES, notices)


def _counts() -> Iterator[Cell]:
    """Tables 5, 6 and 7."""
    terms = Counter(pair.trait for pair in tables.term_pairs())
    times = Counter(one.time for one in tables.activities())
    people = {one.name: len(tables.identities(one.name)) for one in tables.dimensions()}
    for table, found, what in (("5", terms, "pairs"), ("6", people, "identities"), ("7", times, "activities")):
        for row, printed in tables.read("published.toml")[f"table_{table}"].items():
            yield number(table, row, what, printed, found[row])
    yield number("5", "all", "pairs", "30", sum(terms.values()))
    yield number("6", "all", "identities", "167", sum(people.values()))
    yield number("7", "all", "activities", "75", sum(times.values()))


def _pictures() -> Iterator[Cell]:
    """Table 8, from the tables (people and single pictures) and from the design that a run uses (pairs)."""
    chosen = selection(defaults(SETTINGS))
    layout = product_layout(casts(everyone(chosen)), chosen, drop=False, released=False)
    pairs = {
        tuple(b.constants[n] for n in ("gender", "dimension", "contrast")): b.stimuli for b in layout.design.blocks
    }
    prompts = generation_prompts()
    single = {(g, d): n for g, d, n in prompts.group_by("gender", "dimension").len().iter_rows()}
    titles = {one.name: one.title for one in tables.dimensions()}
    total = {gender: [0] * len(COLUMNS) for gender in tables.GENDERS}
    for dimension, printed in tables.read("published.toml")["table_8"].items():
        for side, gender in enumerate(tables.GENDERS):
            if dimension == "total":
                counts = total[gender]
            elif (gender, dimension) in single:
                pair = [pairs[gender, dimension, contrast] for contrast in CONTRASTS]
                counts = [len(tables.identities(dimension, gender)), single[gender, dimension], *pair]
            else:
                counts = [0] * len(COLUMNS)
            if dimension != "total":
                total[gender] = [a + b for a, b in zip(total[gender], counts, strict=True)]
            values = printed[side * len(COLUMNS) : (side + 1) * len(COLUMNS)]
            for column, value, count in zip(COLUMNS, values, counts, strict=True):
                row = "Total Images" if dimension == "total" else titles[dimension]
                yield number("8", row, f"{gender.title()}/{column}", value, count)
    for gender in tables.GENDERS:
        thousands = f"{total[gender][1] // 1000}k"  # cut off rather than rounded: 12,525 is printed as 12k
        yield word("3", "pictures of one person doing something", gender, "12k", thousands)
    yield number("3", "pictures of one person doing something", "both", "24,675", prompts.height)
    portraits = generation_prompts(portraits=True).height
    yield word("3", "portraits", "both", "~330", f"~{round(portraits, -1)}")
    everything = sum(sum(counts[2:]) for counts in total.values())
    yield word("1", "pictures of two people", "all", "30M+", f"{everything // 10**6 // 10 * 10}M+")


def _wordings() -> Iterator[Cell]:
    """Table 11 and what Appendix A.3 says of it."""
    rows = tables.read("published.toml")["table_11"]
    impossible = chance([0.5, 0.5]).different
    for row in rows:
        yield number("11", row["question"], "sum of the row", "100", sum(map(int, row["shares"])))
        if row["options"] == 2:  # by sections 4.2 to 4.4
            yield number("11", row["question"], "All Different", row["shares"][2], float(impossible), note=_IMPOSSIBLE)
    yield number("A.3", "options of Who is facing difficulty in ...? (4.2)", "options", "2", 4.0, note=_OPTIONS)
    for category, part in groupby(rows, key=lambda row: row["category"]):
        full = [int(row["shares"][0]) for row in part]
        statement = "exceeds 60%" if sum(full) / len(full) > 60 else "does not exceed 60%"
        yield word("A.3", f"mean full match: {category}", "Llama 3.2", "exceeds 60%", statement)


def _real_against_synthetic() -> Iterator[Cell]:
    """Tables 12 and 13, from Tables 15 to 19. Their statistics are printed with four decimals at most."""
    rows = [
        {"model": table["model"], "identity": identity, "activity": activity, "side": side, "value": float(value)}
        for table in tables.read("published.toml")["tables_15_to_19"]
        for identity, *values in table["rows"]
        for (activity, side), value in zip(
            [("Programming", 0), ("Programming", 1), ("Cooking", 0), ("Cooking", 1)], values, strict=True
        )
    ]
    frame = pl.DataFrame(rows)
    real, synthetic = (frame.filter(pl.col("side") == side) for side in (0, 1))
    matched = match(real, synthetic, _KEYS)
    overall = summarise(matched)
    whole = tables.read("published.toml")["table_12"]
    yield number("12", "all", "n_points", whole["n_points"], int(overall["n"][0]))
    for name, value in overall.select("statistic", "value").iter_rows():
        yield _four_decimals("12", "all", name, whole[name], value)
    by = summarise(matched, ["model", "activity"])
    for row in tables.read("published.toml")["table_13"]:
        of_cell = by.filter((pl.col("model") == row["model"]) & (pl.col("activity") == row["task"]))
        place = f"{row['model']}/{row['task']}"
        yield number("13", place, "n_descriptors", row["n_descriptors"], int(of_cell["n"][0]))
        statistics = dict(of_cell.select("statistic", "value").iter_rows())
        for name in STATISTICS:
            yield _four_decimals("13", place, name, row[name], statistics[name])


def _four_decimals(table: str, row: str, column: str, printed: str, value: float) -> Cell:
    """These tables round to four decimals and drop zeros at the end: "4.0" is 4.0000."""
    integer, _, decimals = printed.partition(".")
    return number(table, row, column, f"{integer}.{decimals:0<4}", value)
