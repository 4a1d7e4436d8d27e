"""The self-check: a few questions of every run are also put to the model in the plain way, and the numbers compared."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from facevalue.errors import FaceValueError, ModelError
from facevalue.models.hf.calls import is_memory
from facevalue.models.hf.chat import Group
from facevalue.models.hf.drawing import log_probabilities
from facevalue.models.hf.growth import leaves, spoken
from facevalue.models.hf.loaded import Loaded
from facevalue.models.hf.plain import plain_logits
from facevalue.models.hf.scoring import Evidence

_FIRST, _RATE = 8, 50  # stimuli
_GROWTH = 2


@dataclass(slots=True)
class Schedule:
    """Which questions are checked.

    A fault of sharing shows where much is shared: in the last question of a pack, before which all others stand. So the
    last one is checked of the first pack, and of each that has twice as many questions as any before it. Besides, one
    question drawn at random is checked of the first stimuli, where what is left over from another one would show; then
    more and more rarely, but never less than of every 50th stimulus. Each check costs one plain forward pass.

    Attributes
    ----------
    stimuli:
        Those begun so far, the present one included.
    largest:
        Questions of the largest pack of which the last one was checked.
    """

    stimuli: int = 0
    largest: int = 0

    def draw(self, numbers: Sequence[int]) -> int | None:
        """Return which question about the present stimulus is to be checked, None if none is.

        Examples
        --------
        >>> [n for n in range(1, 151) if Schedule(n).draw([7]) == 7]
        [1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 50, 64, 100, 128, 150]
        """
        count = self.stimuli
        if count > _FIRST and count & (count - 1) and count % _RATE:
            return None
        return numbers[int(np.random.default_rng(count).integers(len(numbers)))]

    def choose(self, pack: Sequence[int], drawn: int | None) -> int | None:
        """Return which question of a pack is to be checked before its answers are believed, None if none is.

        Parameters
        ----------
        pack:
            Its questions, in their order in the sequence.
        drawn:
            What `draw` returned for the stimulus.
        """
        if len(pack) >= _GROWTH * self.largest:
            self.largest = len(pack)
            return pack[-1]
        return drawn if drawn in pack else None


@dataclass(slots=True)
class SelfCheck:
    """What the comparisons of one run have shown.

    Attributes
    ----------
    tolerance:
        Largest difference of a probability that passes.
    checks:
        Questions compared.
    difference:
        Largest difference of a token's probability at temperature 1.
    log_difference:
        Largest difference of its natural logarithm.
    """

    tolerance: float
    checks: int = 0
    difference: float = 0.0
    log_difference: float = 0.0

    @classmethod
    def of(cls, loaded: Loaded) -> "SelfCheck":
        """Begin, with the tolerance of a model's number format."""
        return cls(loaded.tolerance)

    def compare(self, loaded: Loaded, group: Group, member: int, evidence: Sequence[Evidence]) -> None:
        """Compare what was read over a shared prefix with one plain forward pass for each reply.

        Parameters
        ----------
        loaded:
            The model.
        group:
            Its questions.
        member:
            Which of them, by its place in the group.
        evidence:
            What was read for it.

        Raises
        ------
        ModelError
            The tokens are not those that the processor makes of the whole conversation, or a probability differs by
            more than the tolerance; or the plain forward pass fails, so that nobody can tell.
        """
        try:
            self._compare(loaded, group, member, evidence)
        except ModelError:
            raise
        except Exception as error:
            if not (isinstance(error, FaceValueError) or is_memory(error)):
                raise
            said = (str(error).strip() or type(error).__name__).splitlines()[0][:300]
            raise ModelError(f"Self-check: {_name(loaded)} fails where it is asked in the plain way: {said}") from error

    def _compare(self, loaded: Loaded, group: Group, member: int, evidence: Sequence[Evidence]) -> None:
        inputs = group.full(group.members[member])
        if inputs["input_ids"][0].tolist() != [*group.prefix_ids, *group.suffixes[member]]:
            raise ModelError(
                f"Self-check: the shared prefix of {_name(loaded)} does not give the tokens that its processor makes. "
                "This is a fault of FaceValue: please report it with the model's name."
            )
        by_reply: dict[tuple[int, ...], list[Evidence]] = {}
        for each in evidence:
            by_reply.setdefault(each.reply, []).append(each)
        for _, longest in leaves((0, reply) for reply in by_reply):
            places = [n for n in range(len(longest) + 1) if longest[:n] in by_reply]
            logits, _ = spoken(loaded, plain_logits(loaded, inputs, longest, places))
            known = [(row, each) for row, n in enumerate(places) for each in by_reply[longest[:n]]]
            logs = log_probabilities(logits, [row for row, _ in known], [each.token for _, each in known])
            self._enter(logs, np.array([each.logprob for _, each in known]))
        self.checks += 1
        if not self.difference <= self.tolerance:
            raise ModelError(
                f"Self-check: a probability of {_name(loaded)} read over the shared prefix differs by "
                f"{self.difference:.2g} from a plain forward pass; rounding in {_dtype(loaded)} explains at most "
                f"{self.tolerance:.2g}. Try --dtype float32. If it stays, please report it with the model's name."
            )

    def _enter(self, plain: Any, shared: Any) -> None:
        difference = float(np.abs(np.exp(plain) - np.exp(shared)).max())
        self.difference = max(self.difference, math.inf if math.isnan(difference) else difference)
        both = np.isfinite(plain) & np.isfinite(shared)
        if both.any():
            self.log_difference = max(self.log_difference, float(np.abs(plain - shared)[both].max()))


def _name(loaded: Loaded) -> str:
    return str(loaded.model.config.model_type)


def _dtype(loaded: Loaded) -> str:
    return str(loaded.dtype).removeprefix("torch.")
