"""Measured attention by distance: slow loops over the float64 reference's weights, and what must hold in any model."""

import itertools
from collections import defaultdict

import pytest
import torch
from fairseq.data.data_utils import collate_tokens

from fairseq_rope.experiments import decay_figure
from fairseq_rope.experiments.attention_distances import attention_by_distance
from fairseq_rope.models._positions import POSITION_METHODS
from fairseq_rope.modules.recorded_attention import recorded_self_attention
from fairseq_rope_data.errors import UserError
from tests.models.test_against_reference import EOS, PAD, make_model, sentences, shifted
from tests.support.models import build_model
from tests.support.near import LOGITS, near
from tests.support.small import small

LIMIT = 6
PAIRS = [*zip(sentences(9, 4, 13, 2, 1), shifted(sentences(6, 11, 8, 1, 3, seed=6)), strict=True)]


def batches(left_pad: bool = False, sizes: tuple[int, ...] = (3, 2)) -> list[dict]:
    found, pairs = [], iter(PAIRS)
    for size in sizes:
        sources, targets = zip(*(next(pairs) for _ in range(size)), strict=True)
        source, target = (collate_tokens([*side], PAD, left_pad=left_pad) for side in (sources, targets))
        lengths = torch.tensor([len(each) for each in sources])
        found.append({"net_input": {"src_tokens": source, "src_lengths": lengths, "prev_output_tokens": target}})
    return found


def measured(model, *, limit: int = LIMIT, **options):
    return attention_by_distance(model, batches(**options), limit=limit, pad=PAD, end=EOS)


def slow_means(reference, side: str, layer: int, head: int) -> tuple[dict[int, tuple[int, float, float]], float, float]:
    """By distance the pairs, the mean weight and the mean of even attention; and the last two of </s>, by query."""
    by_distance, ends, even_ends = defaultdict(list), [], []
    for source, target in PAIRS:
        reference.logits(source.tolist(), target.tolist())
        tokens = (source if side == "encoder" else target).tolist()
        for i in range(len(tokens)):
            keys = range(i + 1) if side == "decoder" else range(len(tokens))
            if all(tokens[j] == EOS for j in keys):
                continue
            weights = [float(x) for x in reference.attention[f"{side}.layers.{layer}.self_attn", head, i]]
            ends.append(sum(weights[j] for j in keys if tokens[j] == EOS))
            even_ends.append(sum(tokens[j] == EOS for j in keys) / len(keys))
            for j in keys:
                if tokens[j] != EOS and abs(j - i) <= LIMIT:
                    by_distance[j - i].append((weights[j], 1 / len(keys)))
    means = {
        distance: (len(values), *(sum(each) / len(values) for each in zip(*values, strict=True)))
        for distance, values in sorted(by_distance.items())
    }
    return means, sum(ends) / len(ends), sum(even_ends) / len(even_ends)


@pytest.mark.parametrize("method", POSITION_METHODS)
@pytest.mark.parametrize("left_pad", [False, True], ids=["right padding", "left padding"])
def test_it_is_the_mean_over_pairs_of_the_references_weights(method: str, left_pad: bool):
    model, reference = make_model(position_method=method)
    found = measured(model, left_pad=left_pad)
    for side, layers in (("encoder", 2), ("decoder", 3)):
        assert found[side].weights.shape[:2] == found[side].end_weights.shape == (layers, 3)
        for layer, head in itertools.product(range(layers), range(3)):
            means, end, even_end = slow_means(reference, side, layer, head)
            assert found[side].distances.tolist() == [*means]
            assert found[side].pairs.tolist() == [pairs for pairs, _, _ in means.values()]
            weights = [mean for _, mean, _ in means.values()]
            assert found[side].weights[layer, head].tolist() == pytest.approx(weights, abs=1e-5)
            assert found[side].even.tolist() == pytest.approx([even for _, _, even in means.values()])
            assert float(found[side].end_weights[layer, head]) == pytest.approx(end, abs=1e-5)
            assert found[side].even_end == pytest.approx(even_end)


def test_keys_of_the_decoder_are_not_after_their_query():
    found = measured(make_model()[0])
    assert found["decoder"].distances.tolist() == [*range(-LIMIT, 1)]
    assert found["encoder"].distances.tolist() == [*range(-LIMIT, LIMIT + 1)]


def test_all_weights_of_a_query_are_1_together():
    for found in measured(make_model()[0], limit=100).values():
        of_words = (found.pairs * found.weights).sum(dim=-1)
        queries = (of_words / (1 - found.end_weights)).flatten()
        assert queries.tolist() == pytest.approx([round(float(queries[0]))] * len(queries), rel=1e-5)
        assert float((found.pairs * found.even).sum() / (1 - found.even_end)) == pytest.approx(float(queries[0]))


def test_where_distance_cannot_matter_it_is_even_at_each_distance():
    model = small(position_method="none")
    for name, parameter in model.named_parameters():
        if "self_attn.q_proj" in name:
            torch.nn.init.zeros_(parameter)
    for found in measured(model).values():
        near(found.relative, torch.ones_like(found.relative), 1e-5)
        near(found.end_weights, torch.full_like(found.end_weights, found.even_end), 1e-6)


def test_batches_do_not_matter():
    model = make_model()[0]
    whole, split = measured(model, sizes=(5,)), measured(model, sizes=(1, 2, 2))
    for side in whole:
        near(whole[side].weights, split[side].weights, 1e-6)
        assert torch.equal(whole[side].pairs, split[side].pairs)


def test_the_stock_model_is_measured_as_the_same_model_of_ours():
    theirs = small("transformer")
    theirs.load_state_dict(theirs.state_dict())  # after which fairseq 0.12.2 goes by its fast path
    ours = small(position_method="sinusoidal")
    ours.load_state_dict(theirs.state_dict())
    for found, expected in zip(measured(theirs).values(), measured(ours).values(), strict=True):
        near(found.weights, expected.weights, 1e-5)


@pytest.mark.parametrize("arch", ["transformer_rope", "transformer"])
def test_a_model_that_was_measured_is_as_before(arch: str):
    model = small(arch)
    inputs = batches(sizes=(2,))[0]["net_input"]
    before = model(**inputs)[0]
    with recorded_self_attention(model.encoder, lambda weights: weights.shape) as recorded:
        near(model(**inputs)[0], before, LOGITS["same weights"])
    batch, length = inputs["src_tokens"].shape
    assert recorded == [(3, batch, length, length)] * 2
    assert torch.equal(model(**inputs)[0], before) and len(recorded) == 2
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert not any(getattr(module, "skip_embed_dim_check", False) for module in model.modules())


def test_hooks_are_removed_after_an_error_too():
    model = small()
    with pytest.raises(RuntimeError), recorded_self_attention(model.encoder, len):
        raise RuntimeError
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_a_model_without_self_attention_is_refused():
    with pytest.raises(UserError, match=r"^the encoder has no self-attention whose weights can be measured$"):
        measured(build_model("lstm", criterion="cross_entropy"), sizes=(1,))


def test_a_model_that_has_diverged_is_refused():
    model = small()
    torch.nn.init.constant_(model.decoder.layers[1].self_attn.q_proj.weight, float("nan"))
    message = r"^the weights of the decoder's attention are not finite: its training has diverged$"
    with pytest.raises(UserError, match=message):
        measured(model)


def test_text_without_words_is_refused():
    end = torch.tensor([[EOS]])
    batch = {"net_input": {"src_tokens": end, "src_lengths": torch.tensor([1]), "prev_output_tokens": end}}
    with pytest.raises(UserError, match=r"^there are no words to measure attention on$"):
        attention_by_distance(small(), [batch], limit=LIMIT, pad=PAD, end=EOS)


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list:
    """The figures that are drawn."""
    found: list = []
    monkeypatch.setattr(decay_figure, "MIN_PAIRS", 20)
    monkeypatch.setattr(decay_figure, "write_figure", lambda figure, _: found.append(figure))
    return found


def lines_of(axes) -> dict[str, tuple[list, list]]:
    """The lines of a panel that the legend names: where they are drawn, and their values."""
    named = [line for line in axes.lines if not line.get_label().startswith("_")]
    return {line.get_label(): ([*line.get_xdata()], [*line.get_ydata()]) for line in named}


def test_the_picture_has_layers_of_one_model_and_means_of_several_where_there_are_pairs_enough(tmp_path, figures):
    first, second = measured(make_model()[0]), measured(make_model(position_method="alibi")[0])
    decay_figure.draw_decay([], {"a": first}, tmp_path / "a.svg")
    decay_figure.draw_decay([], {"a": first, "b": second}, tmp_path / "a.svg")
    alone, together = figures
    assert len(together.axes) == 2
    for side, axes, means in zip(first, alone.axes[:2], together.axes, strict=True):
        enough = first[side].pairs >= 20
        assert 2 < enough.sum() < len(enough)
        layers, places = first[side].relative.mean(dim=1)[:, enough], first[side].distances[enough].tolist()
        names = [f"layer {number + 1}" for number in range(len(layers))]
        expected = {**dict(zip(names, layers, strict=True)), "mean of layers": layers.mean(dim=0)}
        assert lines_of(axes) == {name: (places, values.tolist()) for name, values in expected.items()}
        values = [found[side].relative.mean(dim=(0, 1))[enough].tolist() for found in (first, second)]
        assert [line for _, line in lines_of(means).values()] == [pytest.approx(each) for each in values]


def test_the_picture_of_one_model_has_a_panel_for_each_layer_with_its_heads(tmp_path, figures):
    found = measured(make_model()[0])
    decay_figure.draw_decay([], {"a": found}, tmp_path / "a.svg")
    panels = {axes.get_title(): lines_of(axes) for axes in figures[0].axes[2:]}
    assert len(panels) == 5  # two layers of the encoder, three of the decoder
    for side, layers in (("encoder", 2), ("decoder", 3)):
        enough = found[side].pairs >= 20
        places = found[side].distances[enough].tolist()
        for layer in range(layers):
            heads = found[side].relative[layer][:, enough]
            expected = {f"head {head + 1}": heads[head] for head in range(3)} | {"mean of heads": heads.mean(dim=0)}
            panel = panels[f"heads of the {side}'s layer {layer + 1}"]
            assert panel == {name: (places, values.tolist()) for name, values in expected.items()}
