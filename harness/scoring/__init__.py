"""Scores one trial, deterministically, with the standard library only."""
