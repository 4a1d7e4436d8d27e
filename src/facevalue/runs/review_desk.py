"""Reviews that go on in a run folder: packets with the answers that people have given so far, saved one by one."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from facevalue.annotations.review_answers import RATER, read_saved, saved_document
from facevalue.annotations.review_cards import Packet
from facevalue.annotations.review_page import read_packet, write_packet
from facevalue.errors import DataError, SettingError
from facevalue.printable import short
from facevalue.runs.review_outcomes import FOLDER, ReviewKey, read_key
from facevalue.store.files import make_folder, write_whole
from facevalue.store.lease import RunLock

ANSWERS = "answers"
"""Folder, in that of the packets, of files of answers: a rater each, as the page of a packet saves them."""
MOST_PACKETS = 200
_SAVING = Lock()
_PACKET = re.compile(r"[0-9a-f]{10}")
_LONGEST_PAUSE = 300.0
"""Seconds between two answers that count as work at most."""
_LONGEST_SECONDS = 10**7


@dataclass(frozen=True, slots=True)
class RaterAnswers:
    """Answers of a rater: numbers of answers by item, and seconds of work."""

    answers: Mapping[str, int]
    seconds: int


def keep_packet(run_folder: Path, packet: Packet) -> None:
    """Keep a packet in a run, beside its key."""
    place = run_folder / FOLDER
    make_folder(place)
    write_packet(packet, place / f"{packet.name}.json")


def kept_packet(run_folder: Path, name: str) -> Packet:
    """A packet that is kept in a run.

    Raises
    ------
    DataError
        There is none of that name, or it was changed.
    """
    return read_packet(run_folder / FOLDER / f"{kept_key(run_folder, name).packet}.json", name)


def kept_key(run_folder: Path, name: str) -> ReviewKey:
    """The key of a packet that is kept in a run; errors as of `kept_packet`."""
    if _PACKET.fullmatch(name) is None:
        raise DataError("A packet is named by ten digits and letters from a to f.")
    return read_key(run_folder, name)


def kept_keys(run_folder: Path) -> tuple[ReviewKey, ...]:
    """Keys of the packets that are kept in a run, the latest first."""
    paths = [path for path in (run_folder / FOLDER).glob("*.json") if _PACKET.fullmatch(path.stem)]
    latest = sorted(paths, key=lambda path: path.stat().st_mtime, reverse=True)[:MOST_PACKETS]
    return tuple(read_key(run_folder, path.stem) for path in latest if path.with_suffix(".parquet").is_file())


def raters_of(run_folder: Path, packet: str) -> dict[str, Path]:
    """Files of answers to a packet, by rater."""
    begin = f"review-{packet}-"
    paths = (run_folder / FOLDER / ANSWERS).glob(f"{begin}*.json")
    return {rater: path for path in sorted(paths) if RATER.fullmatch(rater := path.stem.removeprefix(begin))}


def answers_of(run_folder: Path, key: ReviewKey, rater: str) -> RaterAnswers:
    """Answers of a rater to a packet so far.

    Raises
    ------
    DataError
        The file was changed, or holds an answer that there is not.
    """
    path = _path(run_folder, key.packet, rater)
    if not path.is_file():
        return RaterAnswers({}, 0)
    rows = read_saved(path, key.packet, key.choices())
    return RaterAnswers({item: number for _, item, number, _ in rows}, int(rows[0][3] or 0) if rows else 0)


def is_closed(run_folder: Path, packet: str, rater: str) -> bool:
    """Return whether a rater is excluded from now on: others' answers were shown before the rater was done."""
    return _closed_path(run_folder, packet, rater).is_file()


def close_to(run_folder: Path, packet: str, rater: str) -> None:
    """Close a packet to a rater, whose answers so far count."""
    write_whole(_closed_path(run_folder, packet, rater), b"")


def _closed_path(run_folder: Path, packet: str, rater: str) -> Path:
    return _path(run_folder, packet, rater).with_suffix(".closed")


def check_open(run_folder: Path, packet: str, rater: str) -> None:
    """Refuse a rater to whom a packet was closed.

    Raises
    ------
    DataError
        It was.
    """
    if is_closed(run_folder, packet, rater):
        raise DataError(f"Packet {packet} is closed to {rater}: it was counted, and what others said was shown.")


def save_answers(
    run_folder: Path, key: ReviewKey, rater: str, changes: Mapping[str, object], spent: float
) -> RaterAnswers:
    """Save answers that were given or taken back (None), beside those before; returns all of the rater's.

    `spent`: seconds of work since the last ones.

    Raises
    ------
    DataError
        An answer that there is not, or the packet is closed to the rater.
    SettingError
        No name of a rater.
    RunError
        Another process saves answers at this very moment.
    """
    choices = key.choices()
    for item, number in changes.items():
        if item not in choices:
            raise DataError(f"{short(item)} is not an item of this packet.")
        is_number = isinstance(number, int) and not isinstance(number, bool)
        if number is not None and not (is_number and 1 <= int(str(number)) <= len(choices[item])):
            raise DataError(f"The answer to {item} is a number from 1 to {len(choices[item])}, not {short(number)}.")
    path = _path(run_folder, key.packet, rater)
    with _SAVING, RunLock(path.parent):
        check_open(run_folder, key.packet, rater)
        before = answers_of(run_folder, key, rater)
        answers = {
            **before.answers,
            **{item: int(str(number)) for item, number in changes.items() if number is not None},
        }
        for item in (item for item, number in changes.items() if number is None):
            answers.pop(item, None)
        seconds = min(before.seconds + round(min(max(spent, 0.0), _LONGEST_PAUSE)), _LONGEST_SECONDS)
        if changes or before.answers:
            document = saved_document(key.packet, key.task, rater, seconds, answers)
            write_whole(path, json.dumps(document, indent=1).encode() + b"\n")
    return RaterAnswers(answers, seconds)


def _path(run_folder: Path, packet: str, rater: str) -> Path:
    if RATER.fullmatch(rater) is None:
        raise SettingError(
            f"A rater's name has up to 60 letters, digits, dots, hyphens and underscores, not {short(rater)}."
        )
    return run_folder / FOLDER / ANSWERS / f"review-{packet}-{rater}.json"
