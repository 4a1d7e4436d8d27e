"""Reviews in tests: what raters are asked, and files as pages save them, of raters who heed the checks of attention."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import polars as pl

from facevalue.annotations.review_answers import FORMAT, VERSION, read_answers, seal_of
from facevalue.annotations.review_cards import Packet, is_check, order_cards, right_answer, write_page
from facevalue.runs.reviews import packets
from facevalue.runs.reviews.outcomes import FOLDER, ReviewKey, count_answers

Row = dict[str, str]
_WRITTEN: list[Packet] = []


def _write_noted_page(packet: Packet, rater: str, path: Path) -> None:
    """Write the page of a rater, and keep what stands on it."""
    _WRITTEN.append(packet)
    write_page(packet, rater, path)


vars(packets)["write_page"] = _write_noted_page


def packet_of(run: Path) -> Packet:
    """The packet that was written last, which is of this run."""
    assert (run / FOLDER / f"{_WRITTEN[-1].name}.parquet").is_file()
    return _WRITTEN[-1]


def saved_document(packet: str, task: str, rater: str, seconds: int, answers: Mapping[str, int]) -> dict[str, object]:
    """Answers of a rater as a page saves them."""
    return {
        "format": FORMAT, "version": VERSION, "packet": packet, "task": task, "rater": rater, "seconds": seconds,
        "answers": dict(answers), "seal": seal_of(packet, rater, seconds, answers),
    }  # fmt: skip


def rows_of(packet: Packet) -> list[Row]:
    """What a rater is asked, in order, without checks of attention."""
    return [
        {
            "item": item, "shown": " | ".join(name for name, _ in card.pictures),
            "read": "\n".join(f"{heading}: {text}" for heading, text in card.texts),
            "question": f"{question.text} {thing}".strip(), "answers": "; ".join(question.choices),
        }
        for card in order_cards(packet, "r1")
        for question in card.questions
        for item, thing in question.items
        if not is_check(item)
    ]  # fmt: skip


def filled(packet: Packet, folder: Path, rater: str, answer: Callable[[Row], object], seconds: int = 300) -> Path:
    """The file of a rater; an answer is a number or a text, "" where there is none."""
    choices = ReviewKey.of_packet(packet).choices()
    answers = {item: right_answer(item, texts) for item, texts in choices.items() if is_check(item)}
    for row in rows_of(packet):
        if (given := answer(row)) != "":
            item, texts = row["item"], [text.casefold() for text in choices[row["item"]]]
            answers[item] = given if isinstance(given, int) else 1 + texts.index(str(given).casefold())
    path = folder / f"{rater}.json"
    path.write_text(json.dumps(saved_document(packet.name, packet.task, rater, seconds, answers)), encoding="utf-8")
    return path


def answers_in(files: Sequence[Path], packet: Packet) -> pl.DataFrame:
    """Answers to a packet that count."""
    choices = ReviewKey.of_packet(packet).choices()
    return count_answers(read_answers(files, packet.name, choices), choices).answers
