"""The kinds of operators by their profilers' names."""

import pytest

from runner.analysis import step_parts


@pytest.mark.parametrize(("framework", "name", "kind"), [
    ("pytorch", "aten::convolution_backward", "convolutions"), ("pytorch", "aten::addmm", "products"),
    ("pytorch", "optimizer/aten::_fused_sgd_", "optimizer"), ("pytorch", "aten::_log_softmax", "elementwise"),
    ("pytorch", "autograd::engine::evaluate_function: AddmmBackward0", "dispatch"),
    ("pytorch", "aten::native_batch_norm", "norms"), ("pytorch", "aten::copy_", "copies"),
    ("pytorch", "a kernel of somebody's", "unexplained"), ("pytorch", "mkldnn_convolution", "convolutions"),
    ("pytorch", "graph_0_cpp_fused_convolution_backward_tanh_1", "elementwise"),
    ("pytorch", "graph_0_cpp_fused_native_layer_norm_2", "norms"),
    ("pytorch", "## Call CompiledFxGraph fn4z", "dispatch"), ("pytorch", "Torch-Compiled Region: 0/0", "dispatch"),
    ("tensorflow", "_MklNativeFusedConv2D", "convolutions"), ("tensorflow", "gradient/_MklMatMul", "products"),
    ("tensorflow", "batch_norm/Mul", "norms"), ("tensorflow", "optimizer/AssignSubVariableOp", "optimizer"),
    ("tensorflow", "gradient/TanhGrad", "elementwise"), ("tensorflow", "Mean", "pooling"),
    ("tensorflow", "Mystery", "unexplained"), ("tensorflow", "xla/convolution", "convolutions"),
    ("tensorflow", "xla/add_tanh_fusion", "elementwise"), ("tensorflow", "xla/transpose_copy_fusion", "copies"),
    ("tensorflow", "xla/wrapped_reduce-window", "pooling"), ("tensorflow", "host/BlockUntilReady", "waiting"),
    ("mxnet", "_backward_Convolution", "convolutions"), ("mxnet", "multi_sgd_update", "optimizer"),
    ("mxnet", "batch_dot", "products"), ("mxnet", "log_softmax", "elementwise"), ("mxnet", "Mystery", "unexplained"),
    ("jax", "gradient/conv/conv_general_dilated", "convolutions"), ("jax", "dense/dot_general", "products"),
    ("jax", "gradient/tanh/mul", "elementwise"), ("jax", "optimizer/dot_general", "optimizer"),
    ("jax", "transpose_copy_fusion", "copies"), ("jax", "mystery", "unexplained"),
    ("another", "Conv2D", "unexplained"),
    *((framework, name, kind) for framework in ("pytorch", "tensorflow", "mxnet", "jax") for name, kind in (
        ("input", "input"), ("input/aten::conv2d", "input"), ("host/Iterator::Prefetch", "input"),
        ("host/python", "dispatch"), ("host/EagerCopyToDevice", "dispatch"), ("host/PjitFunction(add)", "dispatch"),
        ("host/waiting", "waiting"), ("host/ThunkExecutor::Execute (wait for completion)", "waiting"),
        ("host/CommonPjRtBuffer::Await", "waiting")))])
def test_a_name_has_its_kind(framework: str, name: str, kind: str) -> None:
    assert kind == step_parts.kind(framework, name)


def test_the_table_has_a_row_a_kind_but_for_what_has_no_name_and_no_framework_has_others() -> None:
    rows = [line.split(" | ")[0].removeprefix("| ") for line in step_parts.table().splitlines()[2:]]

    assert [kind for kind in step_parts.KINDS if kind != step_parts.UNEXPLAINED] == rows
    assert {kind for of in step_parts.NAMES.values() for kind in of} <= {*rows}
