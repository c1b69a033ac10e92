"""data-prep/prepare_iwslt14_deen.sh on an archive of IWSLT14's inner layout."""

import io
import subprocess
import sys
import tarfile
from pathlib import Path

from tests.support import ROOT
from tests.support.environment import forking_environment

TALKS = ("dev2010", "dev2012", "tst2010", "tst2011", "tst2012")
TRAIN, TALK = 230, 3  # pairs


def make_archive(folder: Path, text: dict[str, list[str]]) -> None:
    """Write de-en.tgz: talks with what describes them, one TEDX set among the TED sets, as the real one."""
    members = {}
    for lang, lines in text.items():
        titled = [f"<title>{lines[0]}</title>", f"<description>{lines[1]}</description>", *lines[2:TRAIN]]
        talk = ["<url>http://www.ted.com/talks/a</url>", "<keywords>a, b</keywords>", "<talkid>1</talkid>", *titled]
        members[f"train.tags.de-en.{lang}"] = "".join(f"{line}\n" for line in talk)
        for i, name in enumerate(TALKS):
            part = lines[TRAIN + i * TALK :][:TALK]
            segments = "\n".join(f'<seg id="{n}"> {line} </seg>' for n, line in enumerate(part, 1))
            kind = "TEDX" if name == "dev2012" else "TED"
            members[f"IWSLT14.{kind}.{name}.de-en.{lang}.xml"] = (
                f'<?xml version="1.0" encoding="UTF-8"?>\n<mteval>\n<refset setid="{name}">\n<doc docid="1">\n'
                f"<title>A title</title>\n{segments}\n</doc>\n</refset>\n</mteval>\n"
            )
    with tarfile.open(folder / "de-en.tgz", "w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(f"de-en/{name}")
            info.size = len(content.encode())
            archive.addfile(info, io.BytesIO(content.encode()))


def test_talks_become_text_without_tags_with_every_23rd_pair_for_validation_and_other_talks_are_refused(tmp_path: Path):
    corpus = tmp_path / "corpus"
    subprocess.run([sys.executable, "-m", "fairseq_rope_data.grammar", str(corpus)], cwd=ROOT, check=True)
    text = {lang: (corpus / f"train.{lang}").read_text("utf-8").splitlines()[:300] for lang in ("de", "en")}
    text["de"][100] = " ".join(["Haus"] * 200)  # over 175 tokens
    text["en"][101] = "No"  # a ratio over 1.5
    make_archive(tmp_path, text)
    work = tmp_path / "work"
    env = forking_environment(work, IWSLT14_ARCHIVES=str(tmp_path))
    command = ["bash", "data-prep/prepare_iwslt14_deen.sh"]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    for lang, lines in text.items():
        kept = [line.lower() for i, line in enumerate(lines[:TRAIN]) if i not in (100, 101)]
        got = {part: (work / "text" / f"{part}.tok.{lang}").read_text("utf-8") for part in ("train", "valid", "test")}
        # compared without spaces and marks, which the tokenizer changes
        assert letters(got["valid"]) == letters("\n".join(kept[22::23]))
        assert letters(got["train"]) == letters("\n".join(line for i, line in enumerate(kept, 1) if i % 23))
        assert letters(got["test"]) == letters("\n".join(lines[TRAIN : TRAIN + len(TALKS) * TALK]).lower())
    assert (work / "data-bin" / "dict.de.txt").exists() and (work / "manifest.json").exists()
    make_archive(tmp_path, {"de": text["de"], "en": text["en"][::-1]})
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"{tmp_path / 'de-en.tgz'} has the SHA-256 " in done.stderr and f"but {work} was made from" in done.stderr


def letters(text: str) -> list[str]:
    return ["".join(filter(str.isalnum, line.replace("&apos;", ""))) for line in text.splitlines()]
