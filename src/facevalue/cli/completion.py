"""Completion by the shell: studies, models, run folders and the like that begin with what was typed.

Nothing here may take long: no file of answers is opened, and no module is imported that computes.

Bash ends a word at each `:` and `=`: there words are completed as they were typed.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from click.shell_completion import BashComplete, CompletionItem, add_completion_class, split_arg_string

_ENDS = ":="
"""Characters at which bash ends a word: of addresses, and of LABEL=RUN."""


@add_completion_class
class WholeWords(BashComplete):
    """Completes whole words, and answers with what stands behind the last of the characters that end one in bash."""

    source_template = BashComplete.source_template.replace(
        "$(env COMP_WORDS=", '$(env COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_WORDS='
    )

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the one that is completed, and as much as there is of it."""
        line = os.environ.get("COMP_LINE")
        if line is None:  # of a script that an earlier version wrote
            return super().get_completion_args()
        words = split_arg_string(line)
        return words[1:] if line[-1:].isspace() else words[1:-1], "" if line[-1:].isspace() else words[-1]

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """An item, without what bash keeps of the word before it."""
        _, incomplete = self.get_completion_args()
        cut = 1 + max(map(incomplete.rfind, _ENDS))
        value = item.value[cut:] if cut and "COMP_LINE" in os.environ else item.value
        return f"{item.type},{value}"


_PACKAGE = Path(__file__).parents[1]
_RUNS = (Path("runs"), Path("audits"))
_RUN_FILES = ("run.toml", "audit.toml", "making/run.toml")
"""Files of a run, of an audit, and of pictures that were made."""
_MOST = 200
"""Folders that are looked at."""
_ADDRESSES = ("http://127.0.0.1:8000/v1#", "https://", "openai/", "hf/", "vllm/", "replay/")
SIMULATED = ("default", "null", "strong", "first", "refuser", "mumbler")
"""Simulated models (`models.sim.PRESETS`, which takes a second to import)."""
_INSPECTORS = ("inspect/default", "inspect/identity=dlib")
_WITH_PATHS = ("hf/", "replay/", "reference/")
_SCORERS = ("lexical", "lexicon/", "hf-text/", "openai-moderation", "judge/")


def starting(names: Iterable[str], incomplete: str, before: str = "") -> "list[CompletionItem]":
    """The names that begin with what was typed, each after what stands before it."""
    from click.shell_completion import CompletionItem  # noqa: PLC0415 - only when something is completed

    return [CompletionItem(before + name) for name in names if name.startswith(incomplete)]


def files(incomplete: str, kind: str = "file") -> "list[CompletionItem]":
    """Have the shell complete files, or folders ("dir")."""
    from click.shell_completion import CompletionItem  # noqa: PLC0415

    return [CompletionItem(incomplete, type=kind)]


def runs(incomplete: str, before: str = "") -> "list[CompletionItem]":
    """Folders of runs and audits, those in `runs` and `audits` first; folders where there is no such run."""
    typed = Path(incomplete)
    parent = typed if incomplete.endswith("/") else typed.parent
    folders = list(_folders(parent))
    if not incomplete:
        folders = [*(folder for place in _RUNS for folder in _folders(place)), *folders]
    paths = [str(folder) for folder in folders if any((folder / name).is_file() for name in _RUN_FILES)]
    return starting(paths, incomplete, before) or files(before + incomplete, "dir")


def _folders(parent: Path) -> Iterator[Path]:
    try:
        entries = sorted(path for path in parent.iterdir() if path.is_dir())
    except OSError:
        return
    yield from entries[:_MOST]


def studies(incomplete: str, offers: str = "", *, examples: bool = False) -> "list[CompletionItem]":
    """Names of studies, and files of one's own where a study need offer nothing."""
    from facevalue.studies import EXAMPLES, names  # noqa: PLC0415 - only when a study is completed

    if offers:
        from facevalue.studies.offers import offering  # noqa: PLC0415

        return starting(offering(offers), incomplete)
    known_names = [*names(), *(EXAMPLES if examples else ())]
    return starting(known_names, incomplete) + _paths(incomplete, ".toml")


def study_list(incomplete: str) -> "list[CompletionItem]":
    """The last of several studies, which commas separate."""
    from facevalue.studies import names  # noqa: PLC0415 - only when a study is completed

    before, comma, last = incomplete.rpartition(",")
    return starting([name for name in names() if name not in before.split(",")], last, before + comma)


def _paths(incomplete: str, suffix: str = "", prefix: str = "") -> "list[CompletionItem]":
    """Folders, and files of an ending, below what was typed."""
    typed = Path(incomplete)
    parent = typed if incomplete.endswith("/") else typed.parent
    try:
        entries = sorted(parent.iterdir())[:_MOST]
    except OSError:
        return []
    paths = [f"{path}/" if path.is_dir() else str(path) for path in entries if not path.name.startswith(".")]
    wanted_paths = [path for path in paths if path.endswith("/") or path.endswith(suffix)]
    return starting([prefix + path for path in wanted_paths], prefix + incomplete)


def generators(incomplete: str) -> "list[CompletionItem]":
    """Kinds of generators, and folders of those that are in one."""
    for kind in ("replay/", "diffusers/"):
        if incomplete.startswith(kind):
            return _paths(incomplete.removeprefix(kind), prefix=kind)
    return starting(["drawn", "replay/", "diffusers/", "openai/", "sim/", "http://", "https://"], incomplete)


def models(incomplete: str) -> "list[CompletionItem]":
    """Models that come with FaceValue, kinds of addresses, those of other packages, and folders of local models.

    Inspectors, which only the audit of an editor asks, and Inspect's providers are offered once their kind is begun.
    """
    for kind in _WITH_PATHS:
        if incomplete.startswith(kind) and incomplete not in (kind, "reference/"):
            return starting(reference_models(), incomplete) + _paths(incomplete.removeprefix(kind), prefix=kind)
    from facevalue import plugins  # noqa: PLC0415

    of_plugins = (f"{kind}/" for kind in plugins.plugins(plugins.MODELS, ()))
    simulated = (f"sim/{name}" for name in SIMULATED)
    begun: tuple[str, ...] = ()
    if incomplete:
        from facevalue.models.inspect.providers import PROVIDERS  # noqa: PLC0415

        begun = (*_INSPECTORS, *(f"inspect/{name}/" for name in PROVIDERS))
    kinds = dict.fromkeys([*reference_models(), *simulated, *_ADDRESSES, *of_plugins, *begun])
    return starting(kinds, incomplete)


def reference_models() -> Sequence[str]:
    """The reference model and the variants that come with it."""
    variants = _PACKAGE / "models" / "reference" / "variants"
    return ["reference", *sorted(f"reference/{path.name}" for path in variants.glob("*") if path.is_dir())]


def scorers(incomplete: str) -> "list[CompletionItem]":
    """Kinds of scorers; after "judge/", models."""
    if incomplete.startswith("judge/"):
        judges = models(incomplete.removeprefix("judge/"))
        return starting([item.value for item in judges], "", "judge/")
    return starting(_SCORERS, incomplete)


def interventions(incomplete: str) -> "list[CompletionItem]":
    """Interventions that come with FaceValue, and files."""
    import tomllib  # noqa: PLC0415

    shipped = tomllib.loads((_PACKAGE / "prompts" / "interventions.toml").read_text(encoding="utf-8"))
    names = [table["name"] for table in shipped["intervention"]]
    return starting(names, incomplete) + _paths(incomplete, ".toml")


def measures(incomplete: str, runs: Sequence[str]) -> "list[CompletionItem]":
    """Measures of a run that has been measured or reported."""
    from facevalue.store.files import ESTIMATES  # noqa: PLC0415

    path = Path(runs[0].rpartition("=")[2] if runs else ".") / ESTIMATES
    if not path.is_file():
        return []
    from pyarrow import parquet  # noqa: PLC0415 - reads one column

    return starting(sorted(set(parquet.read_table(path, columns=["measure"])["measure"].to_pylist())), incomplete)
