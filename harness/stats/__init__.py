"""Aggregates many trials: means, baselines, intervals."""
