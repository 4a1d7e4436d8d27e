"""Reviews in tests: what raters are asked, and files as pages save them, of raters who heed the checks of attention."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl

from facevalue.annotations.review_answers import read_answers, saved_document
from facevalue.annotations.review_cards import Packet, is_check, order_cards, right_answer
from facevalue.runs.reviews.outcomes import ReviewKey, count_answers
from facevalue.runs.reviews.packets import kept_keys, kept_packet

Row = dict[str, str]


def packet_of(run: Path) -> Packet:
    """The latest packet of a run."""
    return kept_packet(run, kept_keys(run)[0].packet)


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
