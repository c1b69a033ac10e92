"""Compare files of hypotheses with a baseline by paired bootstrap."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from fairseq_rope.scoring.bootstrap import Bootstrap, paired_bootstrap
from fairseq_rope.scoring.checks import check_same_length
from fairseq_rope.scoring.evaluation import ScoreSettings, TextPair, check_texts
from fairseq_rope.scoring.resampling import SAMPLES
from fairseq_rope.scoring.text import read_text
from fairseq_rope_data.streams import tell


def compare_seeds(
    files: Mapping[str, Sequence[Path]], ref_raw: Path, settings: ScoreSettings, *, samples: int = SAMPLES
) -> list[Bootstrap]:
    """Compare systems, name -> file of detokenized hypotheses by seed, with the first of them.

    Raises:
        UserError: a file can't be read or has another number of lines; and see `check_texts`.
    """
    refs = read_text(ref_raw)
    systems: dict[str, list[list[str]]] = {}
    for name, each_seed in files.items():
        for file in each_seed:
            hyps = read_text(file)
            check_same_length(hyps, refs, options=("SYSTEM", "--ref-raw"))
            for note in check_texts(None, TextPair(hyps, refs), settings):
                tell(f"compare: note: {note}")
            systems.setdefault(name, []).append(hyps.lines)
    return paired_bootstrap(
        systems, refs.lines, target_lang=settings.target_lang, lowercase=settings.lowercase, samples=samples
    )
