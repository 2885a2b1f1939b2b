"""Builds tasks from scenarios, runs systems on them, and scores what they return."""
