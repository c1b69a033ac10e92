"""scripts/compare_engines.py: one search for all engines, ratios turn by turn, and what differs is shown."""

import json
import math
import re
import sys
from pathlib import Path

import pytest

from benchmarks.engines.comparison import STOCK, compared, differences, engines_table
from benchmarks.engines.process import Result
from compare_engines import main
from fairseq_rope_data.errors import UserError
from tests.support import ROOT, forked
from tests.support.trained import Trained, call


def test_a_comparison_finds_what_fairseq_generate_finds(trained: Trained, tmp_path: Path) -> None:
    model = [str(trained.data), "--path", str(trained.checkpoint), "--gen-subset", "valid", "--cpu"]
    search = ["--beam", "2", "--lenpen", "0.6", "--remove-bpe", "--max-len-a", "2", "--max-len-b", "10"]
    generate = ["--user-dir", str(ROOT / "fairseq_rope"), "--required-batch-size-multiple", "1"]
    log = call("fairseq_cli.generate", *model, *search, *generate).stdout.decode()
    options = ["--repeats", 2, "--threads", 1, "--stock", trained.checkpoint, "--layouts", "half", "interleaved"]
    done = forked.run(
        f"{ROOT}/scripts/compare_engines.py", *model, *search, *options, "--json", tmp_path / "facts.json"
    )
    assert done.returncode == 0, done.stderr
    facts = json.loads((tmp_path / "facts.json").read_text())
    rows = {row["engine"]: row for row in facts["rows"]}
    types = ("float32, half", "float32, interleaved", "int8, half", "int8, interleaved")
    assert list(rows) == [STOCK, "fairseq", *(f"ctranslate2, {name}" for name in types)]
    assert facts["threads"] == 1 and facts["options"] == [*model, *search]
    bleu = float(re.search(r"BLEU4 = ([\d.]+)", log)[1])
    scores = {int(i): float(score) for i, score in re.findall(r"^H-(\d+)\t(\S+)", log, re.MULTILINE)}
    texts = dict(re.findall(r"^D-(\d+)\t\S+\t(.*)$", log, re.MULTILINE))
    for name in list(rows)[:4]:
        assert rows[name]["bleu"] == pytest.approx(bleu, abs=0.05 if "ct" in name else 0.005)
    for row in rows.values():
        assert len(row["seconds"]) == 2 and min(row["seconds"]) > 0 and row["sentences"] == len(scores) == 300
        for one in row["different"] or ():
            assert one["fairseq"]["text"] == texts[str(one["sentence"])]
            # a log has scores in bits
            assert one["fairseq"]["score"] / math.log(2) == pytest.approx(scores[one["sentence"]], abs=1e-3)
    # this hardly trained model is rounded to another text now and then
    assert len(rows["ctranslate2, float32, half"]["different"]) <= 2
    assert len(rows["ctranslate2, int8, half"]["different"]) < 150
    assert done.stdout.startswith("| engine | seconds |") and done.stdout.count("\n| ") == len(rows)


def test_speed_is_a_ratio_of_tokens_a_second_turn_by_turn() -> None:
    found = Result(["a", "b", "c", "d"], [-1.0, -2.0, -3.0, -4.0], 40, 1.0)
    other = Result(["a", "x", "c", "y"], [-1.0, -2.5, -3.0, -4.5], 20, 1.0)
    rows = [
        {"engine": engine, "bleu": found.bleu, "seconds": seconds, "tokens": found.tokens, "result": found}
        for engine, seconds, found in ((STOCK, [4.0, 2.0], other), ("fairseq", [2.0, 4.0], found), ("c", [1, 1], other))
    ]
    first, second, third = compared(rows)
    assert first["speeds"] == [1, 1] and second["speeds"] == [4, 1] and third["speeds"] == [4, 2]
    assert not first["different"] and not second["different"]
    assert [one["sentence"] for one in third["different"]] == [1, 3]
    lines = engines_table(rows).splitlines()
    assert lines[2] == "| fairseq, --stock | 3.00 (2.00 to 4.00) | 7 | 1.00x (1.00 to 1.00) | - | 1.00 |"
    assert lines[4] == "| c | 1.00 (1.00 to 1.00) | 20 | 3.00x (2.00 to 4.00) | 50.0% | 1.00 |"
    assert differences(third, most=1) == "\nc: 2 of 4 differ\nfairseq-1\t-2.000000\tb\nengine-1\t-2.500000\tx"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--repeats", "0"], "argument --repeats: must be a whole number above 0, but is 0"),
        (["--threads", "two"], "argument --threads: must be a whole number above 0, but is two"),
        (["--quantization", "int4"], "argument --quantization: invalid choice: 'int4'"),
        (["--path", "/no/model.pt"], "--path /no/model.pt: there is no such file"),
    ],
)
def test_bad_options_are_told(
    trained: Trained,
    options: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["compare_engines.py", *trained.options(), *options])
    with pytest.raises((UserError, SystemExit)) as error:
        main()
    assert message in f"{error.value}{capsys.readouterr().err}"


def test_the_engine_is_not_the_users_choice(trained: Trained, exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = [*trained.options(), "--engine", "ctranslate2", "--path", str(exported)]
    monkeypatch.setattr(sys, "argv", ["compare_engines.py", *options])
    with pytest.raises(UserError, match="--engine must not be given: all engines are compared"):
        main()
