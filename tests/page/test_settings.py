"""Settings of runs: what their records say, and what differs between models."""

from pathlib import Path

import pytest

from fairseq_rope.page.settings import NOT_SET, differing_settings, run_settings

RECORD = r"""[given]
raw/train.en: 29000 lines, 1801238 bytes, sha256 460a15fb
[prepare]
BPE="subword_nmt"
CLEAN=()
[train]
--arch transformer_rope
--adam-betas \(0.9\,\ 0.98\)
--dropout 0.3
--share-all-embeddings
--dropout 0.1
--seed {seed}
BATCH_TOKENS=2048
# torch 2.13.0
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "settings").write_text(RECORD.format(seed=1))
    return tmp_path


def test_of_an_option_that_is_given_twice_the_last_value_counts_and_versions_are_no_settings(run: Path):
    assert run_settings(run) == {
        "BPE": '"subword_nmt"',
        "CLEAN": "()",
        "--arch": "transformer_rope",
        "--adam-betas": "(0.9, 0.98)",
        "--dropout": "0.1",
        "--share-all-embeddings": "",
        "--seed": "1",
        "BATCH_TOKENS": "2048",
    }


def test_how_it_was_decoded_is_a_setting(run: Path):
    (run / "generate-test.log.settings").write_text(RECORD.format(seed=1) + "[generate]\n--beam 5\n")
    (run / "generate-long.log.settings").write_text(RECORD.format(seed=1) + "[generate]\n--beam 9\n")
    assert run_settings(run)["--beam"] == "5"


def test_a_run_without_a_record_has_none(tmp_path: Path):
    assert run_settings(tmp_path) == {}


def test_what_is_the_same_in_all_models_and_the_seed_are_left_out():
    rope = {"--arch": "transformer_rope", "--lr": "1", "--seed": "1"}
    stock = {"--arch": "transformer", "--lr": "1", "--seed": "2", "--share-all-embeddings": ""}
    models = {"rope": {1: rope, 2: rope | {"--seed": "2"}}, "stock": {1: stock}, "no record": {1: {}}}
    assert differing_settings(models) == {
        "--arch": {"rope": "transformer_rope", "stock": "transformer"},
        "--share-all-embeddings": {"rope": NOT_SET, "stock": "set"},
    }


def test_seeds_of_a_model_that_were_trained_otherwise_are_seen():
    models = {"rope": {1: {"--lr": "1"}, 2: {"--lr": "2"}}, "stock": {1: {"--lr": "1"}}}
    assert differing_settings(models) == {"--lr": {"rope": "1 | 2", "stock": "1"}}
