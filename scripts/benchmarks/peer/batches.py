"""How many batches each toolkit makes of an epoch, and the size at which eole makes as many as fairseq.

Both count tokens as sentences times the longest, padding included, but fairseq counts a target with </s> and eole with
<s> and </s>. eole also leaves out a pair whose source stands in the batch already. So a size means fewer pairs an
update to eole: what is held equal is the number of updates that an epoch has.
"""

from collections.abc import Collection, Iterable
from pathlib import Path

from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import read_lines

MULTIPLE = 8  # sentences in a batch, of fairseq-train's --required-batch-size-multiple
Pair = tuple[int, int, str]  # tokens of source and target, without special ones, and the source


def read_pairs(source: Path, target: Path) -> list[Pair]:
    """Return the pairs of a parallel text in BPE.

    Raises:
        UserError: a file cannot be read, or they are not aligned.
    """
    sides = [list(read_lines(path)) for path in (source, target)]
    if len(sides[0]) != len(sides[1]):
        raise UserError(f"{source} has {len(sides[0])} lines, but {target} has {len(sides[1])}: they must be aligned")
    return [(len(one.split()), len(other.split()), one) for one, other in zip(*sides, strict=True)]


def fairseq_batches(pairs: Iterable[Pair], max_tokens: int) -> int:
    """Return the number of batches of `--max-tokens`, made by fairseq itself."""
    import numpy
    from fairseq.data.data_utils import batch_by_size

    sizes = numpy.array([(source + 1, target + 1) for source, target, _ in pairs])
    longest = sizes.max(axis=1)
    order = numpy.lexsort((sizes[:, 1], sizes[:, 0]))  # of LanguagePairDataset: by source, then by target
    return len(
        batch_by_size(
            order,
            num_tokens_fn=lambda index: longest[index],
            num_tokens_vec=longest[order],
            max_tokens=max_tokens,
            required_batch_size_multiple=MULTIPLE,
        )
    )


def eole_batches(pairs: Iterable[Pair], size: int) -> int:
    """Return the number of batches that eole 0.6 makes of a bucket of these pairs (`inputters/dynamic_iterator.py`)."""
    batches = longest = 0
    batch: list[int] = []  # the length of each pair
    seen: set[str] = set()
    for source, target, text in sorted(pairs, key=lambda pair: pair[:2]):
        if text in seen:
            continue
        seen.add(text)
        # the converted source ends in </s>, too
        batch.append(max(source + 1, target + 2))
        longest = max(longest, batch[-1])
        tokens = len(batch) * longest
        if tokens < size:
            continue
        left = int(tokens > size)
        left += (len(batch) - left) % MULTIPLE
        if left == len(batch):
            continue
        batches += 1
        batch, seen = batch[len(batch) - left :], set()
        longest = max(batch, default=0)
    return batches + bool(batch)


def eole_size(pairs: Collection[Pair], batches: int) -> int:
    """Return the smallest `batch_size` at which eole makes no more than so many batches of these pairs."""
    least, most = 1, sum(max(source, target) + 2 for source, target, _ in pairs) * 2
    while least < most:
        middle = (least + most) // 2
        if eole_batches(pairs, middle) <= batches:
            most = middle
        else:
            least = middle + 1
    return least
