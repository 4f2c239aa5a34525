"""A keras.Model's steps as one writes them by hand on each backend, after Keras' guides to custom training loops.

They compute what train_on_batch and predict_on_batch do, from tensors that lie on the device, and keep no metrics: one
program on TensorFlow (tf.function) and on JAX (jax.jit with donated arrays), operations on PyTorch. Keras 3.15.
"""
import keras


def of(model):
    """The steps of a compiled model on this process's backend."""
    model.optimizer.build(model.trainable_variables)
    return {"tensorflow": OnTensorFlow, "jax": OnJax, "torch": OnPyTorch}[keras.backend.backend()](model)


def called(model, inputs, training):
    """What the model gives, told of training where its call takes that."""
    return model(inputs, training=training) if model._call_has_training_arg else model(inputs)


class Steps:
    """train(inputs, targets) gives the loss, infer(inputs) the outputs; both stay on the device."""

    def __init__(self, model):
        self._model = model

    def placed(self, batch):
        """The batch as tensors."""
        return keras.tree.map_structure(lambda array: None if array is None else keras.ops.convert_to_tensor(array),
                                        batch)

    def wait(self, handle):
        """Return when a step is done: nothing, where a CPU's operations return then."""

    def settle(self):
        """Let the model's variables be as the last step left them."""

    def _loss(self, inputs, targets):
        outputs = called(self._model, inputs, True)
        return self._model.compute_loss(x=inputs, y=targets, y_pred=outputs, training=True)


class OnTensorFlow(Steps):
    """Keras compiles by XLA on GPUs alone; so does this."""

    def __init__(self, model):
        super().__init__(model)
        import tensorflow as tf
        self._tape = tf.GradientTape
        self.train = tf.function(self._train)
        self.infer = tf.function(lambda inputs: called(model, inputs, False))

    def _train(self, inputs, targets):
        with self._tape() as tape:
            loss = self._loss(inputs, targets)
        variables = self._model.trainable_variables
        self._model.optimizer.apply(tape.gradient(loss, variables), variables)
        return loss

    def wait(self, handle):
        """Return when the step's last output is there."""
        keras.tree.flatten(handle)[-1].numpy()


class OnJax(Steps):
    """The state is the step's own, and goes back to the model when it is settled."""

    def __init__(self, model):
        super().__init__(model)
        import jax
        self.wait = jax.block_until_ready  # type: ignore[method-assign]
        self._gradients = jax.value_and_grad(model.compute_loss_and_updates, has_aux=True)
        self._step, self._answer = jax.jit(self._stepped, donate_argnums=0), jax.jit(self._answered)
        self._state = [[variable.value + 0 for variable in each] for each in self._variables()]

    def _variables(self):
        return (self._model.trainable_variables, self._model.non_trainable_variables, self._model.optimizer.variables)

    def train(self, inputs, targets):
        """The loss of a step."""
        self._state, loss = self._step(self._state, inputs, targets)
        return loss

    def infer(self, inputs):
        """The outputs."""
        return self._answer(self._state[:2], inputs)

    def _stepped(self, state, inputs, targets):
        trained, others, moments = state
        metrics = [variable.value for variable in self._model.metrics_variables]
        (loss, (_, _, others, _)), gradients = self._gradients(
            trained, others, metrics, inputs, targets, None, training=True, optimizer_variables=moments)
        trained, moments = self._model.optimizer.stateless_apply(moments, gradients, trained)
        return [trained, others, moments], loss

    def _answered(self, state, inputs):
        words = {"training": False} if self._model._call_has_training_arg else {}
        return self._model.stateless_call(*state, inputs, **words)[0]

    def settle(self):
        """Write the state back."""
        for variables, values in zip(self._variables(), self._state):
            for variable, value in zip(variables, values):
                variable.assign(value)


class OnPyTorch(Steps):
    """Eager: Keras never compiles on PyTorch by itself."""

    def __init__(self, model):
        super().__init__(model)
        import torch
        self._no_gradients = torch.no_grad

    def train(self, inputs, targets):
        """The loss of a step."""
        self._model.zero_grad()
        loss = self._loss(inputs, targets)
        loss.backward()
        variables = self._model.trainable_variables
        with self._no_gradients():
            self._model.optimizer.apply([variable.value.grad for variable in variables], variables)
        return loss.detach()

    def infer(self, inputs):
        """The outputs."""
        with self._no_gradients():
            return called(self._model, inputs, False)
