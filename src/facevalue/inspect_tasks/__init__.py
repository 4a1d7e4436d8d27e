"""FaceValue in Inspect: its studies as tasks, its reference model and simulated respondents as models."""
