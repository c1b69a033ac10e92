"""What disks, networks, editors and killed programs do to a file."""

import random
from collections.abc import Callable


def _flip_bits(rng: random.Random, data: bytes, other: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 8))):
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _overwrite(rng: random.Random, data: bytes, other: bytes) -> bytes:
    start, end = _block(rng, data)
    return data[:start] + rng.randbytes(end - start) + data[end:]


def _truncate(rng: random.Random, data: bytes, other: bytes) -> bytes:
    return data[: rng.choice((0, 1, rng.randrange(len(data)), rng.randrange(len(data)), len(data) - 1))]


def _cut_out(rng: random.Random, data: bytes, other: bytes) -> bytes:
    start, end = _block(rng, data)
    return data[:start] + data[end:]


def _zero(rng: random.Random, data: bytes, other: bytes) -> bytes:
    start, end = _block(rng, data)
    return data[:start] + bytes(end - start) + data[end:]


def _duplicate(rng: random.Random, data: bytes, other: bytes) -> bytes:
    start, end = _block(rng, data)
    return data[:end] + data[start:]


def _swap(rng: random.Random, data: bytes, other: bytes) -> bytes:
    size = max(1, min(len(data) // 3, rng.choice((1, 16, 512, 4096, 1 + len(data) // 6))))
    first = rng.randrange(len(data) - 2 * size + 1) if len(data) >= 2 * size else 0
    second = rng.randrange(first + size, max(first + size + 1, len(data) - size + 1))
    middle = data[first + size : second]
    return data[:first] + data[second : second + size] + middle + data[first : first + size] + data[second + size :]


def _insert(rng: random.Random, data: bytes, other: bytes) -> bytes:
    start, end = _block(rng, other)
    place = rng.randrange(len(data) + 1)
    return data[:place] + other[start:end] + data[place:]


def _other_end(rng: random.Random, data: bytes, other: bytes) -> bytes:
    place = rng.randrange(min(len(data), len(other)))
    return data[:place] + other[place:]


def _append(rng: random.Random, data: bytes, other: bytes) -> bytes:
    return data + other[: rng.randint(1, len(other))]


# kind of damage -> how it is done, and how often: what leaves the size as it was is the hardest to see
KINDS: dict[str, tuple[Callable[[random.Random, bytes, bytes], bytes], int]] = {
    "flipped bits": (_flip_bits, 4),
    "overwritten block": (_overwrite, 3),
    "zeroed block": (_zero, 3),
    "swapped blocks": (_swap, 3),
    "truncated": (_truncate, 2),
    "block cut out": (_cut_out, 1),
    "duplicated block": (_duplicate, 1),
    "block of another file": (_insert, 1),
    "end of another file": (_other_end, 1),
    "more at the end": (_append, 1),
}


def damage(rng: random.Random, data: bytes, other: bytes) -> tuple[str, bytes]:
    """Damage what a file holds, which is not empty; `other` is what another one holds.

    Returns: the kind of damage, and content that differs from `data`.
    """
    while True:
        kind = rng.choices(list(KINDS), [weight for _, weight in KINDS.values()])[0]
        damaged = KINDS[kind][0](rng, data, other)
        if damaged != data:
            return kind, damaged


def _block(rng: random.Random, data: bytes) -> tuple[int, int]:
    """A byte, a page, a sixth of the file: what a block can be."""
    size = min(len(data), rng.choice((1, 16, 512, 4096, 1 + len(data) // 6)))
    start = rng.randrange(len(data) - size + 1)
    return start, start + size
