"""What self-attention asks about positions."""

from collections.abc import Callable

from torch import Tensor, nn


class PositionMethod:
    """The answers of a model without positions (NoPE); a method overrides what it needs.

    One object serves all layers of a stack, or each layer has its own (`for_layer`). Attention, layers and stacks do
    not know which method they hold. In all methods `offset` is the position of the first query token.
    """

    # whether `rotate_` takes explicit positions
    takes_positions = False
    # what is trained, a part of the model's state: of the stack, or of the layer if `for_layer` makes a new method
    weights: nn.ParameterDict | None = None

    @property
    def takes_some_queries(self) -> bool:
        """Whether some tokens' queries may attend alone: nothing but `rotate_` knows where they stand.

        `rotate_` then takes queries alone and keys alone, too, (1, B, H, T, D).
        """
        method = type(self)
        return method.bias is PositionMethod.bias and method.added_values is PositionMethod.added_values

    def for_layer(self) -> "PositionMethod":
        """Return the method of one more layer: this one, unless every layer has weights of its own."""
        return self

    def rotate_(self, qk: Tensor, *, offset: int = 0, positions: Tensor | None = None, transpose: bool = False) -> None:
        """Rotate queries and keys in place; autograd does not see it.

        Args:
            qk: (2, B, H, T, D), queries and keys, or their gradients.
            offset: see the class.
            positions: (B, T), whole or real numbers, in the place of `offset`: tokens do not stand side by side.
            transpose: apply the transposed map, as gradients need it.
        """

    def bias(self, q: Tensor, *, num_keys: int, offset: int = 0) -> Tensor | None:
        """Return what is added to the scores q k^T / sqrt(D), broadcastable to (B, H, T, S), or None.

        Args:
            q: (B, H, T, D), after `rotate_`.
            num_keys: S; the keys stand at 0 .. S-1.
            offset: see the class.
        """
        return None

    def added_values(self, *, offset: int = 0) -> Callable[[Tensor], Tensor] | None:
        """Return the map from probabilities (B, H, T, S) to what is added to the output (B, H, T, D), or None."""
        return None
