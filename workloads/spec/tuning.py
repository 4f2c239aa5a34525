"""What loop=tuned means for all frameworks alike: where it computes in bfloat16. Python 3.6, standard library only.

Each framework's own part is settings.tuned in its adapter; docs/tuned.md says why each switch is on.
"""

_BFLOAT16 = ("amx_bf16", "avx512_bf16")        # a processor's instructions that multiply it; without, it is emulated


def processor_has_bfloat16(features):
    """Whether a processor with such vector instructions multiplies bfloat16 by itself."""
    return any(name in features for name in _BFLOAT16)


def in_bfloat16(cell, is_there):
    """The cell in precision amp, where the device has bfloat16 of its own and the cell asks for plain float32.

    A check keeps its precision: it compares what is computed, and rounding would hide a difference.
    """
    if is_there and cell.precision == "float32" and cell.measure != "check":
        return cell._replace(precision="amp")
    return cell
