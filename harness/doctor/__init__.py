"""Whether this machine can run trials in containers, and what to do where it cannot.

Facts are gathered at the edges (`engine_facts`, `host_facts`, `probe`); every check is a function of them.
"""
