"""Methods of intervals: the one place that chooses between them."""

FEW = 30
"""Clusters from which the bootstrap is right for one group's own mean or share."""
NONE = "no interval: fewer than two clusters"
T = "t over cluster means"
WELCH = "Welch t over cluster means"
BOOTSTRAP = "studentised cluster bootstrap"
ENOUGH = 100
"""Clusters (per group) from which the bootstrap is right for differences of two groups, also of rare answers."""


def method_for(clusters_per_group: int, *, paired: bool, level: bool = False) -> str:
    """Say how an interval and its p-value are made: the one place that decides it.

    Parameters
    ----------
    clusters_per_group:
        Clusters that were observed, of the smaller group where there are two.
    paired:
        Whether each cluster is compared with itself (one sample of shifts), or one group of clusters with another.
    level:
        Whether nothing is compared: the mean or share of one group.

    Notes
    -----
    The clusters are what was sampled, so their number decides, not that of the answers. Few clusters make too few
    different resamples to know the tails; t adds the missing width by its degrees of freedom (Welch's for two groups,
    which may then differ in size and spread). Many let the studentised bootstrap follow the skewness of the cluster
    means. When they are enough depends on the question: a share near 0 or 1 is skewed, and t too short on one side,
    so that the bootstrap is better from `FEW`. In a difference the skewness of both sides cancels, t holds, and the
    bootstrap of rare answers finds 8% where 5% is right until `ENOUGH`. Of shifts of one and the same cluster t is as
    good with any number of them, and its p-value has no smallest step: with 2,000 resamples none lies below .001, and a
    family of 850 tests can find nothing. docs/explanation/inference-evidence.md has the numbers, also of the methods
    that are not chosen.
    """
    if clusters_per_group < 2:
        return NONE
    if paired and not level:
        return T
    if clusters_per_group >= (FEW if level else ENOUGH):
        return BOOTSTRAP
    return T if level else WELCH
