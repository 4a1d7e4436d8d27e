"""Packets for Label Studio: tasks, the configuration of its labelling page, and its export of what people said."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from facevalue.annotations.review_cards import Packet
from facevalue.annotations.review_page import bounded, ordered
from facevalue.errors import DataError
from facevalue.printable import printable, short
from facevalue.store.files import write_whole

FILES = ("label-studio.json", "label-studio.xml")
"""Tasks to import, and the labelling interface of the project."""
_ANSWER = "answer"
_LINE = (
    "data:image/png;place={};base64,iVBORw0KGgoAAAANSUhEUgAAAgAAAAAQAQAAAABISvrlAAAAGElEQVR42mP8z0AZYGIYNWDUgFEDhokBAFA9A"
    "R9xeGV0AAAAAElFTkSuQmCC"
)
"""A white line, 512 pixels by 16, where a card has no picture: a square would take as much room as one. Each place has
an address of its own, as Label Studio loads none twice."""
MOST_TASKS = 100_000


def write_project(packet: Packet, tasks_file: Path, config_file: Path) -> None:
    """Write tasks, one for each answer, and the configuration that shows them.

    Label Studio deals tasks to annotators itself, so that there is one order for all.
    """
    pictures = max((len(card.pictures) for card in packet.cards), default=0)
    tasks = [{"data": data} for data in _tasks(packet, pictures)]
    write_whole(tasks_file, json.dumps(tasks, ensure_ascii=False, indent=1).encode())
    write_whole(config_file, _config(packet, pictures).encode())


def _tasks(packet: Packet, shown_pictures: int) -> Iterator[dict[str, Any]]:
    for card in ordered(packet, "label-studio"):
        text = "\n\n".join(f"{heading}:\n{bounded(text)}" for heading, text in card.texts)
        if labels := ", ".join(label for _, label in card.pictures if label):
            text = f"Pictures, from above: {labels}\n\n{text}".strip()
        addresses = [packet.views[name].address for name, _ in card.pictures]
        # a task has all pictures that the interface shows, or is refused
        addresses += [_LINE.format(place) for place in range(len(addresses), shown_pictures)]
        pictures = {f"picture_{place}": address for place, address in enumerate(addresses, start=1)}
        for question in card.questions:
            for item, thing in question.items:
                yield {
                    "packet": packet.name, "item": item, "text": text or " ", **pictures,
                    "question": f"{question.text} {thing}".strip(),
                    "choices": [{"value": choice} for choice in question.choices],
                }  # fmt: skip


def _config(packet: Packet, pictures: int) -> str:
    lines = ["<View>", f'  <Header value="{_attribute(packet.title)}"/>']
    lines += [
        f'  <Header size="5" value="{_attribute(text)}"/>' for text in (packet.note, *packet.instructions) if text
    ]
    lines += [f'  <Image name="picture_{at}" value="$picture_{at}" maxWidth="512px"/>' for at in range(1, pictures + 1)]
    lines += [
        '  <Text name="text" value="$text"/>',
        '  <Header value="$question"/>',
        f'  <Choices name="{_ANSWER}" toName="text" value="$choices" choice="single" required="true"/>',
        "</View>", "",
    ]  # fmt: skip
    return "\n".join(lines)


def _attribute(text: str) -> str:
    return escape(printable(text), {'"': "&quot;", "\n": " "})  # XML has no controls


def packet_of(document: Sequence[Any], name: str) -> Any:
    """Name of the packet of the first task of an export; None where there is none.

    Raises
    ------
    DataError
        It is another export than "JSON".
    """
    return _part(document[0], "data", dict, f"{name}: task 1").get("packet") if document else None


def read_export(
    document: Sequence[Any], packet: str, choices: Mapping[str, Sequence[str]], name: str
) -> list[tuple[str, str, int, float | None]]:
    """Read an export ("JSON", not "JSON-MIN"): rater, item, number of the answer; no duration of the whole.

    Annotations that were skipped, and tasks that nobody annotated, hold no answer.

    Raises
    ------
    DataError
        It is no such export, of another packet, or holds an answer that there is not; it says at which task.
    """
    if len(document) > MOST_TASKS:
        raise DataError(f"{name}: {len(document):,} tasks; {MOST_TASKS:,} at most are read.")
    rows: dict[tuple[str, str], tuple[str, str, int, float | None]] = {}
    for number, task in enumerate(document, start=1):
        place = f"{name}: task {number}"
        data, annotations = (_part(task, key, kind, place) for key, kind in (("data", dict), ("annotations", list)))
        if data.get("packet") != packet:
            raise DataError(f"{place}: it is of packet {short(data.get('packet'))}, not of {packet}.")
        item = data.get("item")
        if not isinstance(item, str) or item not in choices:
            raise DataError(f"{place}: {short(item)} is not an item of this packet.")
        for annotation in annotations:
            if not isinstance(annotation, dict):
                raise DataError(f"{place}: an annotation is an object, not {short(annotation)}.")
            chosen = None if annotation.get("was_cancelled") else _chosen(annotation, choices[item], place)
            if chosen is None:
                continue
            rater = _rater(annotation.get("completed_by"), place)
            if (rater, item) in rows:
                raise DataError(f"{place}: {rater} has answered {item} before.")
            rows[rater, item] = (rater, item, chosen, None)
    return list(rows.values())


def _part(task: Any, key: str, kind: type, place: str) -> Any:
    content = task.get(key) if isinstance(task, dict) else None
    if not isinstance(content, kind):
        raise DataError(f"{place} has no {key!r}: export it from Label Studio as JSON, not as JSON-MIN or CSV.")
    return content


def _chosen(annotation: Mapping[str, Any], choices: Sequence[str], place: str) -> int | None:
    """Number of the one answer of an annotation; None where it has none."""
    results = annotation.get("result")
    if not isinstance(results, list):
        raise DataError(f"{place}: an annotation's 'result' is a list, not {short(results)}.")
    answers = [entry for entry in results if isinstance(entry, dict) and entry.get("from_name") == _ANSWER]
    if not answers:
        return None
    value = answers[0].get("value")
    texts = value.get("choices") if isinstance(value, dict) else None
    if len(answers) > 1 or not isinstance(texts, list) or len(texts) != 1:
        raise DataError(f"{place}: an annotation has one answer, not {short(texts)}.")
    if texts[0] not in choices:
        raise DataError(f"{place}: {short(texts[0])} is not one of its answers: {', '.join(choices)}.")
    return choices.index(texts[0]) + 1


def _rater(value: Any, place: str) -> str:
    """Name of an annotator, by the number that Label Studio gives each."""
    number = value.get("id") if isinstance(value, dict) else value
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < 2**53:
        raise DataError(f"{place}: 'completed_by' is the number of an annotator, not {short(value)}.")
    return f"ls-{number}"
