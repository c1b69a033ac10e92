"""Tensors in, tensors out: the rotation, the attention and the layers that use it."""
