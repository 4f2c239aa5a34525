// One LSTM layer by oneDNN's LSTM primitive, float32, on the CPU: the bare baseline of the LSTM study. oneDNN 2.x.
#include "lstm.h"

#include <dnnl.hpp>

#include <cstring>
#include <exception>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

constexpr long kKept = 1L << 20;          // losses

using Tag = dnnl::memory::format_tag;
using Dims = dnnl::memory::dims;
using Arguments = std::unordered_map<int, dnnl::memory>;

thread_local std::string last_error;

dnnl::memory::desc described(const Dims& dims, Tag tag) {
  return dnnl::memory::desc(dims, dnnl::memory::data_type::f32, tag);
}

// An array in the plain order, and the same in the order that a primitive wants; one memory where they are equal.
struct Ordered {
  dnnl::memory plain, wanted;

  Ordered(const dnnl::memory& of, const dnnl::memory::desc& desc, const dnnl::engine& engine)
      : plain(of), wanted(desc == of.get_desc() ? of : dnnl::memory(desc, engine)) {}
  bool is_plain() const { return plain.get_data_handle() == wanted.get_data_handle(); }
  void bring(dnnl::stream& stream) const { move(plain, wanted, stream); }
  void fetch(dnnl::stream& stream) const { move(wanted, plain, stream); }

 private:
  void move(dnnl::memory from, dnnl::memory to, dnnl::stream& stream) const {
    if (!is_plain()) dnnl::reorder(from, to).execute(stream, from, to);
  }
};

// A weight or bias: its values, gradient and momentum in the plain order.
struct Parameter {
  dnnl::memory value, gradient, momentum;

  Parameter(const dnnl::memory::desc& desc, const dnnl::engine& engine)
      : value(desc, engine), gradient(desc, engine), momentum(desc, engine) {
    for (const auto& memory : {value, gradient, momentum}) clear(memory);
  }
  static void clear(const dnnl::memory& memory) {
    std::memset(memory.get_data_handle(), 0, memory.get_desc().get_size());
  }
  void update(float rate, float decay, float share) {
    auto* w = static_cast<float*>(value.get_data_handle());
    auto* g = static_cast<float*>(gradient.get_data_handle());
    auto* v = static_cast<float*>(momentum.get_data_handle());
    const long count = static_cast<long>(value.get_desc().get_size() / sizeof(float));
#pragma omp parallel for simd
    for (long at = 0; at < count; ++at) {
      v[at] = share * v[at] + g[at] + decay * w[at];
      w[at] -= rate * v[at];
    }
  }
};

// (rows, columns) to (columns, rows): the plain order is (inputs, 4 hidden).
void transpose(const float* from, float* to, long rows, long columns) {
#pragma omp parallel for
  for (long column = 0; column < columns; ++column)
    for (long row = 0; row < rows; ++row) to[column * rows + row] = from[row * columns + column];
}

class Layer {
 public:
  explicit Layer(const LstmSizes& sizes)
      : sizes_(sizes), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_),
        input_(described({1, 1, sizes.inputs, 4, sizes.hidden}, Tag::ldigo), engine_),
        recurrent_(described({1, 1, sizes.hidden, 4, sizes.hidden}, Tag::ldigo), engine_),
        bias_(described({1, 1, 4, sizes.hidden}, Tag::ldgo), engine_),
        x_(described({sizes.length, sizes.batch, sizes.inputs}, Tag::tnc), engine_, nullptr),
        h_(described({sizes.length, sizes.batch, sizes.hidden}, Tag::tnc), engine_),
        state_(described({1, 1, sizes.batch, sizes.hidden}, Tag::ldnc), engine_),
        state_gradient_(state_.get_desc(), engine_), cell_gradient_(state_.get_desc(), engine_) {
    Parameter::clear(state_);
    prepare_forward();
    if (sizes.trains) prepare_backward();
  }

  const char* kernel() const { return kernel_.c_str(); }

  void load(const float* input, const float* recurrent, const float* bias) {
    const long gates = 4L * sizes_.hidden;
    transpose(input, data(input_.value), gates, sizes_.inputs);
    transpose(recurrent, data(recurrent_.value), gates, sizes_.hidden);
    std::memcpy(data(bias_.value), bias, gates * sizeof(float));
    for (const auto& weight : forward_weights_) weight.bring(stream_);
    stream_.wait();
  }

  void weights(float* input, float* recurrent, float* bias) const {
    unload(input_.value, recurrent_.value, bias_.value, input, recurrent, bias);
  }

  void gradients(float* input, float* recurrent, float* bias) const {
    unload(input_.gradient, recurrent_.gradient, bias_.gradient, input, recurrent, bias);
  }

  void place(const float* x) { x_.set_data_handle(const_cast<float*>(x)); }

  void forward() {
    if (sizes_.trains)           // an update moved them; a layer that does not train keeps what load brought
      for (const auto& weight : forward_weights_) weight.bring(stream_);
    forward_.execute(stream_, forward_arguments_);
    stream_.wait();
  }

  void output(float* h) const { std::memcpy(h, data(h_), h_.get_desc().get_size()); }

  long loss() {
    const long count = static_cast<long>(sizes_.length) * sizes_.batch * sizes_.hidden;
    const float* h = data(h_);
    float* slope = data(h_gradient_);
    double sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
    for (long at = 0; at < count; ++at) {
      sum += 0.5 * h[at] * h[at];
      slope[at] = h[at] / count;
    }
    losses_[losses_done_ % kKept] = static_cast<float>(sum / count);
    return losses_done_++;
  }

  float kept_loss(long number) const {
    if (number < 0 || number >= losses_done_ || number < losses_done_ - kKept)
      throw std::runtime_error("no loss is kept under this number");
    return losses_[number % kKept];
  }

  void wait() {}                          // every call returns when its work is done

  void backward() {
    for (const auto& weight : backward_weights_) weight.bring(stream_);
    for (const auto& gradient : gradients_) Parameter::clear(gradient.wanted);          // oneDNN adds to them
    backward_.execute(stream_, backward_arguments_);
    for (const auto& gradient : gradients_) gradient.fetch(stream_);
    stream_.wait();
  }

  void update(float rate, float decay, float share) {
    for (auto* parameter : {&input_, &recurrent_, &bias_}) parameter->update(rate, decay, share);
  }

 private:
  static float* data(const dnnl::memory& memory) { return static_cast<float*>(memory.get_data_handle()); }

  void unload(const dnnl::memory& input, const dnnl::memory& recurrent, const dnnl::memory& bias, float* to_input,
              float* to_recurrent, float* to_bias) const {
    const long gates = 4L * sizes_.hidden;
    transpose(data(input), to_input, sizes_.inputs, gates);
    transpose(data(recurrent), to_recurrent, sizes_.hidden, gates);
    std::memcpy(to_bias, data(bias), gates * sizeof(float));
  }

  dnnl::memory::desc any(const Parameter& parameter) const {
    return described(parameter.value.get_desc().dims(), Tag::any);
  }

  void prepare_forward() {
    // the first state is zeros, and said: without one, 2.6.3 gives wrong gradients of the recurrent weights
    const auto none = dnnl::memory::desc(), state = state_.get_desc();
    const auto kind = sizes_.trains ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
    const dnnl::lstm_forward::desc desc(kind, dnnl::rnn_direction::unidirectional_left2right, x_.get_desc(), state,
                                        state, any(input_), any(recurrent_), bias_.value.get_desc(), h_.get_desc(),
                                        none, none);
    forward_desc_ = dnnl::lstm_forward::primitive_desc(desc, engine_);
    kernel_ = std::string("lstm_forward ") + forward_desc_.impl_info_str();
    forward_ = dnnl::lstm_forward(forward_desc_);
    forward_weights_ = {Ordered(input_.value, forward_desc_.weights_layer_desc(), engine_),
                        Ordered(recurrent_.value, forward_desc_.weights_iter_desc(), engine_)};
    forward_arguments_ = {{DNNL_ARG_SRC_LAYER, x_},
                          {DNNL_ARG_SRC_ITER, state_},
                          {DNNL_ARG_SRC_ITER_C, state_},
                          {DNNL_ARG_WEIGHTS_LAYER, forward_weights_[0].wanted},
                          {DNNL_ARG_WEIGHTS_ITER, forward_weights_[1].wanted},
                          {DNNL_ARG_BIAS, bias_.value},
                          {DNNL_ARG_DST_LAYER, h_}};
    if (sizes_.trains) {
      workspace_ = dnnl::memory(forward_desc_.workspace_desc(), engine_);
      forward_arguments_.insert({DNNL_ARG_WORKSPACE, workspace_});
    }
  }

  void prepare_backward() {
    const auto none = dnnl::memory::desc(), state = state_.get_desc();
    h_gradient_ = dnnl::memory(h_.get_desc(), engine_);
    x_gradient_ = dnnl::memory(x_.get_desc(), engine_);
    const dnnl::lstm_backward::desc desc(
        dnnl::prop_kind::backward, dnnl::rnn_direction::unidirectional_left2right, x_.get_desc(), state, state,
        any(input_), any(recurrent_), bias_.value.get_desc(), h_.get_desc(), none, none, x_.get_desc(), state, state,
        any(input_), any(recurrent_), bias_.value.get_desc(), h_.get_desc(), none, none);
    const dnnl::lstm_backward::primitive_desc found(desc, engine_, forward_desc_);
    kernel_ += std::string(", lstm_backward ") + found.impl_info_str();
    backward_ = dnnl::lstm_backward(found);
    backward_weights_ = {Ordered(input_.value, found.weights_layer_desc(), engine_),
                         Ordered(recurrent_.value, found.weights_iter_desc(), engine_)};
    gradients_ = {Ordered(input_.gradient, found.diff_weights_layer_desc(), engine_),
                  Ordered(recurrent_.gradient, found.diff_weights_iter_desc(), engine_),
                  Ordered(bias_.gradient, found.diff_bias_desc(), engine_)};
    backward_arguments_ = {{DNNL_ARG_SRC_LAYER, x_},
                           {DNNL_ARG_SRC_ITER, state_},
                           {DNNL_ARG_SRC_ITER_C, state_},
                           {DNNL_ARG_WEIGHTS_LAYER, backward_weights_[0].wanted},
                           {DNNL_ARG_WEIGHTS_ITER, backward_weights_[1].wanted},
                           {DNNL_ARG_BIAS, bias_.value},
                           {DNNL_ARG_DST_LAYER, h_},
                           {DNNL_ARG_WORKSPACE, workspace_},
                           {DNNL_ARG_DIFF_DST_LAYER, h_gradient_},
                           {DNNL_ARG_DIFF_SRC_LAYER, x_gradient_},
                           {DNNL_ARG_DIFF_SRC_ITER, state_gradient_},
                           {DNNL_ARG_DIFF_SRC_ITER_C, cell_gradient_},
                           {DNNL_ARG_DIFF_WEIGHTS_LAYER, gradients_[0].wanted},
                           {DNNL_ARG_DIFF_WEIGHTS_ITER, gradients_[1].wanted},
                           {DNNL_ARG_DIFF_BIAS, gradients_[2].wanted}};
  }

  LstmSizes sizes_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  Parameter input_, recurrent_, bias_;
  dnnl::memory x_, h_, state_, state_gradient_, cell_gradient_, h_gradient_, x_gradient_, workspace_;
  dnnl::lstm_forward::primitive_desc forward_desc_;
  dnnl::lstm_forward forward_;
  dnnl::lstm_backward backward_;
  std::vector<Ordered> forward_weights_, backward_weights_, gradients_;
  Arguments forward_arguments_, backward_arguments_;
  std::string kernel_;
  std::vector<float> losses_ = std::vector<float>(kKept);
  long losses_done_ = 0;
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
  static const dnnl_version_t* version = dnnl_version();
  static const std::string name = "oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) +
                                  "." + std::to_string(version->patch);
  return name.c_str();
}
const char* lstm_error() { return last_error.c_str(); }
int lstm_create(const LstmSizes* sizes, void** made) {
  return tried([&] {
    if (!sizes->has_input_product) throw std::runtime_error("oneDNN's LSTM always computes its input product");
    *made = new Layer(*sizes);
  });
}
int lstm_destroy(void* layer) {
  return tried([&] { delete &of(layer); });
}
int lstm_kernel(void* layer, const char** name) {
  return tried([&] { *name = of(layer).kernel(); });
}
int lstm_load(void* layer, const float* input, const float* recurrent, const float* bias) {
  return tried([&] { of(layer).load(input, recurrent, bias); });
}
int lstm_weights(void* layer, float* input, float* recurrent, float* bias) {
  return tried([&] { of(layer).weights(input, recurrent, bias); });
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
  return tried([&] { of(layer).gradients(input, recurrent, bias); });
}
int lstm_update(void* layer, float rate, float decay, float momentum) {
  return tried([&] { of(layer).update(rate, decay, momentum); });
}
