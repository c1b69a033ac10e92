"""A trained checkpoint through fairseq's own command lines: what they print is what the paper's model says."""

import math
import re

import pytest
import torch
from fairseq import checkpoint_utils
from fairseq.dataclass.configs import FairseqConfig

import fairseq_rope
from tests.reference import ReferenceTransformer
from tests.support import ROOT
from tests.support.models import build_model
from tests.support.trained import Trained, call

USER_DIR = ("--user-dir", str(ROOT / "fairseq_rope"))


def generate(trained: Trained, *options: str, checkpoint: str = "") -> list[str]:
    command = ["fairseq_cli.generate", str(trained.data), "--path", checkpoint or str(trained.checkpoint), "--cpu"]
    # fairseq's main branch drops the last sentences when they do not fill a multiple of 8
    command += ["--gen-subset", "valid", "--max-tokens", "600", "--required-batch-size-multiple", "1"]
    return call(*command, *USER_DIR, *options).stdout.decode().splitlines()


def lines(log: list[str], kind: str) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for line in log:
        if match := re.match(rf"{kind}-(\d+)\t(.*)", line):
            found.setdefault(int(match[1]), []).append(match[2])
    return found


def test_generate_in_padded_batches_gives_the_reference_models_scores(trained):
    log = generate(trained, "--beam", "3", "--lenpen", "0")
    models, _, task = checkpoint_utils.load_model_ensemble_and_task([str(trained.checkpoint)])
    reference = ReferenceTransformer(dict(models[0].state_dict()), num_heads=2)
    dictionary = task.target_dictionary
    sources, hypotheses, scores = (lines(log, kind) for kind in "SHP")
    assert len(hypotheses) == 300
    for number in range(0, 300, 29):
        source = dictionary.encode_line(sources[number][0], add_if_not_exist=False).tolist()
        target = dictionary.encode_line(hypotheses[number][0].split("\t")[1], add_if_not_exist=False).tolist()
        logits = reference.logits(source, [dictionary.eos(), *target[:-1]])
        expected = logits.log_softmax(-1)[torch.arange(len(target)), torch.tensor(target)]
        actual = torch.tensor([float(x) for x in scores[number][0].split()], dtype=torch.float64)
        # fairseq-generate prints logarithms to base 2, with four digits
        torch.testing.assert_close(actual * math.log(2), expected, atol=2e-4, rtol=0)


def test_scores_do_not_depend_on_how_sentences_are_batched_or_padded(trained):
    alone = lines(generate(trained, "--batch-size", "1"), "H")
    together = lines(generate(trained, "--left-pad-source"), "H")
    for number, (hypothesis,) in alone.items():
        score, text = hypothesis.split("\t")
        other_score, other_text = together[number][0].split("\t")
        assert float(score) == pytest.approx(float(other_score), abs=1e-4)
        assert text == other_text


def test_bf16_is_honored_and_near_float32(trained):
    exact, rounded = (lines(generate(trained, *options), "H") for options in ((), ("--bf16",)))
    pairs = [(exact[number][0].split("\t"), rounded[number][0].split("\t")) for number in exact]
    same = [(float(one), float(other)) for (one, text), (other, rounded_text) in pairs if text == rounded_text]
    assert len(same) > 0.8 * len(pairs)
    differences = [abs(one - other) for one, other in same]
    assert 1e-3 < max(differences) < 0.2


@pytest.mark.parametrize(("path", "dtype"), [("a.pt", torch.bfloat16), (None, torch.float32)])
def test_bf16_of_the_training_is_not_that_of_the_search(path: str | None, dtype: torch.dtype):
    cfg = FairseqConfig()
    cfg.common.bf16, cfg.common_eval.path = True, path
    model = build_model("transformer_rope_tiny")
    model.prepare_for_inference_(cfg)
    assert {parameter.dtype for parameter in model.parameters()} == {dtype}


def test_print_alignment_gives_a_source_position_for_each_target_token(trained):
    log = generate(trained, "--print-alignment", "hard", "--beam", "2")
    alignments, hypotheses = lines(log, "A"), lines(log, "H")
    assert len(alignments) == 300
    for number, (alignment,) in alignments.items():
        targets = [int(pair.split("-")[1]) for pair in alignment.split()]
        assert targets == list(range(len(hypotheses[number][0].split("\t")[1].split())))


def test_prefix_size_forces_the_first_target_tokens(trained):
    log = generate(trained, "--prefix-size", "2")
    hypotheses, references = lines(log, "H"), lines(log, "T")
    for number, (reference,) in references.items():
        assert hypotheses[number][0].split("\t")[1].split()[:2] == reference.split()[:2]


def test_an_ensemble_of_a_model_with_itself_is_that_model(trained):
    twice = lines(generate(trained, checkpoint=f"{trained.checkpoint}:{trained.checkpoint}"), "H")
    once = lines(generate(trained), "H")
    assert {n: h[0].split("\t")[1] for n, h in twice.items()} == {n: h[0].split("\t")[1] for n, h in once.items()}


@pytest.mark.parametrize(
    "options", [("--sampling", "--sampling-topk", "3", "--beam", "1"), ("--nbest", "2"), ("--unkpen", "1")]
)
def test_other_searches_decode_every_sentence(trained, options):
    assert len(lines(generate(trained, *options), "H")) == 300


def test_interactive_honors_constraints(trained):
    stdin = b"the dog sees Anna today .\tWunsch\n"
    command = ["fairseq_cli.interactive", str(trained.data), "--path", str(trained.checkpoint), "--cpu", *USER_DIR]
    log = call(*command, "-s", "en", "-t", "de", "--constraints", stdin=stdin).stdout.decode()
    assert "C-0" in log and "H-0" in log


def test_validate_reports_the_loss_of_the_checkpoint(trained):
    command = ["fairseq_cli.validate", str(trained.data), "--path", str(trained.checkpoint), "--cpu", *USER_DIR]
    done = call(*command, "--task", "translation", "--valid-subset", "valid", "--max-tokens", "600")
    assert re.search(rb"valid on 'valid' subset \| loss [\d.]+", done.stdout + done.stderr)


def test_from_pretrained_translates_raw_text(trained):
    model = fairseq_rope.TransformerRopeModel.from_pretrained(
        str(trained.checkpoint.parent),
        checkpoint_file=trained.checkpoint.name,
        data_name_or_path=str(trained.data),
        tokenizer="moses",
        bpe="subword_nmt",
        bpe_codes=str(trained.codes),
    )
    translation = model.translate("The dog sees Anna today.")
    assert translation.strip() and "@@" not in translation


def test_the_module_prints_the_folder_for_user_dir():
    assert call("fairseq_rope").stdout.decode() == f"{ROOT / 'fairseq_rope'}\n"
