"""Data statement of a set of pictures, how they were made, of whom and for which use; and as Croissant."""

import glob
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

import polars as pl

from facevalue.measures.group_shares import group_shares
from facevalue.measures.intervals import describe_method
from facevalue.runs.reviews.rated_pictures import RatedPictures
from facevalue.stimuli.manifest import FORM, MAKING, MEDIA_TYPES, SHARD_ROW
from facevalue.types import Status

FILE = "croissant.json"
"""Where the document lies beside the list."""
CONFORMS_TO = ("http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0")
ROWS, PICTURES, FILES = "rows", "pictures", "picture-files"
"""Record sets: a row of the list each, a picture with its row; and the files of the pictures."""

_CROISSANT_TERMS = (
    "annotation", "arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "excludes", "extract", "field",
    "fileObject", "fileProperty", "fileSet", "format", "includes", "isArray", "isLiveDataset", "jsonPath", "key", "md5",
    "parentField", "path", "readLines", "recordSet", "references", "regex", "repeated", "replace", "samplingRate",
    "sdVersion", "separator", "source", "subField", "transform", "unArchive", "value",
)  # fmt: skip
_CONTEXT: Mapping[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "prov": "http://www.w3.org/ns/prov#",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in _CROISSANT_TERMS},
}
"""Appendix 1 of the specification, and the vocabulary of provenance."""
_FORMATS = {".csv": "text/csv", ".jsonl": "application/jsonlines", ".parquet": "application/x-parquet"}
_MOST_PATTERNS = 50
"""Folders that are named; where there are more, pictures are found by their endings alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFile:
    """The file that lists pictures.

    Attributes
    ----------
    name:
        Its name; the document lies beside it.
    sha256:
        Digest of its bytes, in hexadecimal.
    size:
        Bytes.
    """

    name: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """Statements of whoever answers for pictures; nothing is stated for them.

    Attributes
    ----------
    licence:
        Address of a licence, or its name.
    creator:
        Who made them.
    url:
        Page about them.
    cite_as:
        How they are cited, best as BibTeX.
    published:
        When they were published.
    version:
        Of the data, as MAJOR.MINOR.PATCH.

    Examples
    --------
    >>> Rights(licence="https://creativecommons.org/publicdomain/zero/1.0/").creator is None
    True
    """

    licence: str | None = None
    creator: str | None = None
    url: str | None = None
    cite_as: str | None = None
    published: date | None = None
    version: str = "1.0.0"


def stated_in(document: object) -> Rights:
    """Rights that an earlier document states; anything else in it is ignored.

    Examples
    --------
    >>> stated_in({"license": {"name": "All rights reserved"}, "datePublished": "soon", "url": 3}).licence
    'All rights reserved'
    """
    entries: Mapping[str, object] = document if isinstance(document, dict) else {}

    def text(value: object) -> str | None:
        value = value.get("name") if isinstance(value, dict) else value
        return value if isinstance(value, str) and value else None

    try:
        published = date.fromisoformat(text(entries.get("datePublished")) or "")
    except ValueError:
        published = None
    return Rights(
        licence=text(entries.get("license")),
        creator=text(entries.get("creator")),
        url=text(entries.get("url")),
        cite_as=text(entries.get("citeAs")),
        published=published,
        version=text(entries.get("version")) or Rights().version,
    )


def document(
    pictures: pl.DataFrame, file: ListFile, name: str, description: str, properties: Mapping[str, Any], rights: Rights
) -> dict[str, Any]:
    """Describe a list of pictures.

    Parameters
    ----------
    pictures:
        The list, with a column `path`, relative to its folder.
    file:
        Its file.
    name, description:
        Of the whole.
    properties:
        Further properties, such as "rai:dataBiases"; those that are None, "" or empty are left out.
    rights:
        What is stated about the pictures.
    """
    stated = {
        "license": _licence(rights.licence),
        "creator": rights.creator and {"@type": "sc:Organization", "name": rights.creator},
        "url": rights.url,
        "citeAs": rights.cite_as,
        "datePublished": rights.published and rights.published.isoformat(),
        "version": rights.version,
    }
    files = _picture_files(pictures["path"])
    records = [_rows(pictures, file), *([_pictures(pictures, file)] if files else [])]
    out = {
        "@context": dict(_CONTEXT),
        "@type": "sc:Dataset",
        "conformsTo": list(CONFORMS_TO),
        "name": name,
        "description": description,
        **stated,
        **properties,
        "distribution": [_list_file(file), *([files] if files else [])],
        "recordSet": records,
    }
    return {key: value for key, value in out.items() if value not in (None, "", [], {}, ())}


def _licence(text: str | None) -> str | dict[str, str] | None:
    """A licence as an address, or as a work that has a name."""
    return text if not text or "://" in text else {"@type": "sc:CreativeWork", "name": text}


def _list_file(file: ListFile) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": file.name,
        "name": file.name,
        "description": "One row per picture.",
        "contentUrl": file.name,
        "contentSize": f"{file.size} B",
        "encodingFormat": _FORMATS[PurePosixPath(file.name).suffix.lower()],
        "sha256": file.sha256,
    }


def _picture_files(paths: pl.Series) -> dict[str, Any] | None:
    """The pictures' files; None where they are rows of other files."""
    if paths.str.contains(SHARD_ROW).any():
        return None
    endings = sorted(
        {PurePosixPath(path).suffix for path in paths}, key=lambda ending: list(MEDIA_TYPES).index(ending.lower())
    )
    patterns = sorted({_pattern(PurePosixPath(path)) for path in paths})
    if len(patterns) > _MOST_PATTERNS:
        patterns = [f"*{ending}" for ending in endings]
    return {
        "@type": "cr:FileSet",
        "@id": FILES,
        "name": FILES,
        "description": "The pictures, byte for byte as they came.",
        "encodingFormat": list(dict.fromkeys(MEDIA_TYPES[ending.lower()] for ending in endings)),
        "includes": patterns,
    }


def _pattern(path: PurePosixPath) -> str:
    """Pattern of a path: its first folder, then any name of each folder below and of the file."""
    folders = path.parts[:-1]
    return "/".join([*map(glob.escape, folders[:1]), *("*" for _ in folders[1:]), f"*{path.suffix}"])


def _rows(pictures: pl.DataFrame, file: ListFile) -> dict[str, Any]:
    fields = [_column(ROWS, name, dtype, file) for name, dtype in pictures.schema.items()]
    key = {"key": {"@id": _id(ROWS, "image")}} if "image" in pictures.columns else {}
    return {
        "@type": "cr:RecordSet", "@id": ROWS, "name": ROWS, "description": "The list: one record per picture.", **key,
        "field": fields,
    }  # fmt: skip


def _pictures(pictures: pl.DataFrame, file: ListFile) -> dict[str, Any]:
    """Each picture with its row: files are joined with the list by their paths."""
    source = {"fileSet": {"@id": FILES}}
    path_of_list = {"fileObject": {"@id": file.name}, "extract": {"column": "path"}}
    place = {**source, "extract": {"fileProperty": "fullpath"}, "transform": {"regex": "(.+)"}}
    fields: list[dict[str, Any]] = [
        {**_field(PICTURES, "path", "sc:Text", place), "description": "Where its file is.", "references": path_of_list},
        {
            **_field(PICTURES, "content", "sc:ImageObject", {**source, "extract": {"fileProperty": "content"}}),
            "description": "The picture.",
        },
    ]
    fields += [
        _column(PICTURES, name, dtype, file)
        for name, dtype in pictures.schema.items()
        if name not in ("path", "content")
    ]
    return {
        "@type": "cr:RecordSet", "@id": PICTURES, "name": PICTURES, "field": fields,
        "description": "One record per picture and row that names it; where no row does, the path alone.",
    }  # fmt: skip


def _column(records: str, name: str, dtype: pl.DataType, file: ListFile) -> dict[str, Any]:
    return _field(records, name, _data_type(dtype), {"fileObject": {"@id": file.name}, "extract": {"column": name}})


def _field(records: str, name: str, kind: str, source: Mapping[str, Any]) -> dict[str, Any]:
    return {"@type": "cr:Field", "@id": _id(records, name), "name": name, "dataType": kind, "source": dict(source)}


def _id(records: str, name: str) -> str:
    """Identifier of a field: part of an address, whatever its column is called."""
    return f"{records}/{quote(name, safe='')}"


def _data_type(dtype: pl.DataType) -> str:
    if dtype == pl.Boolean:
        return "sc:Boolean"
    return "sc:Integer" if dtype.is_integer() else "sc:Float" if dtype.is_float() else "sc:Text"


MOST_LEVELS = 20
"""Levels of a factor that are listed; of others it is said how many there are."""
_LONGEST = 500
"""Characters of a setting that are told."""
_DRAWINGS = "They are FaceValue's own drawings: nobody in them exists, and they are no photographs."
_GENERATED = "What they show is the work of an image generator as much as that of the prompts."
_USES = (
    "Testing: audits of social bias in vision-language models, of what they say about people by how these look.",
    "Not for training or testing models that tell who a person is, or what somebody's gender, race, age or religion "
    "is: a picture does not tell.",
)
_LABELS = (
    "Levels of factors are what was asked for, not what anybody saw in the pictures: whether it came out is what "
    "`facevalue inspect-pictures` and people who look at a sample (`facevalue review`) say."
)
_LIMITS = (
    "Pictures cannot be made again: the same prompt, seed and generator may give another picture. These files are the "
    "set; their digests are in the list of files that `facevalue verify` checks.",
    "What holds for these pictures holds for this generator and editor; others show the same people otherwise.",
)
_EDITORS = (
    "Image generators and editors are biased themselves: of three editors, skin came out lighter in 62 to 71% of "
    "edits, most where the source was Black or Indian (arXiv 2602.16149v3). What this one did beside what it was told "
    "is to be measured before answers about its pictures are believed (`facevalue inspect-pictures`)."
)


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """A set of pictures that was made: what was asked for, of what, and what became of it.

    Attributes
    ----------
    title:
        Of the study that it was made for.
    about:
        What is made, in a sentence.
    outcomes:
        One row per picture that was to be made, as its plan has it (`protocol.making.PicturePlan.table`), and `status`:
        a value of `Status`; null for one that was not asked for yet.
    unit, groups:
        Its columns of what was sampled, and of who is shown.
    generator, editor:
        Names; None where there is none.
    settings:
        What else changes the pictures, by name.
    drawings:
        Whether they are FaceValue's own drawings.
    content_note:
        What people should be told before they look; empty if nothing.
    began, ended:
        When the first was asked for, and the last came.
    people:
        What people say who looked at some; None where nobody did.
    """

    title: str
    about: str
    outcomes: pl.DataFrame
    unit: str
    groups: tuple[str, ...]
    generator: str | None
    editor: str | None = None
    settings: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    drawings: bool = False
    content_note: str = ""
    began: datetime | None = None
    ended: datetime | None = None
    people: RatedPictures | None = None


def data_statement(
    pictures: pl.DataFrame,
    file: ListFile,
    name: str,
    provenance: Provenance | None = None,
    rights: Rights | None = None,
) -> dict[str, Any]:
    """Return the data statement of a list of pictures, as a Croissant document with RAI properties.

    Parameters
    ----------
    pictures:
        The list, one row per picture that there is, as `read_manifest` returns it or as `facevalue make` writes it.
    file:
        The file that holds it.
    name:
        Of the set.
    provenance:
        How it was made; None for pictures of one's own, of which only what the list shows is said.
    rights:
        What is stated about the pictures; what is not stated is left out.
    """
    made_words = {} if provenance is None else _made_words(pictures, provenance)
    factors = (
        [column for column in pictures.columns if column not in (*FORM, *MAKING)]
        if provenance is None
        else provenance.groups
    )
    properties = {
        **made_words,
        "rai:dataBiases": [*_composition(pictures, factors), *([] if provenance is None else _losses(provenance))],
        "rai:dataUseCases": list(_USES),
        "rai:dataAnnotationProtocol": None if provenance is None else _LABELS,
        **({} if provenance is None or provenance.people is None else _people_words(provenance.people)),
    }
    return document(pictures, file, name, _description(pictures, provenance), properties, rights or Rights())


def _description(pictures: pl.DataFrame, provenance: Provenance | None) -> str:
    """The set in a paragraph, its content note first."""
    count = _count(pictures.height, "picture")
    if provenance is None:
        return f"{count}, listed for audits of vision-language models."
    units = (
        _count(provenance.outcomes[provenance.unit].n_unique(), provenance.unit) if provenance.unit != "image" else ""
    )
    of_units = f" of {units}" if units else ""
    sentences = (
        provenance.content_note,
        f"{count}{of_units}, made for {provenance.title}.",
        provenance.about and f"What the study has made: {provenance.about}",
        _DRAWINGS if provenance.drawings else _GENERATED,
    )
    return " ".join(sentence for sentence in sentences if sentence)


def _made_words(pictures: pl.DataFrame, provenance: Provenance) -> dict[str, Any]:
    """RAI properties and provenance of pictures that were made."""
    times = [time.isoformat(timespec="seconds") for time in (provenance.began, provenance.ended) if time is not None]
    return {
        "dateCreated": provenance.began and provenance.began.date().isoformat(),
        "keywords": ["vision-language models", "social bias", "audit", "synthetic pictures", provenance.title],
        "rai:dataCollection": " ".join(_process(pictures, provenance)),
        "rai:dataCollectionType": ["Software Collection"],
        "rai:dataCollectionTimeFrame": times,
        "rai:dataCollectionMissingData": _missing(provenance.outcomes),
        "rai:dataCollectionRawData": _raw_data(provenance),
        "rai:dataPreprocessingProtocol": [
            "None: files are kept byte for byte as they came, with watermarks and statements of origin (C2PA)."
        ],
        "rai:dataLimitations": [*_LIMITS, *([_DRAWINGS] if provenance.drawings else [])],
        "rai:dataSocialImpact": provenance.content_note,
        "rai:personalSensitiveInformation": [*_sensitive(provenance)],
        "prov:wasGeneratedBy": [*_activities(provenance)],
    }


def _process(pictures: pl.DataFrame, provenance: Provenance) -> Iterator[str]:
    """Sentences on how the pictures were made."""
    table = provenance.outcomes
    existing = table.filter(pl.col("prompt").is_null()).height
    edits = table.height - table["source"].null_count()
    texts = table.height - edits - existing
    if texts:
        yield f"{_count(texts, 'picture')} asked of {provenance.generator or 'no generator'} from a text each."
    if existing:
        yield f"{_count(existing, 'picture')} that existed, taken as they are."
    if edits:
        yield f"{_count(edits, 'picture')} asked of {provenance.editor or 'no editor'} as an edit of another one."
    columns = ((name, label) for name, label in _EXPLAINED if name in pictures.columns)
    yield from (f"{label} is in the column {name}." for name, label in columns)
    revised = pictures["revised_prompt"].drop_nulls().len() if "revised_prompt" in pictures.columns else 0
    if revised:
        yield f"{_count(revised, 'prompt')} {'was' if revised == 1 else 'were'} revised by the server."
    if provenance.settings:
        settings = (f"{name}: {str(value)[:_LONGEST]}" for name, value in sorted(provenance.settings.items()))
        yield f"Settings: {'; '.join(settings)}."


_EXPLAINED = (
    ("prompt", "What was asked, verbatim,"),
    ("source", "The picture that was edited"),
    ("picture_seed", "The seed that was sent"),
)


def _people_words(people: RatedPictures) -> dict[str, Any]:
    """RAI properties of what people said of pictures: they annotated a sample."""
    raters = _count(people.raters, "person") if people.raters == 1 else f"{people.raters:,} people"
    count = _count(people.ratings.height, "answer")
    return {
        "rai:dataAnnotationProtocol": [_LABELS, f"{raters} looked at a sample, each group by its share: {count}."],
        "rai:dataAnnotationPlatform": ["`facevalue review`: a page, filled in by each rater alone."],
        "rai:dataAnnotationAnalysis": [*_said_by_people(people)],
        "rai:annotationsPerItem": f"Of the pictures of the sample, {raters} at most.",
        "rai:annotatorDemographics": ["Not recorded: of raters a name is known that they chose."],
    }


def _said_by_people(people: RatedPictures) -> Iterator[str]:
    """Shares of answers that speak for pictures, with agreement, and by group, a sentence for each question."""
    for row in people.questions.iter_rows(named=True):
        groups = people.groups.filter(pl.col("question") == row["question"], pl.col("low").is_not_null())
        levels = [_share(level) for level in groups.select("level", "share", "low", "high", "answers").iter_rows()]
        words = {"no": f"{row['question']}, answered with no:", "": f"{row['question']}, ticked:"}
        label = words.get(row["fine"], f"{row['question']}:")
        method = describe_method(row["method"], row["detail"])
        kappa = "" if row["kappa"] is None else f" Agreement {row['kappa']:.2f} {_kappa_interval(row)}: {method}."
        by_group = f" By group: {_some(levels)}." if levels else ""
        shares = _share((label, row["share"], row["low"], row["high"], row["answers"]))
        yield f"{shares[:1].upper()}{shares[1:]} answers.{kappa}{by_group}"


def _kappa_interval(row: Mapping[str, Any]) -> str:
    low, high = row["kappa_low"], row["kappa_high"]
    return "[no interval]" if low is None or high is None else f"[{low:.2f}, {high:.2f}]"


def _missing(outcomes: pl.DataFrame) -> str:
    """Number of pictures that were to be made and are missing, with reasons."""
    status = outcomes["status"]
    counts = {
        "refused by the generator": (status == Status.REFUSED).sum(),
        "failed": (status == Status.ERROR).sum(),
        "not asked for yet": status.null_count(),
    }
    missing = sum(counts.values())
    if not missing:
        return f"None of {outcomes.height:,} is missing."
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in counts.items() if count)
    return f"{missing:,} of {outcomes.height:,} are missing: {reasons}."


def _raw_data(provenance: Provenance) -> str:
    if provenance.outcomes["prompt"].null_count():
        return (
            "Pictures that existed, and what was made of them. Whom these show, and who agreed to it, is not recorded "
            "here: whoever gave them is to say."
        )
    return "None: no picture of a real person was given to the generator by FaceValue."


def _sensitive(provenance: Provenance) -> Iterator[str]:
    """Sentences on what factors say about people."""
    for group in provenance.groups:
        yield f"{_words(group).capitalize()}, as asked for and as it may be perceived."
    if provenance.outcomes["prompt"].null_count():
        yield "Pictures that existed may show real people."
    elif not provenance.drawings:
        yield "Nobody in them is meant to exist; a generator may show somebody who resembles a real person."


def _activities(provenance: Provenance) -> Iterator[dict[str, Any]]:
    """The steps by which pictures came to be, each with the software that took it."""
    times = {
        "prov:startedAtTime": provenance.began and provenance.began.isoformat(timespec="seconds"),
        "prov:endedAtTime": provenance.ended and provenance.ended.isoformat(timespec="seconds"),
    }
    steps = (("Pictures from texts", provenance.generator), ("Pictures edited from others", provenance.editor))
    for label, software in steps:
        if software is not None:
            agent = {"@type": "prov:SoftwareAgent", "prov:label": software}
            stated_times = {key: value for key, value in times.items() if value}
            yield {"@type": "prov:Activity", "prov:label": label, "prov:wasAssociatedWith": agent, **stated_times}


def _composition(pictures: pl.DataFrame, factors: Sequence[str]) -> Iterator[str]:
    """Frequencies of the levels that are shown, a sentence for each factor."""
    for factor in factors:
        if factor not in pictures.columns:
            continue
        counts = pictures[factor].value_counts().sort("count", factor, descending=[True, False], nulls_last=True)
        levels = [f"{'not stated' if level is None else level} {count:,}" for level, count in counts.rows()]
        if len(levels) == pictures.height > MOST_LEVELS:
            continue  # names each picture
        yield f"Pictures by {_words(factor)}: {_some(levels)}."


def _losses(provenance: Provenance) -> Iterator[str]:
    """Refusals and failures by group: who is missing decides what a set can say of whom."""
    for status, verb in ((Status.REFUSED, "Refused"), (Status.ERROR, "Failed")):
        requests = provenance.outcomes.filter(pl.col("prompt").is_not_null())
        losses = requests.with_columns(lost=pl.col("status") == status)
        if not losses["lost"].any():
            continue
        for group in provenance.groups:
            shares = group_shares(losses, "lost", [group], provenance.unit).sort(
                "share", group, descending=[True, False]
            )
            levels = [_share(row) for row in shares.select(group, "share", "low", "high", "n").iter_rows()]
            yield f"{verb} by {_words(group)}: {_some(levels)} (95% intervals over units: {_words(provenance.unit)})."
    if not provenance.drawings:
        yield _EDITORS


def _share(row: tuple[Any, ...]) -> str:
    level, share, low, high, n = row
    interval = "no interval" if low is None or high is None else f"{100 * low:.1f} to {100 * high:.1f}"
    return f"{'not stated' if level is None else level} {100 * share:.1f}% ({interval}) of {n:,}"


def _some(levels: Sequence[str]) -> str:
    """Levels in a row, and how many there are besides where they are many."""
    if len(levels) <= MOST_LEVELS:
        return ", ".join(levels)
    return f"{', '.join(levels[:MOST_LEVELS])}, and {len(levels) - MOST_LEVELS:,} more levels"


def _count(number: int, noun: str) -> str:
    """A number of things, in words."""
    plural = {"identity": "identities"}.get(noun, f"{noun}s")
    return f"{number:,} {noun if number == 1 else plural}"


def _words(column: str) -> str:
    return column.replace("_", " ")
