"""Reproduction of VisBias's tables from the authors' released answers. docs/papers/reproduce.md says what differs."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import polars as pl

from facevalue.errors import DataError
from facevalue.measures.cluster_bootstrap import values_only
from facevalue.measures.definitions import measures_wanted
from facevalue.measures.estimates import EstimateTable
from facevalue.protocol.reproduction import (
    Cell,
    Paper,
    Printed,
    Reproduction,
    compare_cell,
    matching_estimates,
    of_models,
)
from facevalue.studies.visbias import analysis
from facevalue.studies.visbias import measures as m
from facevalue.studies.visbias import released_answers as released
from facevalue.studies.visbias.analysis import Asked, TaskAnswers
from facevalue.studies.visbias.parsing import attributes

PAPER = Paper.shipped(__package__)
MODELS = list(PAPER.table("8"))
DESCRIPTIONS, PAIRS = 11_200, 70
"""Denominators of the paper (sections 3.2 and 3.3)."""
_TOKENS_APART = 0.005  # relative difference that the way of cutting texts into tokens explains
_NOT_RELEASED = "the answers of this condition are not in the release"
_NOT_HERE = "the answers are not among the files at hand"
_TOKENS = "tokens are cut by the rules of NLTK's word_tokenize, but not by its sentence model (docs/reference/text.md)"
_SCAN = "the lists of neighbouring columns run together in the scan"
_FEW_FORMS = "fewer than two forms have this choice and the other attribute"
_OUR_MATCH = "which categories of the form and options correspond is not stated: ours give another value"

TEXT_MEASURES = (
    *(m.CHARACTERS, m.TOKENS, m.POSITIVE_PUBLISHED, m.NEGATIVE_PUBLISHED),
    *(m.WORDS_PUBLISHED, m.MARKED_PUBLISHED),
)
"""Measures of descriptions; each is taken as published."""

OTHER_MEASURES = (m.SHARE, m.DIVERGENCE, m.SHIFT, m.LIKELY, m.AGREEMENT)
"""Measures of choices and forms, of which values alone are printed."""

T = TypeVar("T")


def reproduce(folder: Path | None) -> Reproduction:
    """Recompute the published tables from released answers: whatever of them a folder holds (`released_answers`)."""
    if folder is None or not folder.is_dir():
        raise DataError(f"There is no folder {folder}.")
    answers = _Released(folder)
    reproduction = PAPER.reproduce({
        "length": answers.length,
        "marked": answers.check_marked_words,
        "released": answers.check_released,
        "differing": answers.differing,
        "estimate": partial(compare_cell, answers.estimates),
        "responses": lambda cell: answers.of_model(cell, answers.choices, lambda rows: int(rows["count"].sum())),
        "descriptions": lambda cell: answers.of_model(cell, answers.texts, lambda texts: texts.height),
        "forms": lambda cell: answers.of_model(cell, answers.completed, len),
        "association": answers.association,
        "shifted_pairs": lambda cell: [cell.number(None)] if answers.completed else [],
        "strongest": answers.strongest,
        "implicit_explicit": answers.implicit_explicit,
    })  # fmt: skip
    if not reproduction.cells:
        raise DataError(
            f"{folder} holds none of the released answers of the paper's models: mcq.csv, mcq_counts.csv, yesno.csv, "
            "descriptions_MODEL.parquet, form.jsonl."
        )
    return replace(reproduction, notices=(*reproduction.notices, *answers.notices))


class _Released:
    """Released answers by model: each file is read once, and what is left out is noticed."""

    def __init__(self, folder: Path) -> None:
        self.notices: list[str] = []
        choices, yes_no = released.choices(folder), released.yes_no(folder)
        self.completed = self._of_models(released.forms(folder), "form.jsonl")
        paths = self._of_models(released.descriptions(folder), "descriptions_MODEL.parquet")
        self.choices = self._of_models(_by_model(choices), "mcq.csv")
        self.compared = self._of_models(_by_model(yes_no), "yesno.csv")
        self.texts = {model: released.texts(path) for model, path in paths.items()}
        self._leave_out("Table 5 is", choices is not None, "mcq.csv or mcq_counts.csv")
        self._leave_out("Table 6 is", yes_no is not None, "yesno.csv")
        self._leave_out("Tables 1, 7 and 8 are", bool(paths), "descriptions_MODEL.parquet")
        lists = folder / "stereotype_words.json"
        self._leave_out("Table 8 is", lists.is_file() or not paths, lists.name)
        setting = Asked(
            ("race", "gender"), tuple(f"{race} {gender}" for race in released.RACES for gender in released.GENDERS),
            attributes("released"), str(lists) if paths and lists.is_file() else "",
        )  # fmt: skip
        models = [model for model in MODELS if model in {*self.choices, *self.texts, *self.completed}]
        nothing = EstimateTable(analysis.STUDY, "", m.LABELS).frame()
        self.estimates = pl.concat([nothing, *(self._estimates(model, setting) for model in models)])
        self._leave_out("Section 3.4 is", bool(self.completed), "form.jsonl")

    def _estimates(self, model: str, setting: Asked) -> pl.DataFrame:
        """Estimates of a model's answers: values alone, as nothing else is printed."""
        answers, table = TaskAnswers(setting), EstimateTable(analysis.STUDY, model, m.LABELS)
        answers.add(released.as_answers(self.choices.get(model), self.texts.get(model), self.completed.get(model, ())))
        if answers.why_no_scores and (notice := f"Table 7 is left out: {answers.why_no_scores}") not in self.notices:
            self.notices.append(notice)
        with measures_wanted(measure.name for measure in TEXT_MEASURES):
            analysis.add_estimates(table, answers)
        with values_only(), measures_wanted(measure.name for measure in OTHER_MEASURES):
            analysis.add_estimates(table, answers)
        return table.frame()

    def _of_models(self, tables: Mapping[str, T], file: str) -> dict[str, T]:
        of_paper, notices = of_models(tables, MODELS, file)
        self.notices += notices
        return of_paper

    def _leave_out(self, tables: str, present: bool, file: str) -> None:
        if not present:
            self.notices.append(f"{tables} left out: there is no {file}.")

    def of_model(self, cell: Printed, tables: Mapping[str, T], value: Callable[[T], float]) -> list[Cell]:
        """The number of a model, which is the column."""
        return [cell.number(value(tables[cell.column]))] if cell.column in tables else []

    def check_released(self, cell: Printed) -> list[Cell]:
        """Table 3: the release holds the conditions in which a model answered, and no others."""
        model, choices = cell.row, _share_refused(self.choices.get(cell.row))
        texts, forms = (
            ("answers", f"{name} are released") if model in tables else None
            for name, tables in (("descriptions", self.texts), ("forms", self.completed))
        )
        released_answers = {
            "MCQ w/o J": choices,
            "MCQ w/ J": choices,
            "Yes-No w/o J": _share_answered(self.compared.get(model), "no"),
            "Yes-No w/ J": _share_answered(self.compared.get(model), "yes"),
            "Description": texts,
            "Form": forms,
        }
        if not any(released_answers.values()) or cell.text == "N/A":
            return []
        answers = released_answers[cell.column]
        if cell.text != "answers" or answers is None:
            return [cell.claim(None, None, _NOT_RELEASED if cell.text != "answers" else _NOT_HERE)]
        return [replace(cell.word(answers[0]), note=answers[1])]

    def differing(self, cell: Printed) -> list[Cell]:
        """Table 6: pairs with differing answers, in percent."""
        if cell.row not in self.compared:
            return []
        if cell.text == "N/A":
            return [cell.at(cell.column).claim(None, None, "printed as N/A: the model cannot read the cipher")]
        attribute, cipher = cell.column.split("/jailbreak=")
        row = self.compared[cell.row].filter(attribute=attribute, jailbreak=cipher)
        differing = row["different_pairs"][0] if row.height else None
        if differing is None:
            return [cell.number(None, "not in the released counts")]
        compared, answers = cell.number(100 * differing / PAIRS), (row["yes"][0] or 0) + (row["no"][0] or 0)
        if answers != PAIRS and compared.same:
            note = f"the released counts of yes and no sum to {answers}, those of other rows to {PAIRS}"
            compared = replace(compared, note=note)
        return [compared]

    def length(self, cell: Printed) -> list[Cell]:
        """Table 1: characters and tokens of descriptions, of as many as there should be."""
        rows = matching_estimates(self.estimates, cell)
        if rows is None:
            return []
        length = rows["value"][0] * rows["n"][0] / DESCRIPTIONS
        near = abs(length / float(str(cell.text)) - 1) < _TOKENS_APART
        return [cell.number(length, _TOKENS if near and cell.row == "Token" else None)]

    def check_marked_words(self, cell: Printed) -> list[Cell]:
        """Table 1: marked words, of women against men and the reverse, and of each race and White people."""
        rows = matching_estimates(self.estimates, cell)
        if rows is None:
            return []
        group = cell.row.removeprefix("marked words: ")
        in_doubt = group in PAPER.document["marked_in_doubt"].get(cell.column, ())
        return [cell.words(rows.sort("value")["word"].to_list(), _SCAN if in_doubt else None)]

    def _shifts(self, model: str, attribute: str, outcome: str) -> pl.DataFrame:
        """Shifts of an attribute by each choice of another one, those that most shift it first."""
        labels = {"measure": m.SHIFT.name, "model": model, "attribute": attribute, "other_attribute": outcome}
        return (
            self.estimates.filter(pl.col("versus").is_null(), **labels)
            .drop_nulls("value")
            .sort("value", descending=True, maintain_order=True)
        )

    def association(self, cell: Printed) -> list[Cell]:
        """The likeliest category of one attribute where another has a given one."""
        attribute, choice = cell.row.split(" = ")
        cells = []
        for model in self.completed:
            likely = self._shifts(model, attribute, cell.column).filter(choice=choice)["likeliest"].to_list()
            compared = cell.at(f"{model}/{_title(cell.column)}", cell.text, f"{_title(attribute)} = {choice}")
            cells.append(compared.word(likely[0]) if likely else compared.word(None, _FEW_FORMS))
        return cells

    def strongest(self, cell: Printed) -> list[Cell]:
        """The choice of an attribute that shifts another most (Figure 3), and by how much, which is not printed."""
        model, outcome = cell.column.split("/")
        if model not in self.completed:
            return []
        row, title = _title(cell.row), _title(outcome)
        compared = cell.at(model, cell.text, f"{row}: what shifts {title} most")
        for choice, shift in self._shifts(model, cell.row, outcome).select("choice", "value").head(1).iter_rows():
            note = "the figure prints no number; smoothed as docs/papers/visbias-forms.md says"
            by_how_much = cell.at(model, row=f"{row} = {choice}: KL of {title}").number(shift, note)
            return [compared.word(choice), by_how_much]
        return [compared.word(None)]

    def implicit_explicit(self, cell: Printed) -> list[Cell]:
        """Mean divergence, over genders or races, of what forms say from what choices say (section 4.3).

        Categories are matched as the study's own measure does (`analysis`): what only one list has is left out.
        """
        model = cell.labels["model"]
        in_files = {"form.jsonl": model in self.completed, "mcq.csv or mcq_counts.csv": model in self.choices}
        if not any(in_files.values()):
            return []
        for file, is_there in in_files.items():
            if not is_there:
                return [cell.number(None, f"the model's answers are not in {file}")]
        rows = matching_estimates(self.estimates, cell)
        values = [] if rows is None else rows.sort("group", nulls_last=False)["value"].drop_nulls().to_list()
        return [cell.number(values[0], _OUR_MATCH) if values else cell.number(None, cell.missing)]


def _by_model(frame: pl.DataFrame | None) -> dict[str, pl.DataFrame]:
    frames = {} if frame is None else frame.partition_by("model", as_dict=True, maintain_order=True)
    return {str(model): rows for (model,), rows in frames.items()}


def _title(attribute: str) -> str:
    return next(row.title for row in attributes("released") if row.name == attribute)


def _share_refused(answers: pl.DataFrame | None) -> tuple[str, str] | None:
    if answers is None:
        return None
    refused = int(answers.filter(pl.col("choice").is_null())["count"].sum()) / max(int(answers["count"].sum()), 1)
    return "answers" if refused < 0.5 else "refuses", f"{100 * refused:.1f}% of the released answers are refusals"


def _share_answered(compared: pl.DataFrame | None, cipher: str) -> tuple[str, str] | None:
    rows = None if compared is None else compared.filter(attribute="total", jailbreak=cipher).drop_nulls("yes")
    if rows is None or rows.is_empty():
        return None
    answers = int(rows["yes"][0]) + int(rows["no"][0] or 0)
    return "answers" if answers > PAIRS else "refuses", f"{answers} of {2 * PAIRS} answers are yes or no"
