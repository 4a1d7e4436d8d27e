"""Member of a pack: a run with its estimates and its report, as all forms of it need them."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import PurePath
from typing import Any

import polars as pl

from facevalue.measures.caveats import caveat_of, counted_caveats
from facevalue.measures.definitions import Measure, change_of, definition_of
from facevalue.measures.estimates import FIXED_COLUMNS, label_columns
from facevalue.measures.multitest import leads_page
from facevalue.measures.verdicts import Verdict
from facevalue.packing.sealing import sha256_of
from facevalue.report.collect import collect_report
from facevalue.report.data import ReportData
from facevalue.runs.audits.folder import AuditRecord
from facevalue.runs.joined_runs import short_names
from facevalue.runs.kept_estimates import take_estimates
from facevalue.runs.pseudonyms import Pseudonyms
from facevalue.runs.stored_run import ReplyTally, StoredRun
from facevalue.store.files import PLACES
from facevalue.store.manifest import to_document
from facevalue.store.shards import shard_paths
from facevalue.types import OptionValue

# Places of files on the machine that asked: whoever gets a pack sees the names of files and folders alone.


_OF_AUDITS = ("images", "studies", "with")
"""Settings of an audit that are files or folders."""


def without_places(options: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    """Options of a study with the names of its files and folders.

    Examples
    --------
    >>> without_places({"manifest": "/home/ann/faces/list.csv", "words": "/home/ann/words.csv", "seeds": ["1"]})
    {'manifest': 'list.csv', 'words': 'words.csv', 'seeds': ['1']}
    """
    return _shorten_paths(options, PLACES)


def record_without_places(record: AuditRecord) -> AuditRecord:
    """The record of an audit with the names of its files and folders, also where it says why a study was left out.

    Examples
    --------
    >>> from facevalue.protocol.study import LeftOut
    >>> pictures = {"images": "/home/ann/faces"}
    >>> why = LeftOut("visbias", "/home/ann/faces/list.csv has no forms.")
    >>> packed = record_without_places(AuditRecord("reference", (), (why,), pictures))
    >>> packed.settings["images"], packed.left_out[0].why
    ('faces', 'faces/list.csv has no forms.')
    """
    studies = tuple(
        replace(study, study=PurePath(study.study).name, options=without_places(study.options))
        for study in record.studies
    )
    images = str(record.settings.get("images", ""))
    left_out = tuple(
        replace(omission, why=omission.why.replace(images, PurePath(images).name)) if images else omission
        for omission in record.left_out
    )
    return replace(record, studies=studies, left_out=left_out, settings=_shorten_paths(record.settings, _OF_AUDITS))


def _shorten_paths(settings: Mapping[str, OptionValue], names: tuple[str, ...]) -> dict[str, OptionValue]:
    return {name: _file_name(value) if name in names else value for name, value in settings.items()}


def _file_name(value: OptionValue) -> OptionValue:
    if isinstance(value, list):
        return [PurePath(str(path)).name for path in value]
    return PurePath(value).name if isinstance(value, str) else value


Row = Mapping[str, Any]
_TOLD = ("statement", "question", "prompts", "examples", "titles")
"""Parts of a page that tell of single pictures and replies."""


@dataclass(frozen=True)
class PackedRun:
    """One run of an audit.

    Attributes
    ----------
    name:
        File name that stands for it in the pack.
    run:
        The run itself.
    estimates:
        All of its estimates, judged.
    tally:
        Its replies.
    page:
        What its report shows.
    names:
        Numbers that stand in place of names of persons and files.
    """

    name: str
    run: StoredRun
    estimates: pl.DataFrame
    tally: ReplyTally
    page: ReportData
    names: Pseudonyms = field(default_factory=lambda: Pseudonyms({}, (), {}))

    @property
    def model(self) -> str:
        """Short name of the model that answered."""
        return short_names([self.run.model])[self.run.model]

    @cached_property
    def measures(self) -> Mapping[str, Measure]:
        """Definitions of what was measured, by key."""
        return {measure.key: measure for measure in self.run.measures}

    def definition(self, row: Row) -> Measure | None:
        """Definition of an estimate's measure, or of the change in it; None where nobody knows."""
        return definition_of(self.measures, row["measure"], row["score"], row["versus"])

    @cached_property
    def results(self) -> Sequence[Row]:
        """Estimates that others' forms hold: all comparisons, and levels that are over everything; measurable ones.

        Forms of one number cannot hold what has none. What is broken down further is in the table of estimates.
        """
        labels = label_columns(self.estimates)
        over_all = pl.all_horizontal(pl.col(name).is_null() for name in labels)
        has_value = pl.col("value").is_not_null() & pl.col("value").is_finite()
        rows = self.estimates.filter(has_value & (pl.col("verdict").is_not_null() | over_all))
        return list(rows.iter_rows(named=True))

    @cached_property
    def findings(self) -> Sequence[Row]:
        """Differences that the page found."""
        return [row for row in self.results if row["verdict"] == Verdict.DIFFERENCE]

    @property
    def findings_counted(self) -> str:
        """Number of differences that the page found, with their caveats."""
        count = len(self.findings)
        text = f"{count:,} {'difference' if count == 1 else 'differences'} found"
        return f"{text}{counted_caveats(caveat_of(row['why']) for row in self.findings)}"

    @cached_property
    def leading(self) -> Sequence[Row]:
        """Comparisons that lead the page, the largest first."""
        tested = self.estimates.filter(pl.col("verdict").is_not_null() & pl.col("p").is_not_null())
        rows = tested.filter(leads_page(tested, self.run.study.estimates.lead, tested))
        return list(rows.sort(pl.col("value").abs(), descending=True).iter_rows(named=True))

    @property
    def labels(self) -> Sequence[str]:
        """Columns that say what an estimate is of."""
        return label_columns(self.estimates)

    def subject(self, row: Row) -> str:
        """Subject of an estimate: its levels, by label; empty if it is over all of them."""
        return "; ".join(f"{name}: {row[name]}" for name in self.labels if row[name] is not None)

    def settings(self) -> dict[str, Any]:
        """Settings of the run, its model and its questions, without paths of the asking machine; shards by digest."""
        document = json.loads(json.dumps(to_document(self.run.facts), default=str))
        document["study"]["options"] = self.names.document(without_places(document["study"]["options"]))
        return {
            **document,
            "citation": self.run.study.about.citation,
            "title": self.run.study.about.title,
            "replies": asdict(self.tally),
            "shards": {path.name: sha256_of(path) for path in shard_paths(self.run.folder)},
            "not_asked": [{"what": omission.what, "why": omission.why} for omission in self.run.study.planned.left_out],
        }

    def definitions(self) -> Iterator[dict[str, Any]]:
        """Definitions of everything that was measured, and of the changes in it."""
        for measure in self.measures.values():
            rows = self.estimates.filter(measure.rows)
            for versus in rows["versus"].unique().sort():
                definition = change_of(measure) if versus else measure
                ends = [end if math.isfinite(end) else None for end in definition.limits]
                yield {"study": self.run.study.name, "versus": versus, **asdict(definition), "limits": ends}

    def rows(self) -> pl.DataFrame:
        """The whole table of estimates, without columns of labels that nothing is broken down by."""
        unused = [name for name in self.labels if self.estimates[name].null_count() == self.estimates.height]
        return self.estimates.drop(unused).select(pl.exclude(*FIXED_COLUMNS), *FIXED_COLUMNS)


def gather(runs: Sequence[StoredRun]) -> list[PackedRun]:
    """Take, or read, the estimates of each run, and gather what its report shows."""
    names = set[str]()
    out = []
    for run in runs:
        stem = f"{run.study.name}-{short_names([run.model])[run.model]}"
        plain = "".join(sign if sign.isalnum() or sign in "._-" else "-" for sign in stem)[:80]
        numbered = (plain, *(f"{plain}-{number}" for number in range(2, len(runs) + 1)))
        name = next(name for name in numbered if name.casefold() not in names)
        names.add(name.casefold())  # of names that differ in capitals alone, some systems keep one file
        estimates, tallies = take_estimates([run])
        names_of_run = Pseudonyms.of_run(run)
        estimates = names_of_run.table(estimates)
        data = replace(collect_report([run], estimates, tallies).data, generated=run.facts.end or run.facts.start)
        page_parts = {field_name: names_of_run.document(getattr(data, field_name), field_name) for field_name in _TOLD}
        out.append(PackedRun(name, run, estimates, tallies[str(run.folder)], replace(data, **page_parts), names_of_run))
    return out
