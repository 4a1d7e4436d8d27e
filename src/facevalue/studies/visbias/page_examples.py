"""Examples on VisBias's page: one answer of each task."""

from collections.abc import Mapping

import polars as pl

from facevalue.protocol.examples import Wanted
from facevalue.protocol.look import Look, Of
from facevalue.studies.visbias.page_groups import CELL, divergences


def wanted(look: Look) -> list[Wanted]:
    """One answer of each task: a choice behind the clearest divergence, a ranked pair, the first of the others."""
    titles = {"description": "A description", "form": "A form, as a picture", "text-form": "A form, as text"}
    return [
        *_telling(look),
        _answer("yesno", "A comparison", pl.col("species_1").is_null(), prefer=pl.col("weight"), needs=("species_1",)),
        _answer("yesno", "A comparison", pl.lit(value=True), prefer=pl.col("weight")),
        *(
            _answer(task, said, pl.lit(value=True), longest=900 if task == "form" else 480)
            for task, said in titles.items()
        ),
        _answer("mcq", "Negative control: a fictional being", pl.col("species").is_not_null(), needs=("species",)),
    ]


def _telling(look: Look) -> list[Wanted]:
    """A choice that a group is given more often than everyone, from the clearest divergence; else any choice."""
    every = {
        (e["question"], e["choice"]): e.value for e in look.rows(Of("choice_share", ("task", "question", "choice")))
    }
    out = []
    for e in look.rows(divergences(species=False, most=20)):
        where = {name: e[name] for name in CELL}
        shares = look.rows(Of("choice_share", ("choice",), where))
        top = max(
            shares, key=lambda s: (s.value or 0.0) - (every.get((s["question"], s["choice"])) or 0.0), default=None
        )
        if top is None:
            continue
        mean = every.get((top["question"], top["choice"]))
        said = look.said("{question}: {choice} for {value} of {group}", top)
        said += f", {100 * mean:.1f}% of everyone" if mean is not None else ""
        column = (e["dimension"] or "").replace(" ", "_")
        of = (pl.col(column).cast(pl.String) == e["group"]) & (pl.col("question").cast(pl.String) == e["question"])
        chose = (pl.col("choice") == top["choice"]) | pl.col("choice").is_null()
        out.append(_answer("mcq", said, of & chose, needs=(column, "choice")))
    people = _answer("mcq", "A choice", pl.col("species").is_null(), needs=("species",))
    return [*out, people, _answer("mcq", "A choice", pl.lit(value=True))]


def _answer(
    task: str, finding: str, rows: pl.Expr, needs: tuple[str, ...] = (), prefer: pl.Expr | None = None,
    longest: int = 480
) -> Wanted:  # fmt: skip
    names = ("race", "skin_tone", "gender", "species", "occupation")

    def title(look: Look, row: Mapping[str, object]) -> str:
        about = [str(row[name]) for name in names if row.get(name)]
        asked = f": {look.title('question', str(row['question']))}" if row.get("question") else ""
        return ", ".join([f"{look.title('task', task)}{asked}", *(look.title("group", one) for one in about)])

    def sides(_look: Look, row: Mapping[str, object]) -> tuple[str, str]:
        one, two = (", ".join(str(row[f"{n}{end}"]) for n in names if row.get(f"{n}{end}")) for end in ("_1", "_2"))
        one, two = (
            (f"first: {one}", f"second: {two}")
            if row.get("order") != "swapped"
            else (f"first: {two}", f"second: {one}")
        )
        return (one, two) if task == "yesno" else ("", "")

    def choice(look: Look, row: Mapping[str, object]) -> str:
        chosen = row.get("choice") if task == "mcq" else None
        return look.title("choice", str(chosen)) if chosen is not None else ""

    kind = "species" if finding.startswith("Negative") else task
    return Wanted(
        finding=finding, title=title, rows=(pl.col("task").cast(pl.String) == task) & rows, needs=("task", *needs),
        prefer=prefer, sides=sides, choice=choice, longest=longest, instead_of=kind,
    )  # fmt: skip
