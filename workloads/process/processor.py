"""What the first processor says of itself. Python 3.6 and later, Linux."""
import itertools

_FEATURES = ("avx", "avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_bf16", "amx_tile")


def name():
    """As it calls itself, None where it does not."""
    return _entries().get("model name")


def features():
    """Its vector instructions, of those that kernels are chosen by."""
    flags = _entries().get("flags", "").split()
    return [feature for feature in _FEATURES if feature in flags]


def _entries():
    """Those of /proc/cpuinfo, read up to the empty line before the next processor's."""
    try:
        with open("/proc/cpuinfo") as file:
            lines = list(itertools.takewhile(str.strip, file))
    except OSError:
        return {}
    return dict([part.strip() for part in line.split(":", 1)] for line in lines if ":" in line)
