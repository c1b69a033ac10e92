"""Measured attention as a table and as JSON: each number in its place."""

import json

import torch

from fairseq_rope.experiments.decay_text import decay_json, decay_text, table_rows
from fairseq_rope.experiments.distance_sums import StackAttention

ENCODER = StackAttention(
    distances=torch.tensor([-2, -1, 0, 1, 2]),
    pairs=torch.tensor([1000, 20, 30, 21, 10]),
    weights=torch.tensor([[[0.1, 0.2, 0.3, 0.4, 0.5]], [[0.3, 0.4, 0.5, 0.6, 0.7]]]),
    even=torch.tensor([0.4, 0.3, 0.2, 0.1, 0.05]),
    end_weights=torch.tensor([[0.25], [0.35]]),
    even_end=0.1,
)
DECODER = StackAttention(
    distances=torch.tensor([-5, -1, 0]),
    pairs=torch.tensor([2, 7, 8]),
    weights=torch.tensor([[[0.0, 0.125, 0.75], [0.2, 0.375, 0.25]]]),
    even=torch.tensor([0.2, 0.5, 0.25]),
    end_weights=torch.tensor([[0.25, 0.75]]),
    even_end=0.25,
)
MEASURED = {"a.pt": {"encoder": ENCODER, "decoder": DECODER}}


def test_a_table_has_means_of_heads_by_distance_and_nothing_where_no_pair_is():
    title, table = decay_text([], MEASURED, limit=5).split("\n\n")
    assert title == "a.pt, attention by distance"
    head, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]
    assert head == ["", *(f"{stack}: {x}" for stack in MEASURED["a.pt"] for x in ("weight", "weight / even", "pairs"))]
    assert rows == [
        ["-5", "", "", "", "0.1000", "0.50", "2"],
        ["-2", "0.2000", "0.50", "1,000", "", "", ""],
        ["-1", "0.3000", "1.00", "20", "0.2500", "0.50", "7"],
        ["0", "0.4000", "2.00", "30", "0.5000", "2.00", "8"],
        ["+1", "0.5000", "5.00", "21", "", "", ""],
        ["+2", "0.6000", "12.00", "10", "", "", ""],
        ["</s>", "0.3000", "3.00", "", "0.5000", "2.00", ""],
    ]


def test_json_has_every_distance_layer_and_head():
    (model,) = json.loads(decay_json([], MEASURED))["models"]
    assert model["model"] == "a.pt"
    assert model["decoder"] == {
        "distances": [-5, -1, 0],
        "pairs": [2, 7, 8],
        "even": DECODER.even.tolist(),
        "weights_by_layer": DECODER.weights.mean(dim=1).tolist(),
        "even_end": 0.25,
        "end_weights_by_layer": [0.5],
        "heads": [
            {"layer": 1, "head": 1, "weights": [0.0, 0.125, 0.75], "end_weight": 0.25},
            {"layer": 1, "head": 2, "weights": DECODER.weights[0, 1].tolist(), "end_weight": 0.75},
        ],
    }
    assert model["encoder"]["weights_by_layer"] == ENCODER.weights[:, 0].tolist()
    assert [(each["layer"], each["head"]) for each in model["encoder"]["heads"]] == [(1, 1), (2, 1)]


def test_a_table_ends_with_its_last_distance():
    assert table_rows(250) == [0, 1, 2, 5, 10, 20, 50, 100, 250]
    assert table_rows(30) == [0, 1, 2, 5, 10, 20, 30]
    assert table_rows(1) == [0, 1]
