# Readies a base for a stack: its interpreter where the base has none, system libraries, the user.
# In a Dockerfile: sh system.sh PYTHON [PACKAGE...]
set -eu
python=python$1; shift
packages=$*
command -v "$python" >/dev/null || packages="$packages $python $python-venv"
# who compiles while running needs the interpreter's headers; our own base has them
case " $packages " in *" g++ $python "*) packages="$packages $python-dev" ;; esac
if [ -n "$packages" ]; then
  apt-get update
  DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $packages
  rm -rf /var/lib/apt/lists/*
fi
useradd --uid 1000 --no-create-home --home-dir /tmp bench
