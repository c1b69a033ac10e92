"""fairseq's beam search with the source once for each sentence: the same n-best lists as with a copy for every beam."""

import importlib.util

import pytest
import torch
from fairseq import search
from fairseq.distributed import utils as distributed_utils
from fairseq.sequence_generator import SequenceGenerator
from torch import Tensor

from fairseq_rope.modules.attention import SelfAttention
from fairseq_rope.modules.cross_attention import CrossAttention, sentence_rows
from tests.support.models import SMALL, build_model, make_task

TASK = make_task()
PAD, EOS = TASK.source_dictionary.pad(), TASK.source_dictionary.eos()
BEAM = 4


def sources(left_pad: bool = True) -> dict[str, Tensor]:
    """Six sentences of 3 to 14 tokens, whose translations end at different steps."""
    generator = torch.Generator().manual_seed(3)
    lines = [torch.randint(4, 94, (length,), generator=generator) for length in (3, 14, 7, 7, 10, 5)]
    tokens = torch.full((6, 15), PAD)
    for row, line in zip(tokens, lines, strict=True):
        line = torch.cat((line, torch.tensor([EOS])))
        row[-len(line) if left_pad else 0 :][: len(line)] = line
    return {"src_tokens": tokens, "src_lengths": tokens.ne(PAD).sum(1)}


def model(**options: object) -> torch.nn.Module:
    built = build_model("transformer_rope", TASK, seed=5, **SMALL, **options)
    with torch.no_grad():
        # </s> now and then, or no sentence would leave the batch before the last step
        built.decoder.embed_tokens.weight[EOS] *= 3
    return built


def n_best(models: list[torch.nn.Module], *, copies: bool, prefix: Tensor | None = None, **options: object):
    generator = SequenceGenerator(models, TASK.target_dictionary, beam_size=BEAM, max_len_a=1, max_len_b=8, **options)
    for each in models:
        each.set_beam_size(1 if copies else BEAM)
    torch.manual_seed(1)
    with torch.no_grad():
        return generator.generate(models, {"net_input": sources()}, prefix_tokens=prefix)


OPTIONS: dict[str, dict[str, object]] = {
    "plain": {},
    "length penalty": dict(len_penalty=0.6),
    "no length penalty": dict(normalize_scores=False),
    "prefix": dict(prefix=torch.tensor([[9, 8], [9, PAD], [PAD, PAD], [7, 5], [5, PAD], [6, 6]])),
    "no repeats": dict(no_repeat_ngram_size=2),
    "diverse": dict(search_strategy=search.DiverseBeamSearch(TASK.target_dictionary, 2, 0.5)),
    "sampling": dict(search_strategy=search.Sampling(TASK.target_dictionary, sampling_topk=5)),
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("models", [1, 2], ids=["one model", "ensemble"])
def test_n_best_lists_are_those_of_a_search_with_copies(models: int, options: dict[str, object]):
    ensemble = [model(), model(rope_layout="half")][:models]
    actual, expected = (n_best(ensemble, copies=copies, **options) for copies in (False, True))
    lengths = {len(hypotheses[0]["tokens"]) for hypotheses in expected}
    assert len(lengths) > 1  # or none left the batch before the others
    for ours, theirs in zip(actual, expected, strict=True):
        assert len(ours) == BEAM
        for one, other in zip(ours, theirs, strict=True):
            assert torch.equal(one["tokens"], other["tokens"])
            torch.testing.assert_close(one["positional_scores"], other["positional_scores"], atol=2e-5, rtol=1e-5)


def test_scores_are_those_of_the_full_pass():
    one = model()
    for i, hypotheses in enumerate(n_best([one], copies=False)):
        for hypothesis in hypotheses:
            tokens = hypothesis["tokens"][None]
            source = sources()["src_tokens"][i].masked_select(sources()["src_tokens"][i].ne(PAD))[None]
            previous = torch.cat((tokens.new_tensor([[EOS]]), tokens[:, :-1]), dim=1)
            logits = one(source, torch.tensor([source.size(1)]), previous)[0]
            expected = logits.log_softmax(-1).gather(2, tokens[..., None])[0, :, 0]
            torch.testing.assert_close(hypothesis["positional_scores"], expected, atol=2e-5, rtol=1e-5)


def test_the_source_is_projected_once_for_each_sentence():
    one, tokens = model(), []
    one.decoder.layers[0].encoder_attn.k_proj.register_forward_hook(lambda _, x, y: tokens.append(x[0][..., 0].numel()))
    n_best([one], copies=False)
    assert tokens == [sources()["src_tokens"].numel()]


def test_alignments_are_given_when_asked_for_and_are_those_of_a_search_with_copies():
    one = model()
    one.make_generation_fast_(need_attn=True)
    for ours, theirs in zip(*(n_best([one], copies=copies) for copies in (False, True)), strict=True):
        for hypothesis, other in zip(ours, theirs, strict=True):
            assert hypothesis["attention"].size(1) == len(hypothesis["tokens"])
            torch.testing.assert_close(hypothesis["attention"], other["attention"], atol=1e-6, rtol=1e-5)
    assert n_best([model()], copies=False)[0][0]["attention"].numel() == 0


def test_hypotheses_keep_their_sentence():
    # three sentences of two hypotheses: the second sentence leaves
    assert sentence_rows(torch.tensor([1, 1, 5, 4]), hypotheses=6, sentences=3).tolist() == [0, 2]
    assert sentence_rows(torch.tensor([1, 0, 3, 3, 5, 4]), hypotheses=6, sentences=3) is None
    assert sentence_rows(torch.tensor([2, 0]), hypotheses=3, sentences=3).tolist() == [2, 0]


WITHOUT_BASE = importlib.util.find_spec("fairseq.libbase") is None
BASE = pytest.param({"base_layers": 1}, marks=pytest.mark.skipif(WITHOUT_BASE, reason="fairseq has no libbase"))


@pytest.mark.parametrize(
    "options", [{}, {"decoder_layerdrop": 0.9}, BASE], ids=["all layers", "layer drop", "BASE layer"]
)
def test_a_new_order_reaches_each_attention_once_in_training_too(monkeypatch: pytest.MonkeyPatch, options: dict):
    seen = []
    monkeypatch.setattr(distributed_utils, "get_data_parallel_rank", lambda: 0)  # a BASE layer asks for it
    for attention in (SelfAttention, CrossAttention):
        monkeypatch.setattr(attention, "reorder_incremental_state", lambda *given: seen.append(given))
    decoder, state, order = model(**options).train().decoder, {}, torch.tensor([1, 0])
    decoder.reorder_incremental_state_scripting(state, order)
    found = [module for module, *_ in seen]
    assert found == [module for module in decoder.modules() if isinstance(module, SelfAttention | CrossAttention)]
    assert len(found) == 2 * SMALL["decoder_layers"] and all(given[1:] == (state, order) for given in seen)


@torch.no_grad()
def test_after_a_search_sentences_may_be_given_any_other_order():
    built = model()
    built.set_beam_size(2)
    encoder_out = built.encoder(**sources())
    order = torch.tensor([5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0])
    reordered = built.encoder.reorder_encoder_out(encoder_out, order)["encoder_out"][0]
    assert torch.equal(reordered, encoder_out["encoder_out"][0][:, order])
