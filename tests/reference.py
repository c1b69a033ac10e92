"""The paper's model as slow, obvious loops in float64: the oracle that the fast model is compared with.

Written from Vaswani et al. (2017) and RoFormer (Su et al., 2021, eq. 14-16, 34), not from the package: it takes a
state_dict and one sentence at a time, knows no padding, batch or cache, and multiplies by whole rotation matrices.
The other position methods are written from their papers, which `tests/reference_positions.py` names.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from tests import reference_positions as positions

Scaling = tuple[str, float, int]  # --rope-scaling, its factor, the original length
GATES = {  # Shazeer (2020), eq. 5 and 6
    "geglu": lambda x: x * (1 + torch.erf(x / math.sqrt(2))) / 2,
    "swiglu": lambda x: x / (1 + torch.exp(-x)),
}


def scaled_frequencies(
    name: str, rotary_dim: int, *, base: float, factor: float, length: int
) -> tuple[list[float], float]:
    """Return theta of each pair, in radians a token, and the magnitude, from the formulas of the papers."""
    thetas, magnitude = [], 1.0
    for i in range(rotary_dim // 2):
        theta = base ** (-2 * i / rotary_dim)
        turns = length * theta / (2 * math.pi)
        if name == "linear":
            theta = theta / factor
        elif name == "ntk":
            theta = (base * factor ** (rotary_dim / (rotary_dim - 2))) ** (-2 * i / rotary_dim)
        elif name == "yarn":
            # the pair, as a real number, that turns 32 times, and the one that turns once: base^(-2x/R) L = 2 pi turns
            first = math.floor(math.log(length / (2 * math.pi * 32), base) * rotary_dim / 2)
            last = math.ceil(math.log(length / (2 * math.pi), base) * rotary_dim / 2)
            first, last = max(first, 0), min(last, rotary_dim - 1)  # the authors' code, not the paper
            if i >= last and i > first:
                theta = theta / factor
            elif i > first:
                slowed = (i - first) / (last - first)
                theta = theta * (1 - slowed) + theta / factor * slowed
            magnitude = 0.1 * math.log(factor) + 1
        elif name == "llama3":
            if turns < 1:
                theta = theta / factor
            elif turns <= 4:
                smooth = (turns - 1) / (4 - 1)
                theta = (1 - smooth) * theta / factor + smooth * theta
        thetas.append(theta)
    return thetas, magnitude


def rotation_matrix(
    position: float, head_dim: int, *, base: float, rotary_dim: int, layout: str, scaling: Scaling = ("none", 1.0, 1)
) -> Tensor:
    """Return R(m) of eq. 15, (D, D), times the magnitude; dimensions past `rotary_dim` keep their place."""
    name, factor, length = scaling
    thetas, magnitude = scaled_frequencies(name, rotary_dim, base=base, factor=factor, length=length)
    matrix = torch.eye(head_dim, dtype=torch.float64)
    for i in range(rotary_dim // 2):
        angle = position * thetas[i]
        a, b = (2 * i, 2 * i + 1) if layout == "interleaved" else (i, i + rotary_dim // 2)
        matrix[a, a] = matrix[b, b] = magnitude * math.cos(angle)
        matrix[a, b], matrix[b, a] = -magnitude * math.sin(angle), magnitude * math.sin(angle)
    return matrix


@dataclass
class ReferenceTransformer:
    """An encoder-decoder Transformer over fairseq's parameter names, with rotary self-attention or another method."""

    state: dict[str, Tensor]
    num_heads: int
    base: float = 10000.0
    fraction: float = 1.0
    layout: str = "interleaved"
    scaling: dict[str, Scaling] = field(default_factory=dict)  # of the encoder, the decoder
    normalize_before: bool = False
    method: str = "rope"
    ffn: str | None = None
    # the probabilities of the last sentence: (name of the attention, head, query) -> (keys that it sees,)
    attention: dict[tuple[str, int, int], Tensor] = field(default_factory=dict)

    def logits(self, source: list[int], target: list[int]) -> Tensor:
        """Return the logits of each next token, (T, V), for target input `target` (its first token is </s>)."""
        self.attention.clear()
        memory = self._stack("encoder", source, memory=None)
        return self._stack("decoder", target, memory) @ self._parameter("decoder.output_projection.weight").T

    def _parameter(self, name: str) -> Tensor:
        return self.state[name].double()

    def _stack(self, side: str, tokens: list[int], memory: Tensor | None) -> Tensor:
        embedding = self._parameter(f"{side}.embed_tokens.weight")
        x = torch.stack([embedding[token] * math.sqrt(embedding.size(1)) for token in tokens])
        if self.method in ("sinusoidal", "learned"):
            table = self.state.get(f"{side}.embed_positions.weight")  # of learned ones
            x += torch.stack([positions.absolute(m, x.size(1), table) for m in range(len(x))])
        layers = {int(key.split(".")[2]) for key in self.state if key.startswith(f"{side}.layers.")}
        for layer in sorted(layers):
            name = f"{side}.layers.{layer}"
            x = self._block(x, f"{name}.self_attn_layer_norm", lambda y, n=name: self._self_attention(y, n, side))
            if memory is not None:
                attend = lambda y, n=name: self._attention(y, memory, f"{n}.encoder_attn")  # noqa: E731
                x = self._block(x, f"{name}.encoder_attn_layer_norm", attend)
            x = self._block(x, f"{name}.final_layer_norm", lambda y, n=name: self._feed_forward(y, n))
        return self._norm(x, f"{side}.layer_norm") if self.normalize_before else x

    def _block(self, x: Tensor, norm: str, function: Callable[[Tensor], Tensor]) -> Tensor:
        if self.normalize_before:
            return x + function(self._norm(x, norm))
        return self._norm(x + function(x), norm)

    def _norm(self, x: Tensor, name: str) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        variance = (centred**2).mean(-1, keepdim=True)
        return centred / torch.sqrt(variance + 1e-5) * self._parameter(f"{name}.weight") + self._parameter(
            f"{name}.bias"
        )

    def _linear(self, x: Tensor, name: str) -> Tensor:
        return x @ self._parameter(f"{name}.weight").T + self._parameter(f"{name}.bias")

    def _feed_forward(self, x: Tensor, name: str) -> Tensor:
        hidden = self._linear(x, f"{name}.fc1")
        if self.ffn in GATES:
            size = hidden.size(1) // 2
            return self._linear(GATES[self.ffn](hidden[:, :size]) * hidden[:, size:], f"{name}.fc2")
        return self._linear(F.relu(hidden), f"{name}.fc2")

    def _self_attention(self, x: Tensor, name: str, side: str) -> Tensor:
        return self._attention(x, x, f"{name}.self_attn", side=side)

    def _attention(self, x: Tensor, memory: Tensor, name: str, *, side: str = "") -> Tensor:
        """Attend from `x` to `memory`; self-attention, which knows positions, where `side` is encoder or decoder."""
        q, k, v = (self._linear(y, f"{name}.{p}_proj") for y, p in ((x, "q"), (memory, "k"), (memory, "v")))
        head_dim = q.size(1) // self.num_heads
        output = torch.zeros_like(q)
        for head in range(self.num_heads):
            part = slice(head * head_dim, (head + 1) * head_dim)
            queries, keys, values = q[:, part], k[:, part], v[:, part]
            if side and self.method in ("rope", "xpos"):
                stretch = self.method == "xpos" and side == "decoder"
                queries, keys = self._rotated(queries, side, stretch), self._rotated(keys, side, -stretch)
            for m in range(len(queries)):
                visible = m + 1 if side == "decoder" else len(keys)
                scores, seen = keys[:visible] @ queries[m] / math.sqrt(head_dim), values[:visible]
                if side and self.method in ("alibi", "t5", "shaw"):
                    added = [self._relative(n - m, head, queries[m], name, side) for n in range(visible)]
                    scores = scores + torch.stack([bias for bias, _ in added])
                    seen = seen + torch.stack([value for _, value in added])
                self.attention[name, head, m] = torch.softmax(scores, 0)
                output[m, part] = self.attention[name, head, m] @ seen
        return self._linear(output, f"{name}.out_proj")

    def _rotated(self, x: Tensor, side: str, stretch: int) -> Tensor:
        head_dim, scaling = x.size(1), self.scaling.get(side, ("none", 1.0, 1))
        options = dict(base=self.base, rotary_dim=round(head_dim * self.fraction), layout=self.layout)
        matrices = [rotation_matrix(m, head_dim, **options, scaling=scaling) for m in range(len(x))]
        if stretch:
            scales = [positions.xpos_stretch(stretch * m, head_dim, **options) for m in range(len(x))]
            matrices = [scale @ matrix for scale, matrix in zip(scales, matrices, strict=True)]
        return torch.stack([matrix @ row for matrix, row in zip(matrices, x, strict=True)])

    def _relative(self, distance: int, head: int, query: Tensor, name: str, side: str) -> tuple[Tensor, Tensor]:
        """Return what the key at `distance` from `query` adds to their score, and to the key's value."""
        bias, value = torch.zeros((), dtype=torch.float64), torch.zeros_like(query)
        if self.method == "alibi":
            bias = bias - positions.alibi_slope(head, self.num_heads) * abs(distance)
        elif self.method == "t5":
            bucket = positions.t5_bucket(distance, bidirectional=side == "encoder")
            bias = self._parameter(f"{side}.position_weights.biases")[bucket, head]
        elif self.method == "shaw":
            keys, values = (self._parameter(f"{name}.position_weights.relative_{part}") for part in ("keys", "values"))
            row = max(-positions.SHAW_CLIP, min(positions.SHAW_CLIP, distance)) + positions.SHAW_CLIP
            bias, value = query @ keys[row] / math.sqrt(len(query)), values[row]
        return bias, value
