"""Runs as a CycloneDX 1.7 bill of materials with a model card: measures by slice with intervals, who is at risk."""

import json
import uuid
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from itertools import groupby
from typing import Any

from facevalue.packing.packed_runs import PackedRun, Row

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
    metrics = [_metric(packed, row) for packed in pack for row in packed.results]
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


def _metric(packed: PackedRun, row: Row) -> dict[str, Any]:
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
