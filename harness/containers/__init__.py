"""Trials in containers: the engine that runs them and the images that they run from."""
