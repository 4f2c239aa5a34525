# Installs a stack's lock into /opt/venv. In a Dockerfile, as root, with the folder docker/ at /mnt:
#   sh install.sh STACK PYTHON
# Build secrets, both optional: ca, a site's certificate bundle; pip, a site's settings of pip. Neither stays in the image.
set -eu
stack=$1 python=python$2
if [ -s /run/secrets/ca ]; then export PIP_CERT=/run/secrets/ca; fi
if [ -s /run/secrets/pip ]; then export PIP_CONFIG_FILE=/run/secrets/pip; fi
if [ -d "/mnt/$stack/wheels" ]; then export PIP_FIND_LINKS="/mnt/$stack/wheels"; fi
export PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
"$python" -m venv /opt/venv
pip() { /opt/venv/bin/python -m pip "$@"; }
pip install --require-hashes -r "/mnt/pip/$2.txt"
# the lock is whole, and source archives are built with the locked setuptools
pip install --require-hashes --no-deps --no-build-isolation --progress-bar off -r "/mnt/$stack/requirements.txt"
pip check
