"""A wheel of one module and its lock, for tests of what installs from locks."""

import base64
import hashlib
import sys
import zipfile
from pathlib import Path

MINOR = f"3.{sys.version_info.minor}"


def lock_of_wheel(folder: Path, name: str) -> str:
    """A lock of one package, whose wheel with one module is put into the folder."""
    about = f"{name}-1.0.dist-info"
    files = {f"{name}.py": b"IS_HERE = True\n",
             f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode(),
             f"{about}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    digests = {name: base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
               for name, content in files.items()}
    record = "".join(f"{name},sha256={digests[name]},{len(content)}\n" for name, content in files.items())
    files[f"{about}/RECORD"] = f"{record}{about}/RECORD,,\n".encode()
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file_name, content in files.items():
            archive.writestr(file_name, content)
    return f"{name}==1.0 \\\n    --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"
