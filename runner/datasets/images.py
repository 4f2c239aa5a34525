"""An ImageNet folder as records of a chosen size, decoded once on the host: numpy knows no JPEG.

All stacks so read equal bytes. A record is the class (two bytes, the lower first), then the red, green and blue plane.
The whole image becomes image x image pixels by Pillow's bilinear filter (tian says "downsized to 80x80", not how:
assumed).
"""

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from runner.datasets.writing import Options, Sources
from runner.errors import InputError, lacking
from workloads.spec.data.datasets import DATA_SETS

Labelled = tuple[Path, int]
_TEST_EVERY = 5                      # of a folder with no training and validation part, one in so many is for testing
_SYNSET = re.compile(r"n\d{8}")
_ENDINGS = (".jpeg", ".jpg", ".png")
_TOLD_EVERY = 5000


def published(folder: Path) -> str:
    """What is in a folder of ImageNet's images. Raises InputError."""
    images = labelled(folder, None)
    return f"{len(images):,} images of {len({label for _, label in images}):,} classes"


def imagenet(source: Path, folder: Path, options: Options, say: Callable[[str], None]) -> dict[str, Any]:
    """Write train.bin and test.bin; their facts. Raises InputError naming the image that cannot be read."""
    parts, split = _parts(source, options)
    sources = Sources()
    for name, images in parts.items():
        with (folder / f"{name}.bin").open("wb") as file:
            for number, (path, label) in enumerate(images, 1):
                content = path.read_bytes()
                sources.add(path.name, content)
                file.write(label.to_bytes(2, "little") + _pixels(path, content, options.image).tobytes())
                if number % _TOLD_EVERY == 0:
                    say(f"imagenet: {number:,} of {len(images):,} images for {name}")
    return {"sources": sources.record(), "counts": {name: len(images) for name, images in parts.items()},
            "made": {"image": options.image, "filter": "bilinear", "split": split}}


def _parts(source: Path, options: Options) -> tuple[dict[str, list[Labelled]], str]:
    """The images of "train" and "test", and how they were told apart: the publisher's parts, or else every fifth."""
    if (source / "train").is_dir() and (source / "val").is_dir():
        parts = {name: _spread(_of_classes(source / part), options.limit)
                 for name, part in (("train", "train"), ("test", "val"))}
        split = "the publisher's train and val"
    else:
        images = _spread(labelled(source, options.labels), options.limit)
        parts = {"train": [each for number, each in enumerate(images) if number % _TEST_EVERY],
                 "test": images[::_TEST_EVERY]}
        split = f"every {_TEST_EVERY}th image for testing"
    for name, images in parts.items():
        if not images:
            raise InputError(f"{source}: found no images left for {name}")
    return parts, split


def labelled(source: Path, labels: Path | None) -> list[Labelled]:
    """(image, class from 0) of a folder: by folders of classes (n01440764 ...), or by the publisher's class numbers."""
    flat = sorted(path for path in source.iterdir() if path.suffix.lower() in _ENDINGS)
    if not flat:
        both = [part for part in ("train", "val") if (source / part).is_dir()]
        return [image for part in both or [""] for image in _of_classes(source / part)]
    if labels is None:
        raise InputError(f"{source}: found {len(flat)} images without folders of classes: name the publisher's file of "
                         "their class numbers (ILSVRC2010_validation_ground_truth.txt) with --labels")
    return _numbered(flat, labels)


def _of_classes(folder: Path) -> list[Labelled]:
    """The images of folders named by synset; classes are numbered in the order of those names."""
    classes = sorted(path for path in folder.iterdir() if path.is_dir() and _SYNSET.fullmatch(path.name))
    if not classes:
        raise InputError(f"{folder}: found no images and no folders of classes such as n01440764")
    if len(classes) > DATA_SETS["imagenet"].classes:
        raise InputError(f"{folder}: found {len(classes)} folders of classes, expected at most 1000 (ILSVRC)")
    return [(path, label) for label, each in enumerate(classes) for path in sorted(each.iterdir())
            if path.suffix.lower() in _ENDINGS]


def _numbered(images: list[Path], labels: Path) -> list[Labelled]:
    try:
        numbers = labels.read_text().split()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--labels {labels}: not readable: {error}") from error
    if len(numbers) != len(images):
        raise InputError(f"--labels {labels}: found {len(numbers)} class numbers, expected one for each of the "
                         f"{len(images)} images: cut short?")
    for line, number in enumerate(numbers, 1):
        if not (number.isascii() and number.isdigit() and len(number) <= 4
                and 1 <= int(number) <= DATA_SETS["imagenet"].classes):
            raise InputError(f'--labels {labels}: line {line}: found "{number:.40}", expected 1 to 1000')
    return [(path, int(number) - 1) for path, number in zip(images, numbers, strict=True)]


def _spread(images: list[Labelled], limit: int) -> list[Labelled]:
    """At most `limit` images, taken evenly, so that no class is left out before another."""
    if not limit or limit >= len(images):
        return images
    return [images[index * len(images) // limit] for index in range(limit)]


def _pixels(path: Path, content: bytes, side: int) -> "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]":
    """uint8 (3, side, side)."""
    try:
        from PIL import Image
    except ImportError as error:
        raise lacking("data imagenet", "pillow") from error
    try:
        with Image.open(io.BytesIO(content)) as opened:
            image = opened.convert("RGB").resize((side, side), Image.Resampling.BILINEAR)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise InputError(f"{path}: not a whole image: {error}") from error
    return np.ascontiguousarray(np.asarray(image, np.uint8).transpose(2, 0, 1))
