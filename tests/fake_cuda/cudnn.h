// As much of cuDNN 8 as docker/lstm-cudnn asks for: it computes nothing, and tells that it was asked.
#pragma once

#include "cuda_runtime.h"

enum cudnnStatus_t { CUDNN_STATUS_SUCCESS };
enum cudnnForwardMode_t { CUDNN_FWD_MODE_TRAINING, CUDNN_FWD_MODE_INFERENCE };
enum {
  CUDNN_RNN_ALGO_STANDARD, CUDNN_LSTM, CUDNN_RNN_SINGLE_INP_BIAS, CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT,
  CUDNN_SKIP_INPUT, CUDNN_DATA_FLOAT, CUDNN_FMA_MATH, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, CUDNN_WGRAD_MODE_ADD
};
typedef void *cudnnHandle_t, *cudnnDropoutDescriptor_t, *cudnnRNNDescriptor_t, *cudnnRNNDataDescriptor_t,
    *cudnnTensorDescriptor_t;

inline const char* cudnnGetErrorString(cudnnStatus_t) { return "none"; }
inline size_t cudnnGetVersion() { return 8900; }

#define FAKE_CUDNN(name)                     \
  template <typename... Any>                 \
  cudnnStatus_t name(Any...) {               \
    called(#name);                           \
    return CUDNN_STATUS_SUCCESS;             \
  }
FAKE_CUDNN(cudnnCreate)
FAKE_CUDNN(cudnnCreateDropoutDescriptor)
FAKE_CUDNN(cudnnSetDropoutDescriptor)
FAKE_CUDNN(cudnnCreateRNNDescriptor)
FAKE_CUDNN(cudnnSetRNNDescriptor_v8)
FAKE_CUDNN(cudnnCreateRNNDataDescriptor)
FAKE_CUDNN(cudnnSetRNNDataDescriptor)
FAKE_CUDNN(cudnnCreateTensorDescriptor)
FAKE_CUDNN(cudnnSetTensorNdDescriptor)
FAKE_CUDNN(cudnnDestroyTensorDescriptor)
FAKE_CUDNN(cudnnDestroyRNNDataDescriptor)
FAKE_CUDNN(cudnnDestroyRNNDescriptor)
FAKE_CUDNN(cudnnDestroyDropoutDescriptor)
FAKE_CUDNN(cudnnDestroy)
FAKE_CUDNN(cudnnGetRNNWeightParams)
FAKE_CUDNN(cudnnRNNForward)
FAKE_CUDNN(cudnnRNNBackwardData_v8)
FAKE_CUDNN(cudnnRNNBackwardWeights_v8)

inline cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t, cudnnRNNDescriptor_t, cudnnForwardMode_t,
                                               cudnnRNNDataDescriptor_t, size_t* work, size_t* reserve) {
  *work = *reserve = 64;
  return CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t, cudnnRNNDescriptor_t, size_t* bytes) {
  *bytes = 4096;
  return CUDNN_STATUS_SUCCESS;
}
