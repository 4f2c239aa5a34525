// What the bare LSTM asks of CUDA and cuDNN: calls that throw, and arrays on the device.
#pragma once

#include <cuda_runtime.h>
#include <cudnn.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

inline void demand(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(status));
}
inline void demand(cudnnStatus_t status) {
  if (status != CUDNN_STATUS_SUCCESS) throw std::runtime_error(std::string("cuDNN: ") + cudnnGetErrorString(status));
}

// Bytes on the device, zero at first; none where the size is 0.
class Bytes {
 public:
  explicit Bytes(size_t size = 0) : size_(size) {
    if (!size) return;
    demand(cudaMalloc(&data_, size));
    clear();
  }
  Bytes(Bytes&& other) noexcept : data_(other.data_), size_(other.size_) { other.data_ = nullptr; }
  Bytes& operator=(Bytes&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Bytes() { cudaFree(data_); }
  void clear() { demand(cudaMemsetAsync(data_, 0, size_)); }      // in the order of the stream; nothing waits
  void give(float* to) const { demand(cudaMemcpy(to, data_, size_, cudaMemcpyDeviceToHost)); }
  float* numbers() const { return static_cast<float*>(data_); }
  void* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

// Pinned memory for a batch on its way to the device: the copy is issued, and the host goes on.
class Staged {
 public:
  Staged() = default;
  Staged(const Staged&) = delete;
  ~Staged() {
    if (!data_) return;
    cudaEventDestroy(copied_);
    cudaFreeHost(data_);
  }
  void copy(const float* from, const Bytes& to) {
    if (!data_) {
      demand(cudaEventCreateWithFlags(&copied_, cudaEventDisableTiming));
      demand(cudaMallocHost(&data_, to.size()));
    }
    demand(cudaEventSynchronize(copied_));      // until the batch before has left; at first there is none
    std::memcpy(data_, from, to.size());
    demand(cudaMemcpyAsync(to.data(), data_, to.size(), cudaMemcpyHostToDevice));
    demand(cudaEventRecord(copied_));
  }

 private:
  void* data_ = nullptr;
  cudaEvent_t copied_ = nullptr;
};
