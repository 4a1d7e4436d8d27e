"""Facts about a run, its questions and its model, as its `run.toml` or `run.json` states them."""

import hashlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from facevalue.hashing import model_hash
from facevalue.models.base import Model, Probing, checked_facts
from facevalue.parquet import parquet_bytes
from facevalue.protocol.study import Study
from facevalue.runs.settings import RunSettings
from facevalue.store.manifest import Counts, RunManifest, Session


def asked_run(
    study: Study, model: str, facts: Mapping[str, str | int | float | bool], settings: RunSettings
) -> RunManifest:
    """A run before its first request; it has no id yet."""
    return RunManifest(
        study=study.name,
        study_version=study.version,
        options=study.options,
        trials=study.design.size,
        seeds=study.draws.seeds,
        reasks=study.draws.reasks,
        sampling=study.draws.sampling,
        model=model,
        model_settings=facts,
        exact=settings.exact,
        sample=settings.sample,
        seed=settings.seed,
        start=utc_now(),
        end=None,
        counts=Counts(),
        sessions=(),
        preregistration=settings.preregistration.sha256 if settings.preregistration else None,
        asked_of=model_hash(model, facts),
        name=settings.name or study.about.subject,
        stop_when=settings.stop_when.text if settings.stop_when else "",
    )


def facts_of_model(study: Study, model: Model, exact: bool) -> dict[str, str | int | float | bool]:
    """Settings of a model that change its replies; where replies are to be constrained, also whether they are.

    Most models read probabilities from free replies whatever a study wants; nothing is recorded of those.
    """
    facts = checked_facts(model, "The settings", model.settings())
    if study.draws.constrain and (not exact or model.capabilities.structured_probabilities):
        facts["structured"] = model.structured() if isinstance(model, Probing) else model.capabilities.structured
    return facts


def table_of(study: Study) -> bytes:
    """The study's table of pictures as a file."""
    return parquet_bytes(study.manifest)


def table_digest(study: Study) -> str:
    """SHA-256 of the study's table of pictures, as a run's manifest states it (`stimuli`)."""
    return hashlib.sha256(table_of(study)).hexdigest()


def other_server(sessions: Iterable[Session]) -> str | None:
    """Say if replies named more than one model or build, in these sessions."""
    servers = [str(session.findings["served_by"]) for session in sessions if "served_by" in session.findings]
    names = list(dict.fromkeys(name for text in servers for name in text.split("; ")))
    if len(names) < 2:
        return None
    return (
        f"The server named {len(names)} models or builds in its replies: {'; '.join(names)}. What it served changed "
        "during the run, so that its answers may not be those of one model."
    )


def utc_now() -> datetime:
    """Now, in UTC, to the second."""
    return datetime.now(UTC).replace(microsecond=0)
