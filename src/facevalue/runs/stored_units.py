"""Units that are stored: what of a run is done, and which units are still open."""

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from itertools import islice

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.errors import RunError
from facevalue.protocol.study import Study
from facevalue.runs.completion import Completion
from facevalue.runs.retries import without_answer
from facevalue.runs.stored_rows import described, odd_rows
from facevalue.runs.trials import TrialNumbers
from facevalue.runs.unit_worker import facts_of, read_unit
from facevalue.runs.units import Piece, Unit, UnitPlan
from facevalue.store.files import RESPONSES_FOLDER
from facevalue.store.manifest import Counts, RunManifest
from facevalue.store.objects import Objects
from facevalue.store.remote import KEY, UnitFacts, encoded, listed_units, unit_facts

_ASIDE = "aside"
"""Where units with rows that cannot count are kept as they were."""
_READERS = 16
_LOOKED_AT = 200_000  # requests whose hashes are compared when a run goes on


class StoredUnits:
    """What the stored units of a run say of themselves, a few numbers each; answers are read where some are open."""

    def __init__(self, study: Study, objects: Objects, run: RunManifest, plan: UnitPlan) -> None:
        self._study = study
        self._objects = objects
        self._run = run
        self._plan = plan
        self._units: dict[int, list[UnitFacts]] = {}  # by first place, in the order of storing
        self._answered = 0  # kept as units come: a driver asks for it at each

    def __iter__(self) -> Iterator[UnitFacts]:
        return (unit for units in self._units.values() for unit in units)

    def load(self) -> list[str]:
        """Look at all that is listed, and set aside what cannot count; return what people should know."""
        listed = listed_units(self._objects, self._run.shards)
        with ThreadPoolExecutor(_READERS) as pool:
            facts = pool.map(lambda unit: unit_facts(self._objects, unit.key, self._run.id, unit.size), listed)
            for unit in facts:
                if unit is not None:
                    self.enter(unit)
        for units in self._units.values():
            units.sort(key=lambda unit: unit.generation)
        missing = sorted(set(self._run.shards) - set(self.names()))
        gone = [f"{self._objects.called(f'responses/{name}')} is gone: its trials are asked again." for name in missing]
        self._check_unchanged()  # before any row is compared with what would be asked now
        return [*gone, *self._mend()]

    def enter(self, facts: UnitFacts) -> None:
        """Enter a unit."""
        place = KEY.fullmatch(facts.key)
        assert place is not None
        self._units.setdefault(int(place[1]), []).append(facts)
        self._answered += _answered(facts)

    def names(self) -> tuple[str, ...]:
        """Names of the objects."""
        return tuple(sorted(unit.key.partition("/")[2] for unit in self))

    def answered(self) -> int:
        """Requests with an answer of whatever kind, re-asks left out."""
        return self._answered

    def counts(self) -> Counts:
        """Requests by status, re-asks included."""
        errors = 0
        for units in self._units.values():
            for again in {unit.again for unit in units}:
                round_units = [unit for unit in units if unit.again == again]
                left = max(unit.wanted for unit in round_units) - sum(unit.rows - unit.errors for unit in round_units)
                errors += min(left, sum(unit.errors for unit in round_units))
        return Counts(
            requests=self._plan.requests,
            ok=sum(unit.rows - unit.errors - unit.refused - unit.truncated for unit in self),
            refused=sum(unit.refused for unit in self),
            truncated=sum(unit.truncated for unit in self),
            errors=errors,
            prompt_tokens=sum(unit.prompt_tokens for unit in self),
            completion_tokens=sum(unit.completion_tokens for unit in self),
        )

    def open(self, again: int, *, begun: bool = False) -> Iterator[Unit]:
        """Units of what is not answered in a round; `begun`: of pieces of which something is stored alone."""
        for piece in self._plan.pieces():
            if piece.first in self._units:
                yield from self._rest(piece, again)
            elif again == 0 and not begun:
                yield self._plan.whole(piece)

    def rest(self, unit: Unit) -> Iterator[Unit]:
        """What a stored unit left open, if anything: its worker kept what had come before the model failed."""
        place = KEY.fullmatch(unit.key)
        assert place is not None
        return self._rest(next(piece for piece in self._plan.pieces() if piece.first == int(place[1])), unit.again)

    def _rest(self, piece: Piece, again: int) -> Iterator[Unit]:
        if not self._settled(piece, again):
            missing = self._wanted(piece, again)
            if missing.any():
                yield self._plan.unit(piece, missing, again, len(self._units[piece.first]))

    def _expected(self, piece: Piece, again: int) -> int:
        """Number of requests that a round makes about a piece."""
        if again == 0:
            return piece.trials.size * self._plan.asking.repeats
        return sum(unit.na for unit in self._units[piece.first] if unit.again == again - 1)

    def _settled(self, piece: Piece, again: int) -> bool:
        answered = sum(unit.rows - unit.errors for unit in self._units[piece.first] if unit.again == again)
        return answered >= self._expected(piece, again)

    def _wanted(self, piece: Piece, again: int) -> npt.NDArray[np.bool_]:
        """Which requests about a piece are open, read from what is stored about it."""
        asking = self._plan.asking
        state = Completion(TrialNumbers.of(piece.trials), asking.repeats, asking.rounds)
        for unit in self._units[piece.first]:
            frame = read_unit(self._objects, unit.key, self._run.id)
            if not state.enter(frame):
                raise RunError(f"{self._objects.called(unit.key)} holds trials that are not of its place. Take it out.")
            state.mark(frame.filter(without_answer(self._study, frame)))
        return state.wanted(state.numbers.positions(piece.trials)[0], again)

    def _mend(self) -> Iterator[str]:
        """Set units with rows that cannot count aside, and store what counts of them anew; say so of each.

        What a unit says of itself was counted by whoever wrote it, so that every row is read here.
        """
        stored = ((piece, at) for piece in self._plan.pieces() for at in range(len(self._units.get(piece.first, ()))))
        with ThreadPoolExecutor(_READERS) as pool:
            while some := list(islice(stored, _READERS)):
                keys = [self._units[piece.first][at].key for piece, at in some]
                frames = pool.map(lambda key: read_unit(self._objects, key, self._run.id), keys)
                for (piece, at), key, frame in zip(some, keys, frames, strict=True):
                    odd = self._odd(piece, frame)
                    if fault := described(frame, odd):
                        place = self._set_aside(piece, at, frame.filter(odd.is_null()))
                        yield f"{self._objects.called(key)}: {fault} Kept as {place}; the rest of it is stored anew."

    def _odd(self, piece: Piece, frame: pl.DataFrame) -> pl.Series:
        """Why each row of a unit cannot count; null where it can."""
        asking = self._plan.asking
        reasons = odd_rows(self._study, frame, asking.repeats * (1 + asking.rounds)).alias("why")
        elsewhere = ~pl.col("trial").is_in(pl.Series(piece.trials, dtype=pl.UInt64).implode())
        return frame.with_columns(reasons).select(
            pl.coalesce(
                "why",
                pl.when(elsewhere).then(pl.lit("It is of a trial that the unit was not asked.")),
                pl.when(pl.struct("trial", "repeat").is_duplicated()).then(pl.lit("Its request has two rows.")),
            )
        )["why"]

    def _set_aside(self, piece: Piece, at: int, rows: pl.DataFrame) -> str:
        """Store a unit with these rows alone, after a copy of what it was; return where that is."""
        facts = self._units[piece.first][at]
        content = self._objects.get(facts.key)
        if content is not None:
            data, tag = content
            name = facts.key.removeprefix(f"{RESPONSES_FOLDER}/").removesuffix(".parquet")
            aside = f"{_ASIDE}/{name}-{hashlib.sha256(data).hexdigest()[:16]}.parquet"
            self._objects.create(aside, data)
            na = int(without_answer(self._study, rows).sum())
            facts = UnitFacts(**asdict(facts) | facts_of(rows, na, exact=self._run.exact))
            if self._objects.replace(facts.key, encoded(rows, facts), tag) is not None:
                self._answered += _answered(facts) - _answered(self._units[piece.first][at])
                self._units[piece.first][at] = facts
                return self._objects.called(aside)
        raise RunError(f"{self._objects.called(facts.key)} was changed by another process: give the command again.")

    def _check_unchanged(self) -> None:
        """Compare the hashes of some whole units, evenly spread, with those that would be asked now."""
        step = max(sum(unit.wanted for unit in self) // _LOOKED_AT, 1)
        for at, piece in enumerate(self._plan.pieces()):
            stored = self._units.get(piece.first)
            if not stored or at % step or stored[0].generation:
                continue
            if self._plan.whole(piece).key != stored[0].key:
                raise RunError(
                    f"An image or prompt has changed since {self._objects.url} was begun: {stored[0].key} was asked "
                    "something else. Restore it, or name another prefix."
                )


def _answered(unit: UnitFacts) -> int:
    return unit.rows - unit.errors if unit.again == 0 else 0
