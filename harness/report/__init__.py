"""Tables and pages drawn from scores."""
