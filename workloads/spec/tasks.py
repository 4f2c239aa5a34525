"""The tasks by name: a model's table with the sizes it was made for. Adding one costs a table and a row here.

Sequence tasks stand in spec.sequence_tasks; NAMES has both kinds.
"""
from workloads.spec import layers, measures, sequence_tasks
from workloads.spec.cell import Cell
from workloads.spec.image_task import Task, input_shape
from workloads.spec.models import image_models as models

TASKS = {
    "lenet5": Task(models.LENET5, 32, 32, 10, "LeNet-5 (tanh)"),
    "alexnet": Task(models.ALEXNET, 227, 63, 1000, "AlexNet"),
    "vgg16": Task(models.VGG16, 224, 32, 1000, "VGG16"),
    "resnet18": Task(models.RESNET18, 224, 32, 1000, "ResNet-18"),
    "resnet18_cifar": Task(models.RESNET18_CIFAR, 32, 8, 10, "ResNet-18, CIFAR form"),
    "resnet50": Task(models.RESNET50, 224, 32, 1000, "ResNet-50 v1.5"),
    "resnet50_v1": Task(models.RESNET50_V1, 224, 32, 1000, "ResNet-50 v1"),
    "resnet50_cifar": Task(models.RESNET50_CIFAR, 32, 8, 10, "ResNet-50 v1.5, CIFAR form"),
    "resnet152": Task(models.RESNET152, 224, 32, 1000, "ResNet-152 v1.5"),
    "inceptionv3": Task(models.INCEPTION_V3, 299, 75, 1000, "InceptionV3"),
    "mobilenetv2": Task(models.MOBILENET_V2, 224, 32, 1000, "MobileNetV2"),
    "efficientnet_b4": Task(models.EFFICIENTNET_B4, 380, 32, 1000, "EfficientNet-B4"),
    "vit_b16": Task(models.VIT_B16, 224, 16, 1000, "ViT-B/16"),
    "vit_cifar": Task(models.VIT_CIFAR, 32, 4, 10, "ViT-Ti/4, CIFAR form"),
}

NAMES = tuple(TASKS) + tuple(sequence_tasks.SEQUENCES)
TRANSFORMERS = ("bert", "gpt2", "llama", "vit_b16", "vit_cifar")     # which may have one function for attention


def is_sequence(name: str) -> bool:
    """Whether a task's samples are sequences."""
    return name in sequence_tasks.SEQUENCES


def title(name: str):
    """A task's name for people."""
    return (sequence_tasks.SEQUENCES if is_sequence(name) else TASKS)[name].title


def defaults(name: str):
    """The cell fields that a task decides where nobody says them."""
    return {} if is_sequence(name) else {"image": TASKS[name].image, "classes": TASKS[name].classes}


def is_known(cell: Cell) -> bool:
    """Whether the cell's task is one of ours."""
    return cell.task in NAMES


def of(cell: Cell):
    """The Task of an image cell."""
    return TASKS[cell.task]


def table(name: str, classes):
    """The layers of a task of ours with so many classes."""
    return TASKS[name].table[:-1] + (layers.Dense(classes),)


def model(cell: Cell):
    """The layers of an image cell's model."""
    return table(cell.task, cell.classes)


def is_transformer(cell: Cell) -> bool:
    """Whether the cell's model has attention, which a framework may have one function for."""
    return cell.task in TRANSFORMERS


def step_flops(cell: Cell, tokens=None):
    """FLOPs of one step of the cell: a batch forward, and three times that where it trains; 0 of a user's own model.

    tokens: of a batch of sequences, padded or real; without it all are of full length.
    """
    if cell.source:                               # whose operations nobody counts
        return 0
    passes = 1 if cell.measure in measures.FORWARD else 3
    return passes * cell.batch * _forward_flops(cell, tokens)


def _forward_flops(cell: Cell, tokens: int):
    if is_sequence(cell.task):
        return sequence_tasks.forward_flops(cell, tokens)
    return layers.forward_flops(model(cell), input_shape(cell.image))


def parameters(cell: Cell):
    """The layers.Parameters of a cell's model, running statistics included, in order of computation."""
    if is_sequence(cell.task):
        return sequence_tasks.parameters(cell)
    return layers.parameters(model(cell), input_shape(cell.image))
