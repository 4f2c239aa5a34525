// cuDNN's RNN by the interface of versions 8 and 9. rnn7.h has the same for version 7.
#pragma once

#include "cuda.h"
#include "lstm.h"

#include <vector>

class Rnn {
 public:
  static const char* interface() { return "cudnnRNNForward (v8)"; }

  explicit Rnn(const LstmSizes& sizes) {
    mode_ = sizes.trains ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE;
    demand(cudnnCreate(&handle_));
    demand(cudnnCreateDropoutDescriptor(&dropout_));
    demand(cudnnSetDropoutDescriptor(dropout_, handle_, 0.0f, nullptr, 0, 0));
    demand(cudnnCreateRNNDescriptor(&rnn_));
    // float32 is float32: no TF32; one bias, since a second adds nothing
    demand(cudnnSetRNNDescriptor_v8(rnn_, CUDNN_RNN_ALGO_STANDARD, CUDNN_LSTM, CUDNN_RNN_SINGLE_INP_BIAS,
                                    CUDNN_UNIDIRECTIONAL, sizes.has_input_product ? CUDNN_LINEAR_INPUT : CUDNN_SKIP_INPUT,
                                    CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, CUDNN_FMA_MATH, sizes.inputs, sizes.hidden,
                                    sizes.hidden, 1, dropout_, 0));
    const std::vector<int> lengths(sizes.batch, sizes.length);
    describe(&x_, sizes, sizes.inputs, lengths);
    describe(&y_, sizes, sizes.hidden, lengths);
    const int dims[] = {1, sizes.batch, sizes.hidden}, strides[] = {sizes.batch * sizes.hidden, sizes.hidden, 1};
    demand(cudnnCreateTensorDescriptor(&state_));
    demand(cudnnSetTensorNdDescriptor(state_, CUDNN_DATA_FLOAT, 3, dims, strides));
    lengths_ = Bytes(lengths.size() * sizeof(int));
    demand(cudaMemcpy(lengths_.data(), lengths.data(), lengths_.size(), cudaMemcpyHostToDevice));
    size_t work = 0, reserve = 0;
    demand(cudnnGetRNNTempSpaceSizes(handle_, rnn_, mode_, x_, &work, &reserve));
    work_ = Bytes(work);
    reserve_ = Bytes(reserve);
  }
  Rnn(const Rnn&) = delete;
  ~Rnn() {
    cudnnDestroyTensorDescriptor(state_);
    cudnnDestroyRNNDataDescriptor(y_);
    cudnnDestroyRNNDataDescriptor(x_);
    cudnnDestroyRNNDescriptor(rnn_);
    cudnnDestroyDropoutDescriptor(dropout_);
    cudnnDestroy(handle_);
  }

  size_t weight_bytes() const {
    size_t bytes = 0;
    demand(cudnnGetRNNWeightSpaceSize(handle_, rnn_, &bytes));
    return bytes;
  }

  // Where the matrix and the bias of a gate lie in the weights: 0 to 3 of the input, 4 to 7 of the state; null: nowhere.
  void place(const Bytes& weights, int gate, float** matrix, float** bias) const {
    cudnnTensorDescriptor_t of_matrix, of_bias;
    demand(cudnnCreateTensorDescriptor(&of_matrix));
    demand(cudnnCreateTensorDescriptor(&of_bias));
    demand(cudnnGetRNNWeightParams(handle_, rnn_, 0, weights.size(), weights.data(), gate, of_matrix,
                                   reinterpret_cast<void**>(matrix), of_bias, reinterpret_cast<void**>(bias)));
    cudnnDestroyTensorDescriptor(of_bias);
    cudnnDestroyTensorDescriptor(of_matrix);
  }

  void forward(const Bytes& weights, const Bytes& x, Bytes& y) {
    demand(cudnnRNNForward(handle_, rnn_, mode_, lengths(), x_, x.data(), y_, y.data(), state_, nullptr, nullptr, state_,
                           nullptr, nullptr, weights.size(), weights.data(), work_.size(), work_.data(),
                           reserve_.size(), reserve_.data()));
  }

  void backward(const Bytes& weights, const Bytes& x, const Bytes& y, const Bytes& dy, Bytes& dx, Bytes& gradient) {
    demand(cudnnRNNBackwardData_v8(handle_, rnn_, lengths(), y_, y.data(), dy.data(), x_, dx.data(), state_, nullptr,
                                   nullptr, nullptr, state_, nullptr, nullptr, nullptr, weights.size(), weights.data(),
                                   work_.size(), work_.data(), reserve_.size(), reserve_.data()));
    gradient.clear();                     // cuDNN adds to it
    demand(cudnnRNNBackwardWeights_v8(handle_, rnn_, CUDNN_WGRAD_MODE_ADD, lengths(), x_, x.data(), state_, nullptr, y_,
                                      y.data(), gradient.size(), gradient.data(), work_.size(), work_.data(),
                                      reserve_.size(), reserve_.data()));
  }

 private:
  const int* lengths() const { return static_cast<const int*>(lengths_.data()); }

  static void describe(cudnnRNNDataDescriptor_t* made, const LstmSizes& sizes, int numbers,
                       const std::vector<int>& lengths) {
    demand(cudnnCreateRNNDataDescriptor(made));
    demand(cudnnSetRNNDataDescriptor(*made, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, sizes.length,
                                     sizes.batch, numbers, lengths.data(), nullptr));
  }

  cudnnForwardMode_t mode_;
  cudnnHandle_t handle_;
  cudnnDropoutDescriptor_t dropout_;
  cudnnRNNDescriptor_t rnn_;
  cudnnRNNDataDescriptor_t x_, y_;
  cudnnTensorDescriptor_t state_;
  Bytes lengths_, work_, reserve_;
};
