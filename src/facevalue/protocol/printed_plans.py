"""Requests that papers count, from the numbers in their designs."""

from dataclasses import dataclass

from facevalue.given import shipped


@dataclass(frozen=True, slots=True)
class PrintedBlock:
    """A row of requests that a paper counts: every prompt about every image, for each seed, model and intervention.

    Examples
    --------
    >>> PrintedBlock("ratings", images=100, prompts=5, seeds=1, models=2).trials
    1000
    """

    name: str
    images: int
    prompts: int
    seeds: int
    models: int
    interventions: int = 1

    @property
    def trials(self) -> int:
        """Requests."""
        return self.images * self.prompts * self.seeds * self.models * self.interventions


@dataclass(frozen=True, slots=True)
class PrintedPlan:
    """What a paper says it asked, computed from its design."""

    title: str
    """What it is of."""
    blocks: tuple[PrintedBlock, ...]
    """Its rows."""
    distinct: int
    """Requests, each counted once."""
    notes: tuple[str, ...] = ()
    """Where the paper disagrees with itself, or leaves out what the count needs."""

    @property
    def total(self) -> int:
        """Requests of all rows."""
        return sum(block.trials for block in self.blocks)


def printed_plan(package: str, name: str) -> PrintedPlan:
    """A plan of `[plans]` in the `tables/published.toml` of a study.

    Each of its blocks has numbers of images, prompts, seeds, models and interventions; `repeated` requests of them
    stand in two blocks.

    Examples
    --------
    >>> plan = printed_plan("facevalue.studies.counterfactuals", "8")
    >>> plan.total, plan.distinct
    (57116970, 56359170)
    """
    plan = shipped(package, "tables", "published.toml")["plans"][name]
    blocks = tuple(PrintedBlock(block, *numbers) for block, numbers in plan["blocks"].items())
    total = sum(block.trials for block in blocks)
    return PrintedPlan(plan["title"], blocks, total - plan.get("repeated", 0), tuple(plan["notes"]))
