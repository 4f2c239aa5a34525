// CUDA without a GPU, for a compiler of C++: memory is the host's, kernels run one thread, and each call is told.
#pragma once

#include <cstdlib>
#include <cstring>
#include <string>

#define __global__
#define __shared__ static
struct FakeIndex {
  unsigned x;
};
static const FakeIndex threadIdx = {0}, blockIdx = {0};
inline void __syncthreads() {}
inline void atomicAdd(float* to, float value) { *to += value; }

enum cudaError_t { cudaSuccess };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
enum { cudaEventDisableTiming };
typedef void* cudaEvent_t;

inline std::string& told() {
  static std::string calls;
  return calls;
}
inline cudaError_t called(const char* name) {
  told() += std::string(name) + " ";
  return cudaSuccess;
}
extern "C" const char* fake_calls() { return told().c_str(); }
extern "C" void fake_forget() { told().clear(); }

inline const char* cudaGetErrorString(cudaError_t) { return "none"; }
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaDeviceSynchronize() { return called("cudaDeviceSynchronize"); }
inline cudaError_t cudaMalloc(void** made, size_t size) {
  *made = std::calloc(size, 1);
  return called("cudaMalloc");
}
inline cudaError_t cudaMallocHost(void** made, size_t size) {
  *made = std::calloc(size, 1);
  return called("cudaMallocHost");
}
inline void cudaFree(void* data) { std::free(data); }
inline void cudaFreeHost(void* data) { std::free(data); }
inline cudaError_t cudaMemsetAsync(void* to, int value, size_t size) {
  if (size) std::memset(to, value, size);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind) {
  std::memcpy(to, from, size);
  return called("cudaMemcpy");
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind) {
  std::memcpy(to, from, size);
  return called("cudaMemcpyAsync");
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, int) { return called("cudaEventCreateWithFlags"); }
inline cudaError_t cudaEventRecord(cudaEvent_t) { return called("cudaEventRecord"); }
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return called("cudaEventSynchronize"); }
inline void cudaEventDestroy(cudaEvent_t) {}
