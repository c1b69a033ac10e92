"""Five sentences in tokens and BPE, and the log that fairseq-generate would write of them."""

from pathlib import Path

from fairseq_rope.scoring.metrics import fairseq_bleu

HYPS = [
    "der Mann sieht den klein@@ en Hund , den er gest@@ ern kauf@@ te .",
    "&quot; ich bin m\u00fcde &quot; , sagt die Frau .",
    "wir fahren morgen mit dem Zug nach M\u00fcn@@ chen @-@ S\u00fcd .",
    "",
    "das ist &apos;s &amp; mehr <unk> nicht .",
]


REFS = [
    "der Mann sieht den klein@@ en Hund , den er gest@@ ern gekauft hat .",
    "&quot; ich bin sehr m\u00fcde &quot; , sagt die alte Frau .",
    "wir fahren morgen mit dem Zug nach M\u00fcn@@ chen @-@ S\u00fcd .",
    "nichts",
    "das ist &apos;s &amp; mehr <<unk>> ist nicht .",
]


def log_lines(
    hyps: list[str], refs: list[str], *, decoded: list[str] | None = None, last: str | None = None, others: int = 0
) -> list[str]:
    """A fairseq-generate log in the order of the longest sentence first, with `others` more hypotheses each."""
    lines = ["2024-01-01 00:00:00 | INFO | fairseq_cli.generate | loading model(s) from checkpoint_best.pt"]
    for i in sorted(range(len(hyps)), key=lambda i: -len(refs[i])):
        lines += [f"S-{i}\ta source", f"T-{i}\t{refs[i]}"]
        lines += [f"H-{i}\t-0.5\t{hyps[i]}", f"D-{i}\t-0.5\t{(decoded or hyps)[i]}", f"P-{i}\t-0.1 -0.2"]
        for _ in range(others):
            lines += [f"H-{i}\t-0.7\tworse", f"D-{i}\t-0.7\tworse", f"P-{i}\t-0.1"]
    return [*lines, f"Generate test with beam=5: {last or fairseq_bleu(hyps, refs).text}"]


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path
