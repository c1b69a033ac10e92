"""fairseq_rope_data.sgm: the sentences of a WMT test set, whether it is in SGM or plain text already."""

import gzip
import html
from pathlib import Path

import pytest

from tests.support.program import Done, run_program

# as newstest2014-deen-ref.de.sgm begins and ends
HEAD = '<refset setid="newstest2014" srclang="any" trglang="de">\n<doc sysid="ref" docid="1" origlang="de">\n<p>\n'
TAIL = "</p>\n</doc>\n</refset>\n"


def sgm(sentences: list[str]) -> str:
    return HEAD + "".join(f'<seg id="{i}">{text}</seg>\n' for i, text in enumerate(sentences, 1)) + TAIL


def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str | bytes, *options: object) -> Done:
    path = tmp_path / "set"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    done = run_program(monkeypatch, "sgm", *options, path)
    return done._replace(stderr=done.stderr.replace(str(path), "SET"))


def test_each_segment_is_a_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = sgm(["Zwei & zwei", "  zu\u00a0viel \t Platz ", "", "5 < 6 > 4, <b>fett</b>"])
    done = run(monkeypatch, tmp_path, text.replace("\n", "\r\n"), "--lines", 4)
    assert (done.status, done.stderr) == (0, "")
    assert done.stdout.decode() == "Zwei & zwei\nzu viel Platz\n\n5 < 6 > 4, <b>fett</b>\n"


@pytest.mark.parametrize(
    "head",
    [
        '<srcset setid="newstest2014" srclang="any">',
        '<TSTSET setid="x">',
        '\ufeff\n<?xml version="1.0"?>\n<mteval>',
        '<!DOCTYPE srcset SYSTEM "mteval.dtd">',
    ],
    ids=["srcset", "tstset", "xml", "doctype"],
)
def test_each_kind_of_set_is_known_by_its_head(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, head: str) -> None:
    done = run(monkeypatch, tmp_path, f'{head}\n<DOC>\n<hl>\n<seg id="1"> One. </seg>\n</hl>\n</DOC>\n')
    assert (done.status, done.stdout) == (0, b"One.\n")


def test_plain_text_passes_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = "\n  Ein Satz. \nmit <seg id=1> darin\u2028\nund mehr\n"
    done = run(monkeypatch, tmp_path, text, "--lines", 4)
    assert (done.status, done.stdout.decode()) == (0, text)


def test_real_news_is_the_same_in_both_forms(monkeypatch: pytest.MonkeyPatch, data_dir: Path, tmp_path: Path) -> None:
    plain = gzip.decompress((data_dir / "wmt_newstest_ende" / "newstest2014.de.gz").read_bytes()).decode()
    sentences = plain.split("\n")[:-1]
    assert run(monkeypatch, tmp_path, plain, "--lines", 3_003).stdout.decode() == plain
    for quote in (False, True):
        escaped = [html.escape(line, quote=quote) for line in sentences]
        assert "Standard &amp; Poor" in escaped[1935] and "Kensington &amp; Chelsea" in escaped[2332]
        done = run(monkeypatch, tmp_path, sgm(escaped), "--lines", 3_003)
        assert done.stdout.decode().split("\n")[:-1] == sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Standard &amp; Poor&apos;s &lt;&quot;AAA&quot;&gt;", 'Standard & Poor\'s <"AAA">'),
        ("&amp;amp; &amp;lt; &#38;amp;", "&amp; &lt; &amp;"),
        ("&#228; &#xE4; &#XE4; &#x1F600;", "ä ä &#XE4; \U0001f600"),
        ("eine&#10;Zeile&#x2028;nur &#160; hier&#13;", "eine Zeile nur hier"),
        ("&#xD800;&#0;&#x110000;&#9999999;", "\ufffd" * 4),
        (
            "Q&A, R&D; &copy; &nbsp; &amp &AMP; &#; &#x; &#12345678;",
            "Q&A, R&D; &copy; &nbsp; &amp &AMP; &#; &#x; &#12345678;",
        ),
    ],
    ids=["XML's five", "once", "numbers", "white space", "no characters", "others"],
)
def test_entities_of_xml_are_undone_once_and_nothing_else_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, expected: str
) -> None:
    done = run(monkeypatch, tmp_path, sgm([text, "zwei"]), "--lines", 2)
    assert (done.status, done.stdout.decode()) == (0, f"{expected}\nzwei\n")


def test_entities_of_plain_text_stay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert run(monkeypatch, tmp_path, "Zuschlag &amp; Co.\n").stdout == b"Zuschlag &amp; Co.\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (sgm(["Eins\nZwei"]), "SET:4: a <seg> must be whole on a line of its own, but is '<seg id=\"1\">Eins'"),
        (
            HEAD + "<seg>a</seg> <seg>b</seg>\n" + TAIL,
            "SET:4: a <seg> must be whole on a line of its own, but is '<seg>a</seg> <seg>b</seg>'",
        ),
        (HEAD + TAIL, "SET has no <seg>"),
        ("", "SET has no lines"),
        (sgm(["Eins", "Zwei"]), "SET must have 3 <seg> (--lines), but has 2"),
        ("Eins\nZwei\nDrei\nVier\n", "SET must have 3 lines (--lines), but has 4"),
        (sgm(["Eins", "Schön"]).encode("latin-1"), "SET:5: not valid UTF-8, byte 16 is 0xf6"),
        ("<html><body>404</body></html>\n", "SET is an HTML page, such as a server's error message, and not text"),
    ],
    ids=["cut", "two on a line", "none", "empty", "too few", "too many", "not UTF-8", "HTML page"],
)
def test_a_bad_set_is_one_line_that_names_the_place_and_nothing_is_printed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str | bytes, message: str
) -> None:
    done = run(monkeypatch, tmp_path, text, "--lines", 3)
    assert (done.status, done.stdout, done.stderr) == (1, b"", f"sgm: error: {message}\n")
