"""ImageNet's images as records of one size: .venv/bin/python data/imagenet/prepare.py --from FOLDER --image 80.

FOLDER has train/ and val/ with a folder a class, or folders of classes, or one folder of images and --labels. All
stacks read equal bytes: an image becomes image x image pixels by Pillow's bilinear filter (tian says "downsized to
80x80", not how: assumed). A record is the class (two bytes, the lower first), then the red, green and blue plane.
"""

import re
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

import evenbench  # noqa: F401  of an installed one, whose folder it puts on the path
from runner.datasets.published import Published, run
from runner.datasets.writing import sources, text_lines
from runner.errors import InputError, lacking

SET = Published("imagenet", "https://image-net.org/download.php",
                "non-commercial research and education, terms to be accepted on the publisher's page", ())
CLASSES = 1000
TEST_EVERY = 5                       # of a folder with no training and validation part, one in so many is for testing
Labelled = tuple[Path, int]


def write(source: Path, folder: Path, asked: Namespace) -> dict[str, Any]:
    """Write train.bin and test.bin."""
    if (source / "train").is_dir() and (source / "val").is_dir():
        parts = {name: spread(of_classes(source / part), asked.limit) for name, part in (("train", "train"),
                                                                                         ("test", "val"))}
        split = "the publisher's train and val"
    else:
        images = spread(labelled(source, asked.labels), asked.limit)
        parts = {"train": [each for number, each in enumerate(images) if number % TEST_EVERY],
                 "test": images[::TEST_EVERY]}
        split = f"every {TEST_EVERY}th image for testing"
    for name, images in parts.items():
        if not images:
            raise InputError(f"{source}: found no images left for {name}")
        with (folder / f"{name}.bin").open("wb") as file:
            for path, label in images:
                file.write(label.to_bytes(2, "little") + pixels(path, asked.image))
    return {"sources": sources(path for images in parts.values() for path, _ in images),
            "counts": {name: len(images) for name, images in parts.items()},
            "made": {"image": asked.image, "filter": "bilinear", "split": split}}


def labelled(source: Path, labels: Path | None) -> list[Labelled]:
    """(image, class from 0) of a folder: by folders of classes (n01440764 ...), or by the publisher's class numbers."""
    flat = images_in(source)
    if not flat:
        return of_classes(source)
    if labels is None:
        raise InputError(f"{source}: found {len(flat)} images without folders of classes: name the publisher's file of "
                         "their class numbers (ILSVRC2010_validation_ground_truth.txt) with --labels")
    numbers = [word for line in text_lines(labels) for word in line.split()]
    if len(numbers) != len(flat):
        raise InputError(f"--labels {labels}: found {len(numbers)} class numbers, expected one for each of the "
                         f"{len(flat)} images: cut short?")
    for line, number in enumerate(numbers, 1):
        if not (re.fullmatch("[0-9]{1,4}", number) and 1 <= int(number) <= CLASSES):
            raise InputError(f'--labels {labels}: line {line}: found "{number:.40}", expected 1 to {CLASSES}')
    return [(path, int(number) - 1) for path, number in zip(flat, numbers, strict=True)]


def of_classes(folder: Path) -> list[Labelled]:
    """The images of folders named by synset; classes are numbered in the order of those names."""
    classes = sorted(path for path in folder.iterdir() if path.is_dir() and re.fullmatch(r"n\d{8}", path.name))
    if not 1 <= len(classes) <= CLASSES:
        raise InputError(f"{folder}: found {len(classes)} folders of classes such as n01440764, expected 1 to "
                         f"{CLASSES}")
    return [(path, label) for label, each in enumerate(classes) for path in images_in(each)]


def images_in(folder: Path) -> list[Path]:
    """By name."""
    return sorted(path for path in folder.iterdir() if path.suffix.lower() in (".jpeg", ".jpg", ".png"))


def spread(images: list[Labelled], limit: int) -> list[Labelled]:
    """At most `limit` images, taken evenly, so that no class is left out before another."""
    return [images[index * len(images) // limit] for index in range(limit)] if 0 < limit < len(images) else images


def pixels(path: Path, side: int) -> bytes:
    """Three planes of side x side bytes."""
    try:
        from PIL import Image
    except ImportError as error:
        raise lacking("imagenet", "pillow") from error
    try:
        with Image.open(path) as opened:
            image = opened.convert("RGB").resize((side, side), Image.Resampling.BILINEAR)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise InputError(f"{path}: not a whole image: {error}") from error
    return np.asarray(image, np.uint8).transpose(2, 0, 1).tobytes()


if __name__ == "__main__":
    run(SET, write, image={"type": int, "default": 80, "help": "pixels of a side"},
        labels={"type": Path, "help": "of images in one folder: the publisher's file of their class numbers"})
