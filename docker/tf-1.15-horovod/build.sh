# Builds Horovod from its source into an environment that has TensorFlow and CMake:
#   sh build.sh PREFIX     or, to see whether what it needs is here:  sh build.sh check
# Build secrets as in ../install.sh.
set -eu
here=$(dirname "$0")
if [ "$1" = check ]; then
  for tool in g++ make; do
    command -v "$tool" >/dev/null || { echo "no $tool here: run \`apt-get install g++ make\`" >&2; exit 1; }
  done
  exit 0
fi
if [ -s /run/secrets/ca ]; then export PIP_CERT=/run/secrets/ca; fi
if [ -s /run/secrets/pip ]; then export PIP_CONFIG_FILE=/run/secrets/pip; fi
export PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0 PATH="$1/bin:$PATH"
python=$1/bin/python sources=$1/sources      # in one place, as messages in the library name it
"$python" -m pip --no-cache-dir download --require-hashes --no-deps --no-build-isolation --progress-bar off \
  --dest "$sources" -r "$here/source.txt"
tar -C "$sources" -xzf "$sources"/horovod-*.tar.gz
(
  cd "$sources"/horovod-*/
  export HOROVOD_WITH_TENSORFLOW=1 HOROVOD_WITHOUT_PYTORCH=1 HOROVOD_WITHOUT_MXNET=1 HOROVOD_WITH_GLOO=1 \
    HOROVOD_WITHOUT_MPI=1 LDFLAGS=-Wl,--strip-debug MAKEFLAGS="-j$(nproc)" TF_CPP_MIN_LOG_LEVEL=3
  "$python" setup.py --quiet bdist_wheel --dist-dir "$sources"
)
"$python" -m pip install --no-compile --no-deps --no-index "$sources"/horovod-*.whl
"$python" -m pip check
rm -r "$sources"
site=$("$python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
find "$site"/horovod* -exec touch --no-dereference --date=@315532800 {} +
# parts for other frameworks are of newer Pythons
"$python" -m compileall -q "$site/horovod" >/dev/null || true
