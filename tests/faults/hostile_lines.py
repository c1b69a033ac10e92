"""Lines that break programs: what no tokenizer, dictionary or terminal expects, as bytes without a line end."""

import json
import random
import string
from collections.abc import Callable, Sequence

_SEPARATORS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"  # str.splitlines ends a line at each of them
_SPACES = " \t\u00a0\u1680\u2003\u2009\u202f\u205f\u3000"
_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u180e\u034f"
_DIRECTIONS = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_MARKS = (
    "@@",
    "@-@",
    "@@ @@",
    "<unk>",
    "</s>",
    "<s>",
    "<pad>",
    "<<unk>>",
    "&apos;",
    "&amp;quot;",
    "&#91;",
    "&#124;",
    "▁",
)
_MARKS += (
    "<mask>",
    "madeupword0000",
    "#fairseq:overwrite",
    "\\n",
    "\\x00",
    "%s",
    "{}",
    "S-0\t",
    "H-1\t-0.5\tx",
    "--help",
)
_SHELL = (
    "$(touch pwned)",
    "`id`",
    "; rm -rf x",
    "| cat",
    "> /dev/null",
    "'; DROP TABLE t;--",
    "../../etc/passwd",
    "*",
    "~",
)
_EMOJI = ("👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇩🇪", "❤️", "1️⃣", "🫠")
_SCRIPTS = (
    "שלום עולם",
    "مرحبا بالعالم",
    "你好世界",
    "こんにちは",
    "안녕하세요",
    "สวัสดีชาวโลก",
    "नमस्ते",
    "Ωμέγα",
    "ẞßſ",
    "İıI",
    "ﬃ",
)
LONG = 200_000  # characters


def _pick(rng: random.Random, among: Sequence[str], most: int) -> str:
    return "".join(rng.choice(among) + " " * rng.randrange(2) for _ in range(rng.randint(1, most)))


def _any_plane(rng: random.Random) -> str:
    """Characters of all seventeen planes, unassigned and private ones too; no surrogate, which is no character."""
    points = (rng.randrange(17) * 0x10000 + rng.randrange(0x10000) for _ in range(rng.randint(1, 12)))
    return "".join(chr(point) for point in points if not 0xD800 <= point < 0xE000)


def _combining(rng: random.Random) -> str:
    return "".join(rng.choice("aeioux") + chr(rng.randrange(0x300, 0x370)) * rng.randint(1, 40) for _ in range(3))


def _number(rng: random.Random) -> str:
    return rng.choice(
        (
            str(rng.randrange(10 ** rng.randint(1, 60))),
            f"{rng.random() * 10 ** rng.randint(-300, 300):,}",
            "-0.0 NaN inf 1e999 0x7f ٣٤ ½ Ⅻ 1.000.000,00",
        )
    )


def _words(rng: random.Random) -> str:
    letters = string.ascii_letters + "äöüßé'-."
    return " ".join("".join(rng.choices(letters, k=rng.randint(1, 12))) for _ in range(rng.randint(1, 10)))


def _json(rng: random.Random) -> str:
    return json.dumps({"text": _words(rng), "n": [None, True, rng.random()], "\u0000": "\ud800"}) + rng.choice(
        ("", ",]")
    )


def _lone_surrogate(rng: random.Random) -> bytes:
    return _words(rng).encode() + chr(rng.randrange(0xD800, 0xE000)).encode("utf-8", "surrogatepass")


def _bytes(rng: random.Random) -> bytes:
    return rng.randbytes(rng.randint(1, 30))


def _cut_character(rng: random.Random) -> bytes:
    return rng.choice((*_EMOJI, *_SCRIPTS)).encode()[: -rng.randint(1, 2)]


# what a line can be -> how it is made
KINDS: dict[str, Callable[[random.Random], str | bytes]] = {
    "words": _words,
    "NUL": lambda rng: f"a\0{_words(rng)}\0",
    "control characters": lambda rng: _pick(rng, [chr(c) for c in (*range(10), *range(11, 32), *range(127, 160))], 12),
    "line separators": lambda rng: rng.choice(_SEPARATORS).join((_words(rng), _words(rng))),
    "carriage returns": lambda rng: f"{_words(rng)}\r{_words(rng)}\r",
    "byte order mark": lambda rng: f"\ufeff{_words(rng)}",
    "invisible": lambda rng: _pick(rng, _INVISIBLE + "ab", 12),
    "directions": lambda rng: _pick(rng, _DIRECTIONS + "ab", 12),
    "combining": _combining,
    "marks": lambda rng: _pick(rng, (*_MARKS, "dog"), 8),
    "shell": lambda rng: _pick(rng, _SHELL, 4),
    "emoji": lambda rng: _pick(rng, _EMOJI, 6),
    "scripts": lambda rng: _pick(rng, _SCRIPTS, 3),
    "any plane": _any_plane,
    "numbers": _number,
    "JSON": _json,
    "lone surrogate": _lone_surrogate,
    "random bytes": _bytes,
    "cut character": _cut_character,
    "UTF-16": lambda rng: _words(rng).encode("utf-16"),
    "huge word": lambda rng: rng.choice("aé字") * rng.randint(100, 2000),
    "punctuation": lambda rng: "".join(rng.choices(string.punctuation, k=rng.randint(1, 30))),
}
BLANK: tuple[Callable[[random.Random], str], ...] = (
    lambda rng: "",
    lambda rng: "".join(rng.choices(_SPACES, k=rng.randint(1, 9))),
    lambda rng: "".join(rng.choices(" \t\0\r\x0b\x85\u2028", k=rng.randint(1, 9))),
)
VERY_LONG: tuple[Callable[[random.Random], str], ...] = (
    lambda rng: rng.choice("xé字\u0301") * LONG,
    lambda rng: "a b " * (LONG // 4),
    lambda rng: ". " * (LONG // 2),
    lambda rng: "\u2028 " * (LONG // 2) + "end",
    lambda rng: "@@ </s> " * (LONG // 8),
)


def hostile(rng: random.Random) -> bytes:
    """A line with at least something in it."""
    return _line(rng.choice(list(KINDS.values()))(rng))


def blank(rng: random.Random) -> bytes:
    """A line in which there is no word."""
    return _line(rng.choice(BLANK)(rng))


def very_long(rng: random.Random) -> bytes:
    """A line of 200,000 characters."""
    return _line(rng.choice(VERY_LONG)(rng))


def _line(content: str | bytes) -> bytes:
    encoded = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return encoded.replace(b"\n", b" ")
