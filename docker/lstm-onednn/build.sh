# Compiles the bare LSTM against oneDNN into an environment, for workloads/frameworks/library:
#   sh build.sh PREFIX     or, to see whether compiler and library are here:  sh build.sh check
set -eu
here=$(dirname "$0")
if [ "$1" = check ]; then
  command -v g++ >/dev/null || { echo "no g++ here: run \`apt-get install g++\`" >&2; exit 1; }
  echo '#include <dnnl.hpp>' | g++ -E -x c++ - >/dev/null 2>&1 ||
    { echo "no headers of oneDNN here: run \`apt-get install libdnnl-dev\`" >&2; exit 1; }
  exit 0
fi
g++ -std=c++14 -O3 -fopenmp -shared -fPIC -Wall -Wextra -o "$1/lib/liblstm-onednn.so" "$here/lstm.cpp" -ldnnl
