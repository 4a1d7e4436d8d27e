"""Reproduction of VisBias's tables from the authors' released answers. docs/reproduce.md says what differs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import polars as pl

from facevalue.annotate import lexicon, sentiment, tokens
from facevalue.annotate.counts import WordCounter
from facevalue.annotate.tokens import Tokeniser
from facevalue.answers.categories import words as folded
from facevalue.errors import DataError, DependencyError
from facevalue.measures import conditional_kl, divergence, marked_words
from facevalue.protocol.paper import Paper
from facevalue.protocol.released_tables import of_models
from facevalue.protocol.reproduction import Cell, Printed, Reproduction
from facevalue.studies.visbias import analysis
from facevalue.studies.visbias import released_answers as released
from facevalue.studies.visbias.form_tables import attributes
from facevalue.studies.visbias.tables import choice_questions

PAPER = Paper.shipped(__package__)
MODELS = list(PAPER.table("8"))
DESCRIPTIONS, PAIRS = 11_200, 70
"""What the paper divides by (sections 3.2 and 3.3)."""
LEAST = 2
"""Forms of a condition: "after excluding cases with only one sample" (section 3.4)."""
_SECOND_ROUNDING = 0.001  # Table 5 was rounded twice: below 10 that moves a value by up to 0.006
_TOKENS_APART = 0.005  # relative difference that the way of cutting texts into tokens explains
_LISTS = {"asian": "Asian", "black": "Black", "latino": "Latino", "ME": "Middle-Eastern", "white": "White"}
_GROUPS = {"latine": "latino", "me": "ME", "hispanic": "latino", "middle eastern": "ME"}
"""Names of groups in the released answers, where tables or measures have others."""
_QUESTIONS = {"Income": "income", "Education": "education", "Political Leaning": "politics", "Religion": "religion"}
_NOT_RELEASED = "the answers of this condition are not in the release"
_NOT_HERE = "the answers are not among the files at hand"
_TOKENS = "tokens are cut by the rules of NLTK's word_tokenize, but not by its sentence model (docs/text.md)"
_SCAN = "the lists of neighbouring columns run together in the scan"
_SHIFTED = "GPT-4o's printed positive values stand one line off: Male shows Female's, ME shows Male's"
_FEWER_DIGITS = "all other cells of the table have two decimals: a digit is lost in the scan, or was never printed"
_OUR_MATCH = "which categories of the form and options correspond is not stated: ours give another value"

T = TypeVar("T")


def reproduce(folder: Path | None) -> Reproduction:
    """Recompute the published tables from released answers: whatever of them a folder holds (`released_answers`)."""
    if folder is None or not folder.is_dir():
        raise DataError(f"There is no folder {folder}.")
    answers = _Released(folder)
    reproduction = PAPER.reproduce({
        "length": answers.length,
        "marked": answers.marked,
        "released": answers.released,
        "divergence": answers.divergence,
        "differing": answers.differing,
        "sentiment": answers.sentiment,
        "stereotyped": answers.stereotyped,
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
        self._forms = {model: _gathered(forms) for model, forms in self.completed.items()}
        self._leave_out("Table 5 is", choices is not None, "mcq.csv or mcq_counts.csv")
        self._leave_out("Table 6 is", yes_no is not None, "yesno.csv")
        self._leave_out("Tables 1, 7 and 8 are", bool(paths), "descriptions_MODEL.parquet")
        self._stereotypes = self._counted(folder / "stereotype_words.json") if paths else {}
        self._sentiment = self._scored()
        self._leave_out("Section 3.4 is", bool(self.completed), "form.jsonl")

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

    def released(self, cell: Printed) -> list[Cell]:
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

    def divergence(self, cell: Printed) -> list[Cell]:
        """Table 5: squared Jensen-Shannon distance of a group's choices from those of all."""
        model, question = cell.column.split("/")
        if model not in self.choices:
            return []
        group = _GROUPS.get(cell.row.lower(), cell.row.lower())
        factor, groups = ("gender", released.GENDERS) if group in released.GENDERS else ("race", released.RACES)
        valid = self.choices[model].filter(pl.col("question") == question).drop_nulls("choice")
        counts = np.zeros((len(groups), released.QUESTIONS[question]))
        for level, choice, count in valid.group_by(factor, "choice").agg(pl.col("count").sum()).iter_rows():
            counts[list(groups).index(level), choice] = count
        value = float(divergence.jsd(counts)[list(groups).index(group)])
        if not np.isfinite(value):
            return [cell.number(None)]
        return [replace(cell, note=None, slack=_SECOND_ROUNDING if value < 10 else 0.0).number(value)]

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
        """Table 1: characters and tokens of descriptions."""
        if cell.column not in self.texts:
            return []
        frame = self.texts[cell.column]
        if cell.row == "Char":
            return [cell.number(int(frame["text"].str.len_chars().sum()) / DESCRIPTIONS)]
        length = int(tokens.lengths(frame, "text")["tokens"].sum()) / DESCRIPTIONS
        near = abs(length / float(str(cell.text)) - 1) < _TOKENS_APART
        return [cell.number(length, _TOKENS if near else None)]

    def marked(self, cell: Printed) -> list[Cell]:
        """Table 1: marked words, of women against men and the reverse, and of each race and White people."""
        group, model = cell.row.removeprefix("marked words: "), cell.column
        factor, unmarked = ("gender", "male") if group in released.GENDERS else ("race", "white")
        ranked = _ranked_words(self.texts[model], factor, unmarked) if model in self.texts else {}
        in_doubt = group in PAPER.document["marked_in_doubt"].get(model, ())
        return [cell.words(ranked[group], _SCAN if in_doubt else None)] if group in ranked else []

    def _scored(self) -> dict[str, dict[str, Mapping[str, float]]]:
        """Sentiment by model and group; none without the extra that scores it."""
        try:
            return {
                model: {
                    row[factor]: row
                    for factor in ("gender", "race")
                    for row in sentiment.concatenated(frame, "text", factor).iter_rows(named=True)
                }
                for model, frame in self.texts.items()
            }
        except DependencyError as error:
            self.notices.append(f"Table 7 is left out: {error}")
            return {}

    def sentiment(self, cell: Printed) -> list[Cell]:
        """Table 7: NLTK rounds a score to three decimals; the table shows it in percent."""
        group, name = cell.column.split("/")
        row = self._sentiment.get(cell.row, {}).get(group)
        shifted = cell.row == "gpt-4o" and name == "pos" and group in ("female", "male", "ME")
        value = round(100 * round(row[name], 3), 1) if row else None
        return [cell.number(value, _SHIFTED if shifted else None)] if row else []

    def _counted(self, path: Path) -> dict[str, pl.DataFrame]:
        """Stereotype words in each text, by model."""
        if not path.is_file():
            self._leave_out("Table 8 is", False, path.name)
            return {}
        all_lists = lexicon.read(path)
        lists: dict[str, Sequence[str]] = {
            race: [f"{kind}/{name}" for kind in ("person", "man", "woman")] for race, name in _LISTS.items()
        }
        for gender, kind in (("female", "woman/"), ("male", "man/")):
            lists[gender] = [name for name in all_lists.lists if name.startswith(kind)]
            if not lists[gender]:
                raise DataError(f"{path.name} has no lists of {kind.rstrip('/')!r}.")
        merged = all_lists.merged(lists)
        return {
            model: frame.hstack(lexicon.count(frame, "text", merged, Tokeniser.STEREOTYPE))
            for model, frame in self.texts.items()
        }

    def stereotyped(self, cell: Printed) -> list[Cell]:
        """Table 8: words of a group's lists, of 1,000 in texts about it."""
        if cell.row not in self._stereotypes:
            return []
        group, factor = cell.column, "gender" if cell.column in released.GENDERS else "race"
        of_group = self._stereotypes[cell.row].filter(pl.col(factor) == group)
        total = int(of_group["tokens"].sum())
        if not total:
            return [cell.number(None, "no texts")]
        fewer_digits = len(str(cell.text).partition(".")[2]) < 2
        return [cell.number(1000 * int(of_group[group].sum()) / total, _FEWER_DIGITS if fewer_digits else None)]

    def association(self, cell: Printed) -> list[Cell]:
        """The likeliest category of one attribute where another has a given one."""
        attribute, choice = cell.row.split(" = ")
        cells = []
        for model, forms in self._forms.items():
            (met, names), (base, outcomes) = forms.of(attribute), forms.of(cell.column)
            counts = base[met[:, names.index(choice)] > 0].sum(axis=0)
            likely = outcomes[int(counts.argmax())] if counts.any() else None
            column, row = f"{model}/{_title(cell.column)}", f"{_title(attribute)} = {choice}"
            cells.append(cell.at(column, cell.text, row).word(likely, None if likely else "no form has this choice"))
        return cells

    def strongest(self, cell: Printed) -> list[Cell]:
        """The choice of an attribute that shifts another most (Figure 3), and by how much, which is not printed."""
        model, outcome = cell.column.split("/")
        if model not in self._forms:
            return []
        (met, names), (votes, _) = self._forms[model].of(cell.row), self._forms[model].of(outcome)
        is_met = (met > 0) & (votes.sum(axis=1) > 0)[:, None]
        counts = np.stack([votes[member].sum(axis=0) for member in is_met.T])
        shifts = np.where(is_met.sum(axis=0) >= LEAST, conditional_kl.kl(votes.sum(axis=0), counts), np.nan)
        row, title = _title(cell.row), _title(outcome)
        at = None if np.isnan(shifts).all() else int(np.nanargmax(shifts))
        compared = cell.at(model, cell.text, f"{row}: what shifts {title} most")
        cells = [compared.word(None if at is None else names[at])]
        if at is not None:
            note = "the figure prints no number; smoothed as docs/forms.md says"
            cells.append(cell.at(model, row=f"{row} = {names[at]}: KL of {title}").number(float(shifts[at]), note))
        return cells

    def implicit_explicit(self, cell: Printed) -> list[Cell]:
        """Mean divergence, over genders or races, of what forms say from what choices say (section 4.3).

        Categories are matched as the study's own measure does (`analysis`): what only one list has is left out.
        """
        (model, factor), question = cell.column.split("/"), _QUESTIONS[cell.row]
        forms, choices = self._forms.get(model), self.choices.get(model)
        if forms is None and choices is None:
            return []
        if question not in analysis.FIELDS:
            return [cell.number(None, f"cannot be recomputed: {analysis.NO_COMMON_BOUND}")]
        if forms is None or choices is None:
            missing = "form.jsonl" if forms is None else "mcq.csv or mcq_counts.csv"
            return [cell.number(None, f"the model's answers are not in {missing}")]
        apart = _between(forms, choices, factor, question)
        return [cell.number(apart, _OUR_MATCH if apart is not None else "no group has both forms and choices")]


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


def _ranked_words(frame: pl.DataFrame, factor: str, unmarked: str) -> dict[str, list[str]]:
    """The ranking of marked words of each group; none where there is nothing to compare with."""
    cells = frame.select("race", "gender").unique(maintain_order=True).with_row_index("unit")
    if unmarked not in cells[factor] or cells[factor].n_unique() < 2:
        return {}
    unit = frame.join(cells, on=["race", "gender"], how="left", maintain_order="left")["unit"]
    counter = WordCounter(cells.height, Tokeniser.MARKED)
    counter.add(frame, "text", unit.to_numpy().astype(np.int64))
    ranked = marked_words.published(counter.counts(), cells[factor].to_list(), unmarked)
    return {group: ranked.filter(pl.col("group") == group)["word"].to_list() for group in cells[factor].unique()}


def _gathered(completed: Sequence[Mapping[str, Sequence[str]]]) -> conditional_kl.Forms:
    """Released forms as weights."""
    table = attributes("released")
    by_key = {key: attribute for attribute in table for key in (attribute.title, *attribute.keys)}
    rows: list[tuple[int, str, list[str]]] = [
        (form, by_key[key].name, [by_key[key].categories.forms.get(folded(value), value) for value in values])
        for form, fields in enumerate(completed)
        for key, values in fields.items()
        if key in by_key
    ]
    if not rows:
        raise DataError("The forms of form.jsonl have none of the paper's fields.")
    frame = pl.DataFrame(rows, schema=["form", "attribute", "categories"], orient="row")
    return conditional_kl.gather(frame, [(a.name, a.categories.names) for a in table])


def _between(forms: conditional_kl.Forms, answered: pl.DataFrame, factor: str, question: str) -> float | None:
    (levels,) = (q.levels for q in choice_questions() if q.name == question)
    (members, groups), (votes, names) = forms.of(factor), forms.of(analysis.FIELDS[question])
    matched = np.array([[analysis.LEVELS[question].get(name) == level for level in levels] for name in names])
    divergences = []
    for group in sorted(set(analysis.GROUPS[factor].values())):
        about = [at for at, name in enumerate(groups) if analysis.GROUPS[factor].get(name) == group]
        choices = votes[members[:, about].sum(axis=1) > 0].sum(axis=0) @ matched
        chosen = answered.filter(**{"question": question, factor: _GROUPS.get(group, group)}).drop_nulls("choice")
        counts = np.bincount(chosen["choice"].to_numpy(), chosen["count"].to_numpy(), len(levels))
        if choices.sum() > 0 and counts.sum() > 0:
            divergences.append(float(divergence.js(choices / choices.sum(), counts / counts.sum())))
    return float(np.mean(divergences)) if divergences else None
