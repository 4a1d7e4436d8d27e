"""Records of answers that others asked for: logs of Inspect, results of batches."""
