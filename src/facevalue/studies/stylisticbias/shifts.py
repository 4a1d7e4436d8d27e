"""Shifts between pictures of a face, as arrays; apart from faces, as planning and asking need no SciPy."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from facevalue.measures.slicing import Slicing
from facevalue.protocol import shifts
from facevalue.studies.stylisticbias.aggregate import Faces
from facevalue.studies.stylisticbias.tables import scenarios as table_1

STUDY = "stylisticbias"
ALPHA = 0.05


@dataclass(frozen=True)
class Shifts(shifts.Shifts):
    """Base scores and shifts of one model, or their mean over models."""

    scenarios: list[str] = field(default_factory=list)
    """Names of the scenarios asked."""

    @property
    def faces(self) -> Faces:
        """The manifest."""
        assert isinstance(self.sets, Faces)
        return self.sets

    @cached_property
    def by_scenario(self) -> Slicing:
        """Partition the scenarios one by one."""
        return Slicing(np.arange(len(self.scenarios)), {"scenario": list(self.scenarios)})

    @cached_property
    def by_category(self) -> Slicing:
        """Partition the scenarios by category."""
        category = {s.name: s.category for s in table_1()}
        names = list(dict.fromkeys(category[s] for s in self.scenarios))
        return Slicing(np.array([names.index(category[s]) for s in self.scenarios]), {"category": names})
