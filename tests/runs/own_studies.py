"""Small studies in files, of which an audit can be made at once."""

from pathlib import Path

TEXT = """
name = "{name}"
title = "Who is {trait}?"
[pictures]
kind = "portraits"
people = "{people}"
[prompt]
text = "Is this person {{trait}}? Answer with only {{options}}."
[factor.trait]
levels = [{levels}]
[answer]
kind = "yes-no"
favourable = "yes"
[sampling]
seeds = [{seeds}]
[[estimand]]
statistic = "gap"
factor = "gender"
"""


def study_file(folder: Path, name: str, people: int, traits: int = 1, seeds: int = 1) -> str:
    """Write a study that asks each of some people about some traits."""
    levels = ", ".join(f'"kind {number}"' for number in range(traits))
    text = TEXT.format(
        name=name, trait=name, people=people, levels=levels, seeds=", ".join(map(str, range(1, seeds + 1)))
    )
    path = folder / f"{name}.toml"
    path.write_text(text)
    return str(path)
