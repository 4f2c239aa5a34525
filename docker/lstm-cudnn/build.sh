# Compiles the bare LSTM against CUDA and cuDNN into an environment, for workloads/frameworks/library:
#   sh build.sh PREFIX     or, to see whether compiler and library are here:  sh build.sh check
# cuDNN 7 takes its own interface; 8 and 9 take the newer one. Other folders of headers and libraries: CPATH, LIBRARY_PATH.
set -eu
here=$(dirname "$0")
version=$(printf '#include <cudnn.h>\nmajor CUDNN_MAJOR\n' | "${CXX:-g++}" -E -x c++ -I/usr/local/cuda/include - 2>/dev/null |
  sed -n 's/^major \([0-9]*\)$/\1/p')
if [ "$1" = check ]; then
  command -v nvcc >/dev/null || { echo "no nvcc here: run the stack in its image" >&2; exit 1; }
  [ -n "$version" ] || { echo "no headers of cuDNN here: run the stack in its image" >&2; exit 1; }
  exit 0
fi
own=
if [ "$version" = 7 ]; then own=-DLSTM_CUDNN7; fi
# every major generation that this nvcc knows
nvcc -arch=all-major -std=c++14 -O3 -shared -Xcompiler -fPIC,-Wall,-Wextra $own -o "$1/lib/liblstm-cudnn.so" "$here/lstm.cu" -lcudnn
