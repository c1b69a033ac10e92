"""Random models against the float64 reference: values, gradients, the full pass and stepwise decoding with a beam."""

import random
import traceback
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from fairseq.data import Dictionary
from fairseq.data.data_utils import collate_tokens
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY
from fairseq.tasks.translation import TranslationConfig, TranslationTask
from torch import Tensor

import fairseq_rope  # noqa: F401  registers the archs
from tests.faults.model_reference import ACTIVATIONS, ModelReference
from tests.faults.report import Report

FULL, QUICK = 200, 30
PAD, EOS, SPECIAL = 1, 2, 4
# float32 against float64, relative to the largest value; of 200 models 3e-7, 3e-5 and 3e-7 at most
TOLERANCES = {"values": 5e-6, "gradients": 1e-4, "stepwise": 5e-6}
# --rope-fraction -> what the size of a head must be a multiple of
FRACTIONS = {1.0: 2, 0.5: 4, 0.25: 8, 0.75: 8}


def run(work: Path, rng: random.Random, count: int, report: Report) -> None:
    """Build and compare `count` models."""
    for number in range(1, count + 1):
        if report.wanted(number):
            rng = report.rng(number)
            options = draw(rng)
            words = f"{number} {' '.join(f'{name}={value}' for name, value in options.items())}"
            try:
                problem = ", ".join(differences(options, rng))
            except Exception:
                problem = traceback.format_exc()
            report.failed(words, problem) if problem else report.passed(f"{number}")


def draw(rng: random.Random) -> dict[str, Any]:
    """Draw options of fairseq's transformer and of the rotation; what cannot go together is not drawn."""
    fraction = rng.choice(list(FRACTIONS))
    options: dict[str, Any] = {
        "rope_fraction": fraction,
        "rope_layout": rng.choice(("interleaved", "half")),
        "rope_base": round(10 ** rng.uniform(0.2, 6), 2),
        "share": rng.choice(("all", "decoder", "none")),
        "adaptive_softmax_cutoff": rng.choice((None, None, None, [8], [6, 15])),
        "adaptive_softmax_factor": 2,
        "no_cross_attention": rng.random() < 0.15,
        "activation_fn": rng.choice(list(ACTIVATIONS)),
        "source_words": rng.randint(20, 60),
        "target_words": rng.randint(20, 60),
        "left_pad_source": rng.random() < 0.5,
        "left_pad_target": rng.random() < 0.5,
        "training": rng.random() < 0.5,
        "beam": rng.randint(1, 3),
    }
    pruned = rng.random() < 0.3  # both sides: fairseq drops all layers of one that isn't named
    for side in ("encoder", "decoder"):
        heads = rng.randint(1, 4)
        head_dim = FRACTIONS[fraction] * rng.randint(1, 16 // FRACTIONS[fraction])
        layers = rng.randint(1, 3)
        if heads * head_dim == 2:  # a layer norm of two numbers gives their signs: its gradient is rounding alone
            heads = 2
        options |= {
            f"{side}_attention_heads": heads,
            f"{side}_embed_dim": heads * head_dim,
            f"{side}_ffn_embed_dim": rng.randint(1, 50),
            f"{side}_layers": layers,
            f"{side}_normalize_before": rng.random() < 0.5,
        }
        if pruned:
            kept = sorted(rng.sample(range(layers), rng.randint(1, layers)))
            options[f"{side}_layers_to_keep"] = ",".join(map(str, kept))
    for name in ("no_decoder_final_norm", "layernorm_embedding", "no_scale_embedding", "checkpoint_activations"):
        options[name] = rng.random() < 0.3
    options["offload_activations"] = options["checkpoint_activations"] and rng.random() < 0.5
    if options["share"] == "all":
        options["decoder_embed_dim"] = options["encoder_embed_dim"]
        options["decoder_attention_heads"] = options["encoder_attention_heads"]
    if options["share"] == "none" and rng.random() < 0.3:
        options["decoder_output_dim"] = rng.randint(8, 40)
    width, cutoff = options.get("decoder_output_dim", options["decoder_embed_dim"]), options["adaptive_softmax_cutoff"]
    if cutoff and width < options["adaptive_softmax_factor"] ** len(cutoff):  # its last words would have no weights
        options["adaptive_softmax_cutoff"] = None
    if (gated := rng.choice((None, None, "geglu", "swiglu"))) is not None:
        del options["activation_fn"]
        options["ffn"] = gated
    if not options["training"]:  # in evaluation nothing is dropped
        options |= {name: round(rng.random(), 2) for name in ("dropout", "attention_dropout", "encoder_layerdrop")}
    return options


def differences(options: dict[str, Any], rng: random.Random) -> Iterator[str]:
    """Compare one model with the reference; say what differs by more than it may."""
    torch.manual_seed(rng.randrange(2**31))
    model, reference, args = build(options)
    sources = _sentences(rng, len(reference.state["encoder.embed_tokens.weight"]))
    targets = _sentences(rng, len(reference.state["decoder.embed_tokens.weight"]))
    yield from _full(model, reference, sources, targets, args)
    model.eval()
    yield from _stepwise(model, reference, sources, rng, options["beam"])


def build(options: dict[str, Any]) -> tuple[Any, ModelReference, Namespace]:
    """Build the model as a checkpoint's is built, and the reference over the same weights."""
    dictionaries = [_dictionary(options["source_words"]), _dictionary(options["target_words"])]
    if options["share"] == "all":
        dictionaries[1] = dictionaries[0]
    task = TranslationTask(TranslationConfig(left_pad_target=options["left_pad_target"]), *dictionaries)
    share = {"share_all_embeddings": options["share"] == "all"}
    share["share_decoder_input_output_embed"] = options["share"] == "decoder"
    full = _args(options | share, pruned=False)
    trained = ARCH_MODEL_REGISTRY["transformer_rope"].build_model(full, task)
    for parameter in trained.parameters():  # biases and norms start at 0 and 1, which would hide mistakes
        torch.nn.init.normal_(parameter, std=0.3)
    args = _args(options | share, pruned=True)
    model = ARCH_MODEL_REGISTRY["transformer_rope"].build_model(args, task)
    model.load_state_dict(trained.state_dict(), strict=True, model_cfg=args)
    return model.train(options["training"]), ModelReference(_leaves(trained), _args(options, pruned=True)), args


def _args(options: dict[str, Any], *, pruned: bool) -> Namespace:
    args = Namespace(arch="transformer_rope", **options)
    for name in ("dropout", "attention_dropout"):
        setattr(args, name, options.get(name, 0.0))
    if not pruned:
        args.encoder_layers_to_keep = args.decoder_layers_to_keep = None
    ARCH_CONFIG_REGISTRY["transformer_rope"](args)
    return args


def _dictionary(words: int) -> Dictionary:
    dictionary = Dictionary()
    for i in range(words):
        dictionary.add_symbol(f"w{i}")
    return dictionary


def _leaves(model: Any) -> dict[str, Tensor]:
    """The weights in float64, each once whatever its names, so that gradients add up as in the model."""
    once: dict[int, Tensor] = {}
    for tensor in model.state_dict().values():
        once.setdefault(tensor.data_ptr(), tensor.double().requires_grad_())
    return {name: once[tensor.data_ptr()] for name, tensor in model.state_dict().items()}


def _sentences(rng: random.Random, words: int) -> list[list[int]]:
    return [[*(rng.randrange(SPECIAL, words) for _ in range(rng.randint(1, 9))), EOS] for _ in range(3)]


def _full(
    model: Any, reference: ModelReference, sources: list[list[int]], targets: list[list[int]], args: Namespace
) -> Iterator[str]:
    """Compare a padded batch, then the gradients of a random sum of what it gives."""
    source, target = (
        collate_tokens([torch.tensor(s) for s in sentences], PAD, left_pad=left_pad)
        for sentences, left_pad in ((sources, args.left_pad_source), (targets, args.left_pad_target))
    )
    inputs = collate_tokens([torch.tensor(t) for t in targets], PAD, EOS, args.left_pad_target, True)
    words = target.ne(PAD)
    features = model(source, torch.tensor([len(s) for s in sources]), inputs, features_only=True)[0]
    log_probs = _log_probs(model, features)[words]
    expected = [reference.features(s, [EOS, *t[:-1]]) for s, t in zip(sources, targets, strict=True)]
    expected_log_probs = reference.log_probs(torch.cat(expected))
    yield from _far("values", log_probs, expected_log_probs)
    # fairseq's adaptive softmax gives log-probabilities without gradients
    ours, theirs = (log_probs, expected_log_probs)
    if args.adaptive_softmax_cutoff:
        ours, theirs = features[words], torch.cat(expected)
    weights = torch.randn(ours.shape)
    (ours * weights).sum().backward()
    (theirs * weights).sum().backward()
    for name, parameter in model.named_parameters():
        leaf = reference.state[_full_name(name, reference.args)]
        actual, wanted = (torch.zeros_like(x) if x.grad is None else x.grad for x in (parameter, leaf))
        yield from _far("gradients", actual, wanted, name)


def _full_name(name: str, args: Namespace) -> str:
    """The name before pruning."""
    side, _, rest = name.partition(".")
    kept = getattr(args, f"{side}_layers_to_keep", None)
    if not kept or not rest.startswith("layers."):
        return name
    _, layer, rest = rest.split(".", 2)
    return f"{side}.layers.{kept.split(',')[int(layer)]}.{rest}"


def _log_probs(model: Any, features: Tensor) -> Tensor:
    decoder = model.decoder
    if decoder.adaptive_softmax is not None:
        return decoder.adaptive_softmax.get_log_prob(features.detach(), target=None)
    return decoder.output_layer(features).log_softmax(-1)


@torch.no_grad()
def _stepwise(
    model: Any, reference: ModelReference, sources: list[list[int]], rng: random.Random, beam: int
) -> Iterator[str]:
    """Decode random tokens step by step, as a search does: hypotheses are dropped and others doubled on the way."""
    if beam > 1:
        model.set_beam_size(beam)
    source = collate_tokens([torch.tensor(s) for s in sources], PAD, left_pad=rng.random() < 0.5)
    encoder_out = model.encoder(source, src_lengths=None)
    rows = [row for row in range(len(sources)) for _ in range(beam)]
    encoder_out = model.encoder.reorder_encoder_out(encoder_out, torch.tensor(rows))
    words = len(reference.state["decoder.embed_tokens.weight"])
    prefixes = [[EOS] for _ in rows]
    state: dict[Any, Any] = {}
    for step in range(8):
        features = model.decoder(
            torch.tensor(prefixes), encoder_out=encoder_out, incremental_state=state, features_only=True
        )[0]
        if step % 3 == 2 or step == 7:
            expected = torch.stack(
                [reference.features(sources[row], prefix)[-1] for row, prefix in zip(rows, prefixes, strict=True)]
            )
            yield from _far(
                "stepwise", _log_probs(model, features)[:, -1], reference.log_probs(expected), f"step {step}"
            )
        # each hypothesis goes on from one of its sentence's
        order = torch.tensor([rng.randrange(beam) + i // beam * beam for i in range(len(rows))])
        if rng.random() < 0.5:
            model.decoder.reorder_incremental_state_scripting(state, order)
            encoder_out = model.encoder.reorder_encoder_out(encoder_out, order)
            prefixes = [prefixes[i] for i in order.tolist()]
        prefixes = [[*prefix, rng.randrange(SPECIAL, words)] for prefix in prefixes]


def _far(kind: str, actual: Tensor, expected: Tensor, where: str = "") -> Iterator[str]:
    """Return how far two tensors are apart, if that is too far."""
    error = float((actual.double() - expected).abs().max() / expected.abs().max().clamp(min=1))
    if not error <= TOLERANCES[kind]:
        yield f"{kind} {where} differ by {error:.1e}, which may be {TOLERANCES[kind]:.0e}"
