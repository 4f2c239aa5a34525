"""Bare libraries that stand in a framework's place, and where a stack's environment has them. Standard library only."""
import os

# by name: the stack's framework, and what the file of our C interface is called after
NAMES = ("onednn", "cudnn")


def path(name: str, prefix):
    """Where the library lies in the environment at prefix."""
    return os.path.join(prefix, "lib", "liblstm-%s.so" % name)


def installed(prefix):
    """The name of the library that the environment has, None where it has none."""
    return next((name for name in NAMES if os.path.exists(path(name, prefix))), None)
