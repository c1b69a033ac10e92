"""--sinusoid-scale through fairseq's commands: it is in the checkpoint, fixed after training, given on to a tuning."""

from pathlib import Path

import pytest
import torch
from fairseq.modules import SinusoidalPositionalEmbedding

from fairseq_rope import RoformerModel
from fairseq_rope.experiments.pretrained import fine_tuning_words
from fairseq_rope_data.errors import UserError
from tests.support.pretrained import MLM, SIZES, Pretrained, train_here

TRAIN = (*MLM.split(), *SIZES.split(), "--disable-validation", "--max-update", "3", "--position-method", "sinusoidal")


def load(path: Path, data: Path, **overrides: object) -> torch.nn.Module:
    return RoformerModel.from_pretrained(str(path.parent), path.name, str(data), **overrides).eval()


def test_a_checkpoint_keeps_the_scale_for_all_that_read_it(pretrained: Pretrained, tmp_path: Path):
    train_here(pretrained.data, tmp_path, *TRAIN, "--sinusoid-scale", "0.05")
    path = tmp_path / "checkpoint_last.pt"
    assert torch.load(path, map_location="cpu")["cfg"]["model"].sinusoid_scale == 0.05
    stack = load(path, pretrained.data).model.encoder.sentence_encoder
    tokens = torch.tensor([[0, 5, 6, 2]])
    plain = SinusoidalPositionalEmbedding(32, 1)
    assert torch.equal(stack.embed_positions(tokens), 0.05 * plain(tokens))
    with pytest.raises(UserError, match=r"^--model-overrides: sinusoid_scale must stay 0.05, as .* but is 1.0$"):
        load(path, pretrained.data, sinusoid_scale=1.0)
    words = fine_tuning_words(path, pretrained.data / "dict.txt", length=64)
    assert words[words.index("--sinusoid-scale") + 1] == "0.05"


def test_a_checkpoint_from_before_the_option_is_read_as_it_was_trained(pretrained: Pretrained, tmp_path: Path):
    train_here(pretrained.data, tmp_path, *TRAIN)
    path, older = tmp_path / "checkpoint_last.pt", tmp_path / "older.pt"
    state = torch.load(path, map_location="cpu")
    del state["cfg"]["model"].sinusoid_scale
    torch.save(state, older)
    models = [load(each, pretrained.data) for each in (path, older)]
    assert all(
        type(each.model.encoder.sentence_encoder.embed_positions) is SinusoidalPositionalEmbedding for each in models
    )
    tokens = models[0].encode("the old man likes Anna today .")
    features = [each.extract_features(tokens) for each in models]
    assert torch.equal(*features)
    with pytest.raises(UserError, match=r"^--model-overrides: sinusoid_scale must stay 1.0, as .* but is 0.02$"):
        load(older, pretrained.data, sinusoid_scale=0.02)
    assert "--sinusoid-scale" not in fine_tuning_words(older, pretrained.data / "dict.txt", length=64)
