"""How the other files of this folder change a function of fairseq that has no hook."""

import functools
from collections.abc import Callable
from typing import Any


def wrap(owner: Any, name: str, around: Callable[..., Any]) -> None:
    """Make every call of `owner.name` one of `around(original, *args, **kwargs)`; doing it again changes nothing.

    Args:
        owner: a module or a class.
        name: of its function or method.
        around: is given the function as it was, to call it or not.
    """
    original = getattr(owner, name)
    # not by __wrapped__, which decorators of fairseq and of others set too
    earlier = getattr(original, "wrapped_by", ())
    if around in earlier:
        return

    @functools.wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return around(original, *args, **kwargs)

    vars(wrapped)["wrapped_by"] = (*earlier, around)
    setattr(owner, name, wrapped)
