"""What loop=tuned means for all frameworks alike: where it computes in bfloat16. Python 3.6, standard library only.

Each framework's own part is settings.tuned in its adapter; docs/tuned.md says why each switch is on.
"""


def processor_has_bfloat16(features):
    """Whether bfloat16 is a gain on a processor with such instructions: where it multiplies matrices of it, by AMX.

    With vectors of it alone (avx512_bf16) casting costs more than multiplying gains: a token of PyTorch's small GPT-2
    took 1.26 ms by autocast and 0.44 ms without, on two CPUs of an Intel Xeon whose AMX is hidden (2026-11-25).
    """
    return "amx_bf16" in features


def in_bfloat16(cell, is_there):
    """The cell in precision amp, where the device has bfloat16 of its own and the cell asks for plain float32.

    A check keeps its precision: it compares what is computed, and rounding would hide a difference.
    """
    if is_there and cell.precision == "float32" and cell.measure != "check":
        return cell._replace(precision="amp")
    return cell
