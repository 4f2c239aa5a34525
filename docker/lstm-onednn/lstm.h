// One LSTM layer of a bare library, as workloads/frameworks/library calls it. A twin of this file lies in docker/lstm-cudnn/.
//
// Arrays are float32 and lie on the host: x (length, batch, inputs), h (length, batch, hidden), weights (4 hidden, inputs)
// and (4 hidden, hidden), bias (4 hidden,), gates in the order i, f, g, o. Every function but the first two returns 0, or
// 1 where it failed: lstm_error says why.
#pragma once

extern "C" {
const char* lstm_library();                       // name, version and kernel: "oneDNN 2.6.3 ..."
const char* lstm_error();

struct LstmSizes {
  int hidden, inputs, batch, length;
  int trains;                                     // 1: forward keeps what backward needs
  int has_input_product;                          // 0: x is added to the gates as it is, where the library can
};
int lstm_create(const LstmSizes* sizes, void** made);
int lstm_destroy(void* layer);
int lstm_kernel(void* layer, const char** name);  // what the library says that it runs
int lstm_load(void* layer, const float* input_weight, const float* recurrent_weight, const float* bias);
int lstm_weights(void* layer, float* input_weight, float* recurrent_weight, float* bias);
int lstm_place(void* layer, const float* x);      // where x is, until the next call; it is not copied on a CPU
int lstm_forward(void* layer);                    // all steps
int lstm_output(void* layer, float* h);
int lstm_loss(void* layer, long* number);         // half the mean square of h, and its gradient as what backward begins with
int lstm_kept_loss(void* layer, long number, float* loss);                  // of that number; the last million are kept
int lstm_backward(void* layer);                   // gradients of weights, bias and x
int lstm_gradients(void* layer, float* input_weight, float* recurrent_weight, float* bias);
int lstm_update(void* layer, float rate, float decay, float momentum);      // v = momentum v + g + decay w; w -= rate v
int lstm_wait(void* layer);                       // until all that was called is done: a GPU's calls only issue it
}
