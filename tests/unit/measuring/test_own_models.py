"""Models of the user's own on the host: files are parsed and never run, lanes are columns, content is part of a key."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from runner import cells
from runner.cli import app
from runner.errors import BenchError, InputError
from runner.measuring import equality, own_models
from runner.planning.plan import Plan
from tests import made_graph
from tests.made_own import PINNED, held, lines, planned, proof, written
from workloads.spec.cell import Cell
from workloads.spec.models import own_model

TORCH = "import torch\n\nraise SystemExit('the host ran it')\n\ndef model(): ...\ndef batch(rng, size): ...\n"
JAX = "import jax\n\ndef init(key): ...\ndef apply(parameters, inputs): ...\ndef batch(rng, size): ...\n"
EAGER_AND_COMPILED = ("pytorch", "pytorch-compile")


def test_a_file_is_parsed_and_not_run_and_says_its_kind(tmp_path: Path) -> None:
    assert "torch" == own_models.read(written(tmp_path, "a.py", TORCH)).kind
    assert "jax" == own_models.read(written(tmp_path, "b.py", JAX)).kind
    assert "keras" == own_models.read(written(tmp_path, "c.py", "import torch, keras\n" + TORCH)).kind
    without = "from torchvision.models import resnet18 as model\nbatch = make(3)\n"
    assert "torch" == own_models.read(written(tmp_path, "d.py", without)).kind


@pytest.mark.parametrize(("text", "said"), [
    ("def model(: ...", r"a\.py: line 1: invalid syntax$"),
    ("import torch\ndef model(): ...\n", "found model at its top, expected batch"),
    ("def net(): ...\ndef batch(rng, size): ...\n", "evenbench init torch"),
    ("from tensorflow import keras\n" + TORCH, "expected `import keras`"),
    *((f"{TORCH}x = {expression}1", "nested too deeply") for expression in ("1+" * 9_000, "-" * 90_000)),
], ids=range(6))
def test_a_file_that_cannot_be_one_is_refused_in_a_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        own_models.read(written(tmp_path, "a.py", text))
    with pytest.raises(InputError, match="No such file or directory: `evenbench init torch`"):
        own_models.read(str(tmp_path / "none.py"))


@pytest.mark.parametrize(("kind", "lanes"), [
    ("torch", ["pytorch", "pytorch-compile", "onnxruntime", "openvino"]), ("jax", ["jax"]),
    ("keras", ["keras-on-tensorflow", "keras-on-jax", "keras-on-pytorch"])])
def test_init_writes_a_file_that_plan_takes_with_its_lanes(tmp_path: Path, kind: str, lanes: list[str]) -> None:
    file = str(tmp_path / "my.py")
    assert 0 == CliRunner().invoke(app, ["init", kind, file]).exit_code

    answer = CliRunner().invoke(app, ["plan", file, "--launcher", "venv", "--set", "measure=infer", "--json", "-"])

    assert lanes == [each["cell"]["stack"] for each in json.loads(answer.stdout)["cells"]]
    assert "expected a new file's name" in str(CliRunner().invoke(app, ["init", kind, file]).exception)


def test_modes_of_torch_compile_are_columns_where_they_are_asked_for(tmp_path: Path) -> None:
    name = written(tmp_path, "net.py", TORCH)
    left, options = own_models.options_of(name, ["mode=max-autotune,reduce-overhead", "batch=8"])
    made = planned(name, lanes=["pytorch"], measure="train", options=options)

    assert ["batch=8"] == left
    assert ["pytorch", "pytorch-compile-max-autotune", "pytorch-compile-reduce-overhead"] == [
        each.cell.stack for each in made.cells]
    assert 1 == len({cells.comparison_key(each.cell) for each in made.cells})
    with pytest.raises(InputError, match='--set mode "fast" is unknown; known: basic, disable-all, extended, max-auto'):
        own_models.study([name], options={"mode": ("fast",)})
    takes = written(tmp_path, "own.py", TORCH.replace("size)", "size, mode)"))
    assert ["pytorch", "pytorch-compile", "onnxruntime", "openvino"] == [*own_models.study(
        [takes], options={"mode": ("fast",)})[1]]


def test_modes_of_runtimes_and_of_keras_are_columns_where_they_are_asked_for(tmp_path: Path) -> None:
    options = own_models.options_of(name := written(tmp_path, "net.py", TORCH), ["mode=throughput,parallel-2"])[1]
    _, lanes = own_models.study([name], lanes=["openvino"], options=options)
    assert [("onnxruntime-parallel-2", "parallel-2"), ("openvino", ""), ("openvino-throughput", "throughput")] == [
        (column, each.lane.mode) for column, each in lanes.items()]

    name = written(tmp_path, "keras_net.py", "import keras\n" + TORCH)
    options = own_models.options_of(name, ["mode=jit_compile"])[1]
    assert ["keras-on-pytorch", "keras-on-tensorflow-compile", "keras-on-pytorch-compile"] == [*own_models.study(
        [name], lanes=["keras-on-pytorch"], options=options)[1]]
    has = held("mine", torch="2.13.0", onnx="1", onnxscript="1", openvino="1")
    assert ["mine/openvino", "mine/openvino-throughput"] == [*own_models.study(
        [written(tmp_path, "net.py", TORCH)], lanes=["openvino"], stacks=[has], options={"mode": ("throughput",)})[1]]


def test_a_graph_is_inferred_in_both_runtimes_with_its_folder_as_data(tmp_path: Path) -> None:
    name = made_graph.written(tmp_path / "net.onnx")
    left, options = own_models.options_of(name, ["time=5,7", "batch=8", "mode=throughput"])
    before = planned(name).cells

    assert (["batch=8"], {"time": (5, 7), "mode": ("throughput",)}) == (left, options)
    assert {("infer", "onnx-on-onnxruntime"), ("infer", "onnx-on-openvino")} == {
        (each.cell.measure, each.cell.stack) for each in before}
    assert f"own={tmp_path}" == own_models.data_of([name], None)
    assert ["mine=/envs/mine#python"] == own_models.words_of([name], ["mine=/envs/mine"])
    (tmp_path / "net.onnx.data").write_bytes(b"weights that lie beside it")
    assert before[0].key != planned(name).cells[0].key
    says = CliRunner().invoke(app, ["plan", name, "--launcher", "venv", "--json", "-"]).stdout
    assert {"own"} == {each["cell"]["data"] for each in json.loads(says)["cells"]}


@pytest.mark.parametrize(("words", "said"), [
    (["net.onnx", "net.py"], r"net\.onnx is a graph and has its own weights, and .*net\.py a model of torch"),
    (["net.onnx", "--same", "net.py"], r"--same .*: found it with .*net\.onnx, which is a graph"),
    (["net.onnx", "--data", "own=/tmp"], "found --data own=/tmp, expected graphs of one folder"),
    (["net.onnx", "--set", "measure=train"], '--set measure "train" is unknown; known: infer'),
    (["none.onnx"], r"none\.onnx: No such file")])
def test_what_a_graph_cannot_have_is_refused(tmp_path: Path, words: list[str], said: str) -> None:
    made_graph.written(tmp_path / "net.onnx")
    written(tmp_path, "net.py", TORCH)
    words = [str(tmp_path / each) if each.startswith(("net", "none")) else each for each in words]

    answer = CliRunner().invoke(app, ["plan", *words, "--launcher", "venv"])

    assert isinstance(answer.exception, InputError) and re.search(said, str(answer.exception)), answer


def test_runtimes_infer_and_all_lanes_of_a_measure_are_one_comparison(tmp_path: Path) -> None:
    made = planned(written(tmp_path, "net.py", TORCH))

    lanes = {(each.cell.measure, each.cell.stack) for each in made.cells}
    assert {("train", "pytorch"), ("train", "pytorch-compile")} == {each for each in lanes if each[0] == "train"}
    assert {"pytorch", "pytorch-compile", "onnxruntime", "openvino"} == {
        lane for measure, lane in lanes if measure == "infer"}
    assert 2 == len({cells.comparison_key(each.cell) for each in made.cells})
    assert {f"net.py, {what}, batch 32" for what in ("training", "inference")} == {
        cells.label(each.cell) for each in made.cells}


def test_a_changed_file_is_another_cell(tmp_path: Path) -> None:
    before = planned(written(tmp_path, "net.py", TORCH)).cells[0]
    after = planned(written(tmp_path, "net.py", TORCH + "# another\n")).cells[0]

    assert before.key != after.key
    assert cells.model_name(before.cell) != cells.model_name(after.cell)


def test_two_files_are_one_comparison_of_columns_that_say_which_where_they_must(tmp_path: Path) -> None:
    other = written(tmp_path, "other.py", TORCH)
    made = planned(written(tmp_path, "net.py", TORCH), other, written(tmp_path, "pure.py", JAX))

    training = [each.cell for each in made.cells if each.cell.measure == "train"]
    assert ["net-pytorch", "net-pytorch-compile", "other-pytorch", "other-pytorch-compile", "jax"] == [
        cell.stack for cell in training]
    assert 1 == len({cells.comparison_key(cell) for cell in training})
    assert ["net.py", "net.py", "other.py", "other.py", "pure.py"] == [
        own_model.loads(cell.source).file for cell in training]


@pytest.mark.parametrize(("text", "words", "said"), [
    (TORCH + "#" * 100_000, {}, "expected at most 100000"), (TORCH, {"lanes": ["pytorch-comp"]}, "pytorch-compile"),
    (TORCH, {"loops": ["fit"]}, "--set loop"),
    (TORCH, {"lanes": ["pytorch"], "loops": ["compile"]}, "expected one of pytorch-compile, ")])
def test_files_that_no_command_line_carries_and_lanes_that_are_none_are_refused(
        tmp_path: Path, text: str, words: dict[str, list[str]], said: str) -> None:
    with pytest.raises(InputError, match=said):
        own_models.study([written(tmp_path, "net.py", text)], **words)
    with pytest.raises(InputError, match="nodes"):
        own_models.check_settings({"batch": 8, "nodes": 2})


def test_compiled_steps_of_keras_are_columns_of_their_own_where_they_are_asked_for(tmp_path: Path) -> None:
    name = written(tmp_path, "net.py", "import keras\n" + TORCH)
    fit = ["keras-on-tensorflow", "keras-on-jax", "keras-on-pytorch"]
    step = [f"{each}-step" for each in fit]

    assert fit == [*own_models.study([name])[1]]
    assert step == [*own_models.study([name], loops=["step"])[1]]
    assert fit + step == [*own_models.study([name], loops=["fit", "step"])[1]]
    assert ["keras-on-jax-step"] == [*own_models.study([name], lanes=["keras-on-jax-step"])[1]]


def proved(folder: Path, ours: list[bytes], theirs: list[bytes]) -> tuple[Plan, dict[tuple[str, str], bool]]:
    """The plan that is left of a compiled and an eager lane of a file, and what is known to be proved."""
    made = planned(written(folder, "net.py", TORCH), lanes=EAGER_AND_COMPILED)
    left, _, fingerprints = proof(made, folder, dict(zip(EAGER_AND_COMPILED, (theirs, ours), strict=True)))
    return left, equality.proved(folder, fingerprints)


def ending(message: str) -> list[bytes]:
    return [json.dumps({"event": "end", "status": "error", "message": message}).encode()]


def test_equal_lanes_are_proved_and_stay(tmp_path: Path) -> None:
    left, known = proved(tmp_path, lines(a=[1.0, 2.0]), lines(a=[1.0, 2.0]))

    assert 4 == len(left.cells)
    assert {"pytorch": True, "pytorch-compile": True} == {stack: passed for (_, stack), passed in known.items()}


@pytest.mark.parametrize(("ours", "theirs", "said"), [
    (lines(a=[1.0, 2.0]), lines(a=[1.0, 2.1]), "pytorch-compile and pytorch differ first in weight a"),
    (lines(a=[1.0], bias=[2.0]), lines(a=[1.0]), "weight bias is in pytorch-compile alone"),
    (lines(a=[1.0]), lines(a=[1.0, 2.0]), "weight a has another shape"),
])
def test_a_lane_that_differs_is_refused_with_the_tensor(tmp_path: Path, ours: list[bytes], theirs: list[bytes],
                                                        said: str) -> None:
    with pytest.raises(own_models.Differs, match=said):
        proved(tmp_path, ours, theirs)


def narrow(folder: Path, sent: Callable[[Cell], list[bytes]]) -> tuple[Plan, list[str]]:
    """The plan that is left of a net in bfloat16 in two lanes that send this, and what is said."""
    name = written(folder, "net.py", TORCH)
    assert (["precision=float32,amp"], {}) == own_models.options_of(name, ["precision=float32,bf16"])
    made = planned(name, lanes=EAGER_AND_COMPILED, measure="train", settings={"precision": "amp"})
    return proof(made, folder, sent)[:2]


def test_lanes_in_bfloat16_are_proved_in_it_too(tmp_path: Path) -> None:
    def apart(by: float) -> Callable[[Cell], list[bytes]]:
        return lambda cell: lines("logits", a=[1.0 + by * (cell.precision == "amp" and cell.stack == "pytorch")])

    left, said = narrow(tmp_path, apart(0.05))
    assert 2 == len(left.cells) and said[-1].startswith("pytorch-compile and pytorch are equal (bfloat16, ")
    with pytest.raises(own_models.Differs, match="differ first in logits a"):
        narrow(tmp_path, apart(0.2))
    with pytest.raises(BenchError, match="pytorch and pytorch-compile cannot run: no instructions"):
        narrow(tmp_path, lambda cell: ending("no instructions") if cell.precision == "amp" else lines(a=[1.0]))
    with pytest.raises(InputError, match=r"--set precision=float64: .*expected float32 or bf16"):
        own_models.options_of(str(tmp_path / "net.py"), ["precision=float64"])


def test_one_measure_alone_has_one_experiment_by_its_name(tmp_path: Path) -> None:
    study, _ = own_models.study([written(tmp_path, "net.py", TORCH)], measure="infer")

    assert ["infer"] == [each.id for each in study.experiments]
    with pytest.raises(InputError, match='--set measure "epochs" is unknown; known: train, infer'):
        own_models.study([written(tmp_path, "net.py", TORCH)], measure="epochs")


def test_modules_beside_a_file_are_part_of_its_cells_and_other_imports_are_known(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    for name, text in {"parts/deep.py": "import einops", "torch.py": "", "unused.py": "",
                       "net.py": "import parts.deep, torch\nimport json"}.items():
        (tmp_path / name).write_text(text)
    name = written(tmp_path, "model.py", "from net import Net\ntry: import apex\nexcept ImportError: pass\n" + TORCH)

    read = own_models.read(name)

    assert {"net.py", "parts/deep.py"} == read.beside.keys() and ("einops", "torch") == read.packages
    study, _ = own_models.study([name], lanes=["pytorch"])
    assert {"model.py", "net.py", "parts/deep.py"} == own_model.loads(
        study.experiments[0].variants["pytorch"][0]["source"]).files.keys()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "net.py").write_text("")
    with pytest.raises(InputError, match=r"it imports net\.py, and another file has one of that name"):
        own_models.study([name, written(tmp_path / "other", "second.py", "import net\n" + TORCH)])


def test_a_torch_file_that_uses_keras_for_its_data_alone_is_a_torch_file(tmp_path: Path) -> None:
    text = "import keras, torch\ndef batch(rng, size): return keras.datasets\ndef model(): return Net()\n"

    assert "torch" == own_models.read(written(tmp_path, "a.py", text + "class Net(torch.nn.Module): pass")).kind
    assert "keras" == own_models.read(written(tmp_path, "b.py", text + "class Net(keras.Model): pass")).kind


def test_what_a_file_imports_and_its_stacks_lack_is_said_before_they_are_built(tmp_path: Path) -> None:
    said: list[str] = []
    _, lanes = own_models.study([written(tmp_path, "net.py", "import sklearn.svm, torch, numpy\n" + TORCH)])

    own_models.stacks_of(lanes, PINNED, (), said.append)

    assert ["net.py imports sklearn, which torch-2.13-own lacks: --with scikit-learn==VERSION adds it"] == said


@pytest.mark.parametrize(("lane", "text", "old", "new", "lacks"), [
    ("jax", JAX, {"jax": "0.4.13"}, {"jax": "0.4.18"}, "jax>=0.4.18"),
    ("keras-on-tensorflow", "import keras\n" + TORCH, {"keras": "2.15.0", "tensorflow-cpu": "2.15.1"},
     {"keras": "3.3.3", "tensorflow-cpu": "2.16.2"}, "keras>=3")])
def test_an_environment_lacks_what_is_too_old_in_it(
        lane: str, text: str, old: dict[str, str], new: dict[str, str], lacks: str, tmp_path: Path) -> None:
    said, name = list[str](), written(tmp_path, "net.py", text)

    _, lanes = own_models.study([name], lanes=[lane], stacks=[held("old", **old), held("new", **new)], say=said.append)

    assert ([f"old has no column {lane}: it lacks {lacks}"], ["new"]) == (said, [each.where for each in lanes.values()])


def test_a_column_is_a_lane_in_an_environment_and_what_one_lacks_is_said(tmp_path: Path) -> None:
    name, said = written(tmp_path, "net.py", TORCH), list[str]()
    old, new = held("old", torch="2.12.0"), held("new", torch="2.13.0", onnx="1", onnxscript="1", onnxruntime="1")

    _, several = own_models.study([name], stacks=[old, new], say=said.append)
    _, alone = own_models.study([name], lanes=["pytorch"], stacks=[old, new], say=said.append)

    assert ["old/pytorch", "old/pytorch-compile", "new/pytorch", "new/pytorch-compile", "new/onnxruntime"] == [*several]
    assert "old has no column onnxruntime: it lacks onnx, onnxscript, onnxruntime" in said
    assert {"old": "old", "new": "new"} == {column: each.where for column, each in alone.items()}
    stacks = own_models.stacks_of(several, {"old": old, "new": new}, (), said.append)
    assert old is stacks["old/pytorch"] and new is stacks["new/onnxruntime"]
    with pytest.raises(InputError, match="--with einops==1: found a stack of your own, old: install it there"):
        own_models.stacks_of(several, {"old": old, "new": new}, ("einops==1",), said.append)
    with pytest.raises(InputError, match="nothing can run here: old has no column onnxruntime"):
        own_models.study([name], lanes=["onnxruntime"], stacks=[old])


def test_the_framework_that_a_file_is_for_is_taken_of_an_environment_that_has_several(tmp_path: Path) -> None:
    words = ["old=/envs/old", "new=image:new", "mine=/envs/x#torch", "torch-2.13-cpu"]

    assert ["old=/envs/old#torch", "new=image:new#torch", *words[2:]] == own_models.words_of(
        [written(tmp_path, "net.py", TORCH)], words)


def test_a_lane_that_computes_something_else_in_another_environment_is_a_finding_and_is_timed(tmp_path: Path) -> None:
    stacks = {"old": held("old", torch="2.12.0"), "new": held("new", torch="2.13.0")}
    made = planned(written(tmp_path, "net.py", TORCH), stacks=stacks, lanes=["pytorch"], settings={"precision": "amp"})
    sent = {"old": lines(a=[1.0]), "new": lines(a=[1.5])}             # as weights, which bfloat16 is not judged by

    left, said, prints = proof(made, tmp_path, sent)

    assert 4 == len(left.cells) and {False} == {*equality.proved(tmp_path, prints).values()}
    assert [line for line in said if "differ first in weight a" in line and "it is timed all the same" in line]


def test_where_no_lane_can_run_each_reason_is_said_once(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=r"^pytorch and pytorch-compile cannot run: no shapes$"):
        proved(tmp_path, ending("no shapes"), ending("no shapes"))
    with pytest.raises(BenchError, match=r"^pytorch cannot run: no shapes; pytorch-compile cannot run: no g\+\+$"):
        proved(tmp_path, ending("no g++"), ending("no shapes"))


def test_of_two_files_none_is_left_out_in_silence_and_other_names_are_told_from_differences(tmp_path: Path) -> None:
    made = planned(written(tmp_path, "net.py", TORCH), written(tmp_path, "pure.py", JAX), lanes=["pytorch", "jax"])

    with pytest.raises(BenchError, match=r"^jax cannot run: no shapes$"):
        proof(made, tmp_path, {"pytorch": lines(a=[1.0]), "jax": ending("no shapes")})
    with pytest.raises(own_models.Differs, match="weight b is in jax alone; --same FILE pairs"):
        proof(made, tmp_path, {"pytorch": lines(a=[1.0]), "jax": lines(b=[1.0])})


def test_a_lane_that_cannot_run_is_left_out_and_the_others_are_proved(tmp_path: Path) -> None:
    left, _ = proved(tmp_path, ending("no g++"), lines(a=[1.0]))

    assert {"pytorch"} == {each.cell.stack for each in left.cells}
    assert "no g++" in {each.reason for each in left.skipped}


def test_a_file_without_targets_is_not_trained(tmp_path: Path) -> None:
    left, known = proved(tmp_path, lines("inferred", output=[1.0]), lines("inferred", output=[1.0]))

    assert {"infer"} == {each.cell.measure for each in left.cells} and 2 == len(left.cells)
    assert "net.py: batch() gives no targets, so it only infers" in {each.reason for each in left.skipped}
    assert 2 == len(known)
    training = planned(written(tmp_path, "net.py", TORCH), lanes=["pytorch"], measure="train")
    with pytest.raises(BenchError, match=r"^net\.py: batch\(\) gives no targets, so it only infers$"):
        proof(training, tmp_path, {"pytorch": lines("inferred", output=[1.0])})
