"""What a terminal would show."""

import io
from typing import Any

from rich.console import Console


def printed(view: Any, width: int = 80, **settings: Any) -> str:
    file = io.StringIO()
    Console(file=file, width=width, markup=False, highlight=False, emoji=False, **settings).print(view, crop=False)
    return file.getvalue()
