"""Runs as a model card has them: `model-index`, a pointer for `.eval_results`, and a section to paste."""

import json
from collections.abc import Iterator, Sequence
from importlib.metadata import version

from facevalue.measures.caveats import add_caveat, caveat_of
from facevalue.packing.packed_runs import PackedRun
from facevalue.printable import in_markdown
from facevalue.report.built import built

_NOTE = "{found}, at the level of the page. Intervals and all comparisons: see source."
_MOST = 20
"""Comparisons of a study that `model-index` holds."""


def quoted(text: str) -> str:
    r"""A text as a YAML string: JSON's double quotes are YAML's.

    Examples
    --------
    >>> quoted('a "b"')
    '"a \\"b\\""'
    """
    return json.dumps(text, ensure_ascii=False)


def model_index(pack: Sequence[PackedRun]) -> str:
    """`model-index` of all models: the largest comparisons that lead each study; intervals stand in the name."""
    lines = ["model-index:"]
    for model in dict.fromkeys(packed.model for packed in pack):
        lines += [f"- name: {quoted(model)}", "  results:"]
        for packed in pack:
            if packed.model == model:
                lines += _results(packed)
    return "\n".join(lines) + "\n"


def _results(packed: PackedRun) -> Iterator[str]:
    yield "  - task: {type: image-text-to-text}"
    study = packed.run.study
    yield f"    dataset: {{type: {quoted(f'facevalue/{study.name}')}, name: {quoted(study.about.title)}}}"
    yield "    metrics:" if packed.leading else "    metrics: []"
    for row in packed.leading[:_MOST]:
        has_interval = row["low"] is not None and row["high"] is not None
        interval = f" [{row['low']:.3g}, {row['high']:.3g}]" if has_interval else ""
        name = " ".join(filter(None, (row["measure"], packed.subject(row)))) + interval
        name = add_caveat(name, caveat_of(row["why"]))
        texts = f"type: {quoted(row['measure'])}, name: {quoted(name)}"
        yield f"    - {{{texts}, value: {row['value']:.6g}, verified: false}}"
    yield f"    source: {{name: {quoted('FaceValue ' + version('facevalue'))}, url: {quoted(packed.name)}}}"


def eval_results(pack: Sequence[PackedRun], written: str) -> str:
    """Entries of `.eval_results`: pointers to the pack. They hold one number and no interval, so they say no result."""
    lines: list[str] = []
    for packed in pack:
        differences = len(packed.findings)
        lines += [
            f"- dataset: {{id: {quoted(f'facevalue/{packed.run.study.name}')}}}",
            f"  value: {differences}",
            f"  date: {quoted(written[:10])}",
            f"  source: {{name: {quoted('FaceValue audit pack')}, url: {quoted(f'reports/{packed.name}.html')}}}",
            f"  notes: {quoted(_NOTE.format(found=packed.findings_counted))}",
        ]
    return "\n".join(lines) + "\n"


def card_section(pack: Sequence[PackedRun]) -> str:
    """A section of a model card in Markdown: per study what was asked, the answer, and what it rests on."""
    lines = ["## Social bias", "", f"Measured with FaceValue {version('facevalue')}.", ""]
    for packed in pack:
        page = built(packed.page)
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
