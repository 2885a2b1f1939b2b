"""A local corpus of policy documents: what is here, how documents come in, and how they become Markdown.

The documents of others are no part of the project. They lie, with their Markdown and a copy of the house
policies, in a folder of the user's, which the chart server and `harness run` take with --corpus.
"""
