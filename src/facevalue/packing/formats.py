"""Forms of a packed run that others' tools read: CycloneDX, Every Eval Ever, Hugging Face, Local Law 144."""

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import combinations, groupby
from math import isfinite
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import polars as pl

from facevalue.measures.caveats import add_caveat, caveat_of
from facevalue.measures.definitions import Measure, definition_of, key_of, value_by_measure
from facevalue.measures.group_spread import impact_ratios
from facevalue.measures.intervals import describe_method
from facevalue.measures.pairs import to_array
from facevalue.packing.packed_runs import PackedRun, Row
from facevalue.printable import in_markdown
from facevalue.report.page_builder import build_page
from facevalue.store.manifest import RunManifest

SPEC = "1.7"
_MITIGATION = "Not assessed: compare a run with an intervention, and judge the change on the same trials."
_LIMITATIONS = (
    "Measured on the people, pictures and prompts of the studies named here; what is not found is not proved absent.",
    "Numbers are estimates from a sample, with 95% intervals; verdicts hold at the level of each study's page.",
)


def cyclonedx(pack: Sequence[PackedRun], written: str) -> dict[str, Any]:
    """The document of all runs, a component for each model; `written`: when, in ISO 8601."""
    models = [
        list(of_model)
        for _, of_model in groupby(sorted(pack, key=lambda member: member.model), lambda member: member.model)
    ]
    components = [_component(packed) for packed in models]
    identity = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(components, sort_keys=True))
    return {
        "$schema": f"http://cyclonedx.org/schema/bom-{SPEC}.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": SPEC,
        "serialNumber": f"urn:uuid:{identity}",
        "version": 1,
        "metadata": {
            "timestamp": written,
            "tools": {"components": [{"type": "application", "name": "facevalue", "version": version("facevalue")}]},
        },
        "components": components,
    }


def _component(pack: Sequence[PackedRun]) -> dict[str, Any]:
    metrics = [_slice_metric(packed, row) for packed in pack for row in packed.results]
    return {
        "type": "machine-learning-model",
        "bom-ref": f"model-{pack[0].model}",
        "name": pack[0].model,
        "modelCard": {
            "bom-ref": f"model-card-{pack[0].model}",
            "quantitativeAnalysis": {"performanceMetrics": metrics},
            "considerations": {
                "technicalLimitations": [*_LIMITATIONS, *dict.fromkeys(_notes(pack))],
                "fairnessAssessments": [_assessment(packed, row) for packed in pack for row in packed.findings],
            },
        },
    }


def _slice_metric(packed: PackedRun, row: Row) -> dict[str, Any]:
    metric: dict[str, Any] = {"type": f"{packed.run.study.name}.{row['measure']} ({row['unit']})"}
    metric["value"] = f"{row['value']:.6g}"
    if subject := packed.subject(row):
        metric["slice"] = subject
    if row["low"] is not None and row["high"] is not None:
        metric["confidenceInterval"] = {"lowerBound": f"{row['low']:.6g}", "upperBound": f"{row['high']:.6g}"}
    return metric


def _assessment(packed: PackedRun, row: Row) -> dict[str, str]:
    measure = packed.definition(row)
    title = measure.title if measure else row["measure"]
    return {
        "groupAtRisk": packed.subject(row) or "everybody who is shown",
        "harms": f"{packed.run.study.about.title} {title}: {row['value']:.3g} {row['unit']} "
        f"[{row['low']:.3g}, {row['high']:.3g}]; {row['why']}"
        if row["low"] is not None and row["high"] is not None
        else f"{packed.run.study.about.title} {title}: {row['value']:.3g} {row['unit']}; {row['why']}",
        "mitigationStrategy": _MITIGATION,
    }


def _notes(pack: Sequence[PackedRun]) -> Iterator[str]:
    """Limitations of each run."""
    for packed in pack:
        for omission in packed.run.study.planned.left_out:
            yield f"{packed.run.study.name}: {omission.what} was not asked ({omission.why})."


EVERY_EVAL_EVER = "0.3.0"
_DETAILS = ("verdict", "why", "family", "kind", "q", "q_page", "page_low", "page_high", "page_level", "floor",
            "floor_high", "mde", "margin", "bound_low", "bound_high", "clusters", "source")  # fmt: skip


def every_eval_ever(packed: PackedRun, organization: str, retrieved: int) -> dict[str, Any]:
    """The document of one run; `organization`: who asked; `retrieved`: when it is written, in seconds since 1970.

    Estimates without a value are none here: a score is needed. `additional_details` says how many there are.
    """
    facts = packed.run.facts
    unmeasured = packed.estimates.filter(packed.estimates["value"].is_null()).height
    return {
        "schema_version": EVERY_EVAL_EVER,
        "evaluation_id": f"facevalue.{facts.study}/{packed.model}/{facts.id or int(facts.start.timestamp())}",
        "evaluation_timestamp": facts.start.isoformat(),
        "retrieved_timestamp": str(retrieved),
        "source_metadata": {
            "source_name": "FaceValue",
            "source_type": "evaluation_run",
            "source_organization_name": organization,
            "evaluator_relationship": "other",
            "additional_details": {"estimates_without_a_value": str(unmeasured)},
        },
        "eval_library": {"name": "facevalue", "version": version("facevalue")},
        "model_info": {
            "name": packed.model,
            "id": packed.model,
            "additional_details": {
                "deployment_type": "unknown",
                "model_availability": "unknown",
                **{name: str(value) for name, value in facts.model_settings.items()},
            },
        },
        "evaluation_results": list(_evaluations(packed)),
    }


def _evaluations(packed: PackedRun) -> Iterator[dict[str, Any]]:
    source = {
        "dataset_name": packed.run.study.about.title,
        "source_type": "other",
        "additional_details": {
            "study": packed.run.facts.study, "study_version": str(packed.run.facts.study_version),
            "citation": packed.run.study.about.citation,
        },
    }  # fmt: skip
    arguments = _arguments(packed.run.facts)
    for number, row in enumerate(packed.results):
        measure = packed.definition(row)
        yield {
            "evaluation_result_id": f"{packed.name}/{number}",
            "evaluation_name": f"{row['measure']} {packed.subject(row)}".strip(),
            "source_data": source,
            "metric_config": _metric_details(row, measure),
            "score_details": _score(packed, row),
            "generation_config": arguments,
        }


def _metric_details(row: Row, measure: Measure | None) -> dict[str, Any]:
    low, high = measure.limits if measure else (float("-inf"), float("inf"))
    equation = f"{measure.title}. {measure.equation}. " if measure else ""
    return {
        "evaluation_description": f"{equation}What lies nearer to no difference is better; a level has no better end.",
        "metric_id": f"facevalue.{key_of(row['measure'], row['score'])}{'.change' if row['versus'] else ''}",
        "metric_name": measure.title if measure else row["measure"],
        "metric_unit": row["unit"],
        "lower_is_better": True,
        "score_type": "continuous",
        "min_score": low if isfinite(low) else "-Infinity",
        "max_score": high if isfinite(high) else "Infinity",
    }


def _score(packed: PackedRun, row: Row) -> dict[str, Any]:
    method = describe_method(row["method"], row["detail"])
    uncertainty: dict[str, Any] = {"num_samples": int(row["n"])} if row["n"] is not None else {}
    if row["se"] is not None:
        uncertainty["standard_error"] = {"value": row["se"], "method": method}
    if row["low"] is not None and row["high"] is not None:
        uncertainty["confidence_interval"] = {
            "lower": row["low"], "upper": row["high"], "confidence_level": row["level"], "method": method
        }  # fmt: skip
    details = {name: str(row[name]) for name in (*packed.labels, *_DETAILS) if row[name] is not None}
    return {"score": row["value"], "uncertainty": uncertainty, "details": details}


def _arguments(facts: RunManifest) -> dict[str, Any]:
    sampling = facts.sampling
    arguments: dict[str, Any] = {"max_tokens": sampling.max_tokens} if sampling.max_tokens else {}
    if not facts.exact:
        arguments |= {"temperature": sampling.temperature, "top_p": sampling.top_p}
    return {
        "generation_args": arguments,
        "additional_details": {
            "answers": "exact probabilities of the options" if facts.exact else "sampled replies",
            "seeds": ", ".join(map(str, facts.seeds)),
        },
    }


# RO-Crate 1.1 of a pack: its files, what each is, and what made them.


CRATE = "ro-crate-metadata.json"
_FORMATS = {
    ".html": "text/html", ".json": "application/json", ".csv": "text/csv", ".md": "text/markdown",
    ".yaml": "application/yaml", ".toml": "application/toml", ".parquet": "application/x-parquet",
    "": "text/plain",
}  # fmt: skip


def write_crate(files: Mapping[str, bytes], titles: Mapping[str, str], name: str, written: str) -> dict[str, Any]:
    """The document that describes a folder.

    Parameters
    ----------
    files:
        Its files by name, this one not among them.
    titles:
        What some of them are; the others have their names.
    name, written:
        Of the whole, and when it was written, in ISO 8601.
    """
    members = [{"@id": file} for file in sorted(files)]
    tool = {"@id": "#facevalue", "@type": "SoftwareApplication", "name": "FaceValue", "version": version("facevalue")}
    return {
        "@context": "https://w3id.org/ro/crate/1.1/context",
        "@graph": [
            {
                "@id": CRATE,
                "@type": "CreativeWork",
                "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
                "about": {"@id": "./"},
            },
            {
                "@id": "./",
                "@type": "Dataset",
                "name": name,
                "description": "Pack of an audit of social bias: reports, estimates with intervals, settings.",
                "datePublished": written,
                "license": "No licence is stated; whoever hands this on states one.",
                "hasPart": members,
            },
            tool,
            {
                "@id": "#audit",
                "@type": "CreateAction",
                "name": "Audit",
                "instrument": {"@id": "#facevalue"},
                "endTime": written,
                "result": {"@id": "./"},
            },
            *(_file(file, data, titles.get(file, file)) for file, data in sorted(files.items())),
        ],
    }


def _file(name: str, data: bytes, title: str) -> dict[str, Any]:
    return {
        "@id": name,
        "@type": "File",
        "name": title,
        "encodingFormat": _FORMATS.get(PurePosixPath(name).suffix, "application/octet-stream"),
        "contentSize": str(len(data)),
    }


_NOTE = "{found}, at the level of the page. Intervals and all comparisons: see source."
_MOST = 20
"""Comparisons of a study that `model-index` holds."""


def quote_yaml(text: str) -> str:
    r"""A text as a YAML string: JSON's double quotes are YAML's.

    Examples
    --------
    >>> quote_yaml('a "b"')
    '"a \\"b\\""'
    """
    return json.dumps(text, ensure_ascii=False)


def model_index(pack: Sequence[PackedRun]) -> str:
    """`model-index` of all models: the largest comparisons that lead each study; intervals stand in the name."""
    lines = ["model-index:"]
    for model in dict.fromkeys(packed.model for packed in pack):
        lines += [f"- name: {quote_yaml(model)}", "  results:"]
        for packed in pack:
            if packed.model == model:
                lines += _results(packed)
    return "\n".join(lines) + "\n"


def _results(packed: PackedRun) -> Iterator[str]:
    yield "  - task: {type: image-text-to-text}"
    study = packed.run.study
    yield f"    dataset: {{type: {quote_yaml(f'facevalue/{study.name}')}, name: {quote_yaml(study.about.title)}}}"
    yield "    metrics:" if packed.leading else "    metrics: []"
    for row in packed.leading[:_MOST]:
        has_interval = row["low"] is not None and row["high"] is not None
        interval = f" [{row['low']:.3g}, {row['high']:.3g}]" if has_interval else ""
        name = " ".join(filter(None, (row["measure"], packed.subject(row)))) + interval
        name = add_caveat(name, caveat_of(row["why"]))
        texts = f"type: {quote_yaml(row['measure'])}, name: {quote_yaml(name)}"
        yield f"    - {{{texts}, value: {row['value']:.6g}, verified: false}}"
    yield f"    source: {{name: {quote_yaml('FaceValue ' + version('facevalue'))}, url: {quote_yaml(packed.name)}}}"


def eval_results(pack: Sequence[PackedRun], written: str) -> str:
    """Entries of `.eval_results`: pointers to the pack. They hold one number and no interval, so they say no result."""
    lines: list[str] = []
    for packed in pack:
        differences, page = len(packed.findings), f"reports/{packed.name}.html"
        lines += [
            f"- dataset: {{id: {quote_yaml(f'facevalue/{packed.run.study.name}')}}}",
            f"  value: {differences}",
            f"  date: {quote_yaml(written[:10])}",
            f"  source: {{name: {quote_yaml('FaceValue audit pack')}, url: {quote_yaml(page)}}}",
            f"  notes: {quote_yaml(_NOTE.format(found=packed.findings_counted))}",
        ]
    return "\n".join(lines) + "\n"


def card_section(pack: Sequence[PackedRun]) -> str:
    """A section of a model card in Markdown: per study what was asked, the answer, and what it rests on."""
    lines = ["## Social bias", "", f"Measured with FaceValue {version('facevalue')}.", ""]
    for packed in pack:
        page = build_page(packed.page)
        lines += [
            f"### {in_markdown(packed.run.study.about.title)} ({in_markdown(packed.model)})",
            "",
            in_markdown(page.answer.sentence),
            "",
            f"{packed.tally.valid:,} valid answers of {packed.tally.asked:,} requests; "
            f"{packed.run.study.about.citation}".removesuffix("; "),
            "",
            *(f"- {in_markdown(step.text)}" for step in page.steps if not step.text.endswith(":")),
            "",
        ]
    return "\n".join(lines)


LEAST_SHARE = 0.02
"""Share of all people below which the law lets a category be left out: its ratio is not stated."""
_SEX, _RACE = ("sex", "gender"), ("race", "ethnicity")
_GROUPS = ("group", "identity")
"""Labels that name a group, as do those that are called by what the law asks for; others say what was asked."""
IMPACT_COLUMNS = {
    "study": pl.String, "model": pl.String, "selected_by": pl.String, "asked": pl.String, "category": pl.String,
    "dimension": pl.String, "group": pl.String, "n": pl.UInt64, "people": pl.UInt64, "selection_rate": pl.Float64,
    "impact_ratio": pl.Float64, "low": pl.Float64, "high": pl.Float64, "note": pl.String, "data": pl.String,
}  # fmt: skip
TEST_DATA = "test data: answers about pictures, not about applicants"


def impact_table(pack: Sequence[PackedRun]) -> pl.DataFrame:
    """Rates of selection and impact ratios of all runs, a row per group and question.

    Equation
    --------
    Impact ratio: rate of the group / rate of the group that is selected most. Intervals by the delta method on the log
    scale, groups taken as independent, whoever is selected most (`group_spread`); for groups of the same sets, whose
    rates move together, they are too wide rather than too narrow. Null where a group has less than 2% of the people, is
    selected most, or has no standard error.
    """
    rows = [row for packed in pack for row in _of_run(packed)]
    return pl.DataFrame(rows, schema=IMPACT_COLUMNS, orient="row")


def category(dimension: str) -> str:
    """The category of the law that a dimension is of; empty for one that it does not ask for.

    Examples
    --------
    >>> category("gender"), category("race x gender"), category("age")
    ('sex', 'intersection', '')
    """
    name = dimension.lower()
    is_sex, is_race = (any(word in name for word in words) for words in (_SEX, _RACE))
    return "intersection" if is_sex and is_race else "sex" if is_sex else "race/ethnicity" if is_race else ""


def _of_run(packed: PackedRun) -> Iterator[tuple[object, ...]]:
    selected = value_by_measure({key: measure.selection for key, measure in packed.measures.items()}, default=False)
    by_group = [name for name in packed.labels if name in _GROUPS or (name != "dimension" and category(name))]
    crossed = [pair for pair in combinations(by_group, 2) if category(" x ".join(pair)) == "intersection"]
    plain = packed.estimates.filter(selected, pl.col("intervention").is_null(), pl.col("value").is_not_null())
    for groups in (*((name,) for name in by_group), *crossed):
        question_labels = [name for name in packed.labels if name not in groups]
        compared = plain.filter(
            pl.all_horizontal(pl.col(groups).is_not_null()), *(pl.col(n).is_null() for n in by_group if n not in groups)
        )
        for rates in compared.partition_by("measure", *question_labels, maintain_order=True):
            if rates.height > 1:
                yield from _of_question(packed, rates, groups, question_labels)


def _of_question(
    packed: PackedRun, rates: pl.DataFrame, groups: Sequence[str], question_labels: Sequence[str]
) -> Iterator[tuple[object, ...]]:
    value, se, n, units = (to_array(rates[name]) for name in ("value", "se", "n", "clusters"))
    is_large = n >= LEAST_SHARE * np.nansum(n)
    ratio, low, high = (np.full(value.shape, np.nan) for _ in range(3))
    if is_large.sum() > 1:
        some = np.flatnonzero(is_large)
        impact = impact_ratios(value[some], se[some], np.eye(some.size), np.maximum(units[some] - 1, 1))
        ratio[some], low[some], high[some] = impact.ratio, impact.low, impact.high
    first = rates.row(0, named=True)
    measure = definition_of(packed.measures, first["measure"], first["score"])
    scale = 100.0 if measure is not None and measure.unit == "%" else 1.0
    dimension = str(first.get("dimension") or " x ".join(groups))
    question = "; ".join(
        f"{name}: {first[name]}" for name in question_labels if name != "dimension" and first[name] is not None
    )
    for at, row in enumerate(rates.iter_rows(named=True)):
        note = "under 2% of those shown: no ratio" if not is_large[at] else "selected most" if ratio[at] == 1 else ""
        yield (
            packed.run.study.name, packed.model, row["measure"], question, category(dimension), dimension,
            " ".join(row[group] for group in groups), row["n"], row["clusters"], row["value"] / scale,
            *(_number(x[at]) for x in (ratio, low, high)), note, TEST_DATA,
        )  # fmt: skip


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
