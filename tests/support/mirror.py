"""A server with archives of WMT14's inner layout: real text where the corpora are at hand, else the made one."""

import functools
import gzip
import http.server
import io
import os
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path

from tests.support import ROOT

LANGS = ("en", "de")
Pairs = dict[str, list[str]]  # language -> lines
CORPORA = {  # archive -> its member without the language, and how many pairs it gets here
    "wmt13/training-parallel-europarl-v7.tgz": ("training/europarl-v7.de-en", 250),
    "wmt13/training-parallel-commoncrawl.tgz": ("commoncrawl.de-en", 350),
    "wmt14/training-parallel-nc-v9.tgz": ("training/news-commentary-v9.de-en", 100),
}
VALID, TEST = 40, 50  # pairs
REAL = ("europarl20k/europarl20k", "tatoeba_deu_eng/train", "wmt_newstest_ende/newstest2012")


def make_archives(folder: Path, data: Path) -> dict[str, Pairs]:
    """Write all archives under `folder`, at the paths of the public servers; give the text, SET -> pairs."""
    made = {"train": {lang: [] for lang in LANGS}}
    sources = [data / name for name in REAL] if data.is_dir() else [_made_corpus(folder) / "train"] * 3
    for i, (path, (member, count)) in enumerate(CORPORA.items()):
        pairs = _head(sources[i], count, skip=0 if data.is_dir() else 400 * i)
        _write(folder / path, {f"{member}.{lang}": _plain(pairs[lang]) for lang in LANGS})
        for lang in LANGS:
            made["train"][lang] += pairs[lang]
    news = data / "wmt_newstest_ende"
    real = data.is_dir()
    made["valid"] = _head(news / "newstest2013", VALID) if real else _head(sources[0], VALID, skip=2000)
    made["test"] = _head(news / "newstest2014", TEST) if real else _head(sources[0], TEST, skip=3000)
    dev = {f"dev/newstest2013.{lang}": _plain(made["valid"][lang]) for lang in LANGS}
    _write(folder / "wmt17/translation-task/dev.tgz", dev)
    sgm = {
        f"test-full/newstest2014-deen-{side}.{lang}.sgm": _sgm(made["test"][lang])
        for side, lang in (("src", "en"), ("ref", "de"))
    }
    _write(folder / "wmt14/test-full.tgz", sgm)
    return made


def _made_corpus(folder: Path) -> Path:
    corpus = folder.with_name(f"{folder.name}-text")
    if not corpus.exists():
        subprocess.run([sys.executable, "-m", "fairseq_rope_data.grammar", str(corpus)], cwd=ROOT, check=True)
    return corpus


def _head(prefix: Path, count: int, *, skip: int = 0) -> Pairs:
    pairs = {}
    for lang in LANGS:
        path = Path(f"{prefix}.{lang}")
        text = path.read_bytes() if path.exists() else gzip.decompress(Path(f"{path}.gz").read_bytes())
        pairs[lang] = text.decode().split("\n")[skip : skip + count]
    return pairs


def _plain(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _sgm(lines: list[str]) -> bytes:
    segments = "\n".join(f'<seg id="{i}">{escape(line, quote=False)}</seg>' for i, line in enumerate(lines, 1))
    return f'<srcset setid="newstest2014">\n<doc docid="a">\n<p>\n{segments}\n</p>\n</doc>\n</srcset>\n'.encode()


def _write(path: Path, members: dict[str, bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


class Ranges(http.server.SimpleHTTPRequestHandler):
    """Python's file server, which also continues a download where the client asks it to."""

    def do_GET(self) -> None:
        path, wanted = Path(self.translate_path(self.path)), self.headers.get("Range")
        if wanted is None or not path.is_file():
            super().do_GET()
            return
        data, start = path.read_bytes(), int(wanted.removeprefix("bytes=").rstrip("-"))
        self.send_response(206 if start < len(data) else 416)
        self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Length", str(max(0, len(data) - start)))
        self.end_headers()
        self.wfile.write(data[start:])


@contextmanager
def served(folder: Path, handler: type = Ranges) -> Iterator[tuple[str, list[str]]]:
    """Serve `folder`; give its address and the list of requests, which grows."""
    requests: list[str] = []

    class Recorded(handler):
        def log_request(self, *_: object) -> None:
            requests.append(f"{self.path} {self.headers.get('Range', 'whole')}")

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("localhost", 0), functools.partial(Recorded, directory=os.fspath(folder)))
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://localhost:{server.server_port}", requests
        finally:
            server.shutdown()
