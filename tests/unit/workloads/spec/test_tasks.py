"""Tables against published counts, FLOPs and shapes."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from workloads.spec import layers, sequence_tasks, tasks
from workloads.spec.cell import Cell
from workloads.spec.layers import Conv, Residual
from workloads.spec.models import bert, image_models
from workloads.spec.tasks import TASKS, Task, input_shape, table

CONTRIBUTING = Path(__file__).parents[4] / "CONTRIBUTING.md"

# torchvision's and the papers' counts at 1000 classes; InceptionV3 is torchvision's 27,161,264 less its auxiliary
# head's 3,326,696; AlexNet is the paper's network without groups; LeNet-5 has 10 classes
PUBLISHED = {
    "lenet5": 62_006, "alexnet": 62_378_344, "vgg16": 138_357_544, "resnet18": 11_689_512, "resnet50": 25_557_032,
    "resnet50_v1": 25_557_032, "resnet152": 60_192_808, "inceptionv3": 23_834_568, "mobilenetv2": 3_504_872,
    "efficientnet_b4": 19_341_616, "vit_b16": 86_567_656,
}


@pytest.mark.parametrize("task", PUBLISHED)
def test_parameter_counts_are_the_published_ones(task):
    assert PUBLISHED[task] == layers.parameter_count(TASKS[task].table, input_shape(TASKS[task].image))


# multiply-adds in millions as torchvision's documentation lists them at each model's own size (GFLOPS column)
@pytest.mark.parametrize(("task", "millions"), [("resnet18", 1814), ("resnet50", 4089), ("resnet152", 11514),
                                                ("vgg16", 15470), ("mobilenetv2", 301), ("inceptionv3", 5713),
                                                ("vit_b16", 17560)])
def test_forward_flops_are_twice_the_published_multiply_adds(task, millions):
    size = TASKS[task].image
    found = layers.forward_flops(TASKS[task].table, input_shape(size)) / 2e6
    assert millions == round(found, -1 if task == "vit_b16" else 0)              # listed as 17.56


def test_the_cifar_form_of_vit_has_deit_tiny_s_published_parameters_but_for_patches_positions_and_classes():
    published, patches, positions, head = 5_717_416, 3 * 16 * 16 * 192, 197 * 192, 1000 * 193
    own = 3 * 4 * 4 * 192 + 65 * 192 + 10 * 193
    assert published - patches - positions - head + own == layers.parameter_count(table("vit_cifar", 10), (3, 32, 32))


def test_v1_strides_in_the_first_convolution_and_costs_fewer_flops_with_equal_parameters():
    v15, v1 = (layers.forward_flops(TASKS[name].table, input_shape(224)) for name in ("resnet50", "resnet50_v1"))
    assert v1 < v15
    assert [conv.stride for conv in _third_stage_convs("resnet50")] == [1, 2, 1]
    assert [conv.stride for conv in _third_stage_convs("resnet50_v1")] == [2, 1, 1]


def _third_stage_convs(task):
    first = [layer for layer in TASKS[task].table if isinstance(layer, Residual)][3]
    return [layer for layer in first.body if isinstance(layer, Conv)]


@pytest.mark.parametrize("task", TASKS)
def test_the_last_layer_has_the_classes_and_the_least_size_is_the_least(task):
    assert (7,) == layers.shape_after(table(task, 7), input_shape(TASKS[task].least))
    assert all(0 not in place.out for place in layers.leaves(table(task, 7), input_shape(TASKS[task].least)))


def test_a_window_larger_than_its_input_is_refused():
    with pytest.raises(ValueError, match="does not fit"):
        layers.shape_after((Conv(1, (5, 5)),), (3, 4, 4))


def test_the_example_of_contributing_makes_a_model_of_one_table_and_two_rows():
    section = CONTRIBUTING.read_text().split("## Add an image model")[1].split("\n## ")[0]
    blocks = re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)
    names = dict(vars(image_models))
    exec(blocks[0], names)
    row = eval("{" + blocks[1] + "}", {"Task": Task, "models": SimpleNamespace(TINY=names["TINY"])})["tiny"]
    published = eval("{" + blocks[2] + "}")["tiny"]
    assert published == layers.parameter_count(row.table, input_shape(row.image))
    assert (row.classes,) == layers.shape_after(row.table, input_shape(row.least))


LSTM = Cell(stack="s", task="lstm", measure="infer", batch=2, hidden=3, length=10)


def test_a_padded_batch_counts_the_steps_that_it_has_and_training_three_passes_of_it() -> None:
    # 2 samples of 4 steps: 2 * 4 gates * 3 units * (3 + 3) numbers a step
    assert 2 * 4 * (2 * 4 * 3 * 6) == tasks.step_flops(LSTM, tokens=8)
    assert tasks.step_flops(LSTM) == tasks.step_flops(LSTM, tokens=20)
    assert 3 * tasks.step_flops(LSTM, tokens=8) == tasks.step_flops(LSTM._replace(measure="train"), tokens=8)


def test_a_translation_s_tokens_are_of_two_sequences() -> None:
    cell = Cell(stack="s", task="gnmt", measure="infer", batch=2)
    full = sequence_tasks.sizes(cell).length
    assert tasks.step_flops(cell) == tasks.step_flops(cell, tokens=2 * 2 * full)


def test_bert_s_head_has_as_many_positions_in_a_shorter_batch() -> None:
    sizes = bert.PRESETS["small"]
    head = 2 * bert.predictions(sizes.length) * sizes.width * (sizes.width + sizes.vocabulary)
    assert head < bert.flops_at(sizes, 1) < head + 2 * sizes.layers * sizes.width * (6 * sizes.width + 2 * sizes.inner)
