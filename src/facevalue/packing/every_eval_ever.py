"""A run in the form of Every Eval Ever 0.3 (evaleval.github.io), which holds intervals and numbers of samples."""

from collections.abc import Iterator
from importlib.metadata import version
from math import isfinite
from typing import Any

from facevalue.measures.definitions import Measure, key_of
from facevalue.measures.intervals import describe_method
from facevalue.packing.packed_runs import PackedRun, Row
from facevalue.store.manifest import RunManifest

SCHEMA = "0.3.0"
_DETAILS = ("verdict", "why", "family", "kind", "q", "q_page", "page_low", "page_high", "page_level", "floor",
            "floor_high", "mde", "margin", "bound_low", "bound_high", "clusters", "source")  # fmt: skip


def every_eval_ever(packed: PackedRun, organization: str, retrieved: int) -> dict[str, Any]:
    """The document of one run; `organization`: who asked; `retrieved`: when it is written, in seconds since 1970.

    Estimates without a value are none here: a score is needed. `additional_details` says how many there are.
    """
    facts = packed.run.facts
    unmeasured = packed.estimates.filter(packed.estimates["value"].is_null()).height
    return {
        "schema_version": SCHEMA,
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
        "evaluation_results": list(_results(packed)),
    }


def _results(packed: PackedRun) -> Iterator[dict[str, Any]]:
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
            "metric_config": _metric(row, measure),
            "score_details": _score(packed, row),
            "generation_config": arguments,
        }


def _metric(row: Row, measure: Measure | None) -> dict[str, Any]:
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
