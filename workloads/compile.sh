# Compiles the workloads in an image, whose runs cannot write: `sh workloads/compile.sh` in a Dockerfile.
# With one time and one order of sets, so that a second build gives the same bytes.
set -eu
find . -exec touch --no-dereference --date=@315532800 {} +
PYTHONHASHSEED=0 python -m compileall -q workloads
