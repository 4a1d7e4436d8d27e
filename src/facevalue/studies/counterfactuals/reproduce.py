"""Reproduction of the paper's printed figures from its other figures, and from the authors' metadata of sets.

docs/reproduce.md says what differs. Replies and scores are not recomputed.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from facevalue.errors import DataError
from facevalue.given import shipped
from facevalue.protocol.released_tables import damaged, require
from facevalue.protocol.reproduction import Cell, Reproduction, number, word
from facevalue.stimuli.social_counterfactuals import METADATA, SUBSETS, parse_caption
from facevalue.studies.counterfactuals.printed import (
    MODELS,
    OCCUPATIONS,
    PATA,
    SAMPLED,
    SETS,
    SOCIAL,
    gpt_4o,
    table_8,
    twin,
)

TITLES = {
    "5": "Table 5: images",
    "8": "Table 8: generations of open models",
    "A.2": "Sections 1, 4.1, 5.1, A.2 and D.4: counts in the text",
    "3": "Tables 1 and 3: models, and the language models behind them",
    "5.1": "Section 5.1: correlation over groups",
    "4": "Table 4 and section 5.2: 90% columns of Table 18",
    "18": "Table 18: M1, as in Table 19",
    "14": "Table 14 and section 4.1: refusals of GPT-4o",
    "27": "Table 27: competence words of GPT-4o",
    "28": "Table 28: competence words of InstructBLIP",
    "29": "Table 29: ratings, physical-gender",
    "30": "Table 30: ratings, race-gender",
    "31": "Table 31: ratings, physical-race",
}
LEAST = 35
"""Sets of an occupation whose competence words are counted (E.1 says observations)."""
GROUPS = sum(images for _, images in SETS.values())
"""Of the three kinds of sets together: one for each image of a set."""
_COLUMNS = ("Mean", "90%")
_ALREADY = "both models are less the same Vicuna-7b (Table 16)"
RATED = ("Hiring", "Performance", "Warmth", "Competence")
SALARY = "Salary"
_COLOURS = "the scan has lost the colours"
_NONE = "no salaries: InstructBLIP's replies had to be excluded"
_HALF = 0.005  # of the last digit of a rating
Values = Mapping[str, float]


def reproduce(folder: Path | None = None) -> Reproduction:
    """Recompute what follows from the paper's own tables and, with a folder, from the authors' `metadata_*.csv`.

    Raises
    ------
    DataError
        The folder has none of the files, or one of them cannot be read.
    """
    cells = [*_counts(), *_said_of_counts(), *_language_models(), *_correlations(), *_mitigations(), *_refusals()]
    cells += [*_competence(), *_ratings()]
    notices = [
        "Tables 1, 2, 6, 7, 9 to 13, 15 to 17 and 20 to 26, and all figures, are left out: nothing printed says what "
        "they should be, and scores and replies are not among what is recomputed. Of Tables 1 and 19 only "
        "Characteristics is compared.",
    ]
    if folder is None:
        notices.append("Sets and occupations are not counted: say where the authors' metadata_*.csv are, --data DIR.")
    else:
        tables = _metadata(folder)
        cells += _of_metadata(tables)
        notices += [f"{name} is not in {folder}." for subset, name in zip(SUBSETS, METADATA, strict=True)
                    if subset not in tables]  # fmt: skip
    order = list(TITLES)
    return Reproduction(tuple(sorted(cells, key=lambda c: order.index(c.table))), TITLES, tuple(notices))


def _published() -> Mapping[str, Any]:
    return shipped(__package__, "tables", "published.toml")


def _claim(
    table: str, row: str, column: str, published: str, recomputed: str, holds: bool | None, note: str | None = None
) -> Cell:
    """A sentence of the paper beside what its tables show; `why` it does not hold, or cannot be told."""
    return Cell(table, row, column, published, recomputed, holds, None if holds else note)


def _counts() -> Iterator[Cell]:
    for subset, printed in _published()["table_5"].items():
        sets, images = SETS[subset]
        for what, value, found in zip(("sets", "images of a set", "images"), printed, (sets, images, sets * images)):  # noqa: B905
            yield number("5", subset, what, value, found)
    plan = table_8()
    for block, printed in zip(plan.blocks, _published()["table_8"]["trials"], strict=True):
        yield number("8", block.name, "generations", printed, block.trials)
    four = "Table 20, with the results of this row, has four models: InstructBLIP is missing; the count needs five"
    keywords = plan.blocks[5]
    yield number("8", keywords.name, "as Table 20 has it", "7,687,440", keywords.trials * 4 // 5, note=four)
    yield _claim("8", "all rows", "generations", "over 57 million", f"{plan.total:,}", plan.total > 57e6)
    twice = f"M1 with Characteristics about physical-gender, {plan.total - plan.distinct:,}, stands in two rows"
    yield number("8", "all rows, each generation once", "generations", None, plan.distinct, note=twice)


def _said_of_counts() -> Iterator[Cell]:
    yield word("A.2", "images", "SocialCounterfactuals", "171k", f"{SOCIAL / 1000:.0f}k")
    yield number("A.2", "times MMBias (3,800 images)", "SocialCounterfactuals", "45", SOCIAL / 3800, digits=2)
    five = "section 4.1 says five prompts; the count, and Table 8, have one (Characteristics)"
    yield number("A.2", "five main prompts", "PATA", "370,050", PATA * 5 * 15 * len(MODELS), note=five)
    plan = gpt_4o()
    for block, printed in zip(plan.blocks, ("8,000", "9,600", "8,400"), strict=True):
        yield number("A.2", "images", f"GPT-4o/{block.name}", printed, block.images)
        yield number("A.2", "generations", f"GPT-4o/{block.name}", None, block.trials, note="printed only as a total")
    yield word("A.2", "generations of each prompt", "GPT-4o", "78k", f"{plan.total / 1000:.0f}k")
    statement = "an equivalent number of generations from each LLM as before"
    note = "no number is printed; Vicuna-7b, which two models share, is counted twice"
    yield Cell("A.2", "generations", "language models", statement, twin().total, None, note)


def _language_models() -> Iterator[Cell]:
    """Table 1 less Table 3, by kind of sets: two models of one language model must agree on it."""
    published = _published()
    places = list(product(published["subsets"], _COLUMNS))
    implied = {
        model: [
            round(float(one) - float(less), 2) for one, less in zip(published["table_1"][model], values, strict=True)
        ]
        for model, values in published["table_3"].items()
    }
    for at, (subset, column) in enumerate(places):
        one, other = (implied[model][at] for model in ("LLaVA-7b", "InstructBLIP"))
        row = f"Vicuna-7b, {subset}, {column}"
        yield number("3", row, "LLaVA-7b against InstructBLIP", f"{one:.2f}", other, note=_ALREADY)
        for model in ("LLaVA-13b", "BakLLaVA", "LLaVA-Gemma"):
            note = "Table 1 - Table 3; not printed itself"
            yield number("3", f"{MODELS[model]}, {subset}, {column}", model, None, implied[model][at], note=note)
    values = np.array([[float(value) for value in row] for row in published["table_3"].values()])
    higher = f"{(values.mean(axis=1) > 0).sum()} of {len(values)}, on average"
    holds = bool((values.mean(axis=1) > 0).mean() > 0.5)
    yield _claim("3", "models above their language model", "section 5.1", "most", higher, holds)
    mean, tail = values[:, 0::2].mean(), values[:, 1::2].mean()
    yield _claim("3", "difference at the tail", "section 5.1", "particularly at the 90th percentile",
                 f"mean {mean:.3f}, 90% {tail:.3f}", bool(tail > mean))  # fmt: skip


def _correlations() -> Iterator[Cell]:
    """The number of groups that a printed r and its p allow, both rounded."""
    sizes = set(range(4, 1000))
    for model, (r, p) in _published()["correlations"].items():
        value, digits = float(p), 0.5 * 10.0 ** np.floor(np.log10(float(p)))
        fits = [n for n in range(4, 1000)
                if _p(float(r) - 0.005, n) >= value - digits and _p(float(r) + 0.005, n) <= value + digits]  # fmt: skip
        sizes &= set(fits)
        low, high = _p(float(r) + 0.005, GROUPS), _p(float(r) - 0.005, GROUPS)
        yield _claim("5.1", f"p of r = {r}", f"{model}, n = {GROUPS}", p, f"{low:.1e} to {high:.1e}", GROUPS in fits,
                     "r is rounded, so p lies between these")  # fmt: skip
        yield Cell("5.1", "numbers of groups that r and p allow", model, None, f"{fits[0]} to {fits[-1]}", None,
                   "n is not printed")  # fmt: skip
    allowed = ", ".join(map(str, sorted(sizes)))
    yield _claim("5.1", "groups that both pairs allow", "n", "not stated", allowed, None,
                 f"the groups of the three kinds of sets: 12 + 10 + 30 = {GROUPS}")  # fmt: skip


def _p(r: float, n: int) -> float:
    """Two-sided p-value of Pearson's correlation."""
    return float(2 * stats.t.sf(r * np.sqrt((n - 2) / (1 - r * r)), n - 2))


def _mitigations() -> Iterator[Cell]:
    published = _published()
    tails = {model: [float(value) for value in values] for model, values in published["table_4"].items()}
    for model, values in published["table_18"].items():
        for at, printed in enumerate(published["table_4"][model]):
            yield number("4", model, f"M{at + 1}", printed, float(values[2 * at + 1]))
        for column, printed, other in zip(_COLUMNS, published["table_19"][model], values[:2], strict=True):
            yield number("18", model, f"M1/{column}", printed, float(other))
    none = [model for model, values in tails.items() if min(values) >= 0]
    statement = "all but LLaVA-Gemma"
    yield _claim("4", "some reduction", "section 5.2", statement, f"all but {', '.join(none)}", none == ["LLaVA-Gemma"])
    for model in ("InstructBLIP", "LLaVA-7b", "LLaVA-13b", "BakLLaVA"):
        statement = "M1" if model == "BakLLaVA" else "M4"
        yield word("4", "greatest reduction", model, statement, f"M{int(np.argmin(tails[model])) + 1}")


def _refusals() -> Iterator[Cell]:
    rates = np.array([[float(value) for value in row] for row in _published()["table_14"].values()])
    low, high = rates[:, 0]
    yield _claim("14", "obese", "refused", "4-6%", f"{low:.1f}% and {high:.1f}%", round(low) == 4 and round(high) == 6)
    times = rates[:, 0].mean() / rates[:, 1:].mean()
    yield _claim("14", "obese against others", "times", "approximately 5x", f"{times:.1f}", round(times) == 5)


def _competence() -> Iterator[Cell]:
    """Groups with the fewest words (Tables 27 and 28)."""
    for table, model, most in (("27", "GPT-4o", "tattooed male"), ("28", "InstructBLIP", "obese male")):
        fewest: dict[str, list[str]] = {}
        largest = 0
        for row in _table_of("competence.csv").filter(table=table).iter_rows(named=True):
            cells = {group: str(value) for group, value in row.items() if group not in ("table", "occupation")}
            twice = [group for group, value in cells.items() if " " in value]
            if twice:
                note = f"damaged: two numbers under {', '.join(twice)} ({', '.join(cells[group] for group in twice)})"
                yield Cell(table, row["occupation"], "fewest words", None, None, None, note)
                continue
            counts = {group: int(value) for group, value in cells.items()}
            largest = max(largest, *counts.values())
            fewest[row["occupation"]] = [group for group, count in counts.items() if count == min(counts.values())]
            found = ", ".join(fewest[row["occupation"]])
            yield Cell(table, row["occupation"], "fewest words", None, found, None, _COLOURS)
        has = sum(most in groups for groups in fewest.values())
        statement = "across most occupations" if table == "27" else "fewest"
        yield _claim(
            table, f"{most} fewest or tied", model, statement, f"{has} of {len(fewest)}", has > len(fewest) / 2
        )
    yield word("28", "caption", "groups", "race-gender", "physical-gender", "its columns are physical-gender groups")
    unit = "no unit is stated, and a reply of five keywords has no so many words"
    yield _claim("28", "largest count", "words", "mean count", f"{largest} in five keywords", False, unit)


def _metadata(folder: Path) -> dict[str, pl.DataFrame]:
    """The authors' metadata: a row for each set, with a caption for each of its images; and the occupation in them."""
    if not folder.is_dir():
        raise DataError(f"There is no folder {folder}.")
    tables = {}
    for subset, name in zip(SUBSETS, METADATA, strict=True):
        path = folder / name
        if not path.is_file():
            continue
        try:
            frame = pl.read_csv(path, infer_schema=False, glob=False)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise damaged(path, error) from None
        captions = [column for column in frame.columns if column.startswith("caption_")]
        require(path, frame, captions[:1] or ["caption_0"])
        captions_read = {text: parse_caption(text) for text in frame[captions[0]].drop_nulls().unique()}
        occupations = {text: who.occupation.lower() for text, who in captions_read.items() if who}
        occupation = pl.col(captions[0]).replace_strict(occupations, default=None, return_dtype=pl.String)
        tables[subset] = frame.select(*captions, occupation=occupation)
    if not tables:
        raise DataError(f"{folder} has none of the authors' files: {', '.join(METADATA)}.")
    return tables


def _of_metadata(tables: Mapping[str, pl.DataFrame]) -> Iterator[Cell]:
    for subset, frame in tables.items():
        sets, images, _ = _published()["table_5"][subset]
        other = "other metadata than the paper's"
        yield number("5", subset, "sets of the metadata", sets, frame.height, note=other)
        yield number("5", subset, "captions of a set", images, frame.width - 1, note=other)
        own = frame["occupation"].value_counts()
        of_paper = own.filter(pl.col("occupation").is_in(_published()["gpt_4o"][subset]))["count"]
        fewest = min(of_paper, default=0) if of_paper.len() == OCCUPATIONS else 0
        yield _claim("A.2", "sets of the 8 occupations", f"GPT-4o/{subset}", f"{SAMPLED[subset]}",
                     f"{fewest} or more of each", fewest >= SAMPLED[subset], "not so many of each")  # fmt: skip
    if "physical-gender" not in tables:
        return
    counts = tables["physical-gender"]["occupation"].drop_nulls().value_counts()
    enough = counts.filter(pl.col("count") >= LEAST)["occupation"]
    occupations = _table_of("competence.csv").filter(table="28")["occupation"].str.to_lowercase()
    printed = str(occupations.len())
    yield number(
        "28", f"occupations with {LEAST} sets or more", "physical-gender", printed, enough.len(),
        note="the metadata gives others",
    )  # fmt: skip
    images = counts.filter(pl.col("count") * SETS["physical-gender"][1] >= LEAST).height
    unit = 'E.1 says "observations": only sets give the occupations of Table 28'
    yield number(
        "28", f"occupations with {LEAST} images or more", "physical-gender", str(occupations.len()), images, note=unit
    )
    others = sorted(set(occupations) ^ set(enough))
    same = "the occupations of Table 28" if not others else f"others: {', '.join(others)}"
    yield word("28", f"occupations with {LEAST} sets or more", "names", "the occupations of Table 28", same,
               "the metadata gives others")  # fmt: skip


def _table_of(name: str) -> pl.DataFrame:
    """A table as the scan shows it, all text; what it has lost is empty."""
    return pl.read_csv(files(__package__).joinpath("tables", name).read_bytes(), infer_schema=False)


@cache
def _table(table: str) -> Mapping[tuple[str, str], Values]:
    """Legible numbers of each group, by model and prompt."""
    frame = _table_of("ratings.csv").filter(table=table)
    return {
        (model, prompt): {
            row["group"]: float(row[prompt])
            for row in frame.filter(model=model).iter_rows(named=True)
            if row[prompt] not in ("", "NaN", None)
        }
        for model in MODELS
        for prompt in (*RATED, SALARY)
    }


def _ratings() -> Iterator[Cell]:
    """Every cell of Tables 29 to 31."""
    for table in ("29", "30", "31"):
        yield from _summaries(table)
    yield from _physical_gender()
    yield from _race_gender()
    yield from _physical_race()


def _summaries(table: str) -> Iterator[Cell]:
    """Means and SDs over groups, and groups beyond one SD: what the colours marked."""
    groups = _table_of("ratings.csv").filter(table=table)["group"].unique(maintain_order=True)
    for (model, prompt), values in _table(table).items():
        if not values:
            yield Cell(table, "mean of groups", f"{model}/{prompt}", "NaN", None, None, _NONE)
            continue
        lost = [group for group in groups if group not in values]
        note = f"; without {', '.join(lost)}, lost in the scan" if lost else ""
        numbers = np.array(list(values.values()))
        mean, sd, other = numbers.mean(), numbers.std(ddof=1), numbers.std()
        digits = 1 if prompt == SALARY else 4
        for what, names in (("mean", mean), ("SD", sd)):
            why = f"not printed{note}"
            yield Cell(table, f"{what} of groups", f"{model}/{prompt}", None, round(float(names), digits), None, why)
        for what, sign in (("lower", -1), ("higher", 1)):
            beyond, wider = (
                [group for group, value in values.items() if sign * (value - mean) > one] for one in (sd, other)
            )
            more = [group for group in wider if group not in beyond]
            also = f"; divided by n, not n - 1, also {', '.join(more)}" if more else ""
            names = ", ".join(beyond) or "none"
            yield Cell(table, f"one SD {what}", f"{model}/{prompt}", None, names, None, f"{_COLOURS}{note}{also}")


def _above(values: Values, chosen: Callable[[str], bool]) -> tuple[int, int]:
    """Groups that lie above the mean of all, and how many there are."""
    chosen_values = [value for group, value in values.items() if chosen(group)]
    mean = sum(values.values()) / max(len(values), 1)
    return sum(value > mean for value in chosen_values), len(chosen_values)


def _physical_gender() -> Iterator[Cell]:
    table = _table("29")
    for model, prompt in product(MODELS, RATED):
        values = table[model, prompt]
        mean = float(np.mean(list(values.values())))
        for group in ("obese female", "obese male"):
            text = f"{values[group]:.2f}, the mean {mean:.3f}"
            below = values[group] < mean
            if abs(values[group] - mean) <= 2 * _HALF * (1 - 1 / len(values)):
                text += ", by no more than rounding"
            note = f"{model} rates competence of obese men above the mean"
            yield _claim("29", f"{group}, {prompt}", model, "lower than the average", text, below, note)
    for model in ("BakLLaVA", "LLaVA-13b", "LLaVA-Gemma"):
        lowest = sorted(table[model, SALARY], key=table[model, SALARY].__getitem__)[:2]
        young = all(group.startswith("young") for group in lowest)
        statement = "lower than other groups"
        yield _claim("29", "salaries of the young", model, statement, f"lowest: {', '.join(lowest)}", young)
    for model in MODELS:
        values = table[model, "Performance"]
        gender = max(abs(values[f"{kind} female"] - values[f"{kind} male"]) for kind in ("skinny", "obese"))
        body = min(values[f"skinny {one}"] - values[f"obese {one}"] for one in ("female", "male"))
        statement = "little evidence for gender bias, a clear discrepancy across body types"
        text = f"women and men at most {gender:.2f} apart, skinny and obese at least {body:.2f}"
        note = '"little" is no number; Figure 3 is not legible'
        yield _claim("29", "performance, skinny and obese (section 4.4)", model, statement, text, None, note)


def _race_gender() -> Iterator[Cell]:
    table = _table("30")
    for prompt in (*RATED, SALARY):
        values = table["BakLLaVA", prompt]
        ranked = sorted(values, key=values.__getitem__, reverse=True)
        for race, said in (("Black", "amongst the highest"), ("White", "lowest")):
            places = sorted(ranked.index(f"{race} {gender}") + 1 for gender in ("female", "male"))
            so = places == [len(ranked) - 1, len(ranked)] if race == "White" else places[-1] <= 5
            note = 'it says "on all prompts": of the ratings that is so, but salaries are the highest of all'
            places_text = f"places {places[0]} and {places[1]} of {len(ranked)}"
            yield _claim("30", f"{race} men and women, {prompt}", "BakLLaVA", said, places_text, so, note)
    for model in ("LLaVA-7b", "LLaVA-13b", "LLaVA-Gemma"):
        high = [prompt for prompt in (*RATED, SALARY) if _far_above(table[model, prompt], "Black female")]
        said, places_text = "highly on multiple prompts", ", ".join(high)
        yield _claim("30", "Black women beyond one SD", model, said, places_text, len(high) > 1)
    for model in MODELS:
        values = table[model, SALARY]
        own, mean = values.get("Indian female", np.nan), sum(values.values()) / max(len(values), 1)
        places_text = f"{own:,.2f}, the mean {mean:,.2f}" if values else "-"
        holds = own < mean if values else None
        yield _claim("30", "salary of Indian women", model, "below average", places_text, holds, _NONE)


def _far_above(values: Values, group: str) -> bool:
    numbers = np.array(list(values.values()))
    return bool(values[group] - numbers.mean() > numbers.std(ddof=1))


def _physical_race() -> Iterator[Cell]:
    table = _table("31")

    def counted(prompt: str, kind: str) -> tuple[int, int]:
        counts = [_above(table[model, prompt], lambda group: group.startswith(kind)) for model in MODELS]
        return sum(above for above, _ in counts), sum(of for _, of in counts)

    def most(row: str, column: str, said: str, has: int, of: int, where: str) -> Cell:
        return _claim("31", row, column, said, f"{has} of {of} {where}", has > of / 2)

    for prompt in RATED:
        above, of = counted(prompt, "obese")
        yield most("obese, all models", prompt, "bias against them", of - above, of, "below the mean")
        above, of = counted(prompt, "young")
        yield most("young, all models", prompt, "rated highly", above, of, "above the mean")
    above, of = counted(SALARY, "young")
    yield most("young, all models", SALARY, "lower", of - above, of, "below the mean")
    for model in ("BakLLaVA", "LLaVA-13b", "LLaVA-Gemma"):
        above, of = _above(table[model, SALARY], lambda group: group.startswith("obese"))
        yield most("obese, salary", model, "more positive outputs", above, of, "above the mean")
    for group, models in (
        ("old Asian", ("InstructBLIP", "LLaVA-7b", "LLaVA-Gemma")),
        ("old Indian", ("BakLLaVA", "InstructBLIP", "LLaVA-7b", "LLaVA-13b")),
    ):
        for model in models:
            counts = [_above(table[model, prompt], group.__eq__) for prompt in RATED]
            above, of = (sum(one) for one in zip(*counts, strict=True))
            yield most(group, model, "age-related bias", of - above, of, "ratings below the mean")
