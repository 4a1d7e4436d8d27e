"""Answers: what replies mean, with one parser per answer type."""

from facevalue.answers.base import NA, NA_DTYPE, Parsed
from facevalue.answers.columns import MINIMUM_MASS, from_probs, parse_column
from facevalue.answers.forced_choice import check_apart, parse

__all__ = ["MINIMUM_MASS", "NA", "NA_DTYPE", "Parsed", "check_apart", "from_probs", "parse", "parse_column"]
