"""From run folders to VIGNETTE's examples: one stored answer behind each of the strongest cells."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np
import polars as pl

from facevalue.measures.verdicts import Verdict
from facevalue.protocol.study import Study
from facevalue.report.data import PairExample, PromptExample
from facevalue.report.formatting import Titles, number, share_of_chance
from facevalue.report.pictures import smaller
from facevalue.report.stored_examples import said
from facevalue.report.vignette import gaps
from facevalue.runs.pictures import shown
from facevalue.runs.stored import StoredRun, answers
from facevalue.store import read_responses

MOST = 8
"""Examples of a report."""
_CHUNKS = 8
"""Chunks of a million answers that are searched for them."""
_LONGEST = 640

_FOUND = pl.col("verdict") == Verdict.DIFFERENCE.value


@dataclass(frozen=True, slots=True)
class _Wanted:
    dimension: str
    paradigm: str
    question: str | None
    identity: str
    activity: str | None
    up: bool
    finding: str


def prompts(study: Study) -> tuple[PromptExample, ...]:
    """Of each kind of picture the questions about its first pair, one per question; stereotypes: two terms."""
    design = study.design
    out: list[PromptExample] = []
    seen: set[str] = set()
    titles = Titles(own=study.titles)
    for block, offset in zip(design.blocks, design.offsets, strict=False):
        contrast = block.constants.get("contrast", block.name)
        if contrast in seen:
            continue
        seen.add(contrast)
        frame = design.trials(offset + np.arange(block.prompts))
        keys = [name for name in ("paradigm", "question") if name in frame.columns]
        frame = frame.unique(keys, keep="first", maintain_order=True)
        terms = pl.col("paradigm") != "stereotype"
        frame = pl.concat([frame.filter(terms), frame.filter(~terms).head(2)])
        for row, question in zip(frame.iter_rows(named=True), study.ask(frame), strict=True):
            title = f"{titles.get('paradigm', row['paradigm'])}: {titles.get('question', row['question'])}"
            note = titles.get("contrast", contrast).lower()
            out.append(PromptExample(title, note, question.prompt, question.system))
    return tuple(out)


def examples(runs: Sequence[StoredRun], estimates: pl.DataFrame) -> list[PairExample]:
    """An answer of the majority behind each of the strongest cells that were found, of the first model with any."""
    for model in dict.fromkeys(run.model for run in runs):
        own = estimates.filter(pl.col("model") == model)
        cells = _cells(own)
        known = {(want.dimension, want.identity) for want in cells}
        wanted = [*cells, *(w for w in _wholes(own) if (w.dimension, w.identity) not in known)][:MOST]
        if wanted:
            return [found for run in runs if run.model == model for found in _found(run, wanted)]
    return []


def _wholes(own: pl.DataFrame) -> list[_Wanted]:
    """Identities that were found different from an even choice over all activities, strongest first."""
    if "identity" not in own.columns:
        return []
    plain = [pl.col(n).is_null() for n in ("gender", "activity", "trait") if n in own.columns]
    gap = own.filter((pl.col("measure") == "selection_gap") & pl.col("contrast").eq_missing("identity"), *plain)
    gap = gap.filter(pl.col("paradigm").is_in(["decision", "perception"]) & _FOUND)
    gap = gap.sort(pl.col("paradigm") != "decision", -pl.col("value").abs())
    gap = gap.unique(["dimension", "identity"], keep="first", maintain_order=True).head(MOST)
    whole = own.filter((pl.col("measure") == "selection_frequency") & pl.col("contrast").eq_missing("identity"), *plain)
    keys = ["dimension", "paradigm", "question", "identity"]
    gap = gap.join(whole.select(*keys, share="value"), on=keys, how="left", nulls_equal=True, maintain_order="left")
    return [
        _Wanted(
            row["dimension"], row["paradigm"], row["question"], row["identity"], None, row["value"] > 0,
            f"chosen in {number(row['share'], '%')} of its comparisons over all activities",
        )
        for row in gap.iter_rows(named=True)
    ]  # fmt: skip


def _cells(own: pl.DataFrame) -> list[_Wanted]:
    """Cells of identity and activity, strongest first, no identity twice."""
    if "activity" not in own.columns:
        return []
    cell = pl.col("identity").is_not_null() & pl.col("activity").is_not_null() & pl.col("dimension").is_not_null()
    asked = pl.col("paradigm").is_in(["decision", "perception"])
    known = own.filter((pl.col("measure") == "log_odds") & cell & asked & _FOUND)
    shares = own.filter((pl.col("measure") == "selection_frequency") & cell & pl.col("contrast").eq_missing("identity"))
    keys = ["dimension", "paradigm", "question", "identity", "activity"]
    both = known.join(shares.select(*keys, share="value"), on=keys, nulls_equal=True, maintain_order="left")
    # Log-odds are against the identity's other activities; an example shows a choice, so both must point one way.
    both = both.join(_even(own), on=keys[:3], how="left", nulls_equal=True, maintain_order="left")
    one_way = (pl.col("share") - pl.col("even").fill_null(50)).sign() == pl.col("value").sign()
    both = both.filter(one_way).sort(pl.col("paradigm") != "decision", -pl.col("value").abs())
    both = both.unique(["dimension", "identity"], keep="first", maintain_order=True).head(MOST)
    out = []
    for row in both.iter_rows(named=True):
        chance = share_of_chance(row["q_page"])
        finding = (
            f"chosen in {number(row['share'], '%')} of its comparisons in this activity; log odds "
            f"{number(row['value'], 'log odds', signed=True)}, q {chance if chance.startswith('<') else f'= {chance}'}"
        )
        out.append(_Wanted(**{key: row[key] for key in keys}, up=row["value"] > 0, finding=finding))
    return out


def _even(own: pl.DataFrame) -> pl.DataFrame:
    """How often two who are alike would be chosen, where answers could name both or none: half of the rest."""
    keys = ["dimension", "paradigm", "question"]
    neither = own.filter(
        pl.col("measure").is_in(["both_rate", "none_rate"]) & pl.col("contrast").eq_missing("identity")
    )
    neither = neither.filter(pl.col("identity").is_null() & (pl.col("paradigm") != "factuality"))
    return neither.group_by(keys).agg(even=50 - pl.col("value").sum() / 2)


def _found(run: StoredRun, wanted: list[_Wanted]) -> Iterator[PairExample]:
    rows: dict[int, dict[str, object]] = {}
    seen: set[_Asked] = set()
    for place, chunk in enumerate(answers(run)):
        if place >= _CHUNKS or len(rows) == len(wanted):
            break
        usable = chunk.filter(pl.col("weight").is_not_null())
        if not {"identity_1", "identity_2", "activity"} <= set(usable.columns):
            return
        for number_, want in enumerate(wanted):
            row = None if number_ in rows else _trial(usable, want, seen)
            if row is not None:
                rows[number_] = row
                seen.add(_asked(row))
    for number_ in sorted(rows):
        yield _example(run, wanted[number_], rows[number_])


_Asked = tuple[frozenset[object], object, object, object]


def _asked(row: Mapping[str, object]) -> _Asked:
    """Who are compared, whoever of them comes first, doing what, and how: no two examples share all of it."""
    return frozenset((row["identity_1"], row["identity_2"])), row["activity"], row["paradigm"], row["question"]


def _trial(chunk: pl.DataFrame, want: _Wanted, seen: Set[_Asked]) -> dict[str, object] | None:
    """A trial about the cell whose answer is that of the majority, not shown before; the clearest one."""
    first, second = (pl.col(name).cast(pl.String) == want.identity for name in ("identity_1", "identity_2"))
    levels = {n: getattr(want, n) for n in ("dimension", "paradigm", "activity", "question")}
    of = [pl.col(n).cast(pl.String) == level for n, level in levels.items() if level is not None]
    if "shown" in chunk.columns:
        of.append(pl.col("shown").cast(pl.String) == "image")
    ahead = pl.col("weight") - pl.col("other")  # both and none are nobody's
    same = chunk.filter(*of, first | second).with_columns(pl.when(first).then(ahead).otherwise(-ahead).alias("ahead"))
    side = pl.col("ahead") > 0 if want.up else pl.col("ahead") < 0
    same = same.filter(side).sort(pl.col("ahead").abs(), descending=True, maintain_order=True)
    return next((row for row in same.iter_rows(named=True) if _asked(row) not in seen), None)


def _example(run: StoredRun, want: _Wanted, row: dict[str, object]) -> PairExample:
    study, trial = run.study, int(str(row["trial"]))
    question = study.ask(study.design.trials([trial]))[0]
    replies = read_responses(run.folder, trial, trial)
    reply = replies.filter(pl.col("repeat") == row["reply"]).row(0, named=True)
    look = shown(run, trial)
    titles = Titles(own=study.titles)
    own = gaps.who(want.identity, titles)
    one, two = (gaps.who(str(row[name]), titles) for name in ("identity_1", "identity_2"))
    other = two if own == one else one
    left, right = (one, two) if row.get("left_first") is not False else (two, one)
    chosen = one if float(str(row["weight"])) > float(str(row["other"])) else two
    activity = str(row["activity"])
    return PairExample(
        title=f"{activity[:1].upper()}{activity[1:]}: {own} beside {other}",
        finding=f"{own}: {want.finding}",
        image=smaller(look.images[0].data, _LONGEST) if look.images else None,
        no_picture=look.why,
        prompt=question.prompt,
        options=tuple(f"{option.label} {option.text}".strip() for option in question.options),
        answer=said(reply["text"], reply["probs"], question.options),
        choice=chosen,
        model=run.model,
        left=left if shown is not None else "",
        right=right if shown is not None else "",
    )
