"""The encoder: against Hugging Face's RoFormer and fairseq's RoBERTa, padding, selected tokens, segments, options."""

import importlib
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
import torch
from fairseq.data.data_utils import collate_tokens
from torch import Tensor

from fairseq_rope.modules import attention_kernels
from fairseq_rope.modules.positions.layouts import LAYOUTS
from fairseq_rope.modules.sentence_encoder import segment_ids
from tests.support.encoders import LENGTHS, PAD, SMALL, WORDS, draw, encoder, padded, sentences, some
from tests.support.near import GRADIENTS, LOGITS, near

METHODS = ("rope", "none", "sinusoidal", "learned", "t5", "shaw")
VARIANTS = {
    **{method: dict(position_method=method) for method in METHODS},
    "small sinusoids": dict(position_method="sinusoidal", sinusoid_scale=0.05),
    "half layout, half of a head": dict(rope_layout="half", rope_fraction=0.5),
    "scaled": dict(rope_scaling="yarn", rope_scaling_factor="3", rope_original_length="20"),
    "pre-norm": dict(encoder_normalize_before=True),
    "gated, segments": dict(ffn="geglu", segments=2),
    "gated by swish": dict(ffn="swiglu"),
    "activation checkpointing": dict(checkpoint_activations=True),
    "untied": dict(untie_weights_roberta=True),
}
each_variant = pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS.keys())


@pytest.fixture
def hugging_face(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Hugging Face's RoFormer, without torchaudio, whose binary does not load beside every torch."""
    monkeypatch.setitem(sys.modules, "torchaudio", None)
    pytest.importorskip("transformers", reason="the oracle, Hugging Face transformers, is not installed")
    return importlib.import_module("transformers.models.roformer.modeling_roformer")


def oracle(roformer: SimpleNamespace, *, segments: int, eps: float) -> torch.nn.Module:
    """Hugging Face's model of the sizes SMALL, with random weights."""
    config = roformer.RoFormerConfig(
        **dict(vocab_size=WORDS + 1, hidden_size=SMALL["encoder_embed_dim"], pad_token_id=PAD, rotary_value=False),
        **dict(num_hidden_layers=SMALL["encoder_layers"], num_attention_heads=SMALL["encoder_attention_heads"]),
        **dict(intermediate_size=SMALL["encoder_ffn_embed_dim"], max_position_embeddings=64, hidden_act="gelu"),
        **dict(type_vocab_size=segments, layer_norm_eps=eps),
    )
    torch.manual_seed(3)
    model = roformer.RoFormerForMaskedLM(config).eval()
    positions = {name: table.clone() for name, table in model.named_parameters() if "embed_positions" in name}
    draw(model)
    model.load_state_dict(positions, strict=False)
    return model


def names_of_hugging_face(name: str) -> str:
    """The name that a parameter of ours has there."""
    for ours, theirs in (
        ("encoder.sentence_encoder.layers.", "roformer.encoder.layer."),
        ("encoder.sentence_encoder.embed_tokens.", "roformer.embeddings.word_embeddings."),
        ("encoder.sentence_encoder.segment_embeddings.", "roformer.embeddings.token_type_embeddings."),
        ("encoder.sentence_encoder.layernorm_embedding.", "roformer.embeddings.LayerNorm."),
        ("encoder.lm_head.dense.", "cls.predictions.transform.dense."),
        ("encoder.lm_head.layer_norm.", "cls.predictions.transform.LayerNorm."),
        ("encoder.lm_head.weight", "cls.predictions.decoder.weight"),
        ("encoder.lm_head.bias", "cls.predictions.bias"),
        ("self_attn.q_proj", "attention.self.query"),
        ("self_attn.k_proj", "attention.self.key"),
        ("self_attn.v_proj", "attention.self.value"),
        ("self_attn.out_proj", "attention.output.dense"),
        ("self_attn_layer_norm", "attention.output.LayerNorm"),
        ("fc1", "intermediate.dense"),
        ("fc2", "output.dense"),
        ("final_layer_norm", "output.LayerNorm"),
    ):
        name = name.replace(ours, theirs)
    return name


@pytest.mark.parametrize(("segments", "eps"), [(2, 1e-12), (1, 1e-3)], ids=["BERT's", "one segment, another eps"])
@torch.no_grad()
def test_logits_equal_hugging_face_roformer(hugging_face: SimpleNamespace, segments: int, eps: float):
    theirs = oracle(hugging_face, segments=segments, eps=eps)
    model = encoder(segments=segments, layer_norm_eps=eps)
    weights = theirs.state_dict()
    for name, parameter in model.named_parameters():
        parameter.copy_(weights[names_of_hugging_face(name)])
    tokens = padded()
    kinds = segment_ids(tokens, separator=2, count=segments)
    expected = theirs(tokens, attention_mask=tokens.ne(PAD).long(), token_type_ids=kinds).logits
    kept = tokens.ne(PAD)
    near(model(tokens)[0][kept], expected[kept], LOGITS["same weights"] * expected.abs().max().item())


@pytest.mark.parametrize("prenorm", [False, True])
@torch.no_grad()
def test_the_twin_of_bert_is_roberta_with_the_same_weights(prenorm: bool):
    ours = encoder(position_method="learned", encoder_normalize_before=prenorm)
    stock = encoder("roberta", encoder_normalize_before=prenorm)
    ours.load_state_dict(stock.state_dict(), strict=True)
    tokens = padded()
    kept = tokens.ne(PAD)
    near(ours(tokens)[0][kept], stock(tokens)[0][kept], LOGITS["large weights"])


@each_variant
@torch.no_grad()
def test_padding_on_either_side_changes_nothing_whatever_it_holds(options: dict):
    model = encoder(**options)
    table = model.encoder.sentence_encoder.embed_tokens.weight
    words = torch.arange(WORDS + 1) != PAD  # a head that is tied has the padding's row, too
    for content in (0.0, 1e3):
        table[PAD] = content
        alone = torch.cat([model(tokens[None])[0][0] for tokens in sentences(*LENGTHS)])
        for left in (False, True):
            tokens = padded(left)
            near(model(tokens)[0][tokens.ne(PAD)][:, words], alone[:, words], LOGITS["large weights"])


def gradients(model: torch.nn.Module, output: Tensor) -> dict[str, Tensor]:
    model.zero_grad()
    output.square().mean().backward()
    return {name: x.grad.clone() for name, x in model.named_parameters() if x.grad is not None}


@each_variant
def test_masked_tokens_have_the_logits_and_gradients_that_all_tokens_have(options: dict):
    model = encoder(**options, dropout=0.0, attention_dropout=0.0).train()
    tokens = padded()
    masked = some(tokens)
    whole = model(tokens, return_all_hiddens=True)[0][masked]  # with padding
    asked = model(tokens, masked_tokens=masked)[0]
    near(asked, whole, LOGITS["large weights"])
    expected, found = gradients(model, whole), gradients(model, asked)
    for name in expected:
        near(found[name], expected[name], GRADIENTS["attention"] * max(1.0, expected[name].abs().max().item()))


@each_variant
@pytest.mark.parametrize("left", [False, True], ids=["right", "left"])
def test_a_head_has_the_output_and_gradients_that_all_features_give(options: dict, left: bool):
    model = encoder(**options, dropout=0.0, attention_dropout=0.0).train()
    model.register_classification_head("head", num_classes=3)
    head = model.classification_heads["head"]
    draw(head)
    tokens = padded(left)
    features = model(tokens, features_only=True, return_all_hiddens=True)[0]  # with padding
    whole, asked = head(features), model(tokens, classification_head_name="head")[0]
    near(asked, whole, LOGITS["large weights"])
    expected, found = gradients(model, whole), gradients(model, asked)
    for name in expected:
        near(found[name], expected[name], GRADIENTS["attention"] * max(1.0, expected[name].abs().max().item()))


@torch.no_grad()
def test_padding_that_is_asked_for_has_the_output_that_it_had_with_all_padding():
    model = encoder()
    tokens = padded()
    asked = some(tokens) | tokens.eq(PAD)
    whole = model(tokens, return_all_hiddens=True)[0]
    near(model(tokens, masked_tokens=asked)[0], whole[asked], LOGITS["large weights"])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_batch_of_no_sentences_has_no_logits_as_robertas(layout: str):
    tokens = padded()[:0]
    for model in (encoder("roberta"), encoder(rope_layout=layout)):
        logits = model(tokens)[0]
        logits.sum().backward()
        assert logits.shape == (*tokens.shape, len(model.encoder.dictionary))


@torch.no_grad()
def test_threads_may_share_a_model():
    model = encoder(encoder_layers=6)
    model.register_classification_head("head", num_classes=3)
    batches = [collate_tokens(sentences(length, 3 * length), PAD) for length in range(4, 20)]

    def scores(tokens: Tensor) -> Tensor:
        return model(tokens, classification_head_name="head")[0]

    expected = [scores(tokens) for tokens in batches]
    with ThreadPoolExecutor(8) as threads:
        for found, alone in zip(threads.map(scores, batches * 20), expected * 20, strict=True):
            near(found, alone, LOGITS["large weights"])


@pytest.mark.parametrize("part", ["self_attn.q_proj", "self_attn.k_proj", "self_attn.out_proj", "fc1"])
def test_the_last_layer_does_no_work_for_tokens_that_nobody_asks_for(part: str):
    model = encoder()
    tokens = padded()
    rows = []
    for layer in model.encoder.sentence_encoder.layers:
        layer.get_submodule(part).register_forward_hook(
            lambda module, inputs, output: rows.append(output.numel() // output.size(-1))
        )
    model(tokens, masked_tokens=some(tokens))
    words = int(tokens.ne(PAD).sum())
    # attention needs all keys
    assert rows == [words, words, words if "k_proj" in part else int(some(tokens).sum())]
    rows.clear()
    model.register_classification_head("head", num_classes=3)
    model(tokens, classification_head_name="head")
    assert rows == [words, words, words if "k_proj" in part else len(tokens)]


@pytest.mark.parametrize("dropout", [0.0, 0.1])
@pytest.mark.parametrize(("asked", "queries"), [((3, 0, 5), 5), ((1, 1, 1), 1), ((0, 0, 0), 0)])
def test_only_the_queries_of_tokens_that_are_asked_for_attend(
    monkeypatch: pytest.MonkeyPatch, asked: tuple[int, ...], queries: int, dropout: float
):
    model = encoder(dropout=0.0, attention_dropout=dropout).train()
    attend, shapes = attention_kernels.attend, []

    def record(q: Tensor, k: Tensor, *args: object, **options: object) -> object:
        shapes.append((q.size(2), k.size(2)))
        return attend(q, k, *args, **options)

    monkeypatch.setattr(attention_kernels, "attend", record)
    tokens = padded()[: len(asked)]
    masked = torch.arange(tokens.size(1)) < torch.tensor(asked)[:, None]
    logits = model(tokens, masked_tokens=masked)[0]
    logits.sum().backward()
    length = tokens.size(1)
    assert logits.shape == (sum(asked), WORDS + 1)
    assert shapes == [(length, length), (length, length), (queries, length)]


@torch.no_grad()
def test_masked_tokens_stand_where_they_are_told_to():
    model = encoder()
    tokens = padded()
    masked = some(tokens)
    positions = torch.rand(tokens.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64) * 50
    whole = model(tokens, return_all_hiddens=True, src_positions=positions)[0][masked]  # with padding
    near(model(tokens, masked_tokens=masked, src_positions=positions)[0], whole, LOGITS["large weights"])


@each_variant
@torch.no_grad()
def test_where_layers_compute_sentences_the_logits_of_masked_tokens_are_the_same(
    monkeypatch: pytest.MonkeyPatch, options: dict
):
    model = encoder(**options)
    tokens = padded()
    masked = some(tokens)
    by_rows = model(tokens, masked_tokens=masked)[0]
    monkeypatch.setattr("fairseq_rope.modules.encoder.token_rows", lambda *_: None)  # as on a GPU
    near(model(tokens, masked_tokens=masked)[0], by_rows, LOGITS["large weights"])


def test_layers_that_are_all_left_out_select_tokens_too():
    model = encoder(encoder_layerdrop=1.0).train()
    tokens = padded()
    logits, _ = model(tokens, masked_tokens=some(tokens))
    assert logits.shape == (some(tokens).sum(), WORDS + 1)


@torch.no_grad()
def test_rotary_features_do_not_depend_on_where_a_sentence_begins():
    model = encoder()
    tokens = padded()
    far = torch.arange(tokens.size(1)).expand_as(tokens) + 1000
    near(model(tokens, src_positions=far)[0], model(tokens)[0], LOGITS["large weights"])
    apart = far * 2
    assert (model(tokens, src_positions=apart)[0] - model(tokens)[0]).abs().max() > 0.1


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_angles_stay_exact_when_the_model_is_cast(dtype: torch.dtype):
    model = encoder()
    method = model.encoder.sentence_encoder.position_method
    exact = method.table(600, torch.device("cpu")).clone()
    model.to(dtype)
    model(padded())
    assert torch.equal(method.table(600, torch.device("cpu")), exact) and exact.dtype == torch.complex64
    assert not [name for name, buffer in model.named_buffers() if "version" not in name]


def test_segments_end_with_their_separators():
    tokens = torch.tensor([[0, 7, 2, 8, 9, 2, 1], [0, 2, 2, 8, 2, 9, 2]])
    assert segment_ids(tokens, separator=2, count=2).tolist() == [[0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1, 1]]
    assert segment_ids(tokens, separator=2, count=3).tolist()[1] == [0, 0, 1, 2, 2, 2, 2]
    assert not segment_ids(tokens, separator=2, count=1).any()


@torch.no_grad()
def test_segments_tell_the_sentences_of_a_pair_apart():
    model = encoder(segments=2)
    tokens = padded()
    before = model(tokens)[0]
    second = model.encoder.sentence_encoder.segment_embeddings.weight[1]
    second.normal_()
    assert (model(tokens)[0] - before).abs().max() > 0.1
    single = tokens[:1, : LENGTHS[0] // 2 + 1]  # up to its first separator
    alone = model(single)[0]
    second.normal_()
    assert torch.equal(model(single)[0], alone)
