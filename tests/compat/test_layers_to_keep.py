"""`--encoder-layers-to-keep` of a translation model, as a command line gives it."""

import pytest
from fairseq import checkpoint_utils, models, options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf

import fairseq_rope  # noqa: F401  registers the model
from tests.support.models import make_task


@pytest.mark.parametrize(("kept", "expected"), [("0,2", [0, 2]), ("1", [1])])
def test_a_translation_model_keeps_the_layers_of_a_command_line(kept: str, expected: list[int]):
    sizes = "--encoder-layers 3 --decoder-layers 3 --encoder-embed-dim 24 --decoder-embed-dim 24"
    asked = f"--arch transformer_rope_tiny {sizes} --encoder-layers-to-keep {kept} --decoder-layers-to-keep {kept}"
    command = ["data-bin", *asked.split(), "--optimizer", "adam"]
    cfg = convert_namespace_to_omegaconf(options.parse_args_and_arch(options.get_training_parser(), command)).model
    model = models.build_model(cfg, make_task())
    assert len(model.encoder.layers) == len(model.decoder.layers) == len(expected)
    weights = {f"{stack}.layers.{n}.fc1.bias": n for stack in ("encoder", "decoder") for n in range(3)}
    pruned = checkpoint_utils.prune_state_dict(weights, cfg)  # as fine-tuning does
    for stack in ("encoder", "decoder"):
        assert [pruned[f"{stack}.layers.{n}.fc1.bias"] for n in range(len(expected))] == expected
