"""Reproduction of the paper's printed figures from its other figures, and from the authors' metadata of sets.

docs/papers/reproduce.md says what differs. Replies and scores are not recomputed.
"""

from collections.abc import Mapping
from functools import cache, partial
from importlib.resources import files
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl

from facevalue.errors import DataError
from facevalue.measures.run_comparison import correlation_p
from facevalue.protocol.offers import printed_plan
from facevalue.protocol.reproduction import Cell, Paper, Printed, Reproduction, read_csv, require_columns
from facevalue.stimuli.counterfactual_datasets import METADATA, SOCIAL_SUBSETS, parse_caption

PAPER = Paper.shipped(__package__)
MODELS: Mapping[str, str] = PAPER.document["language_models"]
"""Open models, and the language models they were trained from (Table 16)."""
LEAST = 35
"""Sets of an occupation whose competence words are counted (E.1 says observations)."""
GROUPS = 12 + 10 + 30
"""Of the three kinds of sets together: one for each image of a set."""
RATED = ("Hiring", "Performance", "Warmth", "Competence")
SALARY = "Salary"
MOST_GROUPS = 1000
_NO_SALARIES = "no salaries: InstructBLIP's replies had to be excluded"
_HALF = 0.005  # of the last digit of a rating
_plan = partial(printed_plan, __package__)
Values = Mapping[str, float]
Metadata = Mapping[str, pl.DataFrame]


def reproduce(folder: Path | None = None) -> Reproduction:
    """Recompute what follows from the paper's own tables and, with a folder, from the authors' `metadata_*.csv`.

    Raises
    ------
    DataError
        The folder has none of the files, or one of them cannot be read.
    """
    metadata = {} if folder is None else _metadata(folder)
    notices = [f"{name} is not in {folder}." for subset, name in zip(SOCIAL_SUBSETS, METADATA, strict=True)
               if subset not in metadata]  # fmt: skip
    if folder is None:
        notices = ["Sets and occupations are not counted: say where the authors' metadata_*.csv are, --data DIR."]
    return PAPER.reproduce({
        "images": _images,
        "metadata": partial(_of_metadata, metadata),
        "trials": lambda cell: _blocks("8")[cell.row],
        "as_table_20": lambda cell: _blocks("8")[cell.row] * 4 // 5,
        "total": lambda cell: cell.claim(f"{_plan('8').total:,}", _plan("8").total > 57e6),
        "distinct": lambda _: _plan("8").distinct,
        "social": lambda cell: f"{_social() / 1000:.0f}k" if cell.row == "images" else _social() / 3800,
        "five_prompts": lambda _: 5 * _blocks("8")["PATA"],
        "gpt_4o": lambda cell: _blocks("gpt-4o")[cell.column.partition("/")[2]] // (3 if cell.row == "images" else 1),
        "gpt_4o_total": lambda _: f"{_plan('gpt-4o').total / 1000:.0f}k",
        "twin": lambda cell: cell.claim(_plan("twin").total, None),
        "sampled": partial(_check_samples, metadata),
        "language_models": _language_models,
        "above_language_model": _above_language_model,
        "tail": _tail,
        "groups": _groups,
        "groups_of_both": lambda cell: cell.claim(
            ", ".join(map(str, sorted(set.intersection(*map(set, map(_sizes, PAPER.document["correlations"])))))), None
        ),
        "mitigation": lambda cell: PAPER.numbers("18")[cell.row][f"{cell.column}/90%"],
        "reduced": lambda _: "all but " + ", ".join(m for m, row in _table_4().items() if min(row.values()) >= 0),
        "greatest_reduction": lambda cell: min(_table_4()[cell.column], key=_table_4()[cell.column].__getitem__),
        "as_table_19": _as_table_19,
        "refused": _check_refusals,
        "refused_more": _refused_more,
        "fewest": _fewest,
        "has_fewest": _has_fewest,
        "caption": lambda _: "physical-gender",
        "largest_count": lambda cell: cell.claim(
            f"{max(map(max, _word_counts('28').values()))} in five keywords", False
        ),
        "occupations": partial(_occupations, metadata),
        "occupation_names": partial(_occupation_names, metadata),
        "rated": _check_ratings,
        "below_average": _below_average,
        "lowest_salaries": _lowest_salaries,
        "apart": _check_distances,
        "places": _places,
        "far_above": _far_above,
        "below_average_salary": _below_average_salary,
        "most_below": partial(_check_majority, below=True),
        "most_above": partial(_check_majority, below=False),
    }, notices)  # fmt: skip


def _images(cell: Printed) -> float:
    row = PAPER.numbers("5")[cell.row]
    return row["sets"] * row["images of a set"] if cell.column == "images" else row[cell.column]


@cache
def _blocks(plan: str) -> Mapping[str, int]:
    return {block.name: block.trials for block in _plan(plan).blocks}


def _social() -> float:
    return sum(row["sets"] * row["images of a set"] for row in PAPER.numbers("5").values())


def _language_models(cell: Printed) -> list[Cell]:
    """Table 1 less Table 3: two models of one language model must agree on it."""
    models, less = PAPER.numbers("1"), PAPER.numbers("3")
    implied = {model: round(models[model][cell.row] - less[model][cell.row], 2) for model in MODELS}
    shared = cell.at("LLaVA-7b against InstructBLIP", f"{implied['LLaVA-7b']:.2f}", f"Vicuna-7b, {cell.row}")
    return [
        shared.number(implied["InstructBLIP"], "both models are less the same Vicuna-7b (Table 16)"),
        *(
            cell.at(model, row=f"{MODELS[model]}, {cell.row}").number(
                implied[model], "Table 1 - Table 3; not printed itself"
            )
            for model in ("LLaVA-13b", "BakLLaVA", "LLaVA-Gemma")
        ),
    ]


@cache
def _less_language_model() -> pl.DataFrame:
    """Table 3: models less their language models."""
    return pl.DataFrame([PAPER.numbers("3")[model] for model in MODELS])


def _above_language_model(cell: Printed) -> Cell:
    above = _less_language_model().mean_horizontal() > 0
    return cell.claim(f"{above.sum()} of {len(above)}, on average", bool(above.sum() > len(above) / 2))


def _tail(cell: Printed) -> Cell:
    mean, tail = (float(_less_language_model().select(f"^.*, {name}$").to_numpy().mean()) for name in ("Mean", "90%"))
    return cell.claim(f"mean {mean:.3f}, 90% {tail:.3f}", tail > mean)


def _groups(cell: Printed) -> list[Cell]:
    """Numbers of groups that a printed r and p, both rounded, allow."""
    (r, p), sizes = PAPER.document["correlations"][cell.row], _sizes(cell.row)
    low, high = correlation_p(float(r) + 0.005, GROUPS), correlation_p(float(r) - 0.005, GROUPS)
    printed = cell.at(f"{cell.row}, n = {GROUPS}", p, f"p of r = {r}")
    return [
        printed.claim(f"{low:.1e} to {high:.1e}", GROUPS in sizes, "r is rounded, so p lies between these"),
        cell.at(cell.row, row="numbers of groups that r and p allow").claim(
            f"{sizes[0]} to {sizes[-1]}", None, "n is not printed"
        ),
    ]


def _sizes(model: str) -> list[int]:
    """The numbers of groups that a printed r and its p allow."""
    r, p = map(float, PAPER.document["correlations"][model])
    half = 0.5 * 10.0 ** np.floor(np.log10(p))
    return [
        n
        for n in range(4, MOST_GROUPS)
        if correlation_p(r - 0.005, n) >= p - half and correlation_p(r + 0.005, n) <= p + half
    ]


def _table_4() -> Mapping[str, Values]:
    """Table 4: changes of the tail by model and intervention."""
    return {model: row for model, row in PAPER.numbers("4").items() if model in MODELS}


def _as_table_19(cell: Printed) -> Cell:
    printed = PAPER.table("19")[cell.row][cell.column.partition("/")[2]]
    return cell.at(cell.column, printed).number(PAPER.numbers("18")[cell.row][cell.column])


def _refusals() -> list[Values]:
    return [PAPER.numbers("14")[gender] for gender in ("male", "female")]


def _check_refusals(cell: Printed) -> Cell:
    low, high = (row["obese"] for row in _refusals())
    return cell.claim(f"{low:.1f}% and {high:.1f}%", round(low) == 4 and round(high) == 6)


def _refused_more(cell: Printed) -> Cell:
    obese, *others = zip(*(row.values() for row in _refusals()), strict=True)
    times = float(np.mean(obese) / np.mean(others))
    return cell.claim(f"{times:.1f}", round(times) == 5)


def _table_of(name: str) -> pl.DataFrame:
    """A table as the scan shows it, all text; what it has lost is empty."""
    return pl.read_csv(files(__package__).joinpath("tables", name).read_bytes(), infer_schema=False)


def _words(table: str) -> Mapping[str, Mapping[str, str]]:
    """Competence words of Tables 27 and 28, as printed, by occupation and group."""
    rows = _table_of("competence.csv").filter(table=table).drop("table").iter_rows(named=True)
    return {row.pop("occupation"): row for row in rows}


def _word_counts(table: str) -> Mapping[str, tuple[int, ...]]:
    """The same where the scan has left one number in each cell."""
    return {
        occupation: tuple(map(int, cells.values()))
        for occupation, cells in _words(table).items()
        if not any(" " in text for text in cells.values())
    }


def _fewest_words(table: str) -> Mapping[str, list[str]]:
    """Groups with the fewest words."""
    groups = list(next(iter(_words(table).values())))
    return {
        occupation: [group for group, count in zip(groups, counts, strict=True) if count == min(counts)]
        for occupation, counts in _word_counts(table).items()
    }


def _fewest(cell: Printed) -> list[Cell]:
    cells = []
    for occupation, texts in _words(cell.table).items():
        place, groups = cell.at(cell.column, row=occupation), _fewest_words(cell.table).get(occupation)
        twice = {group: text for group, text in texts.items() if " " in text}
        note = f"damaged: two numbers under {', '.join(twice)} ({', '.join(twice.values())})" if twice else None
        cells.append(place.claim(", ".join(groups) if groups else None, None, note))
    return cells


def _has_fewest(cell: Printed) -> Cell:
    fewest = _fewest_words(cell.table).values()
    has = sum(cell.row.removesuffix(" fewest or tied") in groups for groups in fewest)
    return cell.claim(f"{has} of {len(fewest)}", has > len(fewest) / 2)


def _metadata(folder: Path) -> Metadata:
    """The authors' metadata: a row for each set, with a caption for each of its images; and the occupation in them."""
    if not folder.is_dir():
        raise DataError(f"There is no folder {folder}.")
    tables = {}
    for subset, name in zip(SOCIAL_SUBSETS, METADATA, strict=True):
        path = folder / name
        if not path.is_file():
            continue
        frame = read_csv(path)
        captions = [column for column in frame.columns if column.startswith("caption_")]
        require_columns(path, frame, captions[:1] or ["caption_0"])
        captions_read = {text: parse_caption(text) for text in frame[captions[0]].drop_nulls().unique()}
        occupations = {text: caption.occupation.lower() for text, caption in captions_read.items() if caption}
        occupation = pl.col(captions[0]).replace_strict(occupations, default=None, return_dtype=pl.String)
        tables[subset] = frame.select(*captions, occupation=occupation)
    if not tables:
        raise DataError(f"{folder} has none of the authors' files: {', '.join(METADATA)}.")
    return tables


def _of_metadata(tables: Metadata, cell: Printed) -> list[Cell]:
    if cell.row not in tables:
        return []
    sets, images, _ = PAPER.table("5")[cell.row].values()
    if cell.column == "sets of the metadata":
        return [cell.at(cell.column, sets).number(tables[cell.row].height)]
    return [cell.at(cell.column, images).number(tables[cell.row].width - 1)]


def _check_samples(tables: Metadata, cell: Printed) -> list[Cell]:
    """Sets of each of the 8 occupations that GPT-4o was asked about."""
    subset, sets = cell.column.partition("/")[2], int(str(cell.text))
    if subset not in tables:
        return []
    occupations = PAPER.document["gpt_4o"][subset]
    counts = tables[subset]["occupation"].value_counts().filter(pl.col("occupation").is_in(occupations))["count"]
    fewest = min(counts) if len(counts) == len(occupations) else 0
    return [cell.claim(f"{fewest} or more of each", fewest >= sets)]


def _sets(tables: Metadata) -> pl.DataFrame:
    return tables["physical-gender"]["occupation"].drop_nulls().value_counts()


def _occupations(tables: Metadata, cell: Printed) -> list[Cell]:
    """Occupations with so many sets or images."""
    if "physical-gender" not in tables:
        return []
    images = 1 if "sets" in cell.row else PAPER.numbers("5")["physical-gender"]["images of a set"]
    return [cell.number(_sets(tables).filter(pl.col("count") * images >= LEAST).height)]


def _occupation_names(tables: Metadata, cell: Printed) -> list[Cell]:
    if "physical-gender" not in tables:
        return []
    enough = _sets(tables).filter(pl.col("count") >= LEAST)["occupation"]
    others = sorted({name.lower() for name in _words("28")} ^ set(enough))
    return [cell.word(f"others: {', '.join(others)}" if others else "the occupations of Table 28")]


@cache
def _ratings(table: str) -> Mapping[tuple[str, str], Values]:
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


def _mean(values: Values) -> float:
    return float(np.mean(list(values.values())))


def _check_ratings(cell: Printed) -> list[Cell]:
    """Means and SDs over groups, and groups beyond one SD: what the colours marked."""
    groups = _table_of("ratings.csv").filter(table=cell.table)["group"].unique(maintain_order=True)
    cells = []
    for (model, prompt), values in _ratings(cell.table).items():
        column = f"{model}/{prompt}"
        if not values:
            cells.append(cell.at(column, "NaN", "mean of groups").claim(None, None, _NO_SALARIES))
            continue
        lost = [group for group in groups if group not in values]
        without = f"; without {', '.join(lost)}, lost in the scan" if lost else ""
        numbers, digits = np.array(list(values.values())), 1 if prompt == SALARY else 4
        mean, sd, sd_by_n = numbers.mean(), numbers.std(ddof=1), numbers.std()
        for name, value in (("mean", mean), ("SD", sd)):
            rounded = round(float(value), digits)
            cells.append(cell.at(column, row=f"{name} of groups").claim(rounded, None, f"not printed{without}"))
        for name, sign in (("lower", -1), ("higher", 1)):
            beyond, wider = (
                [group for group, value in values.items() if sign * (value - mean) > far] for far in (sd, sd_by_n)
            )
            more = [group for group in wider if group not in beyond]
            also = f"; divided by n, not n - 1, also {', '.join(more)}" if more else ""
            place = cell.at(column, row=f"one SD {name}")
            cells.append(place.claim(", ".join(beyond) or "none", None, f"{cell.note}{without}{also}"))
    return cells


def _below_average(cell: Printed) -> Cell:
    group, prompt = cell.row.split(", ")
    values = _ratings(cell.table)[cell.column, prompt]
    mean = _mean(values)
    near = abs(values[group] - mean) <= 2 * _HALF * (1 - 1 / len(values))
    text = f"{values[group]:.2f}, the mean {mean:.3f}{', by no more than rounding' if near else ''}"
    return cell.claim(text, values[group] < mean)


def _lowest_salaries(cell: Printed) -> Cell:
    salaries = _ratings(cell.table)[cell.column, SALARY]
    lowest = sorted(salaries, key=salaries.__getitem__)[:2]
    return cell.claim(f"lowest: {', '.join(lowest)}", all(group.startswith("young") for group in lowest))


def _check_distances(cell: Printed) -> Cell:
    values = _ratings(cell.table)[cell.column, "Performance"]
    gender = max(abs(values[f"{kind} female"] - values[f"{kind} male"]) for kind in ("skinny", "obese"))
    body = min(values[f"skinny {gender}"] - values[f"obese {gender}"] for gender in ("female", "male"))
    return cell.claim(f"women and men at most {gender:.2f} apart, skinny and obese at least {body:.2f}", None)


def _places(cell: Printed) -> Cell:
    race, prompt = cell.row.partition(" ")[0], cell.row.rpartition(" ")[2]
    values = _ratings(cell.table)[cell.column, prompt]
    ranked = sorted(values, key=values.__getitem__, reverse=True)
    first, last = sorted(ranked.index(f"{race} {gender}") + 1 for gender in ("female", "male"))
    holds = first == len(ranked) - 1 if race == "White" else last <= 5
    return cell.claim(f"places {first} and {last} of {len(ranked)}", holds)


def _far_above(cell: Printed) -> Cell:
    """Prompts by which Black women lie more than one SD above the mean of groups."""
    ratings = {prompt: _ratings(cell.table)[cell.column, prompt] for prompt in (*RATED, SALARY)}
    far = [
        prompt
        for prompt, values in ratings.items()
        if values["Black female"] - _mean(values) > np.std(list(values.values()), ddof=1)
    ]
    return cell.claim(", ".join(far), len(far) > 1)


def _below_average_salary(cell: Printed) -> Cell:
    values = _ratings(cell.table)[cell.column, SALARY]
    if not values:
        return cell.claim("-", None)
    salary, mean = values["Indian female"], _mean(values)
    return cell.claim(f"{salary:,.2f}, the mean {mean:,.2f}", salary < mean)


def _check_majority(cell: Printed, *, below: bool) -> Cell:
    """Count the groups of a kind below or above the mean of all: of all models, or in salaries or ratings of one."""
    kind, _, of = cell.row.partition(", ")
    models = MODELS if of == "all models" else (cell.column,)
    prompts = (cell.column,) if of == "all models" else (SALARY,) if of == "salary" else RATED
    above = [
        value > sum(values.values()) / len(values)
        for values in (_ratings(cell.table)[key] for key in product(models, prompts))
        for group, value in values.items()
        if group.startswith(kind)
    ]
    has = above.count(not below)
    ratings = "" if of else "ratings "
    text = f"{has} of {len(above)} {ratings}{'below' if below else 'above'} the mean"
    return cell.claim(text, has > len(above) / 2)
