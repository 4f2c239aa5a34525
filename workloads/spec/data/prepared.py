"""What a prepared data set's folder holds: facts.json with the size of every file, so that a cut one is named.

The host writes such a folder once, all stacks read it. Python 3.6 and later, standard library only.
"""
import json
import os
from typing import NamedTuple, Tuple

FACTS = "facts.json"
FORMAT = 1


class SequenceSet(NamedTuple):
    """A data set of sequences; each array is ragged: NAME.npy (all values) and NAME.offsets.npy (where each begins)."""

    title: str
    arrays: Tuple[str, ...]


SEQUENCE_SETS = {
    "ljspeech": SequenceSet("LJSpeech 1.1: frames of 80 mel bins and character ids", ("frames", "characters")),
    "librispeech": SequenceSet("LibriSpeech: frames of 161 spectrum bins and character ids", ("frames", "characters")),
    "wmt16": SequenceSet("WMT'16 English-German: token ids", ("source", "target")),
    "wikitext103": SequenceSet("WikiText-103 raw: token ids of articles", ("tokens",)),
}


class FactsError(ValueError):
    """A folder is not one that was prepared, or not whole; the message names the file, found and expected."""


def facts(folder: str, name: str):
    """The content of the folder's facts.json, once every file that it lists is there in its size. Raises FactsError.

    It holds format, name, title, licence, sources, counts, made (with which settings) and files (bytes by name).
    """
    path = os.path.join(folder, FACTS)
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except FileNotFoundError as error:
        raise FactsError("%s: no such file, expected the prepared %s; "
                         "`evenbench data` says the command" % (path, name)) from error
    except (OSError, ValueError, RecursionError) as error:
        raise FactsError("%s: not readable as JSON: %s" % (path, error)) from error
    _checked(path, content, name)
    for file_name, expected in sorted(content["files"].items()):
        _whole(os.path.join(folder, file_name), expected)
    return content


def _checked(path: str, content, name: str) -> None:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FactsError("%s: found format %.80s, expected %d; prepare %s again"
                         % (path, content.get("format") if isinstance(content, dict) else "none", FORMAT, name))
    if content.get("name") != name:
        raise FactsError('%s: found name "%.80s", expected "%s"' % (path, content.get("name"), name))
    made = content.get("made")
    if not isinstance(made, dict) or not isinstance(made.get("image", 1), int) or made.get("image", 1) < 1:
        raise FactsError('%s: key "made": expected its settings, with image a number of pixels' % path)
    files = content.get("files")
    if not isinstance(files, dict) or not files or not all(isinstance(each, int) for each in files.values()):
        raise FactsError('%s: key "files": expected the bytes of each file' % path)
    if any(os.path.basename(each) != each for each in files):
        raise FactsError('%s: key "files": expected names without folders' % path)


def _whole(path: str, expected) -> None:
    try:
        size = os.path.getsize(path)
    except (OSError, ValueError) as error:             # ValueError: a name that no file can have
        raise FactsError("%.400s: %.80s, expected %.80s bytes"
                         % (path, getattr(error, "strerror", error), expected)) from error
    if size != expected:
        raise FactsError("%s: found %d bytes, expected %.80s: cut short or changed" % (path, size, expected))
