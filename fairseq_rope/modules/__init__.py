"""Tensors in, tensors out: positions, attention, layers, stacks, losses. They know no options and no tasks.

Imports `compat` only.

Axes, in this package and in its tests: B batch (in a beam search hypotheses), N sentences or rows, H heads, T query
length, S key or source length, D head size, R rotary size (of D, even), E model size, V vocabulary.
"""
