"""Examples of several documents each, split so that no document is in two sets."""

from collections import Counter
from collections.abc import Hashable, Sequence

Documents = frozenset[Hashable]


def split_by_document(examples: Sequence[Documents], size: int) -> tuple[list[int], list[int]]:
    """Return the numbers of the examples of two sets; those with documents of both are in neither.

    A set of documents grows around the first example: next comes the document most of whose examples have others
    inside, so that few examples lie across.

    Args:
        examples: the documents of each.
        size: the least number of examples of the second set.
    """
    degree = Counter(document for example in examples for document in example)
    order = {document: number for number, document in enumerate(degree)}
    inside = set(examples[0])
    while sum(example <= inside for example in examples) < size:
        near: Counter[Hashable] = Counter()
        for example in examples:
            outside = example - inside
            if outside != example:
                near.update({document: 3 if len(outside) == 1 else 1 for document in outside})
        # what is near to nothing begins a neighborhood of its own
        others = near or {document: 0 for document in degree if document not in inside}
        inside.add(max(others, key=lambda each: (others[each] / degree[each], -degree[each], -order[each])))
    first = [number for number, example in enumerate(examples) if not example & inside]
    return first, [number for number, example in enumerate(examples) if example <= inside]
