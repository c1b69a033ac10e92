"""A stock checkpoint becomes a rotary one: its weights and options, and nothing of its positions."""

from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import torch
from fairseq.checkpoint_utils import load_model_ensemble_and_task

from fairseq_rope.conversion.original import read_original
from fairseq_rope.conversion.rotary import rotary_checkpoint, stock_checkpoint, write_checkpoint
from fairseq_rope_data.errors import UserError
from tests.support.models import SMALL, build_model, make_task
from tests.support.near import LOGITS, near
from tests.support.originals import data_folder, original_checkpoint, save_original

LEARNED = dict(encoder_learned_pos=True, decoder_learned_pos=True)
PRE_NORM = dict(encoder_normalize_before=True, decoder_normalize_before=True, layernorm_embedding=True)
SEPARATE = dict(share_all_embeddings=False, share_decoder_input_output_embed=False)
KINDS: dict[str, dict[str, Any]] = {
    "sinusoidal": {},
    "learned": LEARNED,
    "pre-norm": PRE_NORM,
    "separate embeddings": SEPARATE,
    "of an arch": dict(arch="transformer_wmt_en_de_big_t2t", decoder_embed_dim=24),
    "old": dict(old=True),
    "none": dict(no_token_positional_embeddings=True),
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return data_folder(tmp_path / "data-bin")


def convert(path: Path, data: Path) -> Path:
    output = path.with_name("converted.pt")
    original = read_original(path, data)
    write_checkpoint(original, rotary_checkpoint(original), output)
    return output


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_fairseq_loads_the_result_as_the_rotary_model_of_all_the_originals_weights(
    kind: dict[str, Any], data: Path, tmp_path: Path
):
    path = save_original(tmp_path / "original.pt", **kind)
    (model,), cfg, _ = load_model_ensemble_and_task([str(convert(path, data))], task=make_task())
    assert type(model).__name__ == "TransformerRopeModel" and cfg.model.arch == "transformer_rope"
    original = original_checkpoint(**kind)["model"]
    stays = {key for key in original if "embed_positions" not in key and not key.endswith("version")}
    stays -= {key for key in original if key.endswith(("in_proj_weight", "in_proj_bias"))}  # copies of 0.12.2
    loaded = model.state_dict()
    assert {key for key in loaded if not key.endswith("version")} <= stays and len(stays) > 60
    for key in loaded.keys() & stays:
        assert torch.equal(loaded[key], original[key]), key


@pytest.mark.parametrize(
    "kind", [{}, LEARNED, PRE_NORM, SEPARATE], ids=["sinusoidal", "learned", "pre-norm", "separate"]
)
@torch.no_grad()
def test_one_token_is_read_as_by_the_original_without_positions(kind: dict[str, Any], data: Path, tmp_path: Path):
    # where nothing has a distance rotation changes nothing
    path = save_original(tmp_path / "original.pt", **kind)
    (model,), _, _ = load_model_ensemble_and_task([str(convert(path, data))], task=make_task())
    without = build_model("transformer", **{**SMALL, **kind, "no_token_positional_embeddings": True})
    without.load_state_dict(original_checkpoint(**kind)["model"], strict=False)
    batch = (torch.tensor([[2]]), torch.tensor([1]), torch.tensor([[2]]))
    torch.testing.assert_close(model.eval()(*batch)[0], without(*batch)[0], rtol=1e-5, atol=1e-5)


def test_the_optimizer_goes_and_the_history_stays(data: Path, tmp_path: Path):
    state = torch.load(convert(save_original(tmp_path / "original.pt"), data), weights_only=True)
    assert "last_optimizer_state" not in state and "ema" not in state["extra_state"]
    assert state["optimizer_history"][-1]["num_updates"] == 40
    assert state["args"] is None and isinstance(state["cfg"]["model"], Namespace)


def test_a_training_that_scored_translations_needs_its_tokenizer_no_more(data: Path, tmp_path: Path):
    state = original_checkpoint()
    state["cfg"]["task"].update(eval_bleu=True, eval_bleu_detok="of another installation", data=str(data))
    torch.save(state, tmp_path / "original.pt")
    original = read_original(tmp_path / "original.pt", data)
    for made in (rotary_checkpoint, stock_checkpoint):
        write_checkpoint(original, made(original), tmp_path / "made.pt")
        _, cfg, task = load_model_ensemble_and_task([str(tmp_path / "made.pt")])
        assert cfg.task.eval_bleu is task.cfg.eval_bleu is False


def test_embeddings_that_it_once_began_with_are_not_looked_for_again(data: Path, tmp_path: Path):
    state = original_checkpoint()
    state["cfg"]["model"].encoder_embed_path = "/gone/vectors.txt"
    torch.save(state, tmp_path / "original.pt")
    assert convert(tmp_path / "original.pt", data).is_file()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(words=91), "--from {path} does not fit DATA {data}: Error(s) in loading state_dict"),
        (dict(encoder_embed_dim=27, decoder_embed_dim=27), "has a rotary size of 9"),
        (dict(cross_self_attention=True), "--cross-self-attention cannot be used with transformer_rope: it mixes two"),
    ],
    ids=["other dictionaries", "odd heads", "an option"],
)
def test_what_cannot_be_rotary_is_named_and_leaves_no_file(change: dict[str, Any], message: str, tmp_path: Path):
    data = data_folder(tmp_path / "data-bin", words=change.pop("words", 90))
    path = save_original(tmp_path / "original.pt", **change)
    with pytest.raises(UserError) as caught:
        convert(path, data)
    assert message.format(path=path, data=data) in str(caught.value).replace("gives a", "has a")
    assert "\n" not in str(caught.value) and sorted(tmp_path.glob("*.pt*")) == [path]


def test_the_original_is_not_overwritten(data: Path, tmp_path: Path):
    path = save_original(tmp_path / "original.pt")
    (tmp_path / "link.pt").symlink_to(path)
    with pytest.raises(UserError) as caught:
        write_checkpoint(read_original(path, data), {}, tmp_path / "link.pt")
    assert str(caught.value) == f"--output must not be --from, but {tmp_path / 'link.pt'} is {path}"


@pytest.mark.parametrize("kind", [{}, LEARNED], ids=["sinusoidal", "learned"])
@torch.no_grad()
def test_the_original_itself_is_written_as_any_fairseq_loads_it(kind: dict[str, Any], data: Path, tmp_path: Path):
    state = original_checkpoint(**kind)
    state["cfg"]["model"].encoder_embed_path = "/gone/vectors.txt"
    state["model"]["encoder.layers.0.fc1_weight"] = torch.ones(3)  # such a copy as 0.12.2 saves
    torch.save(state, tmp_path / "x.pt")
    original = read_original(tmp_path / "x.pt", data)
    rotary_checkpoint(original)  # which takes nothing away from it
    write_checkpoint(original, stock_checkpoint(original), tmp_path / "stock.pt")
    (model,), cfg, _ = load_model_ensemble_and_task([str(tmp_path / "stock.pt")], task=make_task())
    assert type(model).__name__ == "TransformerModel" and cfg.model.arch == "transformer"
    batch = (torch.tensor([[7, 8, 2]]), torch.tensor([3]), torch.tensor([[2, 9]]))
    near(model.eval()(*batch)[0], build_model("transformer", **SMALL, **kind)(*batch)[0], LOGITS["same weights"])
