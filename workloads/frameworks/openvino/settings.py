"""A cell's switches as OpenVINO's properties: nearly all are refused. OpenVINO 2026.4."""
import openvino

from workloads.frameworks.onnx_graphs import graph, inferring
from workloads.spec.models import own_model


def apply(cell):
    """Nothing is of the whole process: a compiled model has its own properties. Raises Unsupported."""
    inferring.demand(cell, "OpenVINO")


def tuned(cell, features):
    """The cell as it is: bfloat16, which OpenVINO takes by itself where a CPU has it, would be another precision."""
    return cell


def program(cell, model):
    """The function of a serialized model, or of its file: inputs by name to its outputs, arrays of their own."""
    compiled = _compiled(cell, model)
    if own_model.lane(cell.source).mode == "throughput":
        return AtOnce(compiled)
    request, outputs = compiled.create_infer_request(), compiled.outputs

    def answer(batch):
        answers = request.infer(batch, share_inputs=True)
        return [answers[output] for output in outputs]

    return answer


class AtOnce:
    """As many requests of a batch at once as a compiled model wants; the first one's outputs come back."""

    def __init__(self, compiled):
        self.count = compiled.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS")
        self._requests = [compiled.create_infer_request() for _ in range(self.count)]
        self._outputs = compiled.outputs

    def __call__(self, batch):
        """Outputs, in order, for inputs by name."""
        for request in self._requests:
            request.start_async(batch, share_inputs=True)
        for request in self._requests:
            request.wait()
        answers = [[request.get_tensor(output).data.copy() for output in self._outputs] for request in self._requests]
        return answers[0]


def _compiled(cell, model):
    """The model for one request at a time, in all of the cell's threads, two of a core too; and in float32.

    Left to itself OpenVINO takes bfloat16 where a CPU has it, and may take one thread of each core alone. In the mode
    throughput it divides the threads among requests as it likes.
    """
    core, is_shared = openvino.Core(), own_model.lane(cell.source).mode == "throughput"
    hint = {"PERFORMANCE_HINT": "THROUGHPUT"} if is_shared else {"PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1}
    return core.compile_model(core.read_model(model), "CPU", dict(
        hint, INFERENCE_NUM_THREADS=cell.cpus, ENABLE_HYPER_THREADING=True,
        INFERENCE_PRECISION_HINT=openvino.Type.f32))


def threads(cell):
    """How many threads a model compiled with the cell's options says it computes in."""
    return _compiled(cell, graph.least()).get_property("INFERENCE_NUM_THREADS")
