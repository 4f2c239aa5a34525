"""What an error says of numpy, whose text of many lines stands on standard error alone."""

import pytest

from workloads.process.errors import explained

OLDER = "; a framework that was compiled for NumPy 1 needs numpy<2 there)"


@pytest.mark.parametrize(("said", "numpy", "expected"), [
    ("numpy.core.multiarray failed to import", "2.1.0",
     f"numpy.core.multiarray failed to import (numpy 2.1.0 is installed{OLDER}"),
    ("Numpy is not available", "2.1.0", f"Numpy is not available (numpy 2.1.0 is installed{OLDER}"),
    ("_ARRAY_API not found", "1.21.6", "_ARRAY_API not found (numpy 1.21.6 is installed)"),
    ("No module named 'numpy'", "", "No module named 'numpy'"),
    ("shapes (2, 3) and (4, 5) differ", "2.1.0", "shapes (2, 3) and (4, 5) differ")])
def test_an_error_of_numpy_says_which_one_is_installed_and_what_helps(said: str, numpy: str, expected: str) -> None:
    assert expected == explained(said, numpy)
