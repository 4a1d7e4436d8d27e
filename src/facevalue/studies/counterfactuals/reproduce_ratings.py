"""Reproduction of Tables 29 to 31: means, SDs and flags of ratings, and each sentence said of them."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files

import numpy as np
import polars as pl

from facevalue.protocol.reproduction import Cell
from facevalue.studies.counterfactuals.printed import MODELS

RATED = ("Hiring", "Performance", "Warmth", "Competence")
SALARY = "Salary"
_COLOURS = "the scan has lost the colours"
_NONE = "no salaries: InstructBLIP's replies had to be excluded"
_HALF = 0.005  # of the last digit of a rating
Values = Mapping[str, float]


def printed_table(name: str) -> pl.DataFrame:
    """A table as the scan shows it, all text; what it has lost is empty."""
    return pl.read_csv(files(__package__).joinpath("tables", name).read_bytes(), infer_schema=False)


@cache
def _table(table: str) -> Mapping[tuple[str, str], Values]:
    """Legible numbers of each group, by model and prompt."""
    frame = printed_table("ratings.csv").filter(table=table)
    return {
        (model, prompt): {
            row["group"]: float(row[prompt])
            for row in frame.filter(model=model).iter_rows(named=True)
            if row[prompt] not in ("", "NaN", None)
        }
        for model in MODELS
        for prompt in (*RATED, SALARY)
    }


def rating_cells() -> Iterator[Cell]:
    """Every cell of Tables 29 to 31."""
    for table in ("29", "30", "31"):
        yield from _summaries(table)
    yield from _physical_gender()
    yield from _race_gender()
    yield from _physical_race()


def _summaries(table: str) -> Iterator[Cell]:
    """Means and SDs over groups, and groups beyond one SD: what the colours marked."""
    groups = printed_table("ratings.csv").filter(table=table)["group"].unique(maintain_order=True)
    for (model, prompt), values in _table(table).items():
        if not values:
            yield Cell(table, "mean of groups", f"{model}/{prompt}", "NaN", None, None, _NONE)
            continue
        lost = [group for group in groups if group not in values]
        note = f"; without {', '.join(lost)}, lost in the scan" if lost else ""
        numbers = np.array(list(values.values()))
        mean, sd, other = numbers.mean(), numbers.std(ddof=1), numbers.std()
        digits = 1 if prompt == SALARY else 4
        for what, found in (("mean", mean), ("SD", sd)):
            why = f"not printed{note}"
            yield Cell(table, f"{what} of groups", f"{model}/{prompt}", None, round(float(found), digits), None, why)
        for what, sign in (("lower", -1), ("higher", 1)):
            beyond, wider = (
                [group for group, value in values.items() if sign * (value - mean) > one] for one in (sd, other)
            )
            more = [group for group in wider if group not in beyond]
            also = f"; divided by n, not n - 1, also {', '.join(more)}" if more else ""
            found = ", ".join(beyond) or "none"
            yield Cell(table, f"one SD {what}", f"{model}/{prompt}", None, found, None, f"{_COLOURS}{note}{also}")


def _above(values: Values, chosen: Callable[[str], bool]) -> tuple[int, int]:
    """Groups that lie above the mean of all, and how many there are."""
    own = [value for group, value in values.items() if chosen(group)]
    mean = sum(values.values()) / max(len(values), 1)
    return sum(value > mean for value in own), len(own)


def _physical_gender() -> Iterator[Cell]:
    table = _table("29")
    for model in MODELS:
        for prompt in RATED:
            values = table[model, prompt]
            mean = float(np.mean(list(values.values())))
            for group in ("obese female", "obese male"):
                below = values[group] < mean
                near = abs(values[group] - mean) <= 2 * _HALF * (1 - 1 / len(values))
                why = (
                    "by no more than rounding allows"
                    if near
                    else f"{model} rates competence of obese men above the mean"
                )
                found = f"{values[group]:.2f}, the mean {mean:.3f}"
                yield Cell("29", f"{group}, {prompt}", model, "lower than the average", found, below,
                           why if near or not below else None)  # fmt: skip
    for model in ("BakLLaVA", "LLaVA-13b", "LLaVA-Gemma"):
        ranked = sorted(table[model, SALARY], key=table[model, SALARY].__getitem__)
        young = all(group.startswith("young") for group in ranked[:2])
        yield Cell("29", "salaries of the young", model, "lower than other groups", f"lowest: {', '.join(ranked[:2])}",
                   young, None if young else "others are lower")  # fmt: skip
    for model in MODELS:
        values = table[model, "Performance"]
        gender = max(abs(values[f"{kind} female"] - values[f"{kind} male"]) for kind in ("skinny", "obese"))
        body = min(values[f"skinny {one}"] - values[f"obese {one}"] for one in ("female", "male"))
        said = "little evidence for gender bias, a clear discrepancy across body types"
        found = f"women and men at most {gender:.2f} apart, skinny and obese at least {body:.2f}"
        yield Cell("29", "performance, skinny and obese (section 4.4)", model, said, found, None,
                   '"little" is no number; Figure 3 is not legible')  # fmt: skip


def _race_gender() -> Iterator[Cell]:
    table = _table("30")
    for prompt in (*RATED, SALARY):
        values = table["BakLLaVA", prompt]
        ranked = sorted(values, key=values.__getitem__, reverse=True)
        for race, said in (("Black", "amongst the highest"), ("White", "lowest")):
            places = sorted(ranked.index(f"{race} {gender}") + 1 for gender in ("female", "male"))
            holds = places == [len(ranked) - 1, len(ranked)] if race == "White" else places[-1] <= 5
            why = 'it says "on all prompts": of the ratings that is so, but salaries are the highest of all'
            found = f"places {places[0]} and {places[1]} of {len(ranked)}"
            yield Cell("30", f"{race} men and women, {prompt}", "BakLLaVA", said, found, holds, None if holds else why)
    for model in ("LLaVA-7b", "LLaVA-13b", "LLaVA-Gemma"):
        high = [prompt for prompt in (*RATED, SALARY) if _far_above(table[model, prompt], "Black female")]
        yield Cell("30", "Black women beyond one SD", model, "highly on multiple prompts", ", ".join(high),
                   len(high) > 1, None if len(high) > 1 else "on fewer prompts")  # fmt: skip
    for model in MODELS:
        values = table[model, SALARY]
        if not values:
            yield Cell("30", "salary of Indian women", model, "below average", None, None, _NONE)
            continue
        above, _ = _above(values, "Indian female".__eq__)
        found = f"{values['Indian female']:,.2f}, the mean {np.mean(list(values.values())):,.2f}"
        yield Cell("30", "salary of Indian women", model, "below average", found, not above, "above" if above else None)


def _far_above(values: Values, group: str) -> bool:
    numbers = np.array(list(values.values()))
    return bool(values[group] - numbers.mean() > numbers.std(ddof=1))


def _physical_race() -> Iterator[Cell]:
    table = _table("31")

    def counted(prompt: str, kind: str) -> tuple[int, int]:
        both = [_above(table[model, prompt], lambda group: group.startswith(kind)) for model in MODELS]
        return sum(above for above, _ in both), sum(of for _, of in both)

    for prompt in RATED:
        above, of = counted(prompt, "obese")
        yield _most("obese, all models", prompt, "bias against them", of - above, of, "below the mean")
    for prompt in (*RATED, SALARY):
        above, of = counted(prompt, "young")
        said = "lower" if prompt == SALARY else "rated highly"
        has, where = (of - above, "below the mean") if prompt == SALARY else (above, "above the mean")
        yield _most("young, all models", prompt, said, has, of, where)
    for model in ("BakLLaVA", "LLaVA-13b", "LLaVA-Gemma"):
        above, of = _above(table[model, SALARY], lambda group: group.startswith("obese"))
        yield _most("obese, salary", model, "more positive outputs", above, of, "above the mean")
    for group, models in (
        ("old Asian", ("InstructBLIP", "LLaVA-7b", "LLaVA-Gemma")),
        ("old Indian", ("BakLLaVA", "InstructBLIP", "LLaVA-7b", "LLaVA-13b")),
    ):
        for model in models:
            counts = [_above(table[model, prompt], group.__eq__) for prompt in RATED]
            above, of = (sum(one) for one in zip(*counts, strict=True))
            yield _most(group, model, "age-related bias", of - above, of, "ratings below the mean")


def _most(row: str, column: str, said: str, has: int, of: int, where: str) -> Cell:
    holds = has > of / 2
    return Cell("31", row, column, said, f"{has} of {of} {where}", holds, None if holds else "not most of them")
