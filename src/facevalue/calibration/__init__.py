"""Calibration: audits of answers in which differences are planted, of any study, and how often they are right."""
