"""StylisticBias's part of the report."""
