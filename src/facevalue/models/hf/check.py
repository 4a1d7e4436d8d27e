"""Self-check: a few questions of every run are also asked by plain forward passes, and the numbers compared."""

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from facevalue.errors import FaceValueError, ModelError, SelfCheckError
from facevalue.models.hf.calls import is_memory
from facevalue.models.hf.chat import Group
from facevalue.models.hf.decoding import leaves, mask_picture_tokens
from facevalue.models.hf.loading import Loaded
from facevalue.models.hf.processors import first_line
from facevalue.models.hf.reference_pass import force_reply, forward, plain_logits
from facevalue.models.hf.scoring import Evidence
from facevalue.models.hf.token_sampling import log_probabilities

if TYPE_CHECKING:
    from torch import Tensor

_FIRST, _RATE = 8, 50  # stimuli
_REPLY, _LIKELIEST = 4, 8  # tokens
_GROWTH = 2


@dataclass(slots=True)
class Schedule:
    """Choice of the questions that are checked.

    A fault of sharing shows where much is shared: in the last question of a pack, before which all others stand. So the
    last one is checked of the first pack, and of each that has twice as many questions as any before it (`largest`).
    Of the first pack about several stimuli, and of each about twice as many (`widest`), the first one is checked, too.
    A model may treat what is longer in another way, and all that is in a pack with it; so whatever is longer with its
    reply than all in earlier packs (`longest`) is checked.
    Besides, one question drawn at random is checked of the first `stimuli`, where what is left over from another one
    would show; then more and more rarely, but never less than of every 50th. Each check costs one plain forward pass.
    """

    stimuli: int = 0
    largest: int = 0
    widest: int = 0
    longest: int = 0

    def draw(self, numbers: Sequence[int]) -> int | None:
        """Return which question about the present stimulus is to be checked, None if none is.

        >>> [n for n in range(1, 151) if Schedule(n).draw([7]) == 7]
        [1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 50, 64, 100, 128, 150]
        """
        count = self.stimuli
        if count > _FIRST and count & (count - 1) and count % _RATE:
            return None
        return numbers[int(np.random.default_rng(count).integers(len(numbers)))]

    def choose(self, pack: Sequence[tuple[int, int]], already: Set[tuple[int, int]]) -> Set[tuple[int, int]]:
        """Return which questions of a pack, by stimulus and number, are to be checked before its answers are believed.

        They are those `drawn` and its ends.
        """
        stimuli = len({stimulus for stimulus, _ in pack})
        ends: set[tuple[int, int]] = set()
        if len(pack) >= _GROWTH * self.largest:
            self.largest = len(pack)
            ends = {pack[-1]}
        if stimuli > 1 and stimuli >= _GROWTH * self.widest:
            self.widest = stimuli
            ends = {pack[0], pack[-1]}
        seen = {stimulus for stimulus, _ in ends}
        return ends | {key for key in pack if key in already and key[0] not in seen}

    def longest_question(self, tokens: Mapping[tuple[int, int], int]) -> Set[tuple[int, int]]:
        """Return the longest question of a pack, by the tokens of each with its reply, if those before were shorter."""
        key = max(tokens, key=tokens.__getitem__, default=None)
        if key is None or tokens[key] <= self.longest:
            return set()
        first, self.longest = not self.longest, tokens[key]
        return set() if first else {key}


@dataclass(slots=True)
class SelfCheck:
    """Largest differences that one run's comparisons have shown, of a probability at temperature 1 and its log."""

    tolerance: float
    checks: int = 0
    difference: float = 0.0
    log_difference: float = 0.0

    def compare(self, loaded: Loaded, group: Group, member: int, evidence: Sequence[Evidence]) -> None:
        """Compare what was read for a member of a group with one plain forward pass for each reply.

        Where nothing is shared, that is how it was read. So the model is also let reply as it likes: the tokens that
        its own `generate` says must be the likeliest of those it scores, with the probabilities that the plain way
        gives along that reply, and a forward pass without `generate` must give the same for the first.

        A `ModelError` says that the tokens are not those that the processor makes of the whole conversation, that a
        probability differs by more than the tolerance, or that the plain forward pass fails, so that nobody can tell.
        """
        try:
            self._compare(loaded, group, member, evidence)
        except ModelError:
            raise
        except Exception as error:
            if not (isinstance(error, FaceValueError) or is_memory(error)):
                raise
            reason = first_line(error)[:300]
            raise SelfCheckError(
                f"Self-check: {_name(loaded)} fails where it is asked in the plain way: {reason}"
            ) from error

    def _compare(self, loaded: Loaded, group: Group, member: int, evidence: Sequence[Evidence]) -> None:
        inputs = group.full(group.members[member])
        if inputs["input_ids"][0].tolist() != [*group.prefix_ids, *group.suffixes[member]]:
            raise SelfCheckError(
                f"Self-check: the shared prefix of {_name(loaded)} does not give the tokens that its processor makes. "
                "This is a fault of FaceValue: please report it with the model's name."
            )
        by_reply: dict[tuple[int, ...], list[Evidence]] = {}
        for step in evidence:
            by_reply.setdefault(step.reply, []).append(step)
        for _, longest in leaves((0, reply) for reply in by_reply):
            places = [n for n in range(len(longest) + 1) if longest[:n] in by_reply]
            logits, _ = mask_picture_tokens(loaded, plain_logits(loaded, inputs, longest, places))
            placed_steps = [(row, step) for row, n in enumerate(places) for step in by_reply[longest[:n]]]
            logs = log_probabilities(logits, [row for row, _ in placed_steps], [step.token for _, step in placed_steps])
            self._enter(logs, np.array([step.logprob for _, step in placed_steps]))
        if group.inputs is None:
            self._reply(loaded, inputs)
        self.checks += 1
        if self.difference == math.inf:
            raise SelfCheckError(
                f"Self-check: {_name(loaded)} gives what is no number (NaN) for a probability in {loaded.numbers}. "
                "Where numbers become too large on the way, --dtype bfloat16 or float32 helps."
            )
        if not self.difference <= self.tolerance:
            shared = "over the shared prefix differs from a plain forward pass"
            ways = shared if group.inputs is not None else "by the plain way differs from what the model says"
            raise SelfCheckError(
                f"Self-check: a probability of {_name(loaded)} read {ways} by {self.difference:.2g}; rounding in "
                f"{loaded.numbers} explains at most {self.tolerance:.2g}. Try --dtype float32. If it stays, please "
                "report it with the model's name."
            )

    def _reply(self, loaded: Loaded, inputs: "Mapping[str, Tensor]") -> None:
        """Compare the reply that the model's own `generate` says with what the plain way scores."""
        room = math.inf if loaded.context is None else loaded.context - inputs["input_ids"].shape[1]
        count = int(max(1, min(_REPLY, room)))
        reply = force_reply(loaded, inputs, count)
        if reply is None or not reply.follows(()):
            raise SelfCheckError(
                f"Self-check: what {_name(loaded)} says is not what it scores as the likeliest, so that nobody knows "
                "how likely a reply is: it cannot be asked here."
            )
        along = plain_logits(loaded, inputs, reply.tokens[:-1], range(count))
        first = forward(loaded, inputs, reply.start)[None]
        for plain, own_logits in ((along, reply.logits), (first, reply.logits[:1])):
            tokens = own_logits.topk(_LIKELIEST, dim=1).indices.flatten().tolist()
            rows = [row for row in range(len(own_logits)) for _ in range(_LIKELIEST)]
            self._enter(log_probabilities(plain, rows, tokens), log_probabilities(own_logits, rows, tokens))

    def _enter(self, plain: Any, shared: Any) -> None:
        difference = float(np.abs(np.exp(plain) - np.exp(shared)).max())
        self.difference = max(self.difference, math.inf if math.isnan(difference) else difference)
        are_finite = np.isfinite(plain) & np.isfinite(shared)
        if are_finite.any():
            self.log_difference = max(self.log_difference, float(np.abs(plain - shared)[are_finite].max()))


def _name(loaded: Loaded) -> str:
    return str(loaded.model.config.model_type)
