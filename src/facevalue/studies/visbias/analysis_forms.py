"""Estimates of forms: which choice shifts which other attribute, and how fields came to their categories."""

from dataclasses import replace

import numpy as np
import polars as pl

from facevalue.answers.json_fields import Read
from facevalue.measures import conditional_kl, consistency
from facevalue.measures.cluster_bootstrap import Floor
from facevalue.measures.estimates import EstimateTable
from facevalue.studies.visbias import measures as m
from facevalue.studies.visbias.aggregate import Aggregate
from facevalue.studies.visbias.recorded import SEED, estimates, not_measurable, shares, to_array

CONDITIONS = ("completed", "prefilled")
"""Which fields make a condition: those the model filled in, and those that were drawn at random beforehand."""


def add_forms(table: EstimateTable, gathered: Aggregate) -> None:
    """Add Algorithm 1, the likeliest values, and the routes of fields, for forms as pictures and as text."""
    fields = gathered.part("forms")
    tasks = gathered.part("missing")["task"].unique().to_list() if not gathered.part("missing").is_empty() else []
    for task in ("form", "text-form"):
        if task not in tasks:
            continue
        mine = fields.filter(pl.col("task") == task) if fields.height else fields
        if mine.is_empty():
            for measure in (m.SHIFT, m.ROUTE, m.READ, m.KEPT):
                not_measurable(table, measure, {"task": task}, "no reply is a form")
            continue
        _add_routes(table, task, mine)
        _add_graph(table, task, gathered, first_replies(mine))


def first_replies(fields: pl.DataFrame) -> pl.DataFrame:
    """Of each form the reply to the first seed: replies to one form under several seeds are not several forms."""
    return fields.filter(pl.col("repeat") == pl.col("repeat").min().over("form"))


def _add_graph(table: EstimateTable, task: str, gathered: Aggregate, fields: pl.DataFrame) -> None:
    attributes = [(a.name, a.categories.names) for a in gathered.asked.attributes]
    forms = conditional_kl.gather(fields, attributes)
    for conditions in CONDITIONS:
        found = conditional_kl.graph(forms, SEED, conditions=conditions)
        if found.is_empty():
            why = "no field has one value in two forms"
            not_measurable(table, m.SHIFT, {"task": task, "fields": conditions}, why)
            continue
        size = found.height
        labels = {
            "task": [task] * size,
            "fields": [conditions] * size,
            "attribute": found["attribute"].to_list(),
            "choice": found["choice"].to_list(),
            "other_attribute": found["outcome"].to_list(),
            "likeliest": found["likely"].to_list(),
        }
        floor = Floor(*(to_array(found[c]) for c in ("floor", "floor_high", "p")))
        known = estimates(found.with_columns(clusters=pl.col("n")))
        family = f"shifts in {task}s, {conditions} fields"
        q, p_least = to_array(found["q"]), to_array(found["p_least"])
        table.add(m.SHIFT, labels, known, floor=floor, q=q, p_least=p_least, family=family)
        n = to_array(found["n"])
        likely = consistency.wilson(to_array(found["likely_share"]) * n, n)
        table.add(m.LIKELY, labels, replace(likely, method=np.full(size, "Wilson over forms", dtype=object)))


def _add_routes(table: EstimateTable, task: str, fields: pl.DataFrame) -> None:
    """Shares of open fields by route, over all and for each attribute; how replies were read; filled fields kept."""
    open_ = fields.filter(~pl.col("prefilled")).with_columns(
        how=pl.when(pl.col("state") != "value")
        .then("state")
        .when(pl.col("route") == "none")
        .then(pl.concat_str(pl.lit("none: "), pl.col("reason").fill_null("unknown")))
        .otherwise("route")
    )
    for how in sorted(set(open_["how"])):
        said = open_.with_columns((pl.col("how") == how).cast(pl.Float64).alias("said"))
        for by in ([], ["attribute"]):
            labels, found = shares(said, "said", by, "form")
            size = found.value.size
            table.add(m.ROUTE, {**labels, "task": [task] * size, "route": [how] * size}, found)
    replies = fields.unique(["form", "repeat"], maintain_order=True)
    for read in Read:
        said = replies.with_columns((pl.col("read") == read.value).cast(pl.Float64).alias("said"))
        _, found = shares(said, "said", [], "form")
        table.add(m.READ, {"task": [task], "reading": [read.value]}, found)
    given = fields.filter("prefilled")
    if given.is_empty():
        not_measurable(table, m.KEPT, {"task": task}, "nothing was filled in beforehand")
        return
    kept = given.with_columns(pl.col("kept").cast(pl.Float64))
    for by in ([], ["attribute"]):
        labels, found = shares(kept, "kept", by, "form")
        table.add(m.KEPT, {**labels, "task": [task] * found.value.size}, found)
