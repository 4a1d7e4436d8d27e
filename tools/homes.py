"""Lines that one protocol alone needs: its own folder, and modules in common rooms that nothing else reaches.

    python -m tools.homes

A module of a common room is a protocol's alone if the modules that import it, and those that import these in the same
room, are of one protocol's folder.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "facevalue"
PROTOCOLS = ("stylisticbias", "vignette", "visbias", "modscan", "counterfactuals")
COMMON = ("models", "stimuli", "prompts", "answers", "annotate", "measures", "protocol")
Module = tuple[str, ...]
"""Name of a module below the package: ("measures", "shift")."""


def modules() -> dict[Module, Path]:
    """Every module of the package by its name."""
    names = {path: path.relative_to(PACKAGE).with_suffix("").parts for path in PACKAGE.rglob("*.py")}
    return {name[:-1] if name[-1] == "__init__" else name: path for path, name in names.items()}


def imported(path: Path, names: Mapping[Module, Path]) -> Iterator[Module]:
    """Modules of the package that a file imports anywhere."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                for target in (f"{node.module}.{alias.name}", node.module):
                    module = tuple(target.split(".")[1:])
                    if target.startswith("facevalue.") and module in names:
                        yield module
                        break


def room(module: Module) -> Module:
    """The folder that a module belongs to: a protocol's, or a common room."""
    return module[:2] if module[:1] == ("studies",) else module[:1]


def owners(module: Module, importers: Mapping[Module, set[Module]]) -> set[Module]:
    """Rooms from which a module is reached, its own left out."""
    rooms: set[Module] = set()
    seen, pending = {module}, [module]
    while pending:
        for importer in importers[pending.pop()] - seen:
            seen.add(importer)
            if room(importer) == room(module):
                pending.append(importer)
            else:
                rooms.add(room(importer))
    return rooms


def main() -> None:
    """Print a row for each protocol, and their sum."""
    names = modules()
    lines = {module: path.read_text().count("\n") for module, path in names.items()}
    importers: dict[Module, set[Module]] = defaultdict(set)
    for module, path in names.items():
        for target in imported(path, names):
            importers[target].add(module)
    alone: dict[str, list[Module]] = defaultdict(list)
    for module in names:
        rooms = owners(module, importers) if module[0:1] and module[0] in COMMON else set()
        if len(rooms) == 1 and (only := next(iter(rooms)))[-1] in PROTOCOLS:
            alone[only[-1]].append(module)
    total = [0, 0, 0]
    print(f"{'protocol':16}{'own lines':>10}{'files':>7}{'alone':>8}{'together':>10}")
    for protocol in PROTOCOLS:
        folder = [module for module in names if module[:2] == ("studies", protocol)]
        counts = sum(lines[m] for m in folder), len(folder), sum(lines[m] for m in alone[protocol])
        total = [a + b for a, b in zip(total, counts, strict=True)]
        print(f"{protocol:16}{counts[0]:10,}{counts[1]:7}{counts[2]:8,}{counts[0] + counts[2]:10,}")
    print(f"{'all':16}{total[0]:10,}{total[1]:7}{total[2]:8,}{total[0] + total[2]:10,}")
    print(f"the package{sum(lines.values()):15,}{len(lines):7}")


if __name__ == "__main__":
    main()
