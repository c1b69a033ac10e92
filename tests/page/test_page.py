"""The page of an experiment: what is in it, that it is one file which fetches nothing, and that text stays text."""

import json
import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from fairseq_rope.experiments.data import results_json
from fairseq_rope.page.contents import page_contents
from fairseq_rope.page.render import render
from fairseq_rope.tools import report
from fairseq_rope_data.errors import UserError
from tests.support import forked
from tests.support.experiments import add_run, experiment
from tests.support.runs import run_tool

HOSTILE = (
    """<script>alert("1")</script> &lt;b&gt; </script><!-- ]]> {{ 7 * 7 }} ' " \\ \u202e abc العربية 日本語 \u2028 ."""
)


class Reader(HTMLParser):
    """The elements of a page and the text of some."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.inside: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self.inside.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.inside and self.inside.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data):
        for tag in set(self.inside):
            self.texts.setdefault(tag, []).append(data)

    def text(self, tag: str) -> str:
        return "".join(self.texts.get(tag, []))


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return experiment(tmp_path_factory.mktemp("page") / "an experiment", {"rope": 0.2, "sinusoidal": 0.5})


@pytest.fixture(scope="module")
def page(work: Path) -> str:
    return render(page_contents([work], ["rope", "sinusoidal"]))


def numbers(page: str) -> dict:
    return json.loads(re.search(r'<script type="application/json" id="results">(.*?)</script>', page, re.DOTALL)[1])


def test_question_and_verdict_come_first_and_all_sections_can_be_reached(page: str):
    reader = Reader(page)
    assert reader.inside == []
    assert reader.text("h1") == "How does sinusoidal compare with rope?"
    assert re.search(
        r"sinusoidal is \d+\.\d\d BLEU on test below rope \(95% t interval .* over 2 seeds, paired\)", reader.text("p")
    )
    ids = {attrs["id"] for _, attrs in reader.elements if "id" in attrs}
    links = [attrs["href"] for tag, attrs in reader.elements if tag == "a"]
    assert len(links) >= 7 and {link.removeprefix("#") for link in links} <= ids


def test_without_raw_text_it_says_what_cannot_be_known(tmp_path: Path, page: str):
    work = experiment(tmp_path / "work", {"rope": 0.2, "sinusoidal": 0.5}, seeds=1)
    (work / "raw").rename(work / "gone")
    found = Reader(render(page_contents([work])))
    lacking = "test: no noise of the test set and no sentences, which need raw/test.LANG"
    assert lacking in found.text("li") and "whiskers" not in found.text("figcaption")
    assert lacking not in page and "whiskers are 95% bootstrap intervals" in Reader(page).text("figcaption")


def test_links_lead_to_what_is_there_when_little_is(tmp_path: Path):
    reader = Reader(render(page_contents([experiment(tmp_path / "work", {"rope": 0.2}, seeds=1)])))
    ids = {attrs["id"] for _, attrs in reader.elements if "id" in attrs}
    links = {attrs["href"].removeprefix("#") for tag, attrs in reader.elements if tag == "a"}
    assert links <= ids and not {"test-noise", "samples"} & ids and {"scores", "origin"} <= links


def test_where_no_model_has_begun_that_is_the_error(tmp_path: Path):
    work = experiment(tmp_path / "work", {"rope": 0.2}, seeds=1)
    with pytest.raises(UserError, match=r"--models alibi t5: .*work holds none of them yet, only rope"):
        page_contents([work], ["alibi", "t5"], so_far=True)


def test_models_that_have_not_begun_are_left_out_of_what_there_is_so_far(tmp_path: Path):
    work = experiment(tmp_path / "work", {"a_later_name": 0.2, "rope": 0.2}, seeds=1)
    names = ["rope", "sinusoidal", "a_later_name"]
    found = page_contents([work], names, so_far=True)
    assert found["baseline"] == "rope" and [*found["numbers"]["results"]["models"]] == ["rope", "a_later_name"]
    with pytest.raises(UserError, match=r"--models sinusoidal: .* holds no such model"):
        page_contents([work], names)


def test_it_is_one_file_that_fetches_nothing_and_runs_nothing(page: str):
    assert len(page.encode()) < 1_000_000
    for tag, attrs in Reader(page).elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form")
        assert tag != "script" or attrs["type"] == "application/json"
        for name, value in attrs.items():
            assert name not in ("src", "srcset", "action", "style") or "svg" not in tag
            assert not name.startswith("on"), f"{name} of {tag} would run"
            assert "://" not in (value or ""), f"{name}={value} of {tag} is an address"
    assert "url(http" not in page and "@import" not in page


def test_the_same_results_give_the_same_bytes_in_another_process(work: Path, page: str, tmp_path: Path):
    output = tmp_path / "ein bericht.html"
    done = forked.run("fairseq_rope.tools.report", work, "--models", "rope", "sinusoidal", "--output", output)
    assert done.stdout == f"wrote {output}\n" and output.read_text(encoding="utf-8") == page


def test_the_numbers_inside_are_those_of_results_and_of_the_tables(work: Path, page: str):
    found = json.loads(results_json(work, ["rope", "sinusoidal"]))
    assert numbers(page)["results"] == found
    cells = Reader(page).text("td")
    for model in found["models"].values():
        bleu = model["statistics"]["test: BLEU"]
        assert f"{bleu['mean']:.2f} ± {bleu['sd']:.2f}" in cells
    for each in found["seed_differences"]:
        if each["statistic"] == "test: BLEU":
            assert f"{each['mean']:+.2f} [{each['low']:+.2f}, {each['high']:+.2f}]" in cells
    for each in found["bootstraps"]:
        assert f"{each['mean']:+.2f}[{each['low']:+.2f}, {each['high']:+.2f}]" in re.sub(r"[▲▼]\w+: ", "", cells)


def test_settings_commands_commits_hardware_and_checksums_are_named(work: Path, page: str):
    text = Reader(page).text("main")
    for words in ("--arch", "bash scripts/run_bitext.sh --seeds 1,2", "abcdef0", "A & B", "torch 2.13.0"):
        assert words in text
    assert "--dropout" not in text, "a setting that is the same in both"
    for facts in json.loads((work / "manifest.json").read_text())["files"].values():
        assert facts["sha256"] in text


def test_hostile_text_stays_text(tmp_path: Path):
    references = [f"{HOSTILE} number {i}" for i in range(20)]
    work = experiment(tmp_path / "<b>work</b>", {"<i>rope": 0.2, "_$x$": 0.6}, references=references)
    page = render(page_contents([work]))
    reader = Reader(page)
    assert reader.inside == []
    assert sum(tag == "script" for tag, _ in reader.elements) == 1
    assert not {tag for tag, _ in reader.elements} & {"b", "i"}
    assert '<script>alert("1")</script> &lt;b&gt; </script><!-- ]]> {{ 7 * 7 }}' in reader.text("dd").replace("  ", " ")
    assert "_$x$" in reader.text("text"), "the name of a model in the legend of a figure"
    assert "Infinity" not in page and "NaN" not in page
    assert numbers(page)["results"]["models"].keys() == {"<i>rope", "_$x$"}


def test_the_number_of_sentences_shown_does_not_grow_with_models(tmp_path: Path):
    work = experiment(tmp_path / "work", {f"model{i}": 0.2 + i / 50 for i in range(6)}, seeds=1)
    samples = page_contents([work])["samples"]
    assert len(samples) == 5
    assert sum(len(each.better) + len(each.worse) for each in samples) <= 60


def test_a_half_finished_experiment_has_a_page_that_says_so(tmp_path: Path):
    work = experiment(tmp_path / "work", {"rope": 0.2, "sinusoidal": 0.5})
    stopped = work / "sinusoidal-seed2"
    (stopped / "train.log").write_text((stopped / "train.log").read_text().replace("done training", ""))
    for path in (stopped / "score-test.json", stopped / "hyp-test.de"):
        path.unlink()
    add_run(work, "rope", 3, (work / "rope" / "hyp-test.de").read_text().splitlines())
    page = render(page_contents([work]))
    missing = re.search(r'<section id="missing">.*?</section>', page, re.DOTALL)[0]
    assert "sinusoidal-seed2" in missing and "has not ended" in missing
    assert "sinusoidal: no test: BLEU, chrF2, compound-split BLEU of seed 2" in missing
    assert "with fewer than two independent seeds in common nothing can be concluded" in page


def test_a_training_before_its_first_validation_is_named_and_the_others_are_shown(tmp_path: Path):
    work = experiment(tmp_path / "work", {"rope": 0.2}, seeds=2)
    for name in ("rope-seed2", "sinusoidal"):
        (work / name).mkdir(exist_ok=True)
        (work / name / "train.log").write_text("num. shared model params: 1\n")
    page = render(page_contents([work]))
    for name in ("rope-seed2", "sinusoidal"):
        assert f"<li>note on {name}: left out, no validation is in its log</li>" in page
    assert "What does rope reach?" in page
    for path in work.glob("*/train.log"):
        path.write_text("")
    with pytest.raises(UserError, match=": no validation is in this log"):
        page_contents([work])


def test_before_the_first_score_there_are_curves(tmp_path: Path):
    work = tmp_path / "work"
    experiment(work, {"rope": 0.2, "sinusoidal": 0.5})
    for path in work.glob("*/score-*"):
        path.unlink()
    reader = Reader(render(page_contents([work])))
    assert "Nothing is scored yet." in reader.text("p")
    assert any(tag == "svg" for tag, _ in reader.elements)


def test_bleu_of_validation_is_a_second_figure_with_its_table_and_no_score_of_a_test(tmp_path: Path):
    work = experiment(tmp_path / "work", {"rope": 0.2, "sinusoidal": 0.5})
    before = page_contents([work])
    assert before["bleu_curves"] is None
    for folder in ("rope", "rope-seed2"):
        log = work / folder / "train.log"
        scored = log.read_text().replace("ppl 477 |", "ppl 477 | bleu 0.31 |")
        log.write_text(scored.replace("ppl 77 |", "ppl 77 | bleu 99.5 |"))
    found = page_contents([work])
    assert found["verdicts"] == before["verdicts"] and found["curves"] == before["curves"]
    figure = found["bleu_curves"]
    assert figure.table.head == ["updates", "rope"]
    assert [[cell.text for cell in row] for row in figure.table.rows] == [["124", "0.31"], ["248", "99.50"]]
    page = render(found)
    assert Reader(page).inside == []
    assert page.index("<h3>Validation loss over updates") < page.index("<h3>BLEU of the validation set over updates")
    assert "it is no score of a test set" in page and "valid BLEU (greedy), best" in Reader(page).text("th")


def test_without_matplotlib_the_page_has_its_tables(work: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    page = render(page_contents([work]))
    assert "pip install &#39;fairseq-rope[plot]&#39;" in page and "<svg" not in page and "test: BLEU" in page


def test_a_page_is_written_over_nothing_else(work: Path, monkeypatch: pytest.MonkeyPatch):
    log = work / "rope" / "train.log"
    before = log.read_bytes()
    with pytest.raises(UserError) as error:
        run_tool(report, monkeypatch, work, "--output", log)
    assert str(error.value) == f"--output must end in .html or .htm, but is {log}" and log.read_bytes() == before


def test_runs_in_several_folders_are_one_experiment(tmp_path: Path):
    both = experiment(tmp_path / "both", {"rope": 0.2, "sinusoidal": 0.5})
    one = experiment(tmp_path / "one", {"rope": 0.2})
    other = experiment(tmp_path / "other", {"nothing": 0.2, "sinusoidal": 0.5})
    whole, parts = page_contents([both]), page_contents([one, other], ["rope", "sinusoidal"])
    assert parts["numbers"]["results"] == whole["numbers"]["results"]
    assert parts["samples"] == whole["samples"] and parts["title"] == "one, other"


def test_the_same_run_in_two_folders_is_refused(tmp_path: Path):
    folders = [experiment(tmp_path / name, {"rope": 0.2}) for name in ("one", "other")]
    with pytest.raises(UserError) as error:
        page_contents(folders)
    assert str(error.value) == f"{folders[1] / 'rope'} and {folders[0] / 'rope'} are the same model and seed"


def test_a_model_whose_name_is_no_utf_8_is_on_the_page_and_in_its_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    work = experiment(tmp_path / "work", {"rope": 0.2}, seeds=1)
    (work / "rope").rename(work / os.fsdecode(b"b\xff"))
    run_tool(report, monkeypatch, work, "--output", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("b?") > 2 and "<svg" in page


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("rope/provenance.jsonl", '{"date": 1}\nnot json\n', ":2: a line must be a JSON object, but is 'not json'"),
        ("rope/provenance.jsonl", "[1]\n", ":1: a line must be a JSON object, but is '[1]'"),
        ("rope/provenance.jsonl", '{"gpus": [1]}\n', ":1: gpus must be a list of names, but is [1]"),
        ("rope/provenance.jsonl", '{}\n{"versions": "x"}\n', ":2: versions must be names and versions, but is 'x'"),
        (
            "rope/score-test-16.json",
            '{"scores": [], "blocks": {"tokens": [], "bits": [], "correct": []}, "length": 16, "trained_length": 0}',
            ": not what tools.score --json writes: trained_length must be at least 1, but is 0",
        ),
        (
            "manifest.json",
            '{"files": {"raw/a": 7}}',
            " is damaged: AttributeError",
        ),
        (
            "manifest.json",
            '{"files": {"raw/a": {"bytes": "7", "sha256": "0"}}}',
            " is damaged: a file has no size, or one",
        ),
        (
            "manifest.json",
            '{"files": {"raw/a": {"bytes": 7, "sha256": "0", "lines": null}}}',
            " is damaged: a file has",
        ),
        ("rope/train.log", "epoch 001 | valid on 'valid' subset | loss\n", ":1: a validation must have"),
    ],
)
def test_damaged_files_are_named(tmp_path: Path, name: str, text: str, message: str):
    work = experiment(tmp_path / "work", {"rope": 0.2}, seeds=1)
    (work / name).write_text(text)
    with pytest.raises(UserError) as error:
        page_contents([work])
    assert f"{work / name}{message}" in str(error.value)
