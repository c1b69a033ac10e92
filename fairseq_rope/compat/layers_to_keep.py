"""`--encoder-layers-to-keep 0,2` and `--decoder-layers-to-keep` of a translation model.

Symptom: "AttributeError: 'list' object has no attribute 'split'" when a training is to begin: fairseq's `transformer`
makes a list of the option's numbers, and reads it as text wherever it uses it.
fairseq 0.12.2 and main; can go when `TransformerModel.build_model` and `checkpoint_utils.prune_state_dict` take lists.
"""

from argparse import Namespace


def write_kept_layers_as_text(args: Namespace) -> None:
    """Let `encoder_layers_to_keep` and `decoder_layers_to_keep` of a model's options be text."""
    for name in ("encoder_layers_to_keep", "decoder_layers_to_keep"):
        kept = getattr(args, name, None)
        if isinstance(kept, list):
            setattr(args, name, ",".join(map(str, kept)))
