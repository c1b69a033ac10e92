"""The encoder through fairseq's commands: pre-train, resume, average, fill masks, fine-tune, two ranks, bf16."""

import shutil
import traceback
from pathlib import Path

import pytest
import torch
from fairseq import options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq_cli import validate
from torch import Tensor

from fairseq_rope import RoformerModel
from fairseq_rope.checkpoints.averaging import write_average
from fairseq_rope.inference.translator import Translator
from fairseq_rope_data.errors import UserError
from tests.integration.test_training import losses
from tests.support import ROOT
from tests.support.near import GRADIENTS, near
from tests.support.pretrained import COMMON, MLM, SIZES, UPDATES, Pretrained, binarize, train_here
from tests.support.ranks import train_on_two_ranks
from tests.support.trained import call

MASKED = (*MLM.split(), *SIZES.split(), "--disable-validation")


def weights(path: Path) -> dict[str, Tensor]:
    model: dict[str, Tensor] = torch.load(path, map_location="cpu")["model"]
    return model


def load(path: Path, data: Path, **overrides: object) -> torch.nn.Module:
    return RoformerModel.from_pretrained(str(path.parent), path.name, str(data), **overrides).eval()


def test_a_resumed_pretraining_ends_as_one_that_was_never_stopped(pretrained: Pretrained, tmp_path: Path):
    shutil.copy(pretrained.halfway, tmp_path / "checkpoint_last.pt")
    train_here(pretrained.data, tmp_path, *MASKED, "--max-update", str(UPDATES))
    whole, resumed = weights(pretrained.checkpoint), weights(tmp_path / "checkpoint_last.pt")
    assert all(torch.equal(resumed[name], whole[name]) for name in whole)


def test_an_average_fills_masks_and_reads_any_length(pretrained: Pretrained, tmp_path: Path):
    average = tmp_path / "average.pt"
    write_average([pretrained.halfway, pretrained.checkpoint], average)
    before, after, both = (weights(path) for path in (pretrained.halfway, pretrained.checkpoint, average))
    for name in both:
        near(both[name], (before[name] + after[name]) / 2, GRADIENTS["model"])

    model = load(average, pretrained.data)
    words = model.task.source_dictionary
    with torch.no_grad():
        model.model.encoder.lm_head.bias[words.unk()] = 9.0  # the likeliest, and no word
        logits, _ = model.model(model.encode("the old <mask> likes Anna today .")[None])
    probabilities = logits[0, 3].softmax(dim=0)
    assert probabilities.argmax() == words.unk()
    best = [(p.item(), words[i]) for i, p in enumerate(probabilities) if i not in (0, 1, 2, 3, len(words) - 1)]
    found = model.fill_mask("the old <mask> likes Anna today .", topk=4)
    for (text, probability, word), (expected, likely) in zip(found, sorted(best, reverse=True)[:4], strict=True):
        assert (text, word) == (f"the old {likely} likes Anna today .", likely)
        assert probability == pytest.approx(expected, abs=1e-5)
    with pytest.raises(ValueError, match=r"^the input must have one <mask>, but is 'no mask'$"):
        model.fill_mask("no mask")
    far = model.encode(" ".join(["Anna likes my sister ."] * 30))
    assert model.extract_features(far).shape == (1, 152, 32)


def test_after_training_the_scaling_can_change_and_nothing_else(pretrained: Pretrained):
    model = load(pretrained.checkpoint, pretrained.data)
    scaled = load(pretrained.checkpoint, pretrained.data, rope_scaling="linear", rope_scaling_factor=2)
    tokens = model.encode("Anna likes my sister .")
    assert not torch.equal(scaled.extract_features(tokens), model.extract_features(tokens))
    for name, trained, other in (("rope_base", 10000.0, 500.0), ("segments", 0, 2), ("sinusoid_scale", 1.0, 0.02)):
        with pytest.raises(UserError, match=f"^--model-overrides: {name} must stay {trained}, as .* but is {other}$"):
            load(pretrained.checkpoint, pretrained.data, **{name: other})


def test_a_head_is_tuned_kept_in_the_checkpoint_and_predicts(pretrained: Pretrained, tmp_path: Path):
    words, data = pretrained.data / "dict.txt", tmp_path / "data"
    lines = [(line, label) for label, texts in pretrained.texts.items() for line in texts[:60]]
    binarize([line for line, _ in lines], data / "input0", dictionary=words)
    binarize([label for _, label in lines], data / "label")
    train_here(
        *(data, tmp_path / "tuned", "--task", "sentence_prediction", "--criterion", "sentence_prediction"),
        *("--num-classes", "2", "--init-token", "0", "--finetune-from-model", str(pretrained.checkpoint)),
        *("--classification-head-name", "kind", "--batch-size", "40", "--max-update", "30", *SIZES.split()),
    )
    model = load(tmp_path / "tuned" / "checkpoint_last.pt", data)
    labels = model.task.label_dictionary
    right = 0
    for label, texts in pretrained.texts.items():
        for line in texts[60:80]:
            best = model.predict("kind", model.encode(line)).argmax().item()
            right += labels[best + labels.nspecial] == label
    assert right >= 38  # of 40 that it has not seen
    # its head of masked tokens is there still
    ((text, _, word),) = model.fill_mask("the old <mask> likes Anna today .", topk=1)
    assert text == f"the old {word} likes Anna today ."


def test_sentences_are_ranked(pretrained: Pretrained, tmp_path: Path):
    words, data = pretrained.data / "dict.txt", tmp_path / "data"
    good, bad = (pretrained.texts[label][:40] for label in ("good", "bad"))
    labels = [number % 2 for number in range(40)]
    pairs = [(b, g) if label else (g, b) for g, b, label in zip(good, bad, labels, strict=True)]
    for name, lines in (("input0", good[::-1]), *((f"input{i + 1}", [pair[i] for pair in pairs]) for i in range(2))):
        binarize(lines, data / name, dictionary=words)
    (data / "label").mkdir()
    for split in ("train", "valid"):
        (data / "label" / f"{split}.label").write_text("".join(f"{label}\n" for label in labels))
    train_here(
        *(data, tmp_path / "ranked", "--task", "sentence_ranking", "--criterion", "sentence_ranking"),
        *("--num-classes", "2", "--init-token", "0", "--max-option-length", "20", "--max-positions", "40"),
        *("--finetune-from-model", str(pretrained.checkpoint), "--batch-size", "20", "--max-update", "20"),
        *(*SIZES.split(), "--ranking-head-name", "nearer"),
    )
    state = torch.load(tmp_path / "ranked" / "checkpoint_best.pt")
    assert "classification_heads.nearer.out_proj.weight" in state["model"]


def test_two_ranks_equal_one_process_with_update_freq_2(pretrained: Pretrained, tmp_path: Path):
    command = ("fairseq_cli.train", str(pretrained.data), "--user-dir", str(ROOT / "fairseq_rope"), *MASKED)
    exact = (*COMMON.split(), "--dropout", "0", "--attention-dropout", "0", "--max-tokens", "200", "--max-update", "4")
    alone = call(*command, *exact, "--update-freq", "2", "--save-dir", str(tmp_path / "one"))
    together = train_on_two_ranks([*command, *exact], tmp_path / "two")
    expected = losses((alone.stdout + alone.stderr).decode())
    assert len(expected) == 12 and losses(together) == pytest.approx(expected, rel=5e-4, abs=1.5e-3)
    one, two = (weights(tmp_path / name / "checkpoint_last.pt") for name in ("one", "two"))
    for name in one:
        near(two[name], one[name], GRADIENTS["model"])


@pytest.mark.parametrize(
    "ways",
    [
        ("--bf16",),
        ("--tokens-per-sample", "128", "--max-tokens", "800"),
        ("--sample-break-mode", "eos"),
        ("--rope-scaling", "linear", "--rope-scaling-factor", "4"),
        ("--checkpoint-activations",),
    ],
    ids=["bf16", "longer", "sentence by sentence", "scaled", "activation checkpointing"],
)
def test_pretraining_goes_on_in_another_way(pretrained: Pretrained, tmp_path: Path, ways: tuple[str, ...]):
    more = ("--finetune-from-model", str(pretrained.checkpoint), "--max-update", "2")
    train_here(pretrained.data, tmp_path, *MASKED, *more, *ways)
    state = torch.load(tmp_path / "checkpoint_last.pt")
    assert state["optimizer_history"][-1]["num_updates"] == 2
    assert all(value.isfinite().all() for value in state["model"].values())


def test_the_twin_of_bert_trains_and_names_the_end_of_its_table(pretrained: Pretrained, tmp_path: Path):
    learned = (*MASKED, "--position-method", "learned", "--max-update", "2")
    train_here(pretrained.data, tmp_path / "first", *learned)
    stage = ("--finetune-from-model", str(tmp_path / "first" / "checkpoint_last.pt"), "--tokens-per-sample", "64")
    with pytest.raises(Exception, match="Cannot load model parameters") as error:
        train_here(pretrained.data, tmp_path / "second", *learned, *stage)
    told = "".join(traceback.format_exception(error.value))
    assert "ValueError: --max-positions must be 32, as many as the checkpoint has, but is 64" in told
    table = ("--max-positions", "32")
    with pytest.raises(ValueError, match=r"^--tokens-per-sample must be at most the 32 of --max-positions"):
        train_here(pretrained.data, tmp_path / "second", *learned, *stage, *table)


def test_whole_words_are_refused_by_name(pretrained: Pretrained, tmp_path: Path):
    with pytest.raises(ValueError, match=r"^--mask-whole-words does not work: "):
        train_here(pretrained.data, tmp_path, *MASKED, "--mask-whole-words")


def test_an_encoder_does_not_translate(pretrained: Pretrained, tmp_path: Path):
    words = (pretrained.data / "dict.txt").read_text(encoding="utf-8")
    for lang in ("en", "de"):
        (tmp_path / f"dict.{lang}.txt").write_text(f"{words}<mask> 1\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"^--path .* must be an encoder-decoder model, but is a RoformerModel$"):
        Translator.from_args([str(tmp_path), "--path", str(pretrained.checkpoint), "-s", "en", "-t", "de", "--cpu"])


@pytest.mark.parametrize("method", ["rope", "learned"])
def test_longer_blocks_are_validated_where_no_table_ends(pretrained: Pretrained, tmp_path: Path, method: str):
    train_here(pretrained.data, tmp_path, *MASKED, "--position-method", method, "--max-update", "1")
    command = (str(pretrained.data), "--task", "masked_lm", "--criterion", "masked_lm", "--cpu", "--batch-size", "8")
    longer = ("--num-workers", "0", "--model-overrides", "{'tokens_per_sample': 96}")
    command = (*command, *longer, "--path", str(tmp_path / "checkpoint_last.pt"))
    given, overrides = (
        options.parse_args_and_arch(options.get_validation_parser(), command, suppress_defaults=suppressed)
        for suppressed in (False, True)
    )
    cfg = convert_namespace_to_omegaconf(given)
    if method == "learned":
        with pytest.raises(ValueError, match=r"^--tokens-per-sample must be at most the 32 of --max-positions"):
            validate.main(cfg, overrides)
    else:
        validate.main(cfg, overrides)
