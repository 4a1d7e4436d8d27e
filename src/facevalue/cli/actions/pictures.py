"""`facevalue make` and `inspect-pictures`: pictures made to order, and what pictures show."""

import math
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import click

from facevalue.cli.actions.running import cluster_of, log_to_file
from facevalue.cli.command import Exit
from facevalue.cli.output import Document, Output, WrittenFiles
from facevalue.csv_text import csv_bytes
from facevalue.errors import SettingError
from facevalue.generators.base import GeneratorOptions
from facevalue.generators.registry import DRAWN, load
from facevalue.inspection.inspector import places_of
from facevalue.parquet import parquet_bytes
from facevalue.printable import shell_command
from facevalue.protocol.making import SOURCE, PicturePlan, requested_pictures
from facevalue.protocol.picture_checks import ACCEPTED, LOOKALIKES, REASONS, TABLE, USUAL, failed_pictures, read_rules
from facevalue.protocol.protocol import Protocol
from facevalue.report.formatting import chance_with_sign
from facevalue.runs.makings.generators import MakingJob
from facevalue.runs.makings.making import SAME_LIST, MakingOutcome, make
from facevalue.runs.makings.preparation import MakingPlan, PreparedMaking, making_plan, prepare_making
from facevalue.runs.own_pictures.acceptance import Acceptance, Balance, GroupShare, Limit
from facevalue.runs.own_pictures.inspection import InspectionOutcome, inspect_pictures
from facevalue.runs.requests import quote_line
from facevalue.runs.rich_progress import RichProgress, duration
from facevalue.runs.settings import RunSettings, RunSummary
from facevalue.store.files import check_ending, write_whole
from facevalue.studies.offers import making_of
from facevalue.terminal import terminal
from facevalue.types import OptionValue

_OF_RUN = ("sample", "seed", "price_in", "price_out", "price_each", "max_cost", "name")
_LISTED_LEVELS = 30
_ELSEWHERE = ("http://", "https://", "openai/", "replay/", "sim/", "drawn")
_LOCAL = ("dtype", "device", "batch")
"""Options that only a pipeline of this machine takes."""
_SIZE = re.compile(r"(\d{2,5})\s*[xX×]\s*(\d{2,5})")


@dataclass(frozen=True)
class MakingPlanDocument(Document, MakingPlan):
    """Plan for making pictures: their number, cost and needs (`make --plan`)."""

    FORMAT: ClassVar[str] = "make-plan"
    about: str
    """What is made, with the paper's counts."""
    note: str
    """What readers should be prepared to see; empty if nothing."""


@dataclass(frozen=True)
class MadeDocument(Document):
    """Session of a making: how far it came."""

    FORMAT: ClassVar[str] = "make"
    place: str
    """Folder or URL of the pictures."""
    manifest: str
    """The list of the pictures that are there, which studies read."""
    run: str
    """The run that makes them, which `measure` and `report` read."""
    study: str
    generator: str
    editor: str
    listed: int
    """Pictures in the manifest."""
    requests: int
    """Pictures of the whole making."""
    asked: int
    """Pictures asked for by this session."""
    skipped: int
    """Pictures that an earlier session made, or was refused."""
    anew: int
    """Pictures that had been made and were asked for anew: lost ones, and edits of one that is another by now."""
    errors: int
    """Of those asked: failed; the next session asks for them again."""
    refused: int
    """Of those asked: declined by the generator or editor."""
    same: int
    """Pictures that are the same as another of their set: edits that changed nothing."""
    seconds: float
    """From the first picture to the last."""
    cost: float | None
    """What those cost; null if no price was given."""
    complete: bool
    """Whether every picture has now been asked for; errors may be among them."""
    interrupted: bool
    """Whether Ctrl-C or SIGTERM ended the session; the same command resumes."""
    failure: str
    """What most of those that failed failed with; empty if none did."""
    stopped: str
    """Which limit ended the session; empty if none did."""


def make_pictures(
    protocol: Protocol,
    options: dict[str, OptionValue],
    generator: str | None,
    editor: str | None,
    out: Path | str | None,
    plan: bool,
    prompts: Path | None,
    seconds: float | None,
    size: str | None,
    settings: Sequence[str],
    editor_settings: Sequence[str],
    check_pictures: bool,
    again: Path | str | None,
    log: Path | None,
    cluster: str | None,
    cluster_config: Path | None,
    **values: Any,
) -> Output[MadeDocument | MakingPlanDocument | WrittenFiles]:
    """Make the pictures of a study, or say what that takes, or what would be told."""
    run_settings = RunSettings(**{name: values.pop(name) for name in _OF_RUN})
    offer = making_of(protocol)
    pictures = offer.plan(options)
    if prompts is not None:
        if plan or generator is not None:
            option = "--plan" if plan else "--generator"
            raise SettingError(f"--prompts only writes what would be told: leave out {option}.")
        return _write_table(pictures, prompts)
    place = Path("made") / protocol.name if out is None else out
    prepared = prepare_making(pictures, protocol.name, options, place, run_settings, drawn=generator == DRAWN)
    if plan:
        planned = making_plan(prepared, seconds, values["rpm"])
        document = MakingPlanDocument(about=offer.about, note=offer.note, **vars(planned))
        return Output(document, _plan_text(document))
    if generator is None and editor is not None and requested_pictures(pictures.table)[SOURCE].null_count() == 0:
        generator, settings = editor, settings or editor_settings  # all that is made is edited from what exists
    if generator is None:
        raise SettingError("Say with --generator who makes the pictures: drawn, replay/PATH, diffusers/FOLDER_OR_ID, "
                           "openai/MODEL or http://HOST/v1#MODEL; --plan says what it takes.")  # fmt: skip
    if seconds is not None:
        raise SettingError("--seconds is for --plan: how long a picture takes is seen when it is made.")
    if editor_settings and editor is None:
        raise SettingError("--set-editor is for --editor: name one, or use --set.")
    settings_of, editor_settings_of = _settings("--set", settings), _settings("--set-editor", editor_settings)
    if editor == generator and editor_settings_of == settings_of:
        editor = None  # one and the same does both, as without --editor
    failed = () if again is None else failed_pictures(again)
    if again is not None and not failed:
        raise SettingError(f"{again} names no picture that failed: there is nothing to make again.")
    with log_to_file(log):
        shared = {**values, "size": _size(size)}
        of_generator = _options(generator, editor, shared, settings_of)
        of_editor = GeneratorOptions() if editor is None else _options(editor, generator, shared, editor_settings_of)
        if (target := cluster_of(cluster, cluster_config, out)) is not None:
            from facevalue.cluster.fleet import make_on_cluster  # noqa: PLC0415 - only where it is asked for

            job = MakingJob(str(prepared.place), generator, of_generator, editor, of_editor)
            begin = partial(make_on_cluster, prepared, job, target, again=failed)
            return _make_pictures(prepared, (generator, editor or generator), begin, check_pictures)
        making = editing = load(generator, of_generator, pictures.drawn)
        try:
            if editor is not None:
                editing = load(editor, of_editor, pictures.drawn)
            names = making.name, editing.name
            return _make_pictures(
                prepared, names, partial(make, prepared, making, editing, again=failed), check_pictures
            )
        finally:
            for adapter in dict.fromkeys((making, editing)):
                adapter.close()


def _write_table(pictures: PicturePlan, path: Path) -> Output[Any]:
    """The table of the pictures that are to be made, in a file."""
    check_ending(path, ".csv", ".parquet")
    write_whole(path, csv_bytes(pictures.table) if path.suffix == ".csv" else parquet_bytes(pictures.table))
    height = pictures.table.height
    return Output(WrittenFiles((str(path),), height), [f"{height:,} pictures with what would be told: {path}"])


def _make_pictures(
    prepared: PreparedMaking, names: tuple[str, str], begin: Callable[..., MakingOutcome], digests: bool
) -> Output[Any]:
    """Make what is not there yet, and say in a few lines how it went; `names`: of generator and editor."""
    console = terminal(stderr=True)
    if cost := prepared.cost():
        console.print(cost, markup=False, highlight=False, soft_wrap=True)
    outcome = begin(RichProgress(console), digests=digests)
    summary = outcome.summary
    document = MadeDocument(
        place=str(prepared.place),
        manifest=prepared.manifest,
        run=str(prepared.run.folder),
        study=prepared.made_for,
        generator=names[0],
        editor=names[1],
        listed=outcome.pictures.height,
        anew=outcome.anew,
        same=len(outcome.same.images),
        **{name: getattr(summary, name) for name in (
            "requests", "asked", "skipped", "errors", "refused", "seconds", "cost", "complete", "interrupted",
            "failure", "stopped",
        )},
    )  # fmt: skip
    warnings, status = _left(summary)
    if same := outcome.same.sentence:
        again = f"--again {prepared.place}/{SAME_LIST}"
        warnings.append(f"{same} Their edits failed: the same command with {again} makes them with another seed.")
    return Output(document, _text(document), status, warnings)


def _text(document: MadeDocument) -> Iterator[str]:
    yield f"{document.listed:,} {'picture' if document.listed == 1 else 'pictures'}: {document.manifest}"
    if document.refused:
        yield f"{document.refused:,} were refused: {shell_command('measure', document.run)} says who, with intervals."


def _left(summary: RunSummary) -> tuple[list[str], Exit]:
    """Warnings on what is left to do, and the exit status."""
    if summary.interrupted:
        return ["The same command resumes."], Exit.INTERRUPTED
    warnings = []
    if summary.stopped:
        warnings.append("To continue, repeat the command with a higher limit.")
    if summary.errors:
        often = f", most often with {quote_line(summary.failure)}" if summary.failure else ""
        share = f"{summary.errors:,} of {summary.asked:,} pictures failed ({summary.errors / summary.asked:.1%})"
        warnings.append(f"{share}{often}. The same command asks for them again.")
    return warnings, Exit.DONE if summary.complete and not summary.errors else Exit.INCOMPLETE


def _plan_text(plan: MakingPlanDocument) -> Iterator[str]:
    yield from filter(None, (plan.about, plan.note))
    sample = f" of {plan.all_pictures:,}" if plan.pictures < plan.all_pictures else ""
    kinds = {"made from texts": plan.from_texts, "edited from others": plan.edits}
    by_kind = " and ".join(f"{count:,} {kind}" for kind, count in kinds.items() if count)
    yield f"Pictures for {plan.study}: {plan.pictures:,}{sample}, a call each: {by_kind}."
    if plan.existing:
        yield f"{plan.existing:,} pictures that are there are edited."
    if plan.left_out:
        yield f"{plan.left_out} Another generator makes all."
    if plan.undrawn:
        count = plan.pictures - plan.undrawn
        yield f"FaceValue has drawings of {count:,} of them, which --generator drawn makes alone."
    for name, counts in plan.groups.items():
        by_level = ", ".join(f"{level} {count:,}" for level, count in counts.items())
        few = len(counts) <= _LISTED_LEVELS
        yield f"By {name}: {by_level if few else f'{len(counts):,} levels, {min(counts.values()):,} or more of each'}."
    if plan.cost is not None:
        yield f"Cost: {plan.cost:,.2f}."
    if plan.hours is not None:
        yield f"Time: {duration(plan.hours * 3600)}."


def _size(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    if (match := _SIZE.fullmatch(text.strip())) is None:
        raise SettingError(f"--size is WIDTHxHEIGHT in pixels, such as 1024x1024, not {text[:40]!r}.")
    return int(match[1]), int(match[2])


def _options(
    spec: str, partner: str | None, shared: Mapping[str, Any], settings: Mapping[str, str | int | float | bool]
) -> GeneratorOptions:
    """Options of a generator or an editor; beside a pipeline of this machine others are not told what that one is."""
    is_other = spec.startswith(_ELSEWHERE) and not (partner or spec).startswith(_ELSEWHERE)
    options = {name: value for name, value in shared.items() if not (is_other and name in _LOCAL)}
    return GeneratorOptions(**options, settings=settings)


def _settings(option: str, texts: Sequence[str]) -> dict[str, str | int | float | bool]:
    """Arguments of a generator from NAME=VALUE: numbers, true, false, or texts."""
    out: dict[str, str | int | float | bool] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name.strip().isidentifier():
            raise SettingError(f"{option} is NAME=VALUE, such as num_inference_steps=20, not {text[:80]!r}.")
        if name.strip() in out:
            raise SettingError(f"{option} names {name.strip()!r} twice.")
        out[name.strip()] = _value(value.strip())
    return out


def _value(text: str) -> str | int | float | bool:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if re.fullmatch(r"[+-]?\d{1,18}", text):
        return int(text)
    if re.fullmatch(r"[+-]?(\d{1,18}\.\d*|\.\d+|\d{1,18})([eE][+-]?\d{1,3})?", text):
        return float(text) if math.isfinite(float(text)) else text
    return text


_ALIKE = 0.05  # p below which groups are said not to pass alike


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """A rule, and how many pictures break it."""

    rule: str
    pictures: int


@dataclass(frozen=True)
class InspectPicturesDocument(Document):
    """Pictures that were inspected, and what rules leave of them."""

    FORMAT: ClassVar[str] = "inspect-pictures"
    run: str
    """Folder or URL of the run."""
    complete: bool
    pictures: int
    failed: int
    """Pictures whose inspection failed; the same command inspects them again."""
    unreadable: int
    """Pictures that cannot be decoded."""
    edits: int
    """Pictures with a source."""
    lookalikes: int | None
    """Pictures that look like another of the list that is no edit of the same source; null where none was looked for,
    as in lists of more than 200,000."""
    accepted: int
    rules: tuple[str, ...]
    broken: tuple[BrokenRule, ...]
    limits: tuple[Limit, ...]
    """Limits that known pairs gave."""
    shares: tuple[GroupShare, ...]
    """Share that passes: of all, and of each level of each factor of people."""
    balance: tuple[Balance, ...]
    file: str
    """Every picture with its quantities and reasons; empty until the run is complete."""


def inspect(
    place: Path | str,
    with_model: tuple[str, ...],
    rules: Path | None,
    out: Path | str | None,
    root: str,
    cue: str,
    device: str | None,
) -> Output[InspectPicturesDocument]:
    """Inspect every picture of a list, and say which pass."""
    if isinstance(out, Path) and out.suffix:
        raise SettingError(f"{out} is no folder: an inspection is a run folder.")
    models = places_of(",".join(with_model)) if with_model else {}
    declared = read_rules(rules) if rules else USUAL
    outcome = inspect_pictures(
        place, models, out, RichProgress(), rules=declared, root=root, cue=cue, device=device, watched=_show_progress
    )
    texts = tuple(rule.text for rule in declared)
    document = _document(outcome, texts)
    if not document.complete:
        status = Exit.INTERRUPTED if outcome.summary.interrupted else Exit.INCOMPLETE
        return Output(document, ["The same command resumes."], status)
    status = Exit.REFUSED if not document.accepted else Exit.INCOMPLETE if document.failed else Exit.DONE
    return Output(document, _lines(document), status)


def _show_progress(names: Sequence[str]) -> Iterable[str]:
    with click.progressbar(names, label="Sources", file=sys.stderr) as progress:
        yield from progress


def _document(outcome: InspectionOutcome, rules: tuple[str, ...]) -> InspectPicturesDocument:
    inspections, acceptance = outcome.inspections, outcome.acceptance
    if inspections is None or acceptance is None:
        return InspectPicturesDocument(
            str(outcome.place), False, outcome.summary.requests, outcome.summary.errors, 0, 0, 0, 0, rules, (), (),
            (), (), "",
        )  # fmt: skip
    table = inspections.table
    return InspectPicturesDocument(
        run=str(outcome.place),
        complete=True,
        pictures=table.height,
        failed=int(table["readable"].null_count()),
        unreadable=int((table["readable"] == 0).sum()),
        edits=inspections.edits.height,
        lookalikes=int((table[LOOKALIKES] > 0).sum()) if table[LOOKALIKES].count() else None,
        accepted=int(acceptance.table[ACCEPTED].sum()),
        rules=rules,
        broken=tuple(_broken_rules(acceptance)),
        limits=acceptance.limits,
        shares=acceptance.shares,
        balance=acceptance.balance,
        file=f"{outcome.place}/{TABLE}",
    )


def _broken_rules(acceptance: Acceptance) -> Iterator[BrokenRule]:
    counts = acceptance.table[REASONS].explode().drop_nulls().value_counts(sort=True)
    for rule, pictures in counts.iter_rows():
        yield BrokenRule(rule, pictures)


def _lines(document: InspectPicturesDocument) -> Iterator[str]:
    yield f"{document.pictures:,} pictures, {document.edits:,} of them edits; {document.accepted:,} pass."
    if document.failed:
        yield f"Not inspected: {document.failed:,}. The same command tries them again."
    if document.unreadable:
        yield f"Cannot be decoded: {document.unreadable:,}."
    if document.lookalikes:
        yield f"Look like another picture of another source: {document.lookalikes:,}."
    for broken in document.broken:
        yield f"  {broken.pictures:,} fail: {broken.rule}"
    for limit in document.limits:
        of = ", ".join(filter(None, (limit.cue, limit.group))) or "all"
        pairs = f"{limit.pairs:,} pairs of {limit.kind}, {limit.people:,} people ({limit.of})"
        yield f"  {limit.quantity}, {of}: {limit.value:.3f}, from {pairs}"
    for share in document.shares:
        interval = "" if share.low is None or share.high is None else f" [{share.low:.0%}, {share.high:.0%}]"
        of = f"{share.factor} {share.group}" if share.factor else "All"
        count = "one person" if share.people == 1 else f"{share.people:,} people"
        people = f"{share.accepted:,} of {share.pictures:,} pictures of {count}"
        yield f"{of}: {share.share:.0%}{interval} pass, {people}."
    for balance in document.balance:
        yield f"{balance.factor}: {_describe_balance(balance)}."
    yield f"Every picture: {document.file}"
    yield f"Report: {shell_command('report', document.run)}"
    yield f"Leave out what fails: facevalue run ... --manifest ... --exclude {shlex.quote(document.run)}"


def _describe_balance(balance: Balance) -> str:
    apart = f"groups pass up to {balance.spread:.0%} apart"
    if balance.p is None:
        return f"{apart}; people are in several groups, or each is one, so that chance cannot be told"
    verdict = "not balanced" if balance.p < _ALIKE else "no more than chance can do"
    return f"{apart}, {verdict} (p {chance_with_sign(balance.p)}, groups dealt to people)"
