// cuDNN's RNN by the interface of version 7, which 8 still has and 9 has not. rnn8.h has the same for versions 8 and 9.
#pragma once

#include "cuda.h"
#include "lstm.h"

#include <vector>

class Rnn {
 public:
  static const char* interface() { return "cudnnRNNForwardTraining (v7)"; }

  explicit Rnn(const LstmSizes& sizes) : length_(sizes.length), trains_(sizes.trains) {
    demand(cudnnCreate(&handle_));
    demand(cudnnCreateDropoutDescriptor(&dropout_));
    demand(cudnnSetDropoutDescriptor(dropout_, handle_, 0.0f, nullptr, 0, 0));
    demand(cudnnCreateRNNDescriptor(&rnn_));
    demand(cudnnSetRNNDescriptor_v6(handle_, rnn_, sizes.hidden, 1, dropout_,
                                    sizes.has_input_product ? CUDNN_LINEAR_INPUT : CUDNN_SKIP_INPUT,
                                    CUDNN_UNIDIRECTIONAL, CUDNN_LSTM, CUDNN_RNN_ALGO_STANDARD, CUDNN_DATA_FLOAT));
    demand(cudnnSetRNNBiasMode(rnn_, CUDNN_RNN_SINGLE_INP_BIAS));       // a second bias adds nothing
    // from 8 on the default takes TF32; version 7 knows no GPU that has it
#if CUDNN_MAJOR >= 8
    demand(cudnnSetRNNMatrixMathType(rnn_, CUDNN_FMA_MATH));
#else
    demand(cudnnSetRNNMatrixMathType(rnn_, CUDNN_DEFAULT_MATH));
#endif
    x_.assign(sizes.length, described({sizes.batch, sizes.inputs, 1}));
    y_.assign(sizes.length, described({sizes.batch, sizes.hidden, 1}));
    state_ = described({1, sizes.batch, sizes.hidden});
    const int count = static_cast<int>(weight_bytes() / sizeof(float)), dims[] = {count, 1, 1};
    demand(cudnnCreateFilterDescriptor(&weights_));
    demand(cudnnSetFilterNdDescriptor(weights_, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 3, dims));
    size_t work = 0, reserve = 0;
    demand(cudnnGetRNNWorkspaceSize(handle_, rnn_, length_, x_.data(), &work));
    if (trains_) demand(cudnnGetRNNTrainingReserveSize(handle_, rnn_, length_, x_.data(), &reserve));
    work_ = Bytes(work);
    reserve_ = Bytes(reserve);
  }
  Rnn(const Rnn&) = delete;
  ~Rnn() {
    cudnnDestroyFilterDescriptor(weights_);
    for (auto descriptor : {x_.front(), y_.front(), state_}) cudnnDestroyTensorDescriptor(descriptor);
    cudnnDestroyRNNDescriptor(rnn_);
    cudnnDestroyDropoutDescriptor(dropout_);
    cudnnDestroy(handle_);
  }

  size_t weight_bytes() const {
    size_t bytes = 0;
    demand(cudnnGetRNNParamsSize(handle_, rnn_, x_.front(), &bytes, CUDNN_DATA_FLOAT));
    return bytes;
  }

  // Where the matrix and the bias of a gate lie in the weights: 0 to 3 of the input, 4 to 7 of the state; null: nowhere.
  void place(const Bytes& weights, int gate, float** matrix, float** bias) const {
    cudnnFilterDescriptor_t found;
    demand(cudnnCreateFilterDescriptor(&found));
    demand(cudnnGetRNNLinLayerMatrixParams(handle_, rnn_, 0, x_.front(), weights_, weights.data(), gate, found,
                                           reinterpret_cast<void**>(matrix)));
    *bias = nullptr;
    if (gate < 4)                         // the mode has the input's bias alone
      demand(cudnnGetRNNLinLayerBiasParams(handle_, rnn_, 0, x_.front(), weights_, weights.data(), gate, found,
                                           reinterpret_cast<void**>(bias)));
    cudnnDestroyFilterDescriptor(found);
  }

  void forward(const Bytes& weights, const Bytes& x, Bytes& y) {
    if (trains_)
      demand(cudnnRNNForwardTraining(handle_, rnn_, length_, x_.data(), x.data(), state_, nullptr, state_, nullptr,
                                     weights_, weights.data(), y_.data(), y.data(), state_, nullptr, state_, nullptr,
                                     work_.data(), work_.size(), reserve_.data(), reserve_.size()));
    else
      demand(cudnnRNNForwardInference(handle_, rnn_, length_, x_.data(), x.data(), state_, nullptr, state_, nullptr,
                                      weights_, weights.data(), y_.data(), y.data(), state_, nullptr, state_, nullptr,
                                      work_.data(), work_.size()));
  }

  void backward(const Bytes& weights, const Bytes& x, const Bytes& y, const Bytes& dy, Bytes& dx, Bytes& gradient) {
    demand(cudnnRNNBackwardData(handle_, rnn_, length_, y_.data(), y.data(), y_.data(), dy.data(), state_, nullptr,
                                state_, nullptr, weights_, weights.data(), state_, nullptr, state_, nullptr, x_.data(),
                                dx.data(), state_, nullptr, state_, nullptr, work_.data(), work_.size(),
                                reserve_.data(), reserve_.size()));
    gradient.clear();                     // cuDNN adds to it
    demand(cudnnRNNBackwardWeights(handle_, rnn_, length_, x_.data(), x.data(), state_, nullptr, y_.data(), y.data(),
                                   work_.data(), work_.size(), weights_, gradient.data(), reserve_.data(),
                                   reserve_.size()));
  }

 private:
  static cudnnTensorDescriptor_t described(const std::vector<int>& dims) {
    const int strides[] = {dims[1] * dims[2], dims[2], 1};
    cudnnTensorDescriptor_t made;
    demand(cudnnCreateTensorDescriptor(&made));
    demand(cudnnSetTensorNdDescriptor(made, CUDNN_DATA_FLOAT, 3, dims.data(), strides));
    return made;
  }

  int length_;
  bool trains_;
  cudnnHandle_t handle_;
  cudnnDropoutDescriptor_t dropout_;
  cudnnRNNDescriptor_t rnn_;
  std::vector<cudnnTensorDescriptor_t> x_, y_;          // one a step, all the same
  cudnnTensorDescriptor_t state_;
  cudnnFilterDescriptor_t weights_;
  Bytes work_, reserve_;
};
