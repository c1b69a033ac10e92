"""Averages: the mean is right in every type, and a bad input leaves no output."""

import argparse
import os
import resource
import shutil
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from fairseq.checkpoint_utils import load_model_ensemble_and_task
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from omegaconf import OmegaConf
from torch import Tensor

from fairseq_rope.checkpoints import averaging
from fairseq_rope.checkpoints import files as checkpoints
from fairseq_rope.checkpoints.averaging import average_checkpoints, write_average
from fairseq_rope_data.errors import UserError
from tests.support.checkpoint_files import Model, fairseq_checkpoint, save, save_all
from tests.support.models import SMALL, build_model, make_task

NAN, INF = float("nan"), float("inf")
QUANTIZED = torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8)


def averaged(paths: list[Path], output: Path) -> dict[str, Any]:
    write_average(paths, output)
    return torch.load(output, weights_only=True)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_the_mean_is_that_of_float64_in_the_stored_type(dtype: torch.dtype, tmp_path: Path) -> None:
    torch.manual_seed(1)
    stored = [torch.randn(5, 7).to(dtype) for _ in range(3)]
    mean = averaged(save_all(tmp_path, [{"w": w} for w in stored]), tmp_path / "out.pt")["model"]["w"]
    expected = torch.stack([w.double() for w in stored]).mean(0)
    assert mean.dtype == dtype
    # half a unit in the last place, and as much again for the fp32 sum before it
    torch.testing.assert_close(mean.double(), expected, rtol=torch.finfo(dtype).eps, atol=1e-7)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_small_types_are_summed_in_fp32(dtype: torch.dtype, tmp_path: Path) -> None:
    # in its own type, large + 1 is large again, so that the eight ones would be lost
    large = 2.0 / torch.finfo(dtype).eps
    models = [{"w": torch.tensor([value]).to(dtype)} for value in [large] + [1.0] * 8]
    mean = averaged(save_all(tmp_path, models), tmp_path / "out.pt")["model"]["w"]
    assert torch.equal(mean, torch.tensor([(large + 8) / 9]).to(dtype))


def test_a_sum_beyond_the_range_of_fp16_does_no_harm(tmp_path: Path) -> None:
    models = [{"w": torch.full((2,), 60000.0).half()} for _ in range(4)]
    assert averaged(save_all(tmp_path, models), tmp_path / "out.pt")["model"]["w"].tolist() == [60000.0] * 2


def test_integers_keep_their_type_and_are_rounded_down(tmp_path: Path) -> None:
    models: list[Model] = [
        {"same": torch.tensor([7, -7]), "count": torch.tensor([10, -10]), "flag": torch.tensor([True, True])},
        {"same": torch.tensor([7, -7]), "count": torch.tensor([21, -21]), "flag": torch.tensor([True, False])},
    ]
    mean = averaged(save_all(tmp_path, models), tmp_path / "out.pt")["model"]
    assert mean["same"].tolist() == [7, -7]
    assert mean["count"].tolist() == [15, -16] and mean["count"].dtype == torch.int64
    assert mean["flag"].tolist() == [True, False]


def test_the_number_that_sinusoids_never_set_is_zero(tmp_path: Path) -> None:
    unset = "decoder.embed_positions._float_tensor"
    paths = save_all(tmp_path, [{"w": torch.ones(2), unset: torch.tensor([value])} for value in (NAN, INF, 3e38, 3e38)])
    assert averaged(paths, tmp_path / "out.pt")["model"][unset].tolist() == [0]


def test_shared_tensors_stay_shared_and_only_where_all_inputs_share_them(tmp_path: Path) -> None:
    def model(value: float, *, tie_last: bool) -> Model:
        w = torch.full((4, 3), value)
        return {"embed": w, "output": w, "last": w if tie_last else w + 1, "view": w[1]}

    paths = save_all(tmp_path, [model(1.0, tie_last=True), model(2.0, tie_last=False)])
    for order in paths, paths[::-1]:
        mean = averaged(order, tmp_path / "out.pt")["model"]
        assert mean["embed"].data_ptr() == mean["output"].data_ptr() != mean["last"].data_ptr()
        assert list(mean) == ["embed", "output", "last", "view"]
        assert [mean[key].flatten()[0].item() for key in mean] == [1.5, 1.5, 2.0, 1.5]


def test_the_optimizer_goes_and_the_rest_is_that_of_the_first_file(tmp_path: Path) -> None:
    paths = [save(tmp_path / f"{n}.pt", {"w": torch.ones(2)}, updates=n) for n in (30, 10)]
    state = averaged(paths, tmp_path / "out.pt")
    assert set(state) == set(fairseq_checkpoint({})) - {"last_optimizer_state"}
    assert state["optimizer_history"][-1]["num_updates"] == 30
    assert "ema" not in state["extra_state"] and state["extra_state"]["val_loss"] == 3.25


def test_fairseq_loads_the_average_of_real_models_and_it_computes(tmp_path: Path) -> None:
    task = make_task()
    args = argparse.Namespace(arch="transformer_rope", task="translation", **SMALL)
    cfg = OmegaConf.to_container(convert_namespace_to_omegaconf(args), resolve=True, enum_to_str=True)
    models = [build_model("transformer_rope", task, seed=seed, **SMALL) for seed in (1, 2, 3)]
    paths = [save(tmp_path / f"{i}.pt", dict(m.state_dict()), cfg=cfg) for i, m in enumerate(models)]
    write_average(paths, tmp_path / "out.pt")
    (loaded,), _, _ = load_model_ensemble_and_task([str(tmp_path / "out.pt")], task=task)
    for key, tensor in loaded.state_dict().items():
        expected = torch.stack([m.state_dict()[key].double() for m in models]).mean(0)
        torch.testing.assert_close(tensor.double(), expected, rtol=1e-6, atol=1e-7)
    source, previous = torch.randint(4, 90, (2, 6)), torch.randint(4, 90, (2, 5))
    logits: Tensor = loaded.eval()(source, torch.tensor([6, 6]), previous)[0]
    assert logits.shape == (2, 5, 94) and logits.isfinite().all()


def test_one_checkpoint_is_in_memory_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = save_all(tmp_path, [{"w": torch.randn(50, 50)} for _ in range(4)])
    alive: list[weakref.ref[Tensor]] = []

    def load(path: Path) -> checkpoints.Checkpoint:
        assert not any(reference() is not None for reference in alive)
        state = checkpoints.load_checkpoint(path)
        alive.append(weakref.ref(state["model"]["w"]))
        alive.append(weakref.ref(state["last_optimizer_state"]["state"][0]["exp_avg"]))
        return state

    monkeypatch.setattr(averaging, "load_checkpoint", load)
    average_checkpoints(paths)
    assert len(alive) == 8


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"a": torch.ones(2)}, "cannot average .*second.pt: it lacks b, which .*first.pt has"),
        ({"a": torch.ones(2), "b": torch.ones(3), "c": torch.ones(1)}, "second.pt: it has c, which .*first.pt lacks"),
        ({"a": torch.ones(2), "b": torch.ones(3, 1)}, r"the shape of b is \(3, 1\), but \(3,\) in .*first.pt"),
        ({"a": torch.ones(2), "b": torch.ones(3).long()}, "the type of b is torch.int64, but torch.float32 in"),
        ({"a": torch.ones(2), "b": torch.ones(3).cfloat()}, "the type of b is torch.complex64, but torch.float32 in"),
        ({"a": torch.ones(2), "b": "text"}, "second.pt: b is a str, not a tensor"),
        (
            {"a": torch.ones(2), "b": torch.ones(3).to(torch.float8_e4m3fn)},
            "type of b is torch.float8_e4m3fn, which has",
        ),
        ({"a": torch.ones(2), "b": QUANTIZED}, "the type of b is torch.quint8, which has no mean"),
        ({"a": torch.ones(2), "b": torch.ones(3).to_sparse()}, "b is a sparse_coo tensor, but must be a dense one"),
        ({"a": torch.ones(2), "b": torch.ones(3, 3).to_sparse_csr()}, "b is a sparse_csr tensor, but must be a dense"),
        ({"a": torch.ones(2), "b": torch.ones(3, device="meta")}, "b is a meta tensor, but must be a dense one"),
        ({"a": torch.ones(2), "b": torch.tensor([1, NAN, 2])}, "second.pt: 1 of 3 numbers of b are NaN or infinite"),
        ({"a": torch.tensor([INF, -INF]), "b": torch.ones(3)}, "second.pt: 2 of 2 numbers of a are NaN or infinite"),
        ({"a": torch.ones(2), "b": torch.tensor([1, INF, 2]).half()}, "1 of 3 numbers of b are NaN or infinite"),
    ],
)
def test_models_that_differ_are_refused(model: Model, message: str, tmp_path: Path) -> None:
    first = save(tmp_path / "first.pt", {"a": torch.ones(2), "b": torch.ones(3)})
    second = save(tmp_path / "second.pt", model)
    with pytest.raises(UserError, match=message):
        write_average([first, second], tmp_path / "out.pt")
    assert sorted(os.listdir(tmp_path)) == ["first.pt", "second.pt"]


@pytest.mark.parametrize(
    ("name", "value", "first"),
    [
        ("rope_base", 500.0, 10000.0),
        ("rope_layout", "half", "interleaved"),
        ("encoder_attention_heads", 4, 2),
        ("activation_fn", "gelu", "relu"),
    ],
)
def test_options_that_make_another_model_of_the_weights_are_refused(
    name: str, value: object, first: object, tmp_path: Path
) -> None:
    # the first one is older than --rope-layout
    options = {"rope_base": 10000.0, "encoder_attention_heads": 2, "activation_fn": "relu"}
    paths = []
    for updates, changed in ((1, {}), (2, {"dropout": 0.5}), (3, {name: value})):
        state = fairseq_checkpoint({"w": torch.ones(2)}, updates=updates)
        state["cfg"] = {"model": argparse.Namespace(**{**options, **changed})}
        torch.save(state, tmp_path / f"{updates}.pt")
        paths.append(tmp_path / f"{updates}.pt")
    write_average(paths[:2], tmp_path / "out.pt")
    with pytest.raises(UserError) as error:
        write_average(paths, tmp_path / "all.pt")
    assert str(error.value) == f"cannot average {paths[2]}: its {name} is {value!r}, but {first!r} in {paths[0]}"
    assert not (tmp_path / "all.pt").exists()


def test_options_of_hydra_that_lack_a_value_are_no_matter(tmp_path: Path) -> None:
    paths = save_all(tmp_path, [{"w": torch.ones(2)}, {"w": torch.zeros(2)}])
    for path in paths:
        cfg = OmegaConf.create({"model": {"_name": "odd", "text": "???", "rate": "${nowhere.rate}"}})
        torch.save({**torch.load(path), "cfg": cfg}, path)
    assert averaged(paths, tmp_path / "out.pt")["model"]["w"].tolist() == [0.5, 0.5]


@pytest.mark.parametrize("large", [torch.tensor([2**62, -3]), torch.tensor([3e38, 1.0])], ids=["int64", "float32"])
def test_a_sum_beyond_its_type_is_refused(large: Tensor, tmp_path: Path) -> None:
    paths = save_all(tmp_path, [{"n": large}, {"n": large}])
    message = f"cannot average .*checkpoint2.pt: with it the sum of n is beyond what {large.dtype} holds"
    with pytest.raises(UserError, match=message):
        write_average(paths, tmp_path / "out.pt")
    write_average(paths[:1], tmp_path / "out.pt")
    assert torch.equal(torch.load(tmp_path / "out.pt")["model"]["n"], large)


def test_a_record_of_odd_values_is_shown_with_dashes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = fairseq_checkpoint({"w": torch.ones(2)}, updates="many")
    state["extra_state"] |= {"train_iterator": [1], "val_loss": "low"}
    torch.save(state, tmp_path / "odd.pt")
    write_average([tmp_path / "odd.pt"], tmp_path / "out.pt")
    assert capsys.readouterr().out.splitlines()[1].split() == ["-", "-", "-", str(tmp_path / "odd.pt")]


@pytest.mark.parametrize("link", [os.link, os.symlink, None])
def test_an_output_that_is_an_input_is_refused(link: Callable[[Path, Path], None] | None, tmp_path: Path) -> None:
    paths = save_all(tmp_path, [{"w": torch.ones(2)}] * 2)
    before = paths[1].read_bytes()
    output = paths[1] if link is None else tmp_path / "link.pt"
    if link:
        link(paths[1], output)
    with pytest.raises(UserError, match=rf"--output must not be an input, but {output} is {paths[1]}"):
        write_average(paths, output)
    assert paths[1].read_bytes() == before


def test_a_model_that_would_count_twice_is_refused(tmp_path: Path) -> None:
    first, second = save_all(tmp_path, [{"w": torch.ones(2)}, {"w": torch.zeros(2)}])
    copy = Path(shutil.copy(first, tmp_path / "checkpoint_best.pt"))
    for inputs in [first, second, copy], [first, second, first]:
        with pytest.raises(UserError, match=f"--inputs: {inputs[2]} is the same model as {first}, which would count"):
            write_average(inputs, tmp_path / "out.pt")
        assert not (tmp_path / "out.pt").exists()
    # a rate of 0 leaves weights as they are
    later = save(tmp_path / "later.pt", {"w": torch.ones(2)}, updates=50)
    assert averaged([first, later], tmp_path / "out.pt")["model"]["w"].tolist() == [1, 1]


def test_an_output_that_cannot_be_is_refused_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is a folder"):
        write_average([tmp_path / "none.pt"], tmp_path)
    with pytest.raises(UserError, match="there is no folder"):
        write_average([tmp_path / "none.pt"], tmp_path / "none" / "out.pt")


def test_a_full_disk_leaves_no_output(tmp_path: Path) -> None:
    paths = save_all(tmp_path, [{"w": torch.ones(50_000)}])
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(UserError, match=r"cannot write .*out.pt: is the disk full\?"):
            write_average(paths, tmp_path / "out.pt")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert os.listdir(tmp_path) == ["checkpoint1.pt"]
