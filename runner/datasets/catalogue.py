"""The data sets that are published elsewhere: address, checksum, licence and size of each, and how it is prepared.

A checksum says who published it. None of the addresses is verified here: what is downloaded is, by its checksum.
Sizes and checksums were written down in 2026; an address that no longer answers is told as such.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from runner.datasets import images, layouts, speech, text
from runner.datasets.writing import Options
from runner.errors import unknown
from runner.processes import Say

# writes what is published in the first folder to the second, as every stack reads it; what facts.json says of it
Prepare = Callable[[Path, Path, Options, Say], dict[str, Any]]


class Download(NamedTuple):
    """One file of a publisher's."""

    address: str
    file: str
    size_bytes: int
    checksum: str = ""        # "md5:..." or "sha256:..."
    by: str = ""              # who published the checksum, where it is not the data set's publisher


class Known(NamedTuple):
    """A data set: its downloads, the folder inside the archives, and what its user must agree to."""

    title: str
    page: str
    licence: str
    downloads: tuple[Download, ...]
    unpacked_bytes: int
    inside: str = ""          # the folder within the archive that holds the data
    by_hand: str = ""         # how to get what nobody may download by a program
    check: Callable[[Path], str] | None = None      # what is in a folder as published, where that is not what runs read
    prepare: Prepare | None = None                  # makes of it what runs read


_CIFAR = "https://www.cs.toronto.edu/~kriz"
_CIFAR_LICENCE = "none stated; free to use, cite Krizhevsky 2009"
_TFDS = "tensorflow/datasets"
KNOWN = {
    "cifar10": Known(
        "CIFAR-10", f"{_CIFAR}/cifar.html", _CIFAR_LICENCE,
        (Download(f"{_CIFAR}/cifar-10-binary.tar.gz", "cifar-10-binary.tar.gz", 170_052_171,
                  "md5:c32a1d4ab5d03f1284b67883e8d87530"),), 184_400_000, "cifar-10-batches-bin"),
    "cifar100": Known(
        "CIFAR-100", f"{_CIFAR}/cifar.html", _CIFAR_LICENCE,
        (Download(f"{_CIFAR}/cifar-100-binary.tar.gz", "cifar-100-binary.tar.gz", 168_513_733,
                  "md5:03b5dce01913d631647c71ecec9e9cb8"),), 184_500_000, "cifar-100-binary"),
    "imagenet": Known(
        "ImageNet (ILSVRC-2012, ILSVRC-2010)", "https://image-net.org/download.php",
        "non-commercial research and education, terms to be accepted on the publisher's page", (), 0,
        by_hand="its publisher gives it to registered users alone: download it from https://image-net.org/download.php "
                "and run `evenbench data prepare imagenet --from FOLDER --image 80`",
        check=images.published, prepare=images.imagenet),
    "ljspeech": Known(
        "LJSpeech 1.1", "https://keithito.com/LJ-Speech-Dataset/", "public domain",
        (Download("https://data.keithito.com/data/speech/LJSpeech-1.1.tar.bz2", "LJSpeech-1.1.tar.bz2", 2_748_572_632,
                  "sha256:be1a30453f28eb8dd26af4101ae40cbf2c50413b1bb21936cbcdc6fae3de8aa5", _TFDS),),
        3_801_000_000, "LJSpeech-1.1", check=layouts.ljspeech, prepare=speech.ljspeech),
    "librispeech": Known(
        "LibriSpeech (train-clean-100, dev-clean)", "https://www.openslr.org/12/", "CC BY 4.0",
        (Download("https://www.openslr.org/resources/12/train-clean-100.tar.gz", "train-clean-100.tar.gz",
                  6_387_309_499, "md5:2a93770f6d5c6c964bc36631d331a522"),
         Download("https://www.openslr.org/resources/12/dev-clean.tar.gz", "dev-clean.tar.gz", 337_926_286,
                  "md5:42e2234ba48799c1f50f24a7926300a1")), 6_900_000_000, "LibriSpeech",
        check=layouts.librispeech, prepare=speech.librispeech),
    "wmt16": Known(
        "WMT'16 English-German (Europarl 7, Common Crawl, News Commentary 11)",
        "https://www.statmt.org/wmt16/translation-task.html", "stated by each part on the publisher's page; research",
        (Download("https://www.statmt.org/wmt13/training-parallel-europarl-v7.tgz", "training-parallel-europarl-v7.tgz",
                  657_632_379, "sha256:0224c7c710c8a063dfd893b0cc0830202d61f4c75c17eb8e31836103d27d96e7", _TFDS),
         Download("https://www.statmt.org/wmt13/training-parallel-commoncrawl.tgz", "training-parallel-commoncrawl.tgz",
                  918_311_367, "sha256:c7a74e2ea01ac6c920123108627e35278d4ccb5701e15428ffa34de86fa3a9e5", _TFDS),
         Download("https://data.statmt.org/wmt16/translation-task/training-parallel-nc-v11.tgz",
                  "training-parallel-nc-v11.tgz", 75_178_032,
                  "sha256:cfe8ab047e05043476e498ee765c98e939c7b7d6d294e856344c84476b619d6a", _TFDS)), 5_500_000_000,
        check=layouts.wmt16, prepare=text.wmt16),
    "wikitext103": Known(
        "WikiText-103 raw", "https://huggingface.co/datasets/Salesforce/wikitext", "CC BY-SA 3.0 and GFDL",
        (Download("https://wikitext.smerity.com/wikitext-103-raw-v1.zip", "wikitext-103-raw-v1.zip", 191_984_949),),
        550_000_000, "wikitext-103-raw", check=layouts.wikitext, prepare=text.wikitext103),
}


def known(name: str) -> Known:
    """A data set's entry. Raises InputError for an unknown name."""
    if name not in KNOWN:
        raise unknown("data: data set", name, KNOWN)
    return KNOWN[name]

