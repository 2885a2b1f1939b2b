"""LLM judges: a module and a prompt each. They receive values and import no harness code."""
