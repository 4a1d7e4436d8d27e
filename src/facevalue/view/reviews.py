"""Reviews in the viewer: packets of a run that people rate in the browser, saved at each answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

from facevalue.annotations.review_cards import ReviewPage, is_check, review_page
from facevalue.errors import DataError, FaceValueError, SettingError
from facevalue.printable import shell_command, short
from facevalue.report.collect import found_statements
from facevalue.runs.reviews.outcomes import ReviewKey
from facevalue.runs.reviews.packets import (
    SAMPLE,
    TASKS,
    RaterAnswers,
    ReviewSettings,
    answers_of,
    check_open,
    close_to,
    collect,
    is_closed,
    keep_review,
    kept_key,
    kept_keys,
    kept_packet,
    packet_for,
    raters_of,
    save_answers,
)
from facevalue.runs.reviews.results import ReviewResult, TextTable, review_result, review_texts
from facevalue.view.open_runs import RunState
from facevalue.view.query import Query

QUERY = ("run",)
MOST_SAMPLE = 5_000
_COUNTING = Lock()
"""Packets are counted one after the other, as what people said of each is kept in the same files."""


@dataclass(frozen=True, slots=True)
class RaterProgress:
    """Progress of a rater."""

    rater: str
    answered: int
    done: bool
    """Whether all is answered, or the packet was closed to the rater."""
    address: str
    """Of the page on which the rater goes on; empty where it was closed."""


@dataclass(frozen=True, slots=True)
class PacketProgress:
    """A packet, and who rates it."""

    packet: str
    task: str
    questions: int
    """Items, checks of attention left out."""
    address: str
    """Of the pages of its raters, to be followed by a name."""
    raters: tuple[RaterProgress, ...]
    command: str
    """What counts the answers that are there; empty where there are none."""


@dataclass(frozen=True, slots=True)
class CollectedPacket:
    """Answers of people to a packet."""

    result: ReviewResult
    """As `facevalue review --collect --json` prints it."""
    texts: tuple[str | TextTable, ...]
    """The same for people."""


@dataclass(frozen=True, slots=True)
class ReviewDesk:
    """Packets of a run, and what can be begun."""

    tasks: tuple[str, ...]
    sample: int
    """Drawn, if nothing else is said."""
    why: str
    """Why nothing can be reviewed here; empty where it can."""
    packets: tuple[PacketProgress, ...]


def reviews(state: RunState, _query: Query) -> ReviewDesk:
    """Packets of a run with how far each rater is."""
    run = state.run
    why = f"{run.url} is not written to: bring the run into a folder to review it." if run.url else ""
    return ReviewDesk(TASKS, SAMPLE, why, tuple(_progress(state, key) for key in kept_keys(run.folder)))


def _progress(state: RunState, key: ReviewKey) -> PacketProgress:
    folder, raters = state.run.folder, raters_of(state.run.folder, key.packet)
    address = f"review/{state.number}/{key.packet}/"
    choices, rows = key.choices(), []
    for rater in raters:
        try:
            answers: Mapping[str, int] = answers_of(folder, key, rater).answers
        except FaceValueError:
            answers = {}  # the file was changed: the page, and collecting, say so
        closed = is_closed(folder, key.packet, rater)
        answered = sum(not is_check(item) for item in answers)
        is_complete = closed or len(answers) == len(choices)
        rows.append(RaterProgress(rater, answered, is_complete, "" if closed else f"{address}{rater}"))
    files = [argument for path in raters.values() for argument in ("--collect", path)]
    collecting = shell_command("review", state.run.place, *files) if files else ""
    questions = sum(not is_check(item) for item in choices)
    return PacketProgress(key.packet, key.task, questions, address, tuple(rows), collecting)


def collect_packet(state: RunState, packet: str, body: Mapping[str, Any]) -> CollectedPacket:
    """Collect what people said of a packet, as `facevalue review --collect` does.

    What others said is not shown to who still answers: `close` names raters who are not done, to whom the packet is
    closed from then on.

    Raises
    ------
    DataError
        Nobody has answered, somebody is not done and not named, or answers cannot count; it says why.
    """
    folder, key = state.run.folder, kept_key(state.run.folder, packet)
    close = body.get("close", [])
    if set(body) - {"close"} or not isinstance(close, list):
        raise DataError("Collecting takes a list of raters to close the packet to.")
    raters = _progress(state, key).raters
    if left := [rater.rater for rater in raters if not rater.done and rater.rater not in close]:
        raise DataError(f"{', '.join(left)} did not answer all questions yet: reload the page to see how far each is.")
    with _COUNTING:
        outcome = collect(state.run, tuple(raters_of(folder, packet).values()))
    result = review_result(state.run, outcome)
    for rater in raters:
        if not rater.done:
            close_to(folder, packet, rater.rater)
    return CollectedPacket(result, tuple(review_texts(state.run, outcome, result)))


def begin(state: RunState, body: Mapping[str, Any]) -> PacketProgress:
    """Draw a packet, and keep it in the run: `task`, `sample` and `seed`, as of `facevalue review`.

    Raises
    ------
    SettingError
        What is asked for is no review.
    DataError
        The run holds nothing of the kind.
    """
    if unknown := set(body) - {"task", "sample", "seed"}:
        raise SettingError(f"A review has a task, a sample and a seed, not {short(sorted(unknown)[0])}.")
    task, sample, seed = body.get("task"), body.get("sample", SAMPLE), body.get("seed", 0)
    if not isinstance(task, str):
        raise SettingError(f"The task of a review is {', '.join(TASKS)}, not {short(task)}.")
    for name, number, least in (("sample", sample, 1), ("seed", seed, 0)):
        if not isinstance(number, int) or isinstance(number, bool) or not least <= number <= MOST_SAMPLE:
            raise SettingError(f"The {name} of a review is a whole number from {least} to {MOST_SAMPLE:,}.")
    run = state.run
    packet, key, _ = packet_for(
        run, ReviewSettings(task=task, sample=sample, seed=seed), lambda: found_statements([run])
    )
    keep_review(run, packet, key)
    return _progress(state, key)


def rating_page(state: RunState, packet: str, rater: str) -> ReviewPage:
    """The page on which a rater goes on."""
    check_open(state.run.folder, packet, rater)
    answers_of(state.run.folder, kept_key(state.run.folder, packet), rater)  # refuses what is no rater, or was changed
    return review_page(kept_packet(state.run.folder, packet), rater, served=True)


def save(state: RunState, packet: str, rater: str, body: Mapping[str, Any]) -> RaterAnswers:
    """Save answers of a rater; returns all that are there, those of another tab among them."""
    changes, spent = body.get("answers"), body.get("spent", 0.0)
    if not isinstance(changes, dict) or not isinstance(spent, int | float) or isinstance(spent, bool):
        raise DataError("Answers are an object with the number of each, beside the seconds that they took.")
    return save_answers(state.run.folder, kept_key(state.run.folder, packet), rater, changes, float(spent))
