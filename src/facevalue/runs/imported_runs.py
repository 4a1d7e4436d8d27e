"""Runs that somebody else asked: what is asked, said for others and understood from them; a folder of the answers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from facevalue import studies
from facevalue.errors import DataError, SettingError, UnknownNameError
from facevalue.protocol.settings import defaults
from facevalue.protocol.study import Study
from facevalue.protocol.variant_files import interventions_of
from facevalue.protocol.variants import add_interventions
from facevalue.records.base import Fact, Record, StudyAsked
from facevalue.records.model import RecordModel
from facevalue.runs.preparation import Prepared, model_in_path
from facevalue.runs.run_facts import table_digest
from facevalue.runs.settings import RunSettings
from facevalue.servers.refusals import checked_words
from facevalue.store.files import MANIFEST, PLACES
from facevalue.store.manifest import INTERVENTIONS, RECORDED_BY, RunManifest, read_manifest
from facevalue.types import STUDY_TEXT, Sampling


def asked_of(study: Study, settings: RunSettings) -> StudyAsked:
    """Description of a run's questions, so that somebody else may ask them."""
    return StudyAsked(
        study.name, study.version, study.options, study.design.size, table_digest(study),
        settings.sample, settings.seed, settings.exact,
    )  # fmt: skip


def asked_before(manifest: RunManifest) -> StudyAsked:
    """Study that a run folder says it asks."""
    return StudyAsked(
        manifest.study, manifest.study_version, manifest.options, manifest.trials, manifest.stimuli or "",
        manifest.sample, manifest.seed, manifest.exact,
    )  # fmt: skip


def study_asked(described: StudyAsked, place: str, *, outside: bool = False) -> Study:
    """Build the study that was asked.

    `described`: what is said of it. `place`: what says so, for messages. `outside`: whether it may name files and
    folders of this machine.

    Raises
    ------
    DataError
        There is no such study, it has another version now, or its pictures are others; or it names files.
    """
    options = {k: v for k, v in described.options.items() if k != INTERVENTIONS}
    try:
        protocol = studies.protocol_of_run(described.study, options)
    except UnknownNameError as error:
        raise DataError(f"{place}: {error}") from None
    empty = {setting.name for setting in protocol.settings if setting.default == ""}
    stated = defaults(protocol.settings) if STUDY_TEXT in options else {}  # a stranger's file may state paths, too
    paths = [
        f"{name} = {value}" for name, value in {**stated, **options}.items() if value and name in (*PLACES, *empty)
    ]
    if paths and not outside:
        raise DataError(
            f"{place} names files or folders of this machine ({'; '.join(paths)[:300]}). If these are yours: --outside."
        )
    study = add_interventions(studies.build(described.study, options), interventions_of(described.options))
    if study.version != described.version or study.design.size != described.trials:
        raise DataError(
            f"{place} was asked by version {described.version} of {described.study} ({described.trials:,} trials); "
            f"this FaceValue has version {study.version} ({study.design.size:,} trials). Use the one that asked."
        )
    if table_digest(study) != described.stimuli:
        raise DataError(
            f"{place} was asked about other pictures than {described.study} shows now: trial numbers would mean others."
        )
    return study


def by_run(records: Sequence[Record], out: Path, name: str | None = None) -> dict[Path, list[Record]]:
    """Sort records into runs, by who was asked what; of several runs each gets a folder below `out`.

    Raises
    ------
    SettingError
        One name for several runs.
    DataError
        One of several does not say what was asked.
    """
    groups: list[list[Record]] = []
    for record in records:
        group = next((g for g in groups if (g[0].model, g[0].study_asked) == (record.model, record.study_asked)), None)
        groups.append([record]) if group is None else group.append(record)
    if len(groups) == 1:
        return {out: groups[0]}
    if name is not None:
        raise SettingError(f"--name is for one run, and these are {len(groups)}: they are called by their models.")
    folders: dict[Path, list[Record]] = {}
    for group in groups:
        first = group[0]
        if first.study_asked is None:
            raise DataError(f"{first.path.name} does not say which study was asked: import it by itself.")
        folder = out / f"{first.study_asked.study}-{model_in_path(first.model)}"
        numbered = (folder.with_name(f"{folder.name}-{number}") for number in range(2, len(groups) + 2))
        folders[next(place for place in (folder, *numbered) if place not in folders)] = group
    return folders


def prepare_import(
    records: Sequence[Record],
    folder: Path,
    name: str | None = None,
    refusal_words: Sequence[str] = (),
    *,
    outside: bool = False,
    mismatched: bool = False,
) -> tuple[Prepared, RecordModel]:
    """Put together a run that takes its answers from records of one model, and the model that gives them.

    A folder that exists says what was asked; otherwise the records do. `mismatched`: whether answers by another model
    or to other seeds are taken.

    Raises
    ------
    DataError
        The records are about different things, or it is unknown about what.
    """
    first = records[0]
    begun = read_manifest(folder) if (folder / MANIFEST).exists() else None
    descriptions = [record.study_asked for record in records if record.study_asked is not None]
    described = descriptions[0] if descriptions else None if begun is None else asked_before(begun)
    if described is None:
        raise DataError(
            f"{first.path.name} does not say which study was asked: import it into the folder that "
            "'facevalue requests STUDY --out RUN' began."
        )
    if unlike := next((record for record in records if record.study_asked not in (None, described)), None):
        raise DataError(f"{unlike.path.name} was asked something else than {first.path.name}: another study or sample.")
    is_own = not descriptions  # what the user's folder was begun with, and no stranger's record, says what was asked
    study = study_asked(described, str(folder) if is_own else first.path.name, outside=outside or is_own)
    settings = RunSettings(
        sample=described.sample,
        seed=described.seed,
        exact=described.exact,
        max_invalid=1.0,
        sight=True,
        name=name or (begun and begun.name) or None,
    )
    facts = _facts(records, study.draws.sampling)
    if begun is not None and not descriptions:  # `requests` wrote down whom it asks, in which form
        form = begun.model_settings.get(RECORDED_BY)
        if unlike := next((record for record in records if record.facts[RECORDED_BY] != form), None):
            raise DataError(
                f"{unlike.path.name} is of {unlike.facts[RECORDED_BY]}, and {folder} was begun for "
                f"{form or 'a live model'}."
            )
        records = [replace(record, model=begun.model) for record in records]
        facts = dict(begun.model_settings)
    asked_hash = 0 if begun is None else begun.asked_of
    words = checked_words(refusal_words)
    model = RecordModel(records, facts, words, asked_of=asked_hash, mismatched=mismatched)
    return Prepared(study, folder, settings), model


def _facts(records: Sequence[Record], sampling: Sampling) -> dict[str, Fact]:
    """Facts that the records state about the model; the sampling must be the study's.

    A longer reply than the study's limit allows is no other question: models that think need it.
    """
    facts: dict[str, Fact] = {}
    for record in records:
        stated = {**record.facts, **_limit(record.sampling, sampling)}
        if record is not records[0] and stated != facts:
            raise DataError(
                f"{record.path.name} was recorded under other settings than {records[0].path.name}: import each into a "
                "run folder of its own."
            )
        facts = stated
        for name in ("temperature", "top_p"):
            value = record.sampling.get(name)
            if value is not None and value != getattr(sampling, name):
                raise DataError(
                    f"{record.path.name}: replies were drawn with {name} {str(value)[:20]}, and the study's is "
                    f"{getattr(sampling, name):g}. Ask with the study's, or set it as an option of the study."
                )
    return facts


def _limit(recorded: Mapping[str, object], sampling: Sampling) -> dict[str, Fact]:
    limit = recorded.get("max_tokens")
    return {"max_tokens": limit} if isinstance(limit, int) and limit != sampling.max_tokens else {}
