"""Checkpoints of fairseq's own `transformer`, with the folder that they are trained on, to convert."""

from argparse import Namespace
from pathlib import Path
from typing import Any

import torch
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from omegaconf import OmegaConf

from tests.support.checkpoint_files import fairseq_checkpoint
from tests.support.models import SMALL, build_model, make_task

TRAINED = dict(
    **dict(task="translation", source_lang="en", target_lang="de", criterion="label_smoothed_cross_entropy"),
    **dict(label_smoothing=0.1, optimizer="adam", adam_betas="(0.9, 0.98)", weight_decay=0.0001, lr=[0.005]),
    **dict(max_tokens=2048, update_freq=[2], distributed_world_size=4, clip_norm=0.5),
)


def data_folder(folder: Path, *, words: int = 90, sets: tuple[str, ...] = ("train", "valid", "test")) -> Path:
    """Make what fairseq-preprocess writes, as far as a look at names and dictionaries goes."""
    folder.mkdir()
    for lang in ("en", "de"):
        make_task(words).source_dictionary.save(str(folder / f"dict.{lang}.txt"))
        for name in sets:
            (folder / f"{name}.en-de.{lang}.idx").touch()
    return folder


def original_checkpoint(arch: str = "transformer", *, old: bool = False, **options: Any) -> dict[str, Any]:
    """A checkpoint after 40 updates; `old` ones have `args`, as fairseq wrote them before 0.10."""
    options = {**SMALL, **options}
    # what trains a model puts its arch's defaults into the options
    args = Namespace(arch=arch, **{**TRAINED, **options})
    state = fairseq_checkpoint(dict(build_model(arch, **options).state_dict()), cfg=dict())
    if old:
        return {**state, "args": args, "cfg": None}
    cfg = convert_namespace_to_omegaconf(args)
    return {**state, "cfg": OmegaConf.to_container(cfg, resolve=True, enum_to_str=True)}


def save_original(path: Path, arch: str = "transformer", **options: Any) -> Path:
    torch.save(original_checkpoint(arch, **options), path)
    return path
