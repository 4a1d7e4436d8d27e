"""Runs before their first request: study, folder and settings, and what can be checked without the model."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path

from facevalue.errors import SettingError
from facevalue.prompts.variants import Variant
from facevalue.protocol.study import Study
from facevalue.protocol.toml_tables import find_variants
from facevalue.protocol.variants import add_interventions
from facevalue.runs.checks import check_options, check_shown
from facevalue.runs.plan import plan
from facevalue.runs.requests import TrialNumbers
from facevalue.runs.settings import RunSettings, check_rule
from facevalue.runs.sight import REQUESTS
from facevalue.runs.stored_run import checked_name
from facevalue.store.lease import RunLock
from facevalue.store.objects import checked_url

_LARGE = 100_000  # requests: a whole study on a remote model can cost more than its user means to spend


@dataclass(frozen=True, slots=True)
class Prepared:
    """Arguments of `facevalue.runs.run`."""

    study: Study
    folder: Path | str
    """Where it goes: a folder, or a URL of object storage."""
    settings: RunSettings

    def warning(self, model: str) -> str | None:
        """Warning before many requests go to a model that costs; None if they are few."""
        requests = self.study.design.size * (1 if self.settings.exact else self.study.repeats)
        if self.settings.sample is not None or requests <= _LARGE or model.startswith("sim/"):
            return None
        return f"{requests:,} requests. A pilot is cheaper: a sample of 20,000. Ctrl-C is safe; the same run resumes."

    def cost(self) -> str | None:
        """Cost of the whole run; None where no price is known."""
        settings = self.settings
        if not settings.by_token:
            return None
        estimate = plan(
            self.study,
            sample=settings.sample,
            seed=settings.seed,
            exact=settings.exact,
            price_in=settings.price_in,
            price_out=settings.price_out,
        )
        tokens = (
            f"{estimate.prompt_tokens:,} tokens in, {estimate.completion_tokens:,} out, without what a model thinks"
        )
        limit = "" if settings.max_cost is None else f" It stops at {settings.max_cost:,.2f}."
        is_tested = settings.sight and estimate.pictures
        look = f" {REQUESTS} requests besides tell whether the model sees." if is_tested else ""
        return f"The whole run costs {estimate.cost:,.2f}, roughly ({tokens}).{look}{limit}"


def prepare(
    study: Study,
    model: str,
    folder: Path | str | None,
    settings: RunSettings,
    interventions: Sequence[str | Variant] = (),
    preregister: Path | None = None,
) -> Prepared:
    """Put a run together, and raise now what would else be said after a model has been loaded, minutes later."""
    check_prices(settings)
    check_rule(study, settings.stop_when)
    if settings.name is not None:
        settings = replace(settings, name=checked_name(settings.name))
    applied = find_variants(interventions)
    study = add_interventions(study, applied)
    if preregister is not None:
        from facevalue.measures.families import read_preregistration  # noqa: PLC0415 - slow to import
        from facevalue.measures.family_tests import check_margins  # noqa: PLC0415 - slow to import

        declared = read_preregistration(preregister, [m.key for m in study.estimates.measures], study.estimates.labels)
        check_margins(declared.margins, study.estimates.measures)
        settings = replace(settings, preregistration=declared)
    folder = folder or default_folder(
        study.name, settings.name or model, [intervention.name for intervention in applied]
    )
    check_shown(study)
    numbers = TrialNumbers(study.design.size)
    if settings.sample is not None:
        numbers = TrialNumbers.select(
            study.sample(settings.sample, settings.seed, 1 if settings.exact else study.repeats)
        )
    if settings.exact:
        check_options(study, numbers)
    if isinstance(folder, str):
        folder = checked_url(folder)
    elif folder.exists():
        with RunLock(folder):
            pass
    return Prepared(study, folder, settings)


def check_prices(settings: RunSettings) -> None:
    """Refuse prices and limits that are none, or a limit of cost without prices."""
    prices = {"--price-in": settings.price_in, "--price-out": settings.price_out}
    for option, price in prices.items():
        if price is not None and not 0 <= price < inf:
            raise SettingError(f"{option} is the price of a million tokens, 0 or more, not {price:g}.")
    if settings.max_invalid is not None and not 0 <= settings.max_invalid <= 1:
        raise SettingError(f"--max-invalid is a share from 0 to 1, not {settings.max_invalid:g}.")
    if settings.max_cost is None:
        return
    if not settings.max_cost > 0:
        raise SettingError(f"--max-cost is an amount above 0, not {settings.max_cost:g}.")
    if settings.price_each is not None and not settings.by_token:
        return
    if missing := [option for option, price in prices.items() if price is None]:
        options = " and ".join(missing)
        raise SettingError(f"--max-cost needs to know what tokens cost: give {options}, the price of a million tokens.")


def default_folder(study: str, model: str, interventions: Sequence[str] = ()) -> Path:
    """Default folder of a run: runs/STUDY-MODEL, with +INTERVENTION for each one.

    Examples
    --------
    >>> default_folder("stylisticbias", "http://127.0.0.1:8000/v1#Qwen/Qwen3-VL").as_posix()
    'runs/stylisticbias-Qwen-Qwen3-VL'
    >>> default_folder("stylisticbias", "sim/default", ["cipher"]).as_posix()
    'runs/stylisticbias-sim-default+cipher'
    """
    suffix = "".join(f"+{intervention}" for intervention in interventions)[:80]
    return Path("runs") / f"{study}-{model_in_path(model)}{suffix}"


def model_in_path(model: str) -> str:
    """Name of a model within the name of a folder.

    Examples
    --------
    >>> model_in_path("hf/Qwen/Qwen3-VL")
    'hf-Qwen-Qwen3-VL'
    """
    name = model.rpartition("#")[2] if "#" in model else model
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:80]
