"""Options in the form of hydra, as `fairseq-hydra-train` gives them and its checkpoints keep them."""

from argparse import Namespace

import pytest
import torch
from fairseq.models import build_model
from fairseq.tasks import FairseqTask
from fairseq.tasks.language_modeling import LanguageModelingConfig, LanguageModelingTask
from omegaconf import OmegaConf

from fairseq_rope.compat.hydra_options import as_namespace
from fairseq_rope.models.translation import TransformerRopeModel
from tests.support.encoders import make_mlm_task
from tests.support.models import make_task

ENCODER = dict(encoder_layers=2, encoder_embed_dim=24, encoder_ffn_embed_dim=40, encoder_attention_heads=3)
DECODER = dict(decoder_layers=3, decoder_embed_dim=24, decoder_ffn_embed_dim=40, decoder_attention_heads=3)
TRANSLATION = make_task()
LANGUAGE = LanguageModelingTask(LanguageModelingConfig(tokens_per_sample=32), TRANSLATION.source_dictionary)
TOKENS = torch.arange(5, 16).expand(2, 11)


@torch.no_grad()
@pytest.mark.parametrize(
    ("name", "task", "options"),
    [
        ("transformer_rope", TRANSLATION, {**ENCODER, **DECODER}),
        ("transformer_rope_tiny", TRANSLATION, {"dropout": 0.2}),
        ("transformer_lm_rope", LANGUAGE, DECODER),
        ("roformer", make_mlm_task(), {**ENCODER, "max_positions": 32}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_models_are_those_of_a_command_line(name: str, task: FairseqTask, options: dict[str, object]):
    options = {"_name": name, **options, "rope_fraction": 0.5, "ffn": "geglu"}
    config = OmegaConf.create({"base": 500, "model": {**options, "rope_base": "${base}"}})
    OmegaConf.set_struct(config, True)
    given = (TOKENS, torch.tensor([11, 11]), TOKENS) if task is TRANSLATION else (TOKENS,)
    outputs = []
    for form in (config.model, Namespace(**options, rope_base=500)):
        torch.manual_seed(1)
        outputs.append(build_model(form, task).eval()(*given)[0])
    assert torch.equal(*outputs)


@pytest.mark.parametrize("wrong", [{"rope_bse": 500}, {"encoder": {"layers": 2}}], ids=lambda wrong: next(iter(wrong)))
def test_a_name_that_is_no_option_is_told(wrong: dict[str, object]):
    config = OmegaConf.create({"_name": "transformer_rope_tiny", **wrong})
    with pytest.raises(ValueError, match=f"^model.{next(iter(wrong))} is no option of transformer_rope_tiny$"):
        build_model(config, TRANSLATION)


def test_values_get_the_type_of_their_option():
    written = {"rope_fraction": "0.5", "encoder_layers": "3", "share_all_embeddings": "false", "rope_restart_after": 5}
    written |= {"encoder_layers_to_keep": 0, "rope_scaling": "ntk", "rope_scaling_factor": 2.5}
    meant = {"rope_fraction": 0.5, "encoder_layers": 3, "share_all_embeddings": False, "rope_restart_after": "5"}
    meant |= {"encoder_layers_to_keep": "0", "rope_scaling": "ntk", "rope_scaling_factor": "2.5"}
    args = as_namespace(OmegaConf.create({"_name": "transformer_rope", **written}), TransformerRopeModel)
    assert vars(args) | meant == vars(args)
    assert all(type(vars(args)[name]) is type(value) for name, value in meant.items())


def test_the_trainer_finds_a_number_of_base_layers():
    config = OmegaConf.create({"_name": "transformer_rope_tiny"})
    build_model(config, TRANSLATION)
    assert getattr(config, "base_layers", 0) == 0  # as it asks for it; None in fairseq 0.12.2


@pytest.mark.parametrize(
    ("name", "task", "options", "kept"),
    [
        ("transformer_rope", TRANSLATION, {**ENCODER, **DECODER}, {"encoder": 1, "decoder": "0,2"}),
        ("transformer_rope", TRANSLATION, {**ENCODER, **DECODER}, {"encoder": [1], "decoder": [0, 2]}),
        ("transformer_lm_rope", LANGUAGE, DECODER, {"decoder": "0,2"}),
        ("roformer", make_mlm_task(), {**ENCODER, "max_positions": 32}, {"encoder": 1}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_options_of_a_pruned_model_build_it_again(
    name: str, task: FairseqTask, options: dict[str, object], kept: dict[str, object]
):
    lists = {f"{side}_layers_to_keep": layers for side, layers in kept.items()}
    config = OmegaConf.create({"_name": name, **options, **lists})
    OmegaConf.set_struct(config, True)
    pruned = build_model(config, task)
    full = build_model(OmegaConf.create({"_name": name, **options}), task)
    pruned.load_state_dict(full.state_dict(), model_cfg=config)  # as fine-tuning does
    again = build_model(config, task)  # as is done with the checkpoint that it saves
    again.load_state_dict(pruned.state_dict(), model_cfg=config)
    assert all(torch.equal(again.state_dict()[key], value) for key, value in pruned.state_dict().items())
    assert len(again.state_dict()) < len(full.state_dict())


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        ({"rope_fraction": "half"}, "a number"),
        ({"encoder_layers": "few"}, "a whole number"),
        ({"share_all_embeddings": "perhaps"}, "true or false"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_value_of_another_type_is_told(wrong: dict[str, str], rule: str):
    config = OmegaConf.create({"_name": "transformer_rope_tiny", **wrong})
    ((name, value),) = wrong.items()
    with pytest.raises(ValueError, match=f"^model.{name} must be {rule}, but is '{value}'$"):
        build_model(config, TRANSLATION)
