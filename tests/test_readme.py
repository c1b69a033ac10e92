"""The tables of README.md, docs/models.md and docs/encoder.md say what the code does."""

import re
from argparse import ArgumentParser, Namespace

import pytest
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY
from fairseq.models.roberta import RobertaModel
from fairseq.models.transformer import TransformerModel

from fairseq_rope import RoformerModel, TransformerRopeModel
from fairseq_rope.models._positions import POSITION_METHODS
from tests.support import ROOT


def rows(heading: str, page: str = "README.md") -> list[list[str]]:
    """The cells of the table under a heading, without its first two lines."""
    section = (ROOT / page).read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines[2:]]


def defaults(arch: str) -> Namespace:
    args = Namespace()
    ARCH_CONFIG_REGISTRY[arch](args)
    return args


def test_every_arch_is_in_the_table_with_its_sizes():
    ours = {name for name, model in ARCH_MODEL_REGISTRY.items() if model is TransformerRopeModel}
    table = {row[0]: row[1:] for row in rows("Architectures", "docs/models.md")}
    assert set(table) == ours
    for arch, cells in table.items():
        args = defaults(arch)
        norm = "pre" if args.encoder_normalize_before else "post"
        layers = f"{args.encoder_layers}+{args.decoder_layers}"
        sizes = (args.encoder_embed_dim, args.encoder_ffn_embed_dim, args.encoder_attention_heads, args.dropout)
        assert cells == [layers, *map(str, sizes), norm], arch


@pytest.mark.parametrize(
    ("model", "stock", "arch", "page"),
    [
        (TransformerRopeModel, TransformerModel, "transformer_rope", "README.md"),
        (RoformerModel, RobertaModel, "roformer", "docs/encoder.md"),
    ],
)
def test_every_option_of_ours_is_in_the_table_with_its_default(model, stock, arch: str, page: str):
    names = []
    for each in (model, stock):
        parser = ArgumentParser()
        each.add_args(parser)
        names.append({name for action in parser._actions for name in action.option_strings})
    table = {row[0]: row[1] for row in rows("Options", page)}
    args = defaults(arch)
    assert table == {name: str(getattr(args, name.strip("-").replace("-", "_"))) for name in names[0] - names[1]}


def test_every_arch_of_the_encoder_is_in_its_table_with_its_sizes():
    ours = {name for name, model in ARCH_MODEL_REGISTRY.items() if model is RoformerModel}
    table = {row[0]: row[1:5] for row in rows("Architectures", "docs/encoder.md")}
    assert set(table) == ours
    for arch, cells in table.items():
        args = defaults(arch)
        sizes = (args.encoder_layers, args.encoder_embed_dim, args.encoder_ffn_embed_dim, args.encoder_attention_heads)
        assert cells == [*map(str, sizes)], arch


def test_every_position_method_is_in_the_table():
    assert tuple(row[0] for row in rows("Position methods", "docs/models.md")) == POSITION_METHODS


def test_every_tool_and_recipe_is_in_the_tables():
    tools = {
        path.stem for path in ROOT.glob("fairseq_rope/tools/*.py") if 'if __name__ == "__main__"' in path.read_text()
    }
    pages = ("README.md", "docs/encoder.md")
    assert {row[0] for page in pages for row in rows("Tools", page)} == tools
    recipes = {path.name for path in ROOT.glob("scripts/*.sh")} - {"test.sh", "benchmark_gpu.sh"}
    assert {re.search(r"/(\S+\.sh)", row[0])[1] for page in pages for row in rows("Recipes", page)} == recipes
    preparations = {f"data-prep/{path.name}" for path in ROOT.glob("data-prep/*.sh")}
    page = (ROOT / "docs" / "data-preparation.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(data-prep/\S+)` \|", page, re.MULTILINE)) == preparations
