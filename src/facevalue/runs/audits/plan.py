"""Plan of an audit: what each study is asked, what it takes, and what it detects, within a budget or for a pilot."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Literal

from facevalue.errors import DataError, SettingError
from facevalue.measures.power import allocate_budget, shares_of_budget
from facevalue.protocol.study import LeftOut
from facevalue.runs.audits.studies import StudySize, StudySizes

# Budgets of audits: requests, hours, or money at prices that the user states.


REQUESTS, HOURS, MONEY = "requests", "hours", "money"
_BUDGET = re.compile(r"([0-9][0-9_,]*(?:\.[0-9]+)?)\s*([A-Za-z]*)")
_UNITS = {"": 1.0, "requests": 1.0, "h": 1.0, "hours": 1.0, "min": 1 / 60}
_CURRENCY = 3


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of a model, as its user states them; FaceValue knows none.

    Attributes
    ----------
    prompt, completion:
        Of a million tokens of prompts, and of replies.
    currency:
        In three letters; empty where it was not said.

    Examples
    --------
    >>> Prices(2.0, 8.0).cost(1_000_000, 500_000)
    6.0
    """

    prompt: float
    completion: float
    currency: str = ""

    def __post_init__(self) -> None:
        for price in (self.prompt, self.completion):
            if not 0 <= price < inf:
                raise SettingError(f"A price is that of a million tokens, 0 or more, not {price:g}.")

    def cost(self, prompt_tokens: float, completion_tokens: float) -> float:
        """Cost of so many tokens."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6


@dataclass(frozen=True, slots=True)
class AuditBudget:
    """Limit on the requests, hours or money of an audit.

    Attributes
    ----------
    amount:
        How much, in its unit.
    unit:
        What it is counted in.
    currency:
        Of money, in lower case; else empty.

    Examples
    --------
    >>> AuditBudget(20, "money", "usd").text, AuditBudget(1.5, "hours").text, AuditBudget(200_000, "requests").text
    ('20.00 USD', '1.5 hours', '200,000 requests')
    """

    amount: float
    unit: Literal["requests", "hours", "money"]
    currency: str = ""

    @property
    def text(self) -> str:
        """Budget in words, for people."""
        return self.amount_text(self.amount)

    def amount_text(self, amount: float) -> str:
        """An amount in the unit of the budget, for people."""
        if self.unit == REQUESTS:
            return f"{amount:,.0f} requests"
        if self.unit == HOURS:
            return f"{amount:,.3g} hours"
        return f"{amount:,.2f} {self.currency.upper()}"


def budget_of(text: str) -> AuditBudget:
    """Understand a budget as it is typed.

    Raises
    ------
    SettingError
        It is none.

    Examples
    --------
    >>> budget_of("20usd"), budget_of("90min"), budget_of("200,000")
    (AuditBudget(amount=20.0, unit='money', currency='usd'), AuditBudget(amount=1.5, unit='hours', currency=''), \
AuditBudget(amount=200000.0, unit='requests', currency=''))
    """
    match = _BUDGET.fullmatch(text.strip())
    unit = match[2].lower() if match else ""
    if match is None or (unit not in _UNITS and len(unit) != _CURRENCY):
        raise SettingError(
            f"A budget is written 20usd (any currency of three letters), 2h, 90min, or 200000 (requests), not {text!r}."
        )
    amount = float(re.sub("[_,]", "", match[1])) * _UNITS.get(unit, 1.0)
    if not (isfinite(amount) and amount > 0):
        raise SettingError(f"A budget is more than nothing, not {text!r}.")
    if unit in ("", "requests"):
        if amount < 1 or amount % 1:
            raise SettingError(f"A budget of requests is a whole number of them, not {text!r}.")
        return AuditBudget(amount, "requests")
    return AuditBudget(amount, "hours") if unit in _UNITS else AuditBudget(amount, "money", unit)


def check_currency(budget: AuditBudget, prices: Prices | None, model: str) -> None:
    """Refuse money without prices, or in another currency than theirs."""
    if budget.unit != MONEY:
        return
    if prices is None:
        raise SettingError(
            f"A budget of {budget.text} needs the prices of {model}, which FaceValue does not know: give --price-in "
            f'and --price-out (of a million tokens), or a table [prices."{model}"] with `in` and `out` in the file of '
            "--config."
        )
    if prices.currency and prices.currency != budget.currency:
        raise SettingError(
            f"The budget is in {budget.currency.upper()} and the prices of {model} are in {prices.currency.upper()}: "
            "give both in one currency."
        )
    if not prices.prompt and not prices.completion:
        raise SettingError(
            f"The prices of {model} are 0, so that no budget of money limits anything: give it in requests or hours."
        )


_ROUNDS = 6
"""How often the sizes near the best split are looked at more closely."""
_TIMES = 4
"""Ratio of the sizes of which a plan without a budget says what they detect."""
_MOST_SIZES = 4


@dataclass(frozen=True, slots=True)
class SizeOffered:
    """A size that a study may have."""

    requests: int
    points: float | None
    """Smallest effect that it detects in points of what is possible; None if it may miss any."""


@dataclass(frozen=True, slots=True)
class PlannedStudy:
    """Plan of one study of an audit.

    Attributes
    ----------
    name, title:
        What its run is called, and what the study asks.
    sample, requests:
        Requests wanted, and as many of them as make whole units.
    units:
        What they are about, such as "24 people with 1 question each"; empty where the study does not say.
    exact:
        Whether probabilities are read.
    prompt_tokens, completion_tokens:
        Estimates.
    cost, hours:
        What these cost, and how long they take; None where no price or no rate is known.
    what:
        The effect that is planned for; empty where the study has no power analysis.
    effect, points:
        Smallest one that is detected with 80% power, in its own unit and in points of what is possible; None where any
        may be missed.
    source:
        Where the spread between units is from.
    note:
        What else is to be known; empty if nothing.
    sizes:
        What other sizes detect, where there is no budget.
    """

    name: str
    title: str
    sample: int
    requests: int
    units: str
    exact: bool
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    hours: float | None
    what: str
    effect: float | None
    points: float | None
    source: str
    note: str = ""
    sizes: tuple[SizeOffered, ...] = ()

    def without_requests(self, dealt: int) -> "PlannedStudy":
        """The same without requests that were not asked and went to other studies."""
        if not dealt:
            return self
        share = 1 - dealt / self.requests
        return replace(
            self,
            requests=self.requests - dealt,
            prompt_tokens=round(self.prompt_tokens * share),
            completion_tokens=round(self.completion_tokens * share),
            cost=None if self.cost is None else self.cost * share,
            hours=None if self.hours is None else self.hours * share,
            note=f"Enough was known early: {dealt:,} of its requests go to the studies that are asked after it.",
        )


@dataclass(frozen=True, slots=True)
class AuditPlan:
    """Plan of an audit: what it asks.

    Attributes
    ----------
    studies:
        What is asked of each.
    left_out:
        Studies that are not asked, and why.
    budget:
        What it may take; None for a pilot.
    """

    studies: tuple[PlannedStudy, ...]
    left_out: tuple[LeftOut, ...]
    budget: AuditBudget | None

    @property
    def samples(self) -> dict[str, int]:
        """Requests wanted, by the name of a study."""
        return {study.name: study.sample for study in self.studies}

    @property
    def requests(self) -> int:
        """Requests of all studies."""
        return sum(study.requests for study in self.studies)

    @property
    def cost(self) -> float | None:
        """Cost of all studies; None where no price is known."""
        return _total([study.cost for study in self.studies])

    @property
    def hours(self) -> float | None:
        """Duration of all studies; None where no rate is known."""
        return _total([study.hours for study in self.studies])

    @property
    def points(self) -> float | None:
        """The largest of the effects that studies may miss, in points of what is possible; None where any may be."""
        return max((study.points for study in self.studies if study.points is not None), default=None)

    def text_of(self, requests: Mapping[str, int]) -> str:
        """Requests of each study beside all that are planned, in the unit of the budget, too, for people."""
        request_count = sum(requests.get(study.name, 0) for study in self.studies)
        text = f"{request_count:,} of {self.requests:,} requests"
        if self.budget is None or self.budget.unit == REQUESTS:
            return text
        amount = sum(
            requests.get(study.name, 0) / study.requests
            * ((study.cost if self.budget.unit == MONEY else study.hours) or 0.0)
            for study in self.studies if study.requests
        )  # fmt: skip
        return f"{text}, about {self.budget.amount_text(amount)}"


def _total(amounts: Sequence[float | None]) -> float | None:
    return None if not amounts or None in amounts else sum(amount for amount in amounts if amount is not None)


@dataclass(frozen=True, slots=True)
class Rates:
    """Prices and speed of requests.

    Attributes
    ----------
    prices:
        Of tokens; None where none are known.
    per_second:
        Requests that are answered in a second; None for the rate of the pilot.
    """

    prices: Prices | None = None
    per_second: float | None = None

    def __post_init__(self) -> None:
        if self.per_second is not None and not 0 < self.per_second < inf:
            raise SettingError(f"A rate is requests a second, above 0, not {self.per_second:g}.")

    def cost(self, sizes: StudySizes) -> float | None:
        """Price of a request of a study; None where it is not known."""
        return None if self.prices is None else self.prices.cost(*sizes.weigh_cells_alike)

    def hours(self, sizes: StudySizes) -> float | None:
        """Hours that a request of a study takes; None where that is not known."""
        if self.per_second is not None:
            return 1 / self.per_second / 3600
        if sizes.pilot is None or not isfinite(sizes.pilot.seconds):
            return None
        return sizes.pilot.seconds / 3600

    def of_budget(self, budget: AuditBudget, sizes: StudySizes) -> float:
        """Part of a budget that a request of a study takes."""
        if budget.unit == MONEY:
            cost = self.cost(sizes)
            assert cost is not None  # as `check_currency` has it
            return cost
        if budget.unit != HOURS:
            return 1.0
        hours = self.hours(sizes)
        if hours is None:
            if sizes.pilot is not None:
                raise SettingError(
                    f"How long a request takes is not known: the pilot of {sizes.name} took less than a second. "
                    "Give --rate (requests a second), or a budget of requests."
                )
            raise SettingError(
                f"How long a request takes is not known yet: give --rate (requests a second), or --pilot with an audit "
                f"of this model; without --plan, a pilot is taken first. ({sizes.name})"
            )
        return hours


def plan_of_samples(
    studies: Sequence[StudySizes],
    left_out: Sequence[LeftOut],
    rates: Rates,
    samples: Mapping[str, int],
    budget: AuditBudget | None = None,
    dealt: Mapping[str, int] | None = None,
    stopped: Mapping[str, str] | None = None,
) -> AuditPlan:
    """Plan for samples that are known, as those of a pilot; without a budget, also what other sizes detect.

    `samples`: requests wanted, by the name of a study. `dealt`: those of them that went to other studies. `stopped`:
    studies of which nothing more is asked, and why.
    """
    planned = []
    for sizes in studies:
        sample = samples[sizes.name]
        offered = _offer_sizes(sizes, sample) if budget is None else ()
        study = _plan_study(
            sizes, sizes.size_of_sample(sample), rates, (stopped or {}).get(sizes.name, ""), sizes_offered=offered
        )
        planned.append(study.without_requests((dealt or {}).get(sizes.name, 0)))
    return AuditPlan(tuple(planned), tuple(left_out), budget)


def _offer_sizes(sizes: StudySizes, pilot: int) -> tuple[SizeOffered, ...]:
    if sizes.precision is None:
        return ()
    samples = [pilot * _TIMES**step for step in range(1, _MOST_SIZES)]
    samples = [sample for sample in samples if sample < sizes.study.all_requests] + [sizes.study.all_requests]
    looked_at = [sizes.size_of_sample(sample) for sample in samples]
    return tuple(SizeOffered(size.requests, _finite(size.points)) for size in looked_at)


def plan_of_budget(
    studies: Sequence[StudySizes],
    left_out: Sequence[LeftOut],
    budget: AuditBudget,
    rates: Rates,
    stopped: Mapping[str, str] | None = None,
) -> AuditPlan:
    """Deal a budget out, so that the largest effect that any study may miss is smallest.

    A study that cannot say what it detects gets an equal share of the budget, or all that there is of it; the rest is
    dealt out over the others by `measures.power`, over sizes of whole units.

    `stopped`: studies that stay as they were asked, and why.

    Raises
    ------
    DataError
        The budget is too small for any verdict, or less than what was asked already; says which is the smallest that is
        not.
    """
    stopped = stopped or {}
    costs = {sizes.name: rates.of_budget(budget, sizes) for sizes in studies}
    begun = {sizes.name: sizes.begun_requests * costs[sizes.name] for sizes in studies}
    pilot = sum(begun.values())
    if pilot > budget.amount:
        raise DataError(
            f"The pilot took {budget.amount_text(pilot)} already, which is more than the budget of {budget.text}."
        )
    dealt = [sizes for sizes in studies if sizes.name not in stopped]
    silent = [sizes for sizes in dealt if sizes.is_silent]
    telling = [sizes for sizes in dealt if not sizes.is_silent]
    wholes = {sizes.name: sizes.study.all_requests * costs[sizes.name] for sizes in dealt}
    equal = shares_of_budget(wholes, budget.amount)
    shares = {sizes.name: max(equal[sizes.name], begun[sizes.name]) for sizes in silent}
    beyond = sum(share - begun[name] for name, share in shares.items())
    size_of, fewest = _dealt_out(telling, costs, budget.amount - pilot - beyond)
    if telling and not size_of:
        _refuse(budget, pilot + beyond + fewest if isfinite(fewest) else inf, telling, costs)
    spent = sum(
        size_of[sizes.name].requests * costs[sizes.name] if sizes.name in size_of else begun[sizes.name]
        for sizes in telling
    )
    rest = shares_of_budget({name: wholes[name] for name in shares}, budget.amount - spent)
    for sizes in silent:
        name = sizes.name
        sample = max(int(max(rest[name], shares[name] if not telling else 0.0) / costs[name] + 1e-6), sizes.begun)
        size = sizes.size_of_sample(sample)
        if size.requests:
            size_of[name] = size
    planned, unreached = [], []
    for sizes in studies:
        name = sizes.name
        if name in size_of:
            planned.append(_plan_study(sizes, size_of[name], rates))
        elif sizes.begun:
            note = stopped.get(name) or _describe_unreached(sizes, budget, costs[name])
            planned.append(_plan_study(sizes, sizes.size_of_sample(sizes.begun), rates, note))
        else:
            unreached.append(LeftOut(name, _describe_unreached(sizes, budget, costs[name])))
    return AuditPlan(tuple(planned), (*left_out, *unreached), budget)


def dealt_again(
    studies: Sequence[StudySizes], amount: float, budget: AuditBudget, rates: Rates
) -> tuple[dict[str, int], float]:
    """Deal an amount out among studies beyond what they are asked anyway, as a budget is.

    Parameters
    ----------
    studies:
        What is planned of each is `begun`: none is asked less.
    amount:
        In the unit of the budget.

    Returns
    -------
    dict of str to int, float
        Larger samples, by the name of the study; and what they take of the amount.
    """
    costs = {sizes.name: rates.of_budget(budget, sizes) for sizes in studies}
    equal = shares_of_budget(
        {sizes.name: (sizes.study.all_requests - sizes.begun_requests) * costs[sizes.name] for sizes in studies}, amount
    )
    size_of: dict[str, StudySize] = {}
    for sizes in studies:
        if sizes.is_silent:
            size_of[sizes.name] = sizes.size_of_sample(
                sizes.begun_requests + int(equal[sizes.name] / costs[sizes.name] + 1e-6)
            )
    beyond = {sizes.name: sizes.begun_requests for sizes in studies}
    spent = sum((size.requests - beyond[name]) * costs[name] for name, size in size_of.items())
    size_of |= _dealt_out([sizes for sizes in studies if not sizes.is_silent], costs, amount - spent)[0]
    larger = {name: size for name, size in size_of.items() if size.requests > beyond[name]}
    spent = sum((size.requests - beyond[name]) * costs[name] for name, size in larger.items())
    return {name: size.sample for name, size in larger.items()}, spent


def _dealt_out(
    studies: Sequence[StudySizes], costs: Mapping[str, float], amount: float
) -> tuple[dict[str, StudySize], float]:
    """Sizes of the studies that the amount brings to a verdict, and the smallest amount that brings any to one."""
    if not studies:
        return {}, inf
    for sizes in studies:
        sizes.look_up_to(sizes.begun_requests + int(max(amount, 0.0) / costs[sizes.name]))
    for _ in range(_ROUNDS):
        curves = [sizes.curve(costs[sizes.name]) for sizes in studies]
        allocation = allocate_budget([curve for _, curve in curves], amount)
        size_of = {
            sizes.name: of_curve[number]
            for sizes, (of_curve, _), number in zip(studies, curves, allocation.sizes, strict=True)
            if number is not None
        }
        reached = [sizes for sizes in studies if sizes.name in size_of]
        finer = [sizes.look_near(size_of[sizes.name].sample) for sizes in reached]
        if not any(finer):
            break
    rest = amount - sum((size_of[sizes.name].requests - sizes.begun_requests) * costs[sizes.name] for sizes in reached)
    for sizes in sorted(reached, key=lambda sizes: -size_of[sizes.name].points):
        name = sizes.name
        larger = sizes.size_of_sample(size_of[name].requests + int(rest / costs[name]))
        if larger.points < size_of[name].points:
            rest -= (larger.requests - size_of[name].requests) * costs[name]
            size_of[name] = larger
    return size_of, allocation.fewest


def _refuse(budget: AuditBudget, fewest: float, studies: Sequence[StudySizes], costs: Mapping[str, float]) -> None:
    """Raise an error for a budget too small for any verdict, which names the smallest that is not."""
    first = min(studies, key=lambda sizes: sizes.curve(costs[sizes.name])[1].first_verdict)
    raise DataError(
        f"A budget of {budget.text} is too small for any verdict: {budget.amount_text(_rounded_up(fewest, budget))} is "
        f"the smallest with which a study tells anything ({first.study.name}), as far as is known beforehand. Choose "
        "fewer studies with --studies, or a larger budget."
    )


def _rounded_up(amount: float, budget: AuditBudget) -> float:
    """An amount that is told with fewer digits, and is enough."""
    step = {MONEY: 0.01, HOURS: 10 ** len(str(int(amount))) / 1000}.get(budget.unit, 1.0)
    return step * (int(amount / step - 1e-6) + 1)


def _describe_unreached(sizes: StudySizes, budget: AuditBudget, cost: float) -> str:
    if sizes.is_silent:
        text = budget.amount_text(_rounded_up(sizes.study.requests(sizes.smallest, sizes.seed) * cost, budget))
        return f"The budget does not reach it: its smallest sample takes {text}."
    first = _rounded_up(sizes.curve(cost)[1].first_verdict + sizes.begun_requests * cost, budget)
    in_company = " beside the others" if first <= budget.amount else ""
    return (
        f"The budget does not reach it{in_company}: {budget.amount_text(first)} or more would be needed for it alone "
        "before it tells anything."
    )


def _plan_study(
    sizes: StudySizes, size: StudySize, rates: Rates, note: str = "", *, sizes_offered: tuple[SizeOffered, ...] = ()
) -> PlannedStudy:
    study, plan = sizes.study, sizes.precision
    prompt, completion = sizes.weigh_cells_alike
    cost, hours = rates.cost(sizes), rates.hours(sizes)
    spread = sizes.spread
    return PlannedStudy(
        name=study.name,
        title=study.study.about.title,
        sample=size.sample,
        requests=size.requests,
        units="" if plan is None else plan.sample_of(size.clusters, size.items),
        exact=study.exact,
        prompt_tokens=round(prompt * size.requests),
        completion_tokens=round(completion * size.requests),
        cost=None if cost is None else cost * size.requests,
        hours=None if hours is None else hours * size.requests,
        what="" if plan is None else plan.what,
        effect=_finite(size.effect),
        points=_finite(size.points),
        source="" if spread is None else spread.source,
        note=" ".join(filter(None, (note or ("" if plan is not None else _WITHOUT_POWER), _runs_whole(sizes)))),
        sizes=sizes_offered,
    )


_WITHOUT_POWER = "It has no power analysis; it gets an equal share."


def _runs_whole(sizes: StudySizes) -> str:
    """Note that the stopping rule does not cover a study; empty if it does, or there is no rule."""
    if sizes.rule is None or sizes.is_stopping:
        return ""
    return "Its texts are scored or sorted afterwards: it does not stop early."


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None
