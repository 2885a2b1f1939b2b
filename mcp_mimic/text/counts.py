"""Numbers of things, as answers say them."""


def counted(number: int, noun: str) -> str:
    """`1 row`, `2 rows`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def matching(number: int, noun: str) -> str:
    """`1 row matches`, `2 rows match`."""
    return f"{counted(number, noun)} {'matches' if number == 1 else 'match'}"
