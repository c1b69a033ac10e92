"""Run by eole's own Python: average checkpoints, or say what a checkpoint is.

python checkpoint.py average OUTPUT CHECKPOINT...
python checkpoint.py facts CHECKPOINT

This package is not installed there, nor does eole's wheel average: the file stands alone.
"""

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

WEIGHTS = "model.00.safetensors"


def average(output: Path, checkpoints: list[Path]) -> None:
    """Write the mean of all weights, taken in float64, with vocabulary and configuration of the last checkpoint."""
    import torch
    from safetensors.torch import load_file, save_file

    total: dict[str, torch.Tensor] = {}
    for checkpoint in checkpoints:
        for name, weight in load_file(checkpoint / WEIGHTS).items():
            total[name] = total.get(name, torch.zeros((), dtype=torch.float64)) + weight.double()
    output.mkdir()
    save_file({name: (weight / len(checkpoints)).float() for name, weight in total.items()}, output / WEIGHTS)
    for name in ("vocab.json", "config.json"):
        shutil.copy(checkpoints[-1] / name, output)


def facts(checkpoint: Path) -> dict[str, Any]:
    """Return the number of weights, each counted once, and whether embeddings are shared and positions rotated.

    An encoder without positions gives a permuted sentence the permuted output; with rotated queries and keys a pair of
    words that change places moves all others. What is added to embeddings would show there.
    """
    import torch
    from eole.config.run import PredictConfig
    from eole.models.model import get_model_class
    from eole.models.model_saver import get_metadata

    config = PredictConfig(
        model_path=[str(checkpoint)], src="", model=get_metadata(str(checkpoint))["config"].model, compute_dtype="fp32"
    )
    model = get_model_class(config.model).for_inference(config, device_id=-1)[0].eval()
    words, order = torch.arange(10, 17), torch.tensor([1, 0, 2, 3, 4, 5, 6])
    none = torch.zeros(1, 1, len(words), dtype=torch.bool)

    def encoded(sentence: Any) -> Any:
        return model.encoder(model.src_emb(sentence[None]), pad_mask=none)[0][0]

    with torch.no_grad():
        moved = (encoded(words[order]) - encoded(words)[order]).abs().max().item()
        embedded = (model.src_emb(words[order][None])[0] - model.src_emb(words[None])[0][order]).abs().max().item()
    shared = {weight.data_ptr() for weight in (model.src_emb.embeddings.weight, model.tgt_emb.embeddings.weight)}
    shared.add(model.generator.weight.data_ptr())
    return {
        "parameters": sum({weight.data_ptr(): weight.numel() for weight in model.parameters()}.values()),
        "shares_embeddings": len(shared) == 1,
        "rotates": moved > 1e-3 and embedded == 0.0,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", choices=("average", "facts"))
    parser.add_argument("folders", nargs="+", type=Path)
    args = parser.parse_args()
    if args.work == "average":
        average(args.folders[0], args.folders[1:])
    else:
        print(json.dumps(facts(args.folders[0])))


if __name__ == "__main__":
    main()
