"""How many more networks the engine's address pools have room for."""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Network


@dataclass(frozen=True)
class Pool:
    """A range that the engine cuts into networks of `size` bits of prefix."""

    base: IPv4Network
    size: int


DEFAULT_POOLS = (
    *(Pool(IPv4Network(f"172.{second}.0.0/16"), 16) for second in range(17, 32)),
    Pool(IPv4Network("192.168.0.0/16"), 20),
)
"""What an engine uses that was told nothing: 31 networks, one of them its own default bridge."""


def networks_in(pools: Iterable[Pool]) -> int:
    """How many networks the pools hold in all."""
    return sum(_slots(pool) for pool in pools)


def networks_left(pools: Iterable[Pool], taken: Iterable[IPv4Network]) -> int:
    """How many of them overlap nothing that is taken, by another network or a route of the host."""
    used = list(taken)
    return sum(_slots(pool) - len(_covered(pool, used)) for pool in pools)


def _slots(pool: Pool) -> int:
    return 1 << max(0, pool.size - pool.base.prefixlen)


def _covered(pool: Pool, taken: list[IPv4Network]) -> set[int]:
    """The numbers of the pool's networks that something taken overlaps."""
    start, shift = int(pool.base.network_address), 32 - max(pool.size, pool.base.prefixlen)
    covered: set[int] = set()
    for network in taken:
        if network.overlaps(pool.base):
            first = max(int(network.network_address), start)
            last = min(int(network.broadcast_address), int(pool.base.broadcast_address))
            covered.update(range((first - start) >> shift, ((last - start) >> shift) + 1))
    return covered
