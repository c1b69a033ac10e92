"""What the measurements stand on: processes, data, the count of operations, and the model without rotation."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from fairseq.data.data_utils import load_indexed_dataset
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.model import data, flops
from benchmarks.model.compare import compare
from benchmarks.model.rotation import without_rotation
from benchmarks.model.spec import Repetition, Spec, total
from tests.support.encoders import PAD, encoder
from tests.support.small import logits, sample, small, stock


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return data.synthetic_corpus(tmp_path_factory.mktemp("data"), 400, pairs=2000, test_pairs=10)


def sizes(path: Path) -> np.ndarray:
    dataset = load_indexed_dataset(str(path))
    # a copy: its own ends with the dataset
    return np.array(dataset.sizes)


def test_synthetic_sentences_are_as_long_as_news(corpus: Path):
    lengths = sizes(corpus / "train.en-de.en") - 1
    assert 23 <= np.median(lengths) <= 25 and 26.5 <= lengths.mean() <= 29.5
    ratios = (sizes(corpus / "train.en-de.de") - 1) / lengths
    assert 0.9 <= ratios.mean() <= 1.1 and ratios.std() > 0.1


def test_the_synthetic_dictionary_has_the_asked_size_and_covers_the_text(corpus: Path):
    assert len((corpus / "dict.en.txt").read_text().splitlines()) == 400 - 4
    text = load_indexed_dataset(str(corpus / "train.en-de.de"))
    tokens = torch.cat([text[i] for i in range(len(text))])
    assert tokens.max() < 400 and (tokens == 2).sum() == len(text) and not (tokens < 2).any()


def test_data_is_made_once_and_is_the_same_everywhere(corpus: Path, tmp_path: Path):
    other = data.synthetic_corpus(tmp_path, 400, pairs=2000, test_pairs=10)
    assert (other / "train.en-de.de.bin").read_bytes() == (corpus / "train.en-de.de.bin").read_bytes()
    (other / "dict.en.txt").write_text("mine")
    assert (data.synthetic_corpus(tmp_path, 400, pairs=2000, test_pairs=10) / "dict.en.txt").read_text() == "mine"


def test_a_part_of_the_test_set_is_evenly_spaced_and_parallel(corpus: Path, tmp_path: Path):
    part = data.test_part(corpus, tmp_path, 4)
    for lang in ("en", "de"):
        whole, few = (load_indexed_dataset(str(folder / f"test.en-de.{lang}")) for folder in (corpus, part))
        assert [line.tolist() for line in few] == [whole[i].tolist() for i in (0, 2, 5, 7)]
    assert data.test_part(corpus, tmp_path, 10) == corpus


def test_the_operations_of_training_are_those_that_torch_counts():
    batch = sample()
    # one pair without padding: what is counted is what is computed
    net_input = {name: value[2:] for name, value in batch["net_input"].items()}
    one = {"net_input": net_input, "target": torch.randint(4, 90, (1, 10))}
    net_input["prev_output_tokens"] = one["target"]
    model = stock().train()
    # of the fused kernels torch counts nothing on the CPU
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        model(**net_input)[0].sum().backward()
    length, width, layers = 10, 24, 3
    # torch counts the hidden half of causal attention too, which is computed and not needed
    hidden = 12 * width * layers * (length**2 - length * (length + 1) / 2)
    assert net_input["src_tokens"].ne(1).all()
    assert flops.of_training(model, one) + hidden == pytest.approx(counter.get_total_flops(), rel=1e-6)


def test_the_operations_of_masked_language_models_are_those_that_torch_counts():
    model, tokens = encoder("roberta").train(), torch.randint(4, 20, (2, 11))
    target = tokens.where(torch.rand(2, 11) < 0.3, torch.tensor(PAD))
    target[0, 4] = 7
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        model(tokens, masked_tokens=target.ne(PAD))[0].sum().backward()
    batch = {"net_input": {"src_tokens": tokens}, "target": target}
    assert flops.of_masked_training(model, batch) == pytest.approx(counter.get_total_flops(), rel=1e-6)


def test_padding_takes_no_part_in_the_count():
    batch = sample()
    model, parts = small(), []
    for source, target in zip(batch["net_input"]["src_tokens"], batch["target"], strict=True):
        source, target = (line[line.ne(1)][None] for line in (source, target))
        parts.append({"net_input": {"src_tokens": source}, "target": target})
    assert flops.of_training(model, batch) == pytest.approx(sum(flops.of_training(model, part) for part in parts))


@pytest.mark.parametrize(
    ("name", "dtype", "peak"),
    [
        ("NVIDIA H200", "bf16", 989.4e12),
        ("NVIDIA H100 80GB HBM3", "fp16", 989.4e12),
        ("NVIDIA H100 PCIe", "bf16", 756e12),
        ("NVIDIA A100-SXM4-40GB", "fp32", 19.5e12),
        ("Tesla V100-SXM2-16GB", "fp16", 125e12),
        ("Tesla T4", "fp16", 65e12),
        ("NVIDIA L40S", "bf16", 362e12),
        ("NVIDIA A1000", "bf16", None),
        ("Some New GPU", "bf16", None),
    ],
)
def test_the_peak_of_a_gpu_is_known_by_its_name_or_not_at_all(name: str, dtype: str, peak: float | None):
    assert flops.peak(name, dtype) == peak


def test_a_model_without_rotation_is_the_stock_model_without_positions_and_rotates_again_afterwards():
    model, baseline = small(), stock()
    baseline.load_state_dict(model.state_dict())
    before = logits(model)
    with without_rotation(model):
        torch.testing.assert_close(logits(model), logits(baseline), atol=1e-5, rtol=0)
    assert torch.equal(logits(model), before)
    assert (before - logits(baseline)).abs().max() > 1e-3


def test_repetitions_add_up():
    parts = [Repetition(1.5, 2, 3, 4, 5.0, 6, 7.0, 8, 9), Repetition(1.0, 1, 1, 1, 1.0, 1, 1.0, 1, 1)]
    assert total(parts) == Repetition(2.5, 3, 4, 5, 6.0, 7, 8.0, 9, 10)


@pytest.mark.usefixtures("forked_workers")
def test_too_little_memory_and_a_failure_are_errors_of_their_model_alone(corpus: Path, tmp_path: Path):
    spec = Spec("length", "stock", "tiny", "fp32", "cpu", str(corpus), str(tmp_path), length=16, sentences=1)
    # the scores of its first attention take 1 GiB
    large = replace(spec, length=8192, memory=5 * 2**28)
    broken = replace(spec, model="rope", options=("--rope-fraction", "3"))
    found = compare([large, broken], repetitions=1, warm_up=0, best_rate=None)
    assert found["stock"] == {"options": [], "error": "out of memory"}
    assert found["rope"]["error"] == "ended with status 1"
