"""The command line of `translate`: fairseq-interactive's options and our own, checked before any work starts."""

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fairseq import options, utils
from fairseq.data.encoders.moses_tokenizer import MosesTokenizerConfig
from fairseq.data.encoders.sentencepiece_bpe import SentencepieceConfig
from fairseq.data.encoders.subword_nmt_bpe import SubwordNMTBPEConfig
from fairseq.dataclass.utils import convert_namespace_to_omegaconf, gen_parser_from_dataclass
from fairseq.tasks import TASK_REGISTRY
from omegaconf import MISSING

from fairseq_rope.checkpoints.data_folder import check_no_colon, languages
from fairseq_rope.inference.engine_options import RuntimeOptions, add_engine_options, runtime_options
from fairseq_rope.scoring.detokenize import BPE_KINDS
from fairseq_rope_data.bpe_codes import read_codes
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import check_apart
from fairseq_rope_data.recorded import check_recorded
from fairseq_rope_data.window_index import SEPARATOR, check_separator

DEFAULT_MAX_TOKENS = 4096
DEFAULT_BUFFER_SIZE = 1000
# the shortest sentence has two tokens: a word and </s>
_LEAST = {
    "beam": 1,
    "nbest": 1,
    "max_tokens": 2,
    "batch_size": 1,
    "buffer_size": 0,
    "max_source_positions": 2,
    "window": 1,
}
# what changes nothing after --bpe has joined the pieces
_POST_PROCESS = {"subword_nmt": ("subword_nmt", "@@ ", "@@", "none"), "sentencepiece": ("none",)}
_MAX_INT = 2**31 - 1
USAGE = (
    "translate DATA --path FILE [-s LANG -t LANG] [--tokenizer moses] [--bpe subword_nmt --bpe-codes FILE] "
    "[--input FILE] [--output FILE] [option ...]"
)

# what fairseq-interactive prints beside the translation, or what its generator cannot do: refused, not ignored
_REFUSED = {
    "constraints": "input lines are text only",
    "replace_unk": "fairseq's generator no longer gives the alignment that it needs",
    "print_alignment": "only translations are written",
    "score_reference": "there is no reference",
    "prefix_size": "there is no reference to take it from",
    "lm_path": "only fairseq-generate takes a language model",
}


class Request(NamedTuple):
    """A checked command line: what to translate, how and where to.

    `cfg` is fairseq's own configuration, `-` is stdin or stdout; without `runtime` the engine is fairseq's.
    """

    cfg: Any
    inputs: list[str]
    output: str
    normalize: bool
    lowercase: bool
    runtime: RuntimeOptions | None
    window: int
    separator: str


def parse(argv: Sequence[str], description: str) -> Request:
    """Read and check a command line without its program name.

    Raises:
        UserError: an option breaks its rule, or names a file or folder that isn't there.
        SystemExit: argparse's own, for --help and for options that it refuses.
    """
    parser = _parser(description)
    if {"-h", "--help"} & set(argv):
        _add_common_choices(parser)
    try:
        args = options.parse_args_and_arch(parser, input_args=list(argv))
    except (ImportError, OSError) as error:
        raise UserError(f"--user-dir cannot be imported: {error}") from error
    except ValueError as error:  # options that exclude each other
        raise UserError(str(error)) from error
    inputs, args.input = args.input or ["-"], "-"
    runtime = runtime_options(args, parser)
    if args.max_tokens is None and args.batch_size is None:
        args.max_tokens = DEFAULT_MAX_TOKENS
    if args.buffer_size == 0:
        # a person at a terminal waits for the answer to each line
        args.buffer_size = 1 if inputs == ["-"] and sys.stdin.isatty() else DEFAULT_BUFFER_SIZE
    _check_options(args)
    _check_files(args, inputs)
    _check_output(args, inputs, [] if runtime is None else runtime.folder.files)
    separator = SEPARATOR if args.window_separator is None else args.window_separator
    check_separator(separator, "--window-separator")
    cfg = convert_namespace_to_omegaconf(args)
    return Request(cfg, inputs, args.output, args.normalize, args.lowercase, runtime, args.window, separator)


def _parser(description: str) -> argparse.ArgumentParser:
    try:
        parser: argparse.ArgumentParser = options.get_interactive_generation_parser()
    except (ImportError, OSError) as error:
        raise UserError(f"--user-dir cannot be imported: {error}") from error
    parser.prog, parser.usage, parser.description = "translate", USAGE, description
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    group = parser.add_argument_group("Translate")
    group.add_argument(
        "--output", metavar="FILE", default="-", help="file to write, complete or not at all; - is stdout"
    )
    group.add_argument(
        "--normalize",
        "--normalise",
        action="store_true",
        help="normalize punctuation and drop what does not print, for models of such text",
    )
    group.add_argument("--lowercase", action="store_true", help="lower-case the input, for models of such text")
    group.add_argument(
        "--window",
        type=int,
        metavar="N",
        default=1,
        help="translate N lines together, for models trained on windows; a blank line ends a document (default: 1)",
    )
    group.add_argument(
        "--window-separator", metavar="TOKEN", help=f"what stands between the lines of a window (default: {SEPARATOR})"
    )
    # fairseq has --input already, for one file
    group.conflict_handler = "resolve"
    group.add_argument("--input", metavar="FILE", action="append", help="file to read; can be repeated; - is stdin")
    add_engine_options(parser)
    return parser


def _add_common_choices(parser: argparse.ArgumentParser) -> None:
    """Show in --help what fairseq adds to a parser only once --task, --tokenizer and --bpe are read."""
    TASK_REGISTRY["translation"].add_args(parser)
    for title, config in (
        ("--tokenizer moses", MosesTokenizerConfig),
        ("--bpe subword_nmt", SubwordNMTBPEConfig),
        ("--bpe sentencepiece", SentencepieceConfig),
    ):
        gen_parser_from_dataclass(parser.add_argument_group(title), config())


def _check_options(args: argparse.Namespace) -> None:
    for name, reason in _REFUSED.items():
        if getattr(args, name, None):
            raise UserError(f"--{name.replace('_', '-')} cannot be used with translate: {reason}")
    for name, least in _LEAST.items():
        value = getattr(args, name, None)
        if value is not None and value < least:
            raise UserError(f"--{name.replace('_', '-')} must be at least {least}, but is {value}")
    for name, value in vars(args).items():
        # type, not isinstance: a bool is no number
        if (type(value) is float and not math.isfinite(value)) or (type(value) is int and abs(value) > _MAX_INT):
            raise UserError(f"--{name.replace('_', '-')} must be a number of up to {_MAX_INT}, but is {value}")
    if args.window == 1 and args.window_separator is not None:
        raise UserError("--window-separator needs --window of 2 or more")
    if args.post_process not in (None, *BPE_KINDS):
        raise UserError(f"--post-process must be one of {', '.join(BPE_KINDS)}, but is {args.post_process}")
    if args.post_process not in (None, *_POST_PROCESS.get(args.bpe, BPE_KINDS)):
        raise UserError(
            f"--post-process {args.post_process} cannot be used with --bpe {args.bpe}, which joins words too"
        )
    if args.temperature <= 0:
        raise UserError(f"--temperature must be above 0, but is {args.temperature}")
    shortest = int(2 * args.max_len_a + args.max_len_b)
    if shortest < max(args.min_len, 1):
        raise UserError(
            f"2 x --max-len-a + --max-len-b must be at least {max(args.min_len, 1)} (--min-len), but is {shortest}"
        )


def _check_files(args: argparse.Namespace, inputs: list[str]) -> None:
    if args.path is None:
        raise UserError("--path must name a checkpoint, or several with : between them")
    if args.engine == "fairseq" and not args.checkpoint_suffix and args.checkpoint_shard_count == 1:
        check_no_colon("--path", args.path)
        _check_paths("--path", utils.split_paths(args.path), Path.is_file)
    for bpe, option in (("subword_nmt", "bpe_codes"), ("sentencepiece", "sentencepiece_model")):
        if args.bpe == bpe:
            name, flag = getattr(args, option, None), f"--{option.replace('_', '-')}"
            if name in (None, MISSING):
                raise UserError(f"--bpe {bpe} needs {flag}")
            _check_paths(flag, [name], Path.is_file)
            check_recorded(Path(name))
    if args.bpe == "subword_nmt":
        read_codes(Path(args.bpe_codes), "--bpe-codes")
    # a pipe is a good input, a folder is not
    _check_paths("--input", [name for name in inputs if name != "-"], lambda path: path.exists() and not path.is_dir())
    if args.output != "-" and Path(args.output).is_dir():
        raise UserError(f"--output must be a file, but {args.output} is a folder")
    if args.task == "translation":
        args.source_lang, args.target_lang = languages(Path(args.data), args.source_lang, args.target_lang)
    if args.normalize and not getattr(args, "source_lang", None):
        raise UserError("--normalize needs --source-lang: its rules depend on the language")


def _check_output(args: argparse.Namespace, inputs: list[str], model: list[Path]) -> None:
    """Check that no file that is read is lost for its translation; a device is read and written at once."""
    if args.output != "-" and Path(args.output).is_file():
        given = (getattr(args, name, None) for name in ("bpe_codes", "sentencepiece_model"))
        read = [*inputs, *utils.split_paths(args.path), *filter(None, given)]
        dictionaries = [file for data in utils.split_paths(args.data) for file in Path(data).glob("dict.*.txt")]
        check_apart([Path(args.output)], [*(Path(name) for name in read if name != "-"), *dictionaries, *model])


def _check_paths(option: str, names: Sequence[str], good: Callable[[Path], bool]) -> None:
    for name in names:
        if not good(Path(name)):
            problem = "it is a folder" if name and Path(name).is_dir() else "there is no such file"
            raise UserError(f"{option} {name}: {problem}")
