"""fairseq's modules find numpy's old names; numpy itself is left alone. tests/integration trains with them."""

import numpy as np
import pytest
import torch
from fairseq.data import data_utils, language_pair_dataset, token_block_dataset
from fairseq.modules import DynamicCRF, dynamic_crf_layer

from fairseq_rope.compat.numpy_names import keep_old_numpy_names

MODULES = (data_utils, language_pair_dataset, token_block_dataset, dynamic_crf_layer)


def test_buckets_end_at_lengths_that_occur():
    # the quartiles of 1 to 10, each rounded down to a length of the data
    assert data_utils.get_buckets(np.arange(1, 11), 4).tolist() == [3, 5, 7, 10]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_integers_and_floats_are_what_they_were(module):
    assert np.zeros(1, module.np.int).dtype == np.zeros(1, module.np.compat.long).dtype == np.int64
    assert module.np.float("inf") == np.inf and module.np.arange is np.arange


def test_percentiles_are_numpys():
    for method in ("linear", "lower"):
        assert data_utils.np.percentile([1, 4, 6], 40, interpolation=method) == np.percentile(
            [1, 4, 6], 40, method=method
        )
    assert data_utils.np.percentile([1, 4, 6], 40, method="higher") == np.percentile([1, 4, 6], 40, method="higher")


def test_a_random_field_gives_its_loss():
    field = DynamicCRF(7, low_rank=3, beam_size=2)
    loss = field(torch.randn(2, 4, 7), torch.randint(7, (2, 4)), torch.ones(2, 4, dtype=torch.bool))
    assert loss.isfinite().all()


def test_numpy_itself_and_a_second_call_change_nothing():
    keep_old_numpy_names()
    assert data_utils.np.mean([1, 3]) == 2
    assert not hasattr(np, "float") and type(np.percentile) is type(np.median)
