"""tools.masked on checkpoints: lengths, scalings, tables that end, and input that does not fit."""

import json
import re
import sys
from pathlib import Path

import pytest

from fairseq_rope.tools import masked
from fairseq_rope_data.errors import UserError
from tests.support.masked_models import binarized_text, masked_model

NTK = "{'rope_scaling': 'ntk', 'rope_scaling_factor': 4}"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with binarized text and a checkpoint of each position method."""
    folder = tmp_path_factory.mktemp("masked")
    data = binarized_text(folder / "data")
    for method in ("rope", "learned", "sinusoidal"):
        masked_model(folder / f"{method}.pt", data, "--position-method", method)
    return folder


@pytest.fixture
def run(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Call the tool on a checkpoint of the folder; give what it prints."""

    def call(name: str, *options: str, data: Path = place / "data") -> str:
        words = ["masked", "--path", str(place / f"{name}.pt"), "--data", str(data), "--cpu", *options]
        monkeypatch.setattr(sys, "argv", words)
        masked.main()
        return capsys.readouterr().out

    return call


def bits(report: str) -> float:
    return json.loads(report)["scores"][0]["value"]


@pytest.mark.parametrize("name", ["rope", "sinusoidal"])
def test_a_model_reads_blocks_of_other_lengths_and_predicts_the_same_tokens(run, name: str):
    reports = [json.loads(run(name, "--json", *length)) for length in ((), ("--length", "32"), ("--length", "64"))]
    assert [report["length"] for report in reports] == [16, 32, 64]
    assert {report["trained_length"] for report in reports} == {16}
    assert len({sum(report["blocks"]["tokens"]) for report in reports}) == 1
    assert len({report["scores"][0]["value"] for report in reports}) == 3
    assert [score["name"] for score in reports[0]["scores"]] == ["bits", "accuracy"]


def test_batches_change_nothing_and_masks_and_scalings_do(run):
    default = bits(run("rope", "--json"))
    assert bits(run("rope", "--json", "--max-tokens", "1")) == pytest.approx(default, abs=1e-5)
    assert bits(run("rope", "--json", "--mask-seed", "2")) != default
    assert bits(run("rope", "--json", "--model-overrides", NTK)) != pytest.approx(default, abs=1e-4)


def test_people_see_the_scores_and_how_masks_were_drawn(run):
    lines = run("rope", "--mask-share", "0.5").splitlines()
    assert lines[0].startswith("valid in blocks of 16 tokens, trained on 16: ")
    assert [line.split(" = ")[0] for line in lines[1:3]] == ["bits", "accuracy"] and "(perplexity " in lines[1]
    assert lines[3] == "    masked:0.5|mask:80%,other:10%,same:10%|mask-seed:1"


def test_a_table_of_learned_positions_ends_and_it_is_said_by_name(run, place: Path):
    assert bits(run("learned", "--json", "--length", "16")) > 0
    with pytest.raises(UserError) as error:
        run("learned", "--length", "17")
    assert str(error.value) == (
        f"--length 17 is beyond the learned positions of {place}/learned.pt, whose table ends at 16"
    )
    report = json.loads(run("learned", "--length", "17", "--allow", "beyond-table", "--json"))
    assert report["scores"] == [] and "blocks" not in report
    assert report["notes"] == [
        "--allow beyond-table: not read, for its learned positions are a table that ends at 16 tokens"
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--length", "1"), "--length must be at least 2, <s> and a token, but is 1"),
        (("--mask-share", "0"), "--mask-share must be in (0, 1], but is 0"),
        (("--mask-seed", "0"), "--mask-seed must be at least 1, but is 0"),
        (("--max-tokens", "0"), "--max-tokens must be at least 1, but is 0"),
        (("--length", "9999"), "--length 9999: --subset valid of --data {data} has N tokens only"),
        (("--subset", "test"), "--subset test must be text of one language in --data {data}, but there is none"),
        (("--model-overrides", "[]"), "--model-overrides must be a Python dictionary of options, but is '[]'"),
    ],
)
def test_an_option_that_cannot_be_is_named(run, place: Path, options: tuple[str, ...], message: str):
    with pytest.raises(UserError) as error:
        run("rope", *options)
    assert re.sub("has [0-9]+ tokens", "has N tokens", str(error.value)) == message.format(data=place / "data")


def test_text_of_another_dictionary_is_refused(run, place: Path, tmp_path: Path):
    other = binarized_text(tmp_path / "other", words=70)
    with pytest.raises(UserError, match=rf"^--path {place}/rope.pt does not fit DATA {other}: "):
        run("rope", data=other)
    (other / "dict.txt").write_bytes((place / "data" / "dict.txt").read_bytes())
    with pytest.raises(
        UserError, match=r"^--subset valid of --data .* is of another dictionary: it has token 7[0-9], "
    ):
        run("rope", data=other)


def test_files_that_are_not_there_or_damaged_are_named(run, place: Path, tmp_path: Path):
    with pytest.raises(UserError) as error:
        run("nothing")
    assert str(error.value) == f"--path {place}/nothing.pt: there is no such file"
    with pytest.raises(UserError, match=f"--only-source, but {tmp_path} has no dict.txt$"):
        run("rope", data=tmp_path)
    cut = binarized_text(tmp_path / "cut")
    (cut / "valid.idx").write_bytes((cut / "valid.idx").read_bytes()[:40])
    with pytest.raises(UserError, match=r"^--subset valid cannot be read from --data "):
        run("rope", data=cut)
