"""What counts as memory that ran out: the sayings of allocators and frameworks, once for all of them."""

import pytest

from workloads.process.errors import is_out_of_memory, says_out_of_memory


@pytest.mark.parametrize("text", [
    "CUDA out of memory. Tried to allocate 2.00 GiB", "[enforce fail at alloc_cpu.cpp:73] . DefaultCPUAllocator: "
    "can't allocate memory: you tried to allocate 4 bytes", "std::bad_alloc", "CUBLAS_STATUS_ALLOC_FAILED",
    "RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes", "OOM when allocating tensor with shape[2,3]",
    "cudaMalloc retry failed: Memory allocation failed", "Failed to allocate CPU Memory", "MemoryError",
    "DefaultCPUAllocator: not enough memory"])
def test_what_allocators_say_is_out_of_memory(text: str) -> None:
    assert says_out_of_memory(text)


def test_other_errors_are_not_and_an_exception_is_read_where_it_is_the_framework_s_own() -> None:
    assert not says_out_of_memory("shapes (2, 3) and (4, 5) differ")
    assert [True, True, False, False] == [is_out_of_memory(error, RuntimeError) for error in (
        MemoryError(), RuntimeError("CUDA out of memory"), KeyError("out of memory"), RuntimeError("shapes differ"))]
