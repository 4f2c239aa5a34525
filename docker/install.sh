# Installs a stack's lock into /opt/venv. In a Dockerfile, as root, with the folder docker/ at /mnt:
#   sh install.sh STACK PYTHON
# Build secrets, both optional: ca, a site's certificate bundle; pip, a site's settings of pip. Neither stays in the image.
set -eu
stack=$1 python=python$2
if [ -s /run/secrets/ca ]; then export PIP_CERT=/run/secrets/ca; fi
if [ -s /run/secrets/pip ]; then export PIP_CONFIG_FILE=/run/secrets/pip; fi
export PIP_DISABLE_PIP_VERSION_CHECK=1
# what Python compiles holds the time of its source, which pip sets to now: so nothing is compiled on the way, then all
# of it with one time and one order of sets, and a second build gives the same bytes
export PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0
"$python" -m venv /opt/venv
# as an option: pip 18, which comes with Python 3.6, fails on PIP_NO_CACHE_DIR
pip() { /opt/venv/bin/python -m pip --no-cache-dir "$@"; }
pip install --no-compile --require-hashes -r "/mnt/pip/$2.txt"
# the lock is whole, source archives are built with the locked setuptools, and there need not be a folder of wheels
pip install --no-compile --require-hashes --no-deps --no-build-isolation --progress-bar off \
  --find-links "/mnt/$stack/wheels" -r "/mnt/$stack/requirements.txt"
pip check
find /opt/venv -name __pycache__ -prune -exec rm -rf {} +      # of the pip that the interpreter brought
find /opt/venv -exec touch --no-dereference --date=@315532800 {} +      # 1980, the oldest that a zip file can hold
# packages carry a few files that only another version of Python can compile
"$python" -m compileall -q "$("$python" -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')" /opt/venv/lib \
  >/dev/null || true
