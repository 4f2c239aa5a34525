"""What NVIDIA's data sheets promise of GPUs: dense peaks in TFLOP/s, without sparsity. Beside what was measured only.

float64 is the tensor cores' where a GPU has them for it, since its libraries use them; amp is bfloat16 with sums in
float32, absent where a GPU has none. Sources: NVIDIA's data sheets of Tesla P100, V100, T4, A10, A100, L4, L40S, H100
and H200; for GeForce and RTX A6000 the white papers of the architectures (Turing, GA102, Ada, RTX Blackwell).
"""

from typing import NamedTuple


class _Sheet(NamedTuple):
    """TFLOP/s by precision; None: not supported, or not told."""

    name_parts: tuple[str, ...]      # that a GPU's name has, all of them
    float32: float
    tf32: float | None
    amp: float | None
    float64: float | None


# a GPU is of the first whose parts its name has: what has more parts stands before what has fewer
_SHEETS = (
    _Sheet(("H200",), 67, 494.7, 989.4, 67),
    _Sheet(("H100", "PCIe"), 51, 378, 756.5, 51),
    _Sheet(("H100", "NVL"), 60, 417.5, 835.5, 60),
    _Sheet(("H100",), 67, 494.7, 989.4, 67),
    _Sheet(("A100",), 19.5, 156, 312, 19.5),
    _Sheet(("A10",), 31.2, 62.5, 125, None),
    _Sheet(("L40S",), 91.6, 183, 362, None),
    _Sheet(("L4",), 30.3, 60, 121, None),
    _Sheet(("RTX A6000",), 38.7, 77.4, 154.8, None),
    _Sheet(("V100", "PCIE"), 14, None, None, 7),
    _Sheet(("V100",), 15.7, None, None, 7.8),
    _Sheet(("P100", "PCIE"), 9.3, None, None, 4.7),
    _Sheet(("P100",), 10.6, None, None, 5.3),
    _Sheet(("T4",), 8.1, None, None, None),
    _Sheet(("RTX 2080 Ti",), 13.4, None, None, None),
    _Sheet(("RTX 3090 Ti",), 40, 40, 80, None),
    _Sheet(("RTX 3090",), 35.6, 35.6, 71, None),
    _Sheet(("RTX 4090",), 82.6, 82.6, 165.2, None),
    _Sheet(("RTX 5090",), 104.8, 104.8, 209.5, None),
)


def flops_per_second(name: str, precision: str) -> float | None:
    """The peak of a GPU that NVML names so, None where no sheet is at hand or the precision is not in it."""
    known = f" {name.replace('-', ' ')} ".upper()
    for sheet in _SHEETS:
        if all(f" {part.upper()} " in known for part in sheet.name_parts):
            teraflops: float | None = getattr(sheet, precision, None)
            return None if teraflops is None else teraflops * 1e12
    return None
