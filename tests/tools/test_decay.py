"""The command line of decay: its numbers as table, JSON and picture, on a trained model too, and its errors."""

import json
import re
import sys
from pathlib import Path

import pytest
import torch

from fairseq_rope.experiments import decay_figure
from fairseq_rope.modules.positions.decay import decay_bound, mean_cosine, relative_phasors
from fairseq_rope.tools import decay as tool
from fairseq_rope_data.errors import UserError
from tests.models.test_against_reference import make_model
from tests.modules.test_decay import PAPER
from tests.support import ROOT
from tests.support.trained import TRAINING, Trained, call

YARN = ("--rope-scaling", "yarn", "--rope-scaling-factor", "4", "--rope-original-length", "100")


@pytest.fixture
def decay(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Run the command line; give what it prints."""

    def run(*options: object) -> str:
        monkeypatch.setattr(sys, "argv", ["decay", *map(str, options)])
        tool.main()
        return capsys.readouterr().out

    return run


def cells(text: str) -> dict[str, list[str]]:
    """The cells of a table by its first column."""
    rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in text.splitlines()]
    return {row[0]: row[1:] for row in rows}


def test_the_table_has_the_papers_values(decay):
    table = cells(decay("--head-dim", "128", "64", "--distances", "1000"))
    for row, number in zip(("0", "1", "10", "50", "100", "250", "1000"), range(7), strict=True):
        assert [table[row][0], table[row][2]] == [f"{PAPER[head_dim][number]:.3f}" for head_dim in (128, 64)]


def test_each_setting_has_its_line_without_and_with_scaling(decay):
    found = json.loads(decay("--head-dim", 32, "--rope-base", 500, 10000, "--rope-fraction", 0.5, *YARN, "--json"))
    assert found["models"] == []
    assert [rotation["title"] for rotation in found["rotations"]] == [
        "d 32, base 500, fraction 0.5",
        "d 32, base 500, fraction 0.5, yarn x 4 of 100 tokens",
        "d 32, base 10000, fraction 0.5",
        "d 32, base 10000, fraction 0.5, yarn x 4 of 100 tokens",
    ]
    assert all(len(rotation["bound"]) == len(rotation["mean_cosine"]) == 251 for rotation in found["rotations"])


def test_a_pair_of_scalings_is_two_lines_beside_the_plain_one(decay):
    options = ("--rope-scaling", "linear,yarn", "--rope-scaling-factor", "2,4", "--rope-original-length", "1000")
    titles = [rotation["title"] for rotation in json.loads(decay(*options, "--json"))["rotations"]]
    plain = "d 64, base 10000"
    assert titles == [plain, f"{plain}, linear x 2", f"{plain}, yarn x 4 of 1,000 tokens"]


def test_upward_steps_are_counted_in_table_and_json(decay):
    options = ("--head-dim", 128, "--distances", 256)
    assert json.loads(decay(*options, "--json"))["rotations"][0]["upward_steps"] == 115
    assert cells(decay(*options))["steps up"][0] == "115 of 256"


def test_the_numbers_of_the_docs_are_those_of_the_command(decay):
    rows = re.findall(r"^\| (.*\d.*) \|$", (ROOT / "docs" / "decay.md").read_text(encoding="utf-8"), re.MULTILINE)
    table = {title: numbers for title, *numbers in (row.split(" | ") for row in rows[1:])}
    scaling = ("--rope-scaling-factor", 4, "--rope-scaling")
    commands = [
        ("--head-dim", 32, 64, 128),
        ("--rope-base", 500, 500000),
        ("--rope-fraction", 0.5),
        *((*scaling, name) for name in ("linear", "ntk")),
        *((*scaling, name, "--rope-original-length", 100) for name in ("yarn", "llama3")),
    ]
    found = {}
    for options in commands:
        for rotation in json.loads(decay(*options, "--distances", 256, "--json"))["rotations"]:
            numbers = [f"{rotation['bound'][n]:.3f}" for n in (0, 1, 10, 50, 100, 250)]
            found[rotation["title"]] = [
                *numbers,
                str(rotation["upward_steps"]),
                f"{rotation['mean_cosine'][250]:.3f}",
            ]
    assert table == found


def test_a_smaller_base_has_a_lower_bound_as_the_docs_say(decay):
    found = json.loads(decay("--rope-base", 500, 10000, 500000, "--json"))["rotations"]
    small, plain, large = (sum(rotation["bound"]) for rotation in found)
    assert small < plain < large


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_the_picture_has_the_numbers_and_is_the_same_each_time(decay, suffix: str, tmp_path: Path, monkeypatch):
    figures = []
    write = decay_figure.write_figure
    monkeypatch.setattr(decay_figure, "write_figure", lambda figure, to: (figures.append(figure), write(figure, to)))
    outputs = [tmp_path / f"{name}.{suffix}" for name in "ab"]
    for output in outputs:
        found = json.loads(decay("--head-dim", 32, 64, "--distances", 20, "--json", "--output", output))
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    assert outputs[0].read_bytes().startswith({"png": b"\x89PNG", "svg": b"<?xml"}[suffix])
    for axes, name in zip(figures[0].axes, ("bound", "mean_cosine"), strict=True):
        drawn = {line.get_label(): line.get_ydata().tolist() for line in axes.lines}
        assert drawn == {rotation["title"]: rotation[name] for rotation in found["rotations"]}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--head-dim", "7"), "--head-dim must be even and between 2 and 1024, but is 7"),
        (("--head-dim", "2048"), "--head-dim must be even and between 2 and 1024, but is 2048"),
        (("--distances", "0"), "--distances must be between 1 and 10000, but is 0"),
        (("--rope-base", "0"), "--rope-base must be above 0 and finite, but is 0.0"),
        (("--rope-fraction", "1.5"), "--rope-fraction must be in (0, 1], but is 1.5"),
        (("--rope-scaling", "yarn"), "--rope-scaling yarn needs --rope-scaling-factor"),
        (("--rope-scaling-factor", "2"), "--rope-scaling-factor needs --rope-scaling linear, ntk, yarn, llama3"),
        (("--output", "decay.pdf"), "--output must end in .png or .svg, but is decay.pdf"),
        (("--output", "nowhere/decay.png"), "--output nowhere/decay.png: there is no folder nowhere"),
        (("--data", "."), "--data cannot be used without --path"),
        (("--subset", "test"), "--subset cannot be used without --path"),
        (("--max-sentences", "5"), "--max-sentences cannot be used without --path"),
        (("--path", "a.pt"), "--path needs --data, the folder of fairseq-preprocess"),
        (("--path", "a.pt", "--data", "."), "--path a.pt: there is no such file"),
        (
            ("--path", "a.pt", "--data", "nowhere"),
            "--data must be a folder of fairseq-preprocess, but nowhere is not a folder",
        ),
        (
            ("--path", "a.pt", "--data", ".", "--rope-base", "1"),
            "--rope-base cannot be used with --path: the checkpoint has its own",
        ),
        (
            ("--path", "a.pt", "--data", ".", "--head-dim", "64"),
            "--head-dim cannot be used with --path: the checkpoint has its own",
        ),
        (
            ("--path", "a.pt", "--data", ".", *YARN),
            "--rope-scaling cannot be used with --path: the checkpoint has its own",
        ),
        (
            ("--path", "a.pt", "--data", ".", "--max-sentences", "0"),
            "--max-sentences must be at least 1, but is 0",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_bad_options_are_named_before_any_work(decay, options, message: str, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as error:
        decay(*options)
    assert str(error.value).startswith(message)


def test_a_checkpoint_is_not_given_twice(decay, tmp_path: Path):
    path = tmp_path / "a.pt"
    path.touch()
    with pytest.raises(UserError, match=r"^--path has .*a\.pt twice$"):
        decay("--path", path, path, "--data", tmp_path)


@pytest.mark.parametrize(
    ("options", "titles"),
    [
        (dict(rope_base=500.0, rope_fraction=0.5), ["d 8, base 500, fraction 0.5"]),
        (
            dict(rope_scaling="none,yarn", rope_scaling_factor=2, rope_original_length=30),
            ["d 8, base 10000", "d 8, base 10000, yarn x 2 of 30 tokens"],
        ),
        (dict(position_method="xpos"), ["d 8, base 10000", "xpos, d 8, base 10000"]),
        (dict(position_method="alibi"), []),
    ],
)
def test_a_models_rotations_are_those_of_its_stacks(options, titles: list[str]):
    model, _ = make_model(**options)
    found = tool.rotations_of(model)
    assert [rotation.title for rotation in found] == titles
    stacks = {"encoder": model.encoder.position_method, "decoder": model.decoder.position_method}
    assert all(rotation.method in stacks.values() for rotation in found)
    distances = torch.arange(11)
    for rotation, values in zip(found, tool.decays(found, 10), strict=True):
        phasors = relative_phasors(rotation.method, distances, head_dim=8)
        assert torch.equal(values.bound, decay_bound(phasors)) and torch.equal(values.cosine, mean_cosine(phasors))


def words(trained: Trained, lang: str, count: int) -> int:
    text = (trained.codes.parent / f"bpe.{lang}").read_text(encoding="utf-8").splitlines()
    return sum(len(line.split()) for line in text[:count])


def test_a_trained_model_is_measured(trained: Trained, tmp_path: Path):
    options = ["--path", str(trained.checkpoint), "--data", str(trained.data), "--max-sentences", "40"]
    done = call("fairseq_rope.tools.decay", *options, "--json", "--output", str(tmp_path / "decay.svg"))
    assert done.stderr.decode().splitlines() == [
        f"decay: {trained.checkpoint}: 40 sentence pairs of valid",
        f"decay: wrote {tmp_path / 'decay.svg'}",
    ]
    found = json.loads(done.stdout)
    assert [rotation["title"] for rotation in found["rotations"]] == ["d 16, base 10000"]
    (model,) = found["models"]
    assert model["model"] == str(trained.checkpoint)
    for stack, lang in (("encoder", "en"), ("decoder", "de")):
        of = model[stack]
        pairs = dict(zip(of["distances"], of["pairs"], strict=True))
        # each word is a query, and in the encoder </s> is one
        count = words(trained, lang, 40)
        assert pairs[0] == count
        queries = count + 40 * (stack == "encoder")
        for weights, end in zip(of["weights_by_layer"], of["end_weights_by_layer"], strict=True):
            total = sum(pair * weight for pair, weight in zip(of["pairs"], weights, strict=True))
            assert total + queries * end == pytest.approx(queries, rel=1e-5)
    assert "attention of the decoder" in (tmp_path / "decay.svg").read_text(encoding="utf-8")


def test_models_of_other_methods_stand_beside_each_other(trained: Trained, tmp_path: Path):
    user_dir = ("--user-dir", str(ROOT / "fairseq_rope"))
    once = ("--position-method", "shaw", "--max-update", "1", "--save-dir", str(tmp_path))
    call("fairseq_cli.train", str(trained.data), *user_dir, *TRAINING.split(), *once)
    other = tmp_path / "checkpoint_last.pt"
    options = ["--path", str(trained.checkpoint), str(other), "--data", str(trained.data), "--distances", "5"]
    text = call("fairseq_rope.tools.decay", *options).stdout.decode()
    formulas, _, first, _, second = re.split(r"\n\n", text.strip())
    assert "d 16, base 10000: bound" in formulas
    assert list(cells(first)) == list(cells(second))
    assert cells(first)["0"][2] == cells(second)["0"][2] == f"{words(trained, 'en', 300):,}"
    assert [*cells(first)][-1] == "</s>"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--subset", "test"), r"--subset test cannot be read from --data .*: Dataset not found: test"),
        (("--path", "damaged.pt"), r"damaged\.pt"),
        (("--data", "."), r"--path .* does not fit DATA \."),
    ],
)
def test_bad_files_are_named(decay, trained: Trained, options, message: str, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "damaged.pt").write_bytes(trained.checkpoint.read_bytes()[:5000])
    with pytest.raises(UserError, match=message) as error:
        decay("--path", trained.checkpoint, "--data", trained.data, *options)
    assert "\n" not in str(error.value)
