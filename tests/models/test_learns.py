"""A position method must learn copy and reverse, which need positions; without rotation reverse stays out of reach."""

import torch
from fairseq.data.data_utils import collate_tokens
from torch import Tensor

from tests.support.models import build_model, make_task

PAD, EOS, FIRST = 1, 2, 4
SYMBOLS, SHORTEST, LONGEST = 12, 3, 5
STEPS, BATCH, HELD_OUT, RATE = 500, 32, 200, 1e-2
ALL_BUT_FEW = 0.97  # on all processors: here it is 1
SIZES = dict(
    encoder_embed_dim=32,
    encoder_ffn_embed_dim=64,
    encoder_layers=2,
    decoder_layers=2,
    encoder_attention_heads=4,
    decoder_attention_heads=4,
    encoder_normalize_before=True,
    decoder_normalize_before=True,
    share_all_embeddings=True,
    dropout=0.0,
)
TASKS = ("copy", "reverse")
SYMBOL = {task: FIRST + SYMBOLS + i for i, task in enumerate(TASKS)}  # before a string: what to do with it


def strings(count: int, generator: torch.Generator) -> list[Tensor]:
    lengths = torch.randint(SHORTEST, LONGEST + 1, (count,), generator=generator).tolist()
    lengths[0] = LONGEST  # batches of one shape, for which oneDNN compiles products once
    return [torch.randint(FIRST, FIRST + SYMBOLS, (length,), generator=generator) for length in lengths]


def batch(sources: list[Tensor], tasks: list[str]) -> Tensor:
    asked = zip(sources, tasks, strict=True)
    lines = [torch.cat((torch.tensor([SYMBOL[task]]), source, torch.tensor([EOS]))) for source, task in asked]
    return collate_tokens(lines, PAD, left_pad=True)


def answers(sources: list[Tensor], tasks: list[str]) -> list[Tensor]:
    asked = zip(sources, tasks, strict=True)
    strings = (source.flip(0) if task == "reverse" else source for source, task in asked)
    return [torch.cat((string, torch.tensor([EOS]))) for string in strings]


def train(arch: str, *, steps: int = STEPS, **options) -> torch.nn.Module:
    """Train one model to do both."""
    model = build_model(arch, make_task(SYMBOLS + len(TASKS)), **SIZES, **options).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, betas=(0.9, 0.98), fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps, pct_start=0.2)
    generator = torch.Generator().manual_seed(1)
    tasks = list(TASKS) * (BATCH // 2)
    for _ in range(steps):
        sources = strings(BATCH, generator)
        targets = answers(sources, tasks)
        inputs = collate_tokens([target.roll(1) for target in targets], PAD)
        logits = model(batch(sources, tasks), None, inputs)[0]
        loss = torch.nn.functional.cross_entropy(logits.transpose(1, 2), collate_tokens(targets, PAD), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return model.eval()


@torch.no_grad()
def exact_matches(model: torch.nn.Module) -> dict[str, float]:
    """Decode held-out strings greedily, step by step: of each task the share that is right to the last symbol."""
    sources = strings(HELD_OUT, torch.Generator().manual_seed(10**6))
    found = {}
    for task in TASKS:
        encoder_out, state = model.encoder(batch(sources, [task] * HELD_OUT)), {}
        tokens = torch.full((HELD_OUT, 1), EOS)
        for _ in range(LONGEST + 1):
            logits, _ = model.decoder(tokens, encoder_out=encoder_out, incremental_state=state)
            tokens = torch.cat((tokens, logits[:, -1:].argmax(-1)), dim=1)
        expected = answers(sources, [task] * HELD_OUT)
        right = [torch.equal(row[1 : len(e) + 1], e) for row, e in zip(tokens, expected, strict=True)]
        found[task] = sum(right) / HELD_OUT
    return found


def test_with_rotation_nearly_every_held_out_string_is_right():
    assert min(exact_matches(train("transformer_rope")).values()) > ALL_BUT_FEW


def test_with_gated_layers_nearly_every_held_out_string_is_right():
    assert min(exact_matches(train("transformer_rope", ffn="swiglu")).values()) > ALL_BUT_FEW


def test_without_positions_neither_is_learned_for_the_encoder_knows_no_order():
    assert max(exact_matches(train("transformer_rope", position_method="none")).values()) < 0.5
