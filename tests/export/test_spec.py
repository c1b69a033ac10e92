"""An exported model gives each target token the log-probability that fairseq gives it."""

import gzip
from pathlib import Path

import ctranslate2
import pytest
import torch
from fairseq.models import ARCH_MODEL_REGISTRY

from fairseq_rope import TransformerRopeModel
from fairseq_rope.inference.translator import Translator
from fairseq_rope.modules.positions.layouts import LAYOUTS
from tests.support.ctranslate2_runtime import (
    fairseq_scores,
    pair,
    runtime,
    runtime_scores,
    score_both,
    stirred,
)
from tests.support.near import SCORES, near
from tests.support.small import EOS, PRE_NORM, TASK, WORDS
from tests.support.trained import Trained

SEPARATE = dict(share_all_embeddings=False)
OPTIONS = {  # what they set, beyond SMALL
    "post-norm": {},
    "pre-norm": PRE_NORM,
    "pre-norm in the encoder only": dict(encoder_normalize_before=True),
    "pre-norm in the decoder only": dict(decoder_normalize_before=True),
    "no final norm": dict(**PRE_NORM, no_decoder_final_norm=True),
    "normalized embedding": dict(layernorm_embedding=True),
    "unscaled embedding": dict(no_scale_embedding=True),
    "gelu": dict(activation_fn="gelu"),
    "gelu_accurate": dict(activation_fn="gelu_accurate"),
    "gelu_fast": dict(activation_fn="gelu_fast"),
    "tanh": dict(activation_fn="tanh"),
    "geglu": dict(ffn="geglu"),
    "swiglu": dict(ffn="swiglu"),
    "geglu, pre-norm": dict(ffn="geglu", **PRE_NORM),
    "swiglu, pre-norm": dict(ffn="swiglu", **PRE_NORM),
    "base": dict(rope_base=500.0),
    "base below one": dict(rope_base=0.7),
    "target embeddings shared": dict(**SEPARATE, share_decoder_input_output_embed=True),
    "nothing shared": SEPARATE,
    "unequal stacks": dict(**SEPARATE, decoder_embed_dim=32, decoder_ffn_embed_dim=20, decoder_attention_heads=2),
    "output dimension": dict(**SEPARATE, decoder_output_dim=12),
    "odd sizes": dict(encoder_embed_dim=42, decoder_embed_dim=42, encoder_ffn_embed_dim=17, rope_fraction=0.43),
    "layerdrop": dict(encoder_layerdrop=0.3, decoder_layerdrop=0.3),
    "checkpointed activations": dict(checkpoint_activations=True),
}
LONG = dict(max_source_positions=3000, max_target_positions=3000)
SCALINGS = {
    "linear": dict(rope_scaling="linear", rope_scaling_factor=3),
    "ntk": dict(rope_scaling="ntk", rope_scaling_factor=5.3),
    "yarn": dict(rope_scaling="yarn", rope_scaling_factor=4, rope_original_length=50),
    "yarn in a part of each head": dict(
        rope_scaling="yarn", rope_scaling_factor=4, rope_original_length=500, rope_fraction=0.5, rope_layout="half"
    ),
    "llama3": dict(rope_scaling="llama3", rope_scaling_factor=8, rope_original_length=40),
    "each stack": dict(rope_scaling="yarn,llama3", rope_scaling_factor="4,3", rope_original_length="50,70"),
    "encoder": dict(rope_scaling="linear,none", rope_scaling_factor=4),
    "decoder": dict(rope_scaling="none,ntk", rope_scaling_factor=4, rope_base=500.0),
}
ARCHS = sorted(name for name, model in ARCH_MODEL_REGISTRY.items() if issubclass(model, TransformerRopeModel))
# fewer and smaller layers; norms and sharing are the arch's own
NARROW = {
    f"{side}_{name}": size
    for side in ("encoder", "decoder")
    for name, size in (("embed_dim", 64), ("ffn_embed_dim", 80), ("layers", 2))
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_an_option_keeps_the_scores(options: dict, tmp_path: Path) -> None:
    near(*score_both(stirred(**options), tmp_path / "model"), SCORES["runtime"])


@pytest.mark.parametrize("options", SCALINGS.values(), ids=SCALINGS)
def test_a_scaling_keeps_the_scores_where_it_matters(options: dict, tmp_path: Path) -> None:
    # one head of 24 dimensions has pairs of many frequencies
    heads = dict(encoder_attention_heads=1, decoder_attention_heads=1)
    model = stirred(**heads, **options)
    batch = long_pair(260, 230)
    scores = runtime_scores(runtime(model, tmp_path / "model"), TASK.target_dictionary, batch)
    near(scores, fairseq_scores(model, batch), SCORES["runtime"])
    plain = stirred(**heads, rope_base=options.get("rope_base", 10000.0))
    assert (fairseq_scores(plain, batch) - scores).abs().max() > 20 * SCORES["runtime"]


@pytest.mark.parametrize("arch", ARCHS)
def test_an_arch_keeps_the_scores(arch: str, tmp_path: Path) -> None:
    heads = {f"{side}_attention_heads": 16 if "big" in arch else 8 for side in ("encoder", "decoder")}
    near(*score_both(stirred(arch, **NARROW, **heads), tmp_path / "model"), SCORES["runtime"])


@pytest.mark.parametrize("fraction", [1.0, 0.75, 0.25])
@pytest.mark.parametrize("written", LAYOUTS)
@pytest.mark.parametrize("trained", LAYOUTS)
def test_either_layout_can_be_written_as_either(trained: str, written: str, fraction: float, tmp_path: Path) -> None:
    model = stirred(rope_layout=trained, rope_fraction=fraction)
    near(*score_both(model, tmp_path / "model", layout=written), SCORES["runtime"])


def long_pair(source: int, target: int) -> dict:
    """A batch of one sentence of so many random words on each side."""
    generator = torch.Generator().manual_seed(2)
    words = (torch.randint(4, WORDS, (length,), generator=generator) for length in (source, target))
    return pair(*(torch.cat((tokens, torch.tensor([EOS]))) for tokens in words))


def test_positions_beyond_the_runtimes_first_table_are_right(tmp_path: Path) -> None:
    model, batch = stirred(**LONG), long_pair(2500, 2100)
    scores = runtime_scores(runtime(model, tmp_path / "model"), TASK.target_dictionary, batch)
    near(scores, fairseq_scores(model, batch), SCORES["runtime"])


def test_padding_of_a_batch_reaches_no_score(tmp_path: Path) -> None:
    translator = runtime(stirred(), tmp_path / "model")
    sentences = [(["w3"] * source, ["w5"] * target) for source, target in ((3, 15), (17, 2), (1, 1))]
    together = translator.score_batch(*map(list, zip(*sentences, strict=True)))
    for (source, target), result in zip(sentences, together, strict=True):
        (alone,) = translator.score_batch([source], [target])
        near(torch.tensor(result.log_probs), torch.tensor(alone.log_probs), 1e-5)


@pytest.mark.parametrize("quantization", ["int8", "int16", "float16", "bfloat16"])
def test_quantization_rounds_the_file_and_leaves_the_model(quantization: str, tmp_path: Path) -> None:
    model = stirred()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    exact, expected = score_both(model, tmp_path / "exact")
    rounded, _ = score_both(model, tmp_path / "rounded", quantization=quantization)
    near(rounded, expected, 0.05)
    assert not torch.equal(rounded, exact)
    sizes = [(tmp_path / name / "model.bin").stat().st_size for name in ("rounded", "exact")]
    assert sizes[0] < 0.7 * sizes[1]
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_real_sentences_keep_their_scores(trained: Trained, exported: Path, data_dir: Path) -> None:
    translator = Translator.from_args(trained.options())
    runtime_model = ctranslate2.Translator(str(exported), "cpu", intra_threads=1)
    texts = []
    for lang in ("en", "de"):
        with gzip.open(data_dir / "multi30k" / f"test_2016_flickr.{lang}.gz", "rt", encoding="utf-8") as file:
            texts.append(file.readlines()[:60])
    for source, target in zip(*texts, strict=True):
        # one dictionary serves both languages
        batch = pair(*(translator.codec.encode(line, max_tokens=1000).tokens.long() for line in (source, target)))
        scores = runtime_scores(runtime_model, translator.task.target_dictionary, batch)
        near(scores, fairseq_scores(translator.engine.models[0], batch), SCORES["runtime"])
