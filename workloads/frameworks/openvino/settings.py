"""A cell's switches as OpenVINO's properties: nearly all are refused. OpenVINO 2026.4."""
import openvino

from workloads.frameworks.onnx_graphs import graph, inferring


def apply(cell):
    """Nothing is of the whole process: a compiled model has its own properties. Raises Unsupported."""
    inferring.demand(cell, "OpenVINO")


def tuned(cell, features):
    """The cell as it is: bfloat16, which OpenVINO takes by itself where a CPU has it, would be another precision."""
    return cell


def program(cell, model):
    """The function of a serialized model: inputs by name to its outputs, arrays of their own."""
    compiled = _compiled(cell, model)
    request, outputs = compiled.create_infer_request(), compiled.outputs

    def answer(batch):
        answers = request.infer(batch, share_inputs=True)
        return [answers[output] for output in outputs]

    return answer


def _compiled(cell, model):
    """The model for one request at a time, in all of the cell's threads, two of a core too; and in float32.

    Left to itself OpenVINO takes bfloat16 where a CPU has it, and may take one thread of each core alone.
    """
    core = openvino.Core()
    return core.compile_model(core.read_model(model), "CPU", {
        "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1, "INFERENCE_NUM_THREADS": cell.cpus,
        "ENABLE_HYPER_THREADING": True, "INFERENCE_PRECISION_HINT": openvino.Type.f32})


def threads(cell):
    """How many threads a model compiled with the cell's options says it computes in."""
    return _compiled(cell, graph.least()).get_property("INFERENCE_NUM_THREADS")
