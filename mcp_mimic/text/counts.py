"""Numbers of things, as answers say them."""


def agree(number: int, singular: str, plural: str) -> str:
    """The form of a word for so many: `1 row holds`, `2 rows hold`."""
    return singular if number == 1 else plural


def counted(number: int, noun: str) -> str:
    """`1 row`, `2000 rows`."""
    return f"{number} {agree(number, noun, f'{noun}s')}"


def matching(number: int, noun: str) -> str:
    """`1 row matches`, `2 rows match`."""
    return f"{counted(number, noun)} {agree(number, 'matches', 'match')}"
