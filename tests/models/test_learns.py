"""A position method must learn copy and reverse, which need positions; without rotation reverse stays out of reach."""

import pytest
import torch
from fairseq.data.data_utils import collate_tokens
from torch import Tensor

from tests.support.models import build_model, make_task

PAD, EOS, FIRST = 1, 2, 4
SYMBOLS, SHORTEST, LONGEST = 12, 3, 10
STEPS, BATCH, HELD_OUT = 600, 64, 200
ALL_BUT_FEW = 0.97  # on all processors: here it is 1
SIZES = dict(
    encoder_embed_dim=64,
    encoder_ffn_embed_dim=128,
    encoder_layers=2,
    decoder_layers=2,
    encoder_attention_heads=4,
    decoder_attention_heads=4,
    encoder_normalize_before=True,
    decoder_normalize_before=True,
    share_all_embeddings=True,
    dropout=0.0,
)
TASKS = {"copy": lambda string: string, "reverse": lambda string: string.flip(0)}


def strings(count: int, generator: torch.Generator) -> list[Tensor]:
    lengths = torch.randint(SHORTEST, LONGEST + 1, (count,), generator=generator).tolist()
    return [torch.randint(FIRST, FIRST + SYMBOLS, (length,), generator=generator) for length in lengths]


def batch(sources: list[Tensor]) -> Tensor:
    return collate_tokens([torch.cat((source, torch.tensor([EOS]))) for source in sources], PAD, left_pad=True)


def train(arch: str, transform, seed: int = 1, **options) -> torch.nn.Module:
    model = build_model(arch, make_task(SYMBOLS), seed=seed, **SIZES, **options).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=STEPS, pct_start=0.2)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(STEPS):
        sources = strings(BATCH, generator)
        targets = [torch.cat((transform(source), torch.tensor([EOS]))) for source in sources]
        inputs = collate_tokens([target.roll(1) for target in targets], PAD)
        logits = model(batch(sources), None, inputs)[0]
        loss = torch.nn.functional.cross_entropy(logits.transpose(1, 2), collate_tokens(targets, PAD), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return model.eval()


@torch.no_grad()
def exact_matches(model: torch.nn.Module, transform) -> float:
    """Decode held-out strings greedily, step by step, and give the share that is right to the last symbol."""
    sources = strings(HELD_OUT, torch.Generator().manual_seed(10**6))
    encoder_out, state = model.encoder(batch(sources)), {}
    tokens = torch.full((HELD_OUT, 1), EOS)
    for _ in range(LONGEST + 1):
        logits, _ = model.decoder(tokens, encoder_out=encoder_out, incremental_state=state)
        tokens = torch.cat((tokens, logits[:, -1:].argmax(-1)), dim=1)
    expected = [torch.cat((transform(source), torch.tensor([EOS]))) for source in sources]
    right = [torch.equal(row[1 : len(e) + 1], e) for row, e in zip(tokens, expected, strict=True)]
    return sum(right) / HELD_OUT


@pytest.mark.parametrize("transform", TASKS.values(), ids=TASKS)
def test_with_rotation_nearly_every_held_out_string_is_right(transform):
    assert exact_matches(train("transformer_rope", transform), transform) > ALL_BUT_FEW


def test_with_gated_layers_nearly_every_held_out_string_is_reversed_right():
    model = train("transformer_rope", TASKS["reverse"], ffn="swiglu")
    assert exact_matches(model, TASKS["reverse"]) > ALL_BUT_FEW


@pytest.mark.parametrize("transform", TASKS.values(), ids=TASKS)
def test_without_positions_neither_is_learned_for_the_encoder_knows_no_order(transform):
    assert exact_matches(train("transformer_rope", transform, position_method="none"), transform) < 0.5
