"""A function of fairseq's is changed once, whoever else has changed it before."""

import functools
from types import SimpleNamespace

from fairseq_rope.compat.everything import apply_everything
from fairseq_rope.compat.wrapping import wrap


def twice(value: int) -> int:
    """Double it."""
    return 2 * value


def plus_one(function, value: int) -> int:
    return function(value) + 1


def plus_ten(function, value: int) -> int:
    return function(value) + 10


def test_a_change_is_made_once_and_changes_add_up():
    module = SimpleNamespace(twice=twice)
    for around in (plus_one, plus_ten, plus_one, plus_ten):
        wrap(module, "twice", around)
    assert module.twice(4) == 19 and module.twice.__doc__ == "Double it."


def test_a_function_that_others_have_decorated_is_changed():
    module = SimpleNamespace(twice=functools.wraps(twice)(lambda value: twice(value)))
    wrap(module, "twice", plus_one)
    assert module.twice(4) == 9


def test_everything_again_changes_nothing():
    from fairseq import checkpoint_utils, file_utils, options
    from fairseq.tasks import FairseqTask

    def changed() -> list[object]:
        return [
            options.parse_args_and_arch,
            checkpoint_utils.load_checkpoint,
            checkpoint_utils.load_checkpoint_to_cpu,
            file_utils.load_archive_file,
            FairseqTask.get_batch_iterator,
        ]

    before = changed()
    apply_everything()
    assert all(after is one for after, one in zip(changed(), before, strict=True))
    assert [len(one.wrapped_by) for one in before] == [1, 1, 4, 1, 1]
