"""Words that the commands print."""


def counted(number: int, noun: str) -> str:
    """`1 task`, `2 tasks`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def agree(number: int, singular: str, plural: str) -> str:
    """The verb's form for so many: `1 row holds`, `2 rows hold`."""
    return singular if number == 1 else plural
