"""What a GPU's cell has otherwise, on a CPU: a workload that is built for a CPU and then told of a GPU.

It shows what is called, not how fast a GPU is: that is `python -m tests.gpu`.
"""
import os
import threading
import unittest
from unittest import mock

import numpy as np

from tests.stack import adapter, is_of, part, setUpModule, test_adapter, test_sequences  # noqa: F401  skips
from workloads.inputs import images as data
from workloads.process.errors import Unsupported
from workloads.spec import tasks


def image_workload(**changes):
    """(workload, sample of six images) of a small cell, which believes to be on a GPU."""
    cell = test_adapter.cell_of(precision="float32", **changes)
    workload = adapter.Workload(tasks.table("lenet5", cell.classes), cell)
    workload.cell = cell._replace(device="gpu")
    return workload, data.synthetic(cell._replace(batch=6))


@unittest.skipUnless(is_of("tensorflow"), "TensorFlow's")
class TensorFlowCase(test_adapter.AdapterCase):
    """Of TensorFlow alone, of one of its two kinds of execution."""

    IS_EAGER = True

    def setUp(self):
        import tensorflow
        if tensorflow.executing_eagerly() != self.IS_EAGER:
            self.skipTest("of another TensorFlow")
        self.tf = tensorflow


class _Session:
    """A session that keeps what it was asked for."""

    def __init__(self, session):
        self._session, self.fetched, self.options = session, [], []

    def __getattr__(self, name):
        return getattr(self._session, name)

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        self.fetched.append(fetches)
        self.options.append(options)
        return self._session.run(fetches, feed_dict, options, run_metadata)


class SessionsOfAGpu(TensorFlowCase):
    """TensorFlow 1."""

    IS_EAGER = False

    def test_inference_runs_the_logits_operation_and_copies_them_only_when_they_are_asked_for(self):
        workload, sample = image_workload(measure="infer")
        watch = test_adapter.Watch()
        session = workload._session = _Session(workload._session)
        workload.infer(workload.synthetic(sample.images[:3], sample.labels[:3]), 2, watch)
        self.assertEqual([self.tf.Operation] * 2, [type(each) for each in session.fetched[-2:]])
        self.assert_close(workload.predict(sample.images[:3]), workload.value(watch.handles[-1]), 1e-6, "logits")

    def test_what_an_lstm_ran_is_told_by_the_executor_without_a_device_s_tracer(self):
        sequences = part("sequences")
        workload = sequences.Workload(test_sequences.cell_of(precision="float32"))
        session = workload._session = _Session(workload._session)
        self.assertTrue(workload.kernels()["lstm"])
        levels = [options.trace_level for options in session.options if options is not None]
        self.assertEqual([self.tf.compat.v1.RunOptions.SOFTWARE_TRACE], levels)

    def test_the_most_that_the_allocator_held_is_asked_for_on_the_gpu_and_none_is_told_without_one(self):
        settings = part("settings")
        asked = []

        class Recording(self.tf.compat.v1.Session):
            def run(self, fetches, *more):
                asked.append((fetches.op.type, fetches.device))
                return super().run(fetches, *more)

        with mock.patch.object(self.tf.compat.v1, "Session", Recording):
            self.assertEqual({}, settings.device_peak_bytes())
        self.assertEqual([("MaxBytesInUse", "/device:GPU:0")], asked)


class _OnTheDevice:
    """An array of so many axes that must not be copied to the host."""

    ndim = 2

    def __array__(self, *_):
        raise AssertionError("copied to the host")


class FunctionsOfAGpu(TensorFlowCase):
    """TensorFlow 2."""

    def setUp(self):
        super().setUp()
        self.waits, self.calls = part("waits"), []
        self.addCleanup(setattr, self.waits, "_sync_devices", self.waits._sync_devices)

    def test_where_tensorflow_waits_for_devices_logits_stay_there(self):
        self.waits._sync_devices = lambda: lambda: self.calls.append("waited")
        workload, _ = image_workload(measure="infer")
        workload.sync(_OnTheDevice())
        self.assertEqual(["waited"], self.calls)
        workload.sync(self.tf.constant(1.5))
        self.assertEqual(["waited"], self.calls, "a loss is copied behind its work")

    def test_where_it_cannot_one_number_is_copied_in_their_place(self):
        self.waits._sync_devices = lambda: None
        workload, sample = image_workload(measure="infer")
        workload._prepare()
        watch = test_adapter.Watch()
        workload.infer(workload.synthetic(sample.images[:3], sample.labels[:3]), 2, watch)
        logits, number = watch.handles[-1]
        workload.sync((_OnTheDevice(), number))
        self.assertEqual(np.asarray(logits)[0, 0], float(number))
        self.assert_close(workload.predict(sample.images[:3]), workload.value(watch.handles[-1]), 1e-6, "logits")

    def test_all_gpus_of_a_process_are_waited_for(self):
        workload, _ = image_workload(measure="train")
        workload.cell = workload.cell._replace(gpus=3)
        self.waits._sync_devices = lambda: lambda: self.calls.append("waited")
        workload.sync(self.tf.constant(1.5))
        self.assertEqual(["waited"], self.calls)
        self.waits._sync_devices, device, names = lambda: None, self.tf.device, []
        with mock.patch.object(self.waits.tf, "device", lambda name: names.append(name) or device("cpu")):
            workload.sync(self.tf.constant(1.5))
        self.assertEqual(["GPU:1", "GPU:2"], names)

    def test_traced_steps_are_waited_for_once(self):
        workload, sample = image_workload(measure="kernels")
        workload.sync = lambda loss: self.calls.append(float(loss))
        workload._run_ahead(workload.synthetic(sample.images[:3], sample.labels[:3]), 3)
        self.assertEqual(1, len(self.calls))

    def test_amp_is_refused_where_convolutions_of_bfloat16_would_run_on_the_cpu_but_for_xla(self):
        settings = part("settings")
        known = [("CPU", self.tf.bfloat16), ("GPU", self.tf.float32)]
        cell = test_adapter.cell_of(device="gpu", precision="amp")
        with mock.patch.object(settings.registered, "get_registered_kernels_for_op", lambda name: _kernels(known)):
            with self.assertRaisesRegex(Unsupported, "no bfloat16 convolution for GPUs"):
                settings.precision(cell)
            self.assertEqual("amp", settings.precision(cell._replace(loop="xla")))
            self.assertEqual("amp", settings.precision(cell._replace(task="lstm")))
            known.append(("GPU", self.tf.bfloat16))
            self.assertEqual("amp", settings.precision(cell))


def _kernels(known):
    """What TensorFlow tells of an operation with kernels for these devices and types."""
    from tensorflow.core.framework import kernel_def_pb2
    told = kernel_def_pb2.KernelList()
    for device, dtype in known:
        limit = told.kernel.add(op="Conv2D", device_type=device).constraint.add(name="T")
        limit.allowed_values.list.type.append(dtype.as_datatype_enum)
    return told


class OfAnyFramework(test_adapter.AdapterCase):
    """What is loaded, refused and said where the device is a GPU."""

    def setUp(self):
        self.settings = part("settings")

    def test_another_thread_copies_each_batch_to_the_device(self):
        if is_of("pytorch") or not hasattr(adapter.Workload, "_placed"):
            self.skipTest("PyTorch's copies from pinned memory go on by themselves, and a session's steps make theirs")
        workload, sample = image_workload(measure="train")
        place, threads = workload._placed, []

        def placed(*batch):
            threads.append(threading.current_thread())
            return place(*batch)

        workload._placed = placed
        batches = workload.batches(sample.images, sample.labels)
        found = np.concatenate([np.asarray(next(batches)[1]) for _ in range(2)])
        self.assertNotIn(threading.main_thread(), threads)
        np.testing.assert_array_equal(sample.labels, found)

    def on_a_gpu_of(self, capability):
        """Let the framework tell of such a GPU until the test is over."""
        if is_of("pytorch"):
            import torch
            owner, name, told = torch.cuda, "get_device_capability", lambda *_: capability
        elif is_of("tensorflow"):
            owner, name, told = self.settings, "_details", lambda: {"compute_capability": capability}
        else:
            owner, name, told = self.settings, "capability", lambda cell: capability
        patch = mock.patch.object(owner, name, told)
        patch.start()
        self.addCleanup(patch.stop)

    def test_tf32_is_refused_on_a_gpu_without_it(self):
        cell = test_adapter.cell_of(device="gpu", precision="tf32")
        self.on_a_gpu_of((7, 5))
        with self.assertRaisesRegex(Unsupported, "TF32"):
            self.settings.precision(cell)
        self.on_a_gpu_of((8, 0))
        try:
            self.assertEqual("tf32", self.settings.precision(cell))
        except Unsupported as reason:                  # a version from before there was any
            self.assertIn("TF32 is a mode of GPUs", str(reason))

    @unittest.skipUnless(is_of("tensorflow"), "TensorFlow's")
    def test_tensorflow_s_determinism_by_either_variable_is_told_and_then_nothing_is_searched(self):
        for variables, expected in (
                ({}, (True, False)), ({"TF_CUDNN_USE_AUTOTUNE": "false"}, (False, False)),
                ({"TF_CUDNN_DETERMINISTIC": "1"}, (False, True)), ({"TF_DETERMINISTIC_OPS": "True"}, (False, True)),
                ({"TF_DETERMINISTIC_OPS": "0"}, (True, False)), ({"TF_CUDNN_DETERMINISTIC": "no"}, (True, False))):
            with mock.patch.dict(os.environ, variables):
                facts = self.settings.gpu_facts()
            self.assertEqual(expected, (facts["cudnn_benchmark"], facts["cudnn_deterministic"]), variables)


@unittest.skipUnless(is_of("pytorch"), "PyTorch's")
class OfPyTorch(test_adapter.AdapterCase):
    """DataParallel's precisions, the LSTM's weights and the best layout."""

    def test_amp_is_refused_since_its_threads_would_compute_in_float16(self):
        parallel = part("parallel")
        cell = test_adapter.cell_of(device="gpu", gpus=2, precision="amp")
        with self.assertRaisesRegex(Unsupported, "float16, without scaling"):
            parallel.Workload(tasks.table("lenet5", cell.classes), cell, None)
        with self.assertRaisesRegex(Unsupported, "no GPU"):           # so it goes on, and finds that there is none
            parallel.Workload(tasks.table("lenet5", cell.classes), cell._replace(precision="float32"), None)

    def test_an_lstm_s_weights_are_told_to_be_cast_in_each_call_where_autocast_does(self):
        sequences = part("sequences")
        workload = sequences.Workload(test_sequences.cell_of(precision="float32"))
        workload._net.pack_lstms()                     # as on a GPU
        self.assertIn(workload.kernels()["lstm_weights"], ("one buffer", "copied in each call"))
        workload.precision, workload._autocast = "amp", lambda function: function
        self.assertEqual("cast in each call", workload.kernels()["lstm_weights"])

    def test_best_is_channels_last_where_tensor_cores_work(self):
        import torch
        settings = part("settings")
        for precision, expected in (("float32", "nchw"), ("tf32", "nhwc"), ("amp", "nhwc")):
            cell = test_adapter.cell_of(device="gpu", precision=precision)
            self.assertEqual(expected, settings.layout(cell, torch.device("cpu"), torch.float32), precision)
