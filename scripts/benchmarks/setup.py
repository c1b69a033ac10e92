"""Models, data and number types that are compared: a rotary model and fairseq's `transformer` of the same sizes."""

import random
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import fairseq_rope

USER_DIR = Path(fairseq_rope.__file__).parent
SIZES = {  # name -> options of both models
    "tiny": (
        "--encoder-embed-dim 128 --encoder-ffn-embed-dim 256 --encoder-layers 4 --encoder-attention-heads 4 "
        "--decoder-embed-dim 128 --decoder-ffn-embed-dim 256 --decoder-layers 4 --decoder-attention-heads 4"
    ),
    "iwslt": (
        "--encoder-embed-dim 512 --encoder-ffn-embed-dim 1024 --encoder-layers 6 --encoder-attention-heads 4 "
        "--decoder-embed-dim 512 --decoder-ffn-embed-dim 1024 --decoder-layers 6 --decoder-attention-heads 4"
    ),
    "base": (
        "--encoder-embed-dim 512 --encoder-ffn-embed-dim 2048 --encoder-layers 6 --encoder-attention-heads 8 "
        "--decoder-embed-dim 512 --decoder-ffn-embed-dim 2048 --decoder-layers 6 --decoder-attention-heads 8"
    ),
}
WORDS = {"tiny": 10_000, "iwslt": 10_000, "base": 37_000}  # vocabulary of the made data
STOCK = ["--arch", "transformer", "--criterion", "label_smoothed_cross_entropy"]
ROPE = ["--user-dir", str(USER_DIR), "--arch", "transformer_rope", "--criterion", "label_smoothed_cross_entropy_fused"]
MODELS = {"stock": STOCK, "rope": ROPE}
TRAIN = (
    "--label-smoothing 0.1 --optimizer adam --adam-betas (0.9,0.98) --clip-norm 0 --lr 5e-4 --lr-scheduler inverse_sqrt "
    "--warmup-updates 4000 --warmup-init-lr 1e-7 --dropout 0.1 --share-all-embeddings --no-save --seed 1 --no-progress-bar"
).split()


def make_data(folder: Path, words: int, *, pairs: int = 20_000) -> Path:
    """Write a binarised corpus of random words once; its lengths are those of news text.

    Lengths in tokens are log-normal with the median 24 and the mean 28 of newstest2014 in 37,000 BPE merges; a
    target is 0.8 to 1.25 times as long as its source. Words follow Zipf's law.
    """
    data = folder / f"data-{words}-{pairs}"
    if data.is_dir():
        return data
    rng = random.Random(1)
    text = folder / f"text-{words}-{pairs}"
    folder.mkdir(parents=True, exist_ok=True)
    weights = [1 / (i + 3) for i in range(words)]
    names = [f"w{i}" for i in range(words)]
    with open(f"{text}.en", "w") as source, open(f"{text}.de", "w") as target:
        # every word once, so that the vocabulary is whole
        source.write("\n".join(" ".join(names[i : i + 40]) for i in range(0, words, 40)) + "\n")
        target.write("\n".join(" ".join(names[i : i + 40]) for i in range(0, words, 40)) + "\n")
        for _ in range(pairs):
            length = min(200, max(2, round(rng.lognormvariate(3.18, 0.55))))
            other = max(2, round(length * rng.uniform(0.8, 1.25)))
            source.write(" ".join(rng.choices(names, weights, k=length)) + "\n")
            target.write(" ".join(rng.choices(names, weights, k=other)) + "\n")
    part = data.with_suffix(".part")
    options = (
        "--source-lang en --target-lang de --joined-dictionary --thresholdsrc 0 --thresholdtgt 0 --padding-factor 8"
    )
    command = [sys.executable, "-m", "fairseq_cli.preprocess", *options.split(), "--trainpref", str(text)]
    subprocess.run([*command, "--testpref", str(text), "--destdir", str(part)], check=True, stdout=subprocess.DEVNULL)
    part.rename(data)
    return data


def training_options(model: str, size: str, data: Path, max_tokens: int, number_type: str, device: str) -> list[str]:
    """Give the command line of fairseq-train that is measured."""
    options = [str(data), *MODELS[model], *SIZES[size].split(), *TRAIN, "--max-tokens", str(max_tokens)]
    options += ["--cpu"] if device == "cpu" else []
    return options + ([] if number_type == "fp32" else [f"--{number_type}"])


def parse(options: list[str]) -> Any:
    """Read a command line as fairseq-train does; give its configuration."""
    from fairseq import options as fairseq_options
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf

    parser = fairseq_options.get_training_parser()
    args: Namespace = fairseq_options.parse_args_and_arch(parser, input_args=options)
    return convert_namespace_to_omegaconf(args)
