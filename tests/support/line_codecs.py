"""A `LineCodec` without a model."""

from argparse import Namespace
from pathlib import Path

from fairseq.data import Dictionary
from fairseq.tasks.translation import TranslationConfig, TranslationTask

from fairseq_rope.inference.line_codec import LineCodec


def line_codec(
    pieces: str, *, tokenizer: str | None = None, bpe: str | None = None, model: Path = Path("no"), **options: object
) -> LineCodec:
    """The codec of German text in these pieces, as `translate` makes it.

    Args:
        pieces: what its dictionary holds.
        tokenizer: fairseq's --tokenizer.
        bpe: fairseq's --bpe.
        model: the file of `bpe`.
        options: of the codec itself, and of sentencepiece.
    """
    dictionary = Dictionary()
    for piece in pieces.split():
        dictionary.add_symbol(piece)
    moses = dict(source_lang="de", target_lang="en", moses_no_dash_splits=False, moses_no_escape=False)
    own = {name: options.pop(name, False) for name in ("normalize", "lowercase")}
    sampling = {"sentencepiece_enable_sampling": False, "sentencepiece_alpha": None, **options}
    settings = Namespace(
        tokenizer=Namespace(tokenizer=tokenizer, **moses),
        bpe=Namespace(bpe=bpe, bpe_codes=str(model), bpe_separator="@@", sentencepiece_model=str(model), **sampling),
        common_eval=Namespace(post_process=None),
        task=Namespace(source_lang="de"),
    )
    return LineCodec(TranslationTask(TranslationConfig(), dictionary, dictionary), settings, **own)
