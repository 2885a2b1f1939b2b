"""Grant, limits and audit: pure decisions with reasons."""
