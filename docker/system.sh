# Readies a base for a stack: its interpreter where the base has none, system libraries, the user.
# In a Dockerfile: sh system.sh PYTHON [PACKAGE...]
set -eu
python=python$1; shift
packages=$*
export SOURCE_DATE_EPOCH=315532800      # useradd writes the day into /etc/shadow
# NVIDIA changed the key of its package archive on 27 April 2022; with the old one apt-get update fails
rm -f /etc/apt/sources.list.d/cuda.list /etc/apt/sources.list.d/nvidia-ml.list
command -v "$python" >/dev/null || packages="$packages $python $python-venv"
# who compiles while running needs the interpreter's headers; our own base has them
case " $packages " in *" g++ $python "*) packages="$packages $python-dev" ;; esac
if [ -n "$packages" ]; then
  apt-get update
  DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $packages
  # also what says when it was installed, so that a second build gives the same files
  rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/ldconfig/aux-cache \
    /var/log/apt /var/log/dpkg.log /var/log/alternatives.log
fi
useradd --uid 1000 --no-create-home --home-dir /tmp bench
