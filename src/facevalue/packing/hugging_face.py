"""Runs as a model card has them: `model-index`, a pointer for `.eval_results`, and a section to paste."""

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import PurePosixPath
from typing import Any

from facevalue.measures.caveats import add_caveat, caveat_of
from facevalue.packing.packed_runs import PackedRun
from facevalue.printable import in_markdown
from facevalue.report.page_builder import build_page

# RO-Crate 1.1 of a pack: its files, what each is, and what made them.


FILE = "ro-crate-metadata.json"
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
                "@id": FILE,
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
            f"{packed.run.study.about.citation}",
            "",
            *(f"- {in_markdown(step.text)}" for step in page.steps if not step.text.endswith(":")),
            "",
        ]
    return "\n".join(lines)
