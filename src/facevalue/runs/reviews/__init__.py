"""Reviews of a run by people: packets, outcomes, replies that are sorted, ratings of pictures."""
