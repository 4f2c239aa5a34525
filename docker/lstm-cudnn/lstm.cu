// One LSTM layer by cuDNN, float32, on a GPU: the bare baseline of the LSTM study. cuDNN 7 (-DLSTM_CUDNN7), 8 and 9.
#include "lstm.h"

#if defined(LSTM_CUDNN7)
#include "rnn7.h"
#else
#include "rnn8.h"
#endif

#include <exception>
#include <string>

namespace {

constexpr int kThreads = 256;
constexpr long kKept = 1L << 20;          // losses, 4 MB: reading one would wait for the step
thread_local std::string last_error;

int blocks(long count) { return static_cast<int>((count + kThreads - 1) / kThreads); }

// slope = h / count; the sum of h^2 / (2 count) is added to *loss.
__global__ void half_mean_square(const float* h, float* slope, float* loss, long count) {
  __shared__ float sums[kThreads];
  const long at = static_cast<long>(blockIdx.x) * kThreads + threadIdx.x;
  const float value = at < count ? h[at] : 0.0f;
  if (at < count) slope[at] = value / count;
  sums[threadIdx.x] = 0.5f * value * value / count;
  for (int half = kThreads / 2; half; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (!threadIdx.x) atomicAdd(loss, sums[0]);
}

__global__ void updated(float* w, const float* g, float* v, float rate, float decay, float share, long count) {
  const long at = static_cast<long>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= count) return;
  v[at] = share * v[at] + g[at] + decay * w[at];
  w[at] -= rate * v[at];
}

class Layer {
 public:
  explicit Layer(const LstmSizes& sizes)
      : sizes_(sizes), rnn_(sizes), weights_(rnn_.weight_bytes()), gradient_(sizes.trains ? weights_.size() : 0),
        momentum_(gradient_.size()), x_(bytes(sizes.inputs)), h_(bytes(sizes.hidden)),
        h_gradient_(sizes.trains ? h_.size() : 0), x_gradient_(sizes.trains ? x_.size() : 0),
        losses_(sizes.trains ? kKept * sizeof(float) : 0) {}

  void load(const float* input, const float* recurrent, const float* bias) {
    each_gate(weights_, [&](float* at, long offset, long count, int kind) {
      const float* from = kind == 0 ? input : kind == 1 ? recurrent : bias;
      demand(cudaMemcpy(at, from + offset, count * sizeof(float), cudaMemcpyHostToDevice));
    });
  }
  void unload(bool gradients, float* input, float* recurrent, float* bias) const {
    each_gate(gradients ? gradient_ : weights_, [&](float* at, long offset, long count, int kind) {
      float* to = kind == 0 ? input : kind == 1 ? recurrent : bias;
      demand(cudaMemcpy(to + offset, at, count * sizeof(float), cudaMemcpyDeviceToHost));
    });
  }
  void place(const float* x) {
    if (x == placed_) return;              // a batch that stays is not copied again
    turn_ = 1 - turn_;
    staged_[turn_].copy(x, x_);
    placed_ = x;
  }
  // Nothing waits but wait() and what hands numbers over: all is issued to one stream, in order, as frameworks do.
  void wait() { demand(cudaDeviceSynchronize()); }
  void forward() { rnn_.forward(weights_, x_, h_); }
  void output(float* h) const { h_.give(h); }
  long loss() {
    const long count = static_cast<long>(h_.size() / sizeof(float));
    float* kept = losses_.numbers() + losses_done_ % kKept;
    demand(cudaMemsetAsync(kept, 0, sizeof(float)));
    half_mean_square<<<blocks(count), kThreads>>>(h_.numbers(), h_gradient_.numbers(), kept, count);
    demand(cudaGetLastError());
    return losses_done_++;
  }
  float kept_loss(long number) const {
    if (number < 0 || number >= losses_done_ || number < losses_done_ - kKept)
      throw std::runtime_error("no loss is kept under this number");
    float found = 0;
    demand(cudaMemcpy(&found, losses_.numbers() + number % kKept, sizeof(float), cudaMemcpyDeviceToHost));
    return found;
  }
  void backward() { rnn_.backward(weights_, x_, h_, h_gradient_, x_gradient_, gradient_); }
  void update(float rate, float decay, float share) {
    const long count = static_cast<long>(weights_.size() / sizeof(float));
    updated<<<blocks(count), kThreads>>>(weights_.numbers(), gradient_.numbers(), momentum_.numbers(), rate, decay,
                                         share, count);
    demand(cudaGetLastError());
  }

 private:
  size_t bytes(int numbers) const { return sizeof(float) * sizes_.length * sizes_.batch * numbers; }

  // Calls work(where it lies, offset in the canonical array, count, kind: 0 input weight, 1 recurrent weight, 2 bias).
  template <typename Work>
  void each_gate(const Bytes& weights, Work work) const {
    for (int gate = 0; gate < 8; ++gate) {
      float *matrix = nullptr, *bias = nullptr;
      rnn_.place(weights, gate, &matrix, &bias);
      const long count = static_cast<long>(sizes_.hidden) * (gate < 4 ? sizes_.inputs : sizes_.hidden);
      if (matrix) work(matrix, gate % 4 * count, count, gate / 4);
      if (bias && gate < 4) work(bias, static_cast<long>(gate) * sizes_.hidden, sizes_.hidden, 2);
    }
  }

  LstmSizes sizes_;
  Rnn rnn_;
  Bytes weights_, gradient_, momentum_, x_, h_, h_gradient_, x_gradient_, losses_;
  long losses_done_ = 0;
  Staged staged_[2];                       // one is filled while the other is copied
  int turn_ = 0;
  const float* placed_ = nullptr;
};

// 0, or 1 where the work threw; lstm_error then says what.
template <typename Work>
int tried(Work work) {
  try {
    work();
    return 0;
  } catch (const std::exception& error) {
    last_error = error.what();
    return 1;
  }
}

Layer& of(void* layer) { return *static_cast<Layer*>(layer); }

}  // namespace

const char* lstm_library() {
  static const size_t version = cudnnGetVersion(), major = version / (version < 90000 ? 1000 : 10000);
  static const size_t rest = version - major * (version < 90000 ? 1000 : 10000);
  static const std::string name =
      "cuDNN " + std::to_string(major) + "." + std::to_string(rest / 100) + "." + std::to_string(rest % 100);
  return name.c_str();
}
const char* lstm_error() { return last_error.c_str(); }
int lstm_create(const LstmSizes* sizes, void** made) {
  return tried([&] {
    if (!sizes->has_input_product && sizes->inputs != sizes->hidden)
      throw std::runtime_error("without its input product a layer's inputs must be as wide as hidden");
    *made = new Layer(*sizes);
  });
}
int lstm_destroy(void* layer) {
  return tried([&] { delete &of(layer); });
}
int lstm_kernel(void*, const char** name) {
  return tried([&] { *name = Rnn::interface(); });
}
int lstm_load(void* layer, const float* input, const float* recurrent, const float* bias) {
  return tried([&] { of(layer).load(input, recurrent, bias); });
}
int lstm_weights(void* layer, float* input, float* recurrent, float* bias) {
  return tried([&] { of(layer).unload(false, input, recurrent, bias); });
}
int lstm_place(void* layer, const float* x) {
  return tried([&] { of(layer).place(x); });
}
int lstm_forward(void* layer) {
  return tried([&] { of(layer).forward(); });
}
int lstm_output(void* layer, float* h) {
  return tried([&] { of(layer).output(h); });
}
int lstm_loss(void* layer, long* number) {
  return tried([&] { *number = of(layer).loss(); });
}
int lstm_kept_loss(void* layer, long number, float* loss) {
  return tried([&] { *loss = of(layer).kept_loss(number); });
}
int lstm_wait(void* layer) {
  return tried([&] { of(layer).wait(); });
}
int lstm_backward(void* layer) {
  return tried([&] { of(layer).backward(); });
}
int lstm_gradients(void* layer, float* input, float* recurrent, float* bias) {
  return tried([&] { of(layer).unload(true, input, recurrent, bias); });
}
int lstm_update(void* layer, float rate, float decay, float momentum) {
  return tried([&] { of(layer).update(rate, decay, momentum); });
}
