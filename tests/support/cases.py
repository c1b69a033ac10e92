"""Similar cases in the form of CAIL2019-SCM: three texts, of which one shares its words with the first."""

import json
import random
from collections.abc import Sequence
from pathlib import Path

_KINDS = (("借款", "利息", "归还", "本金"), ("房屋", "租金", "合同", "押金"), ("车辆", "保险", "事故", "赔偿"))
_OTHERS = ("原告", "被告", "本院", "法院", "认为", "2015", "年", "，", "。")
PIECES = sorted({character for word in (*sum(_KINDS, ()), *_OTHERS) for character in word})
CHINESE_WORDS = [word for word in (*sum(_KINDS, ()), *_OTHERS) if len(word) == 2]


def document(dice: random.Random, kind: int, *, words: int = 12) -> str:
    """A case of one of three kinds."""
    return "".join(dice.choice(dice.choice([_KINDS[kind], _OTHERS])) for _ in range(words))


def cases(count: int, *, seed: int, labels: Sequence[str] = ("B", "C")) -> list[dict[str, str]]:
    """Examples with labels; each has documents of its own."""
    dice = random.Random(seed)
    found = []
    for number in range(count):
        kind, label = number % 3, labels[number % len(labels)]
        near, far = document(dice, kind), document(dice, (kind + 1) % 3)
        first = {"A": document(dice, kind), "B": near if label == "B" else far, "C": far if label == "B" else near}
        found.append({**first, "label": label})
    return found


def write_cases(path: Path, found: Sequence[dict[str, str]], *, labeled: bool = True) -> Path:
    """Write JSON lines."""
    rows = [each if labeled else {name: each[name] for name in "ABC"} for each in found]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8")
    return path
