"""How long XLA compiles, by JAX's own events. JAX 0.10 and later."""
from jax import monitoring

# the events' names in jax/_src/dispatch.py
_COMPILING = "/jax/core/compile/backend_compile_duration"
_TRACING = ("/jax/core/compile/jaxpr_trace_duration", "/jax/core/compile/jaxpr_to_mlir_module_duration")

_compiled, _traced = [], []
_listening = []


def listen():
    """Note from now on what is compiled in this process."""
    if not _listening:
        monitoring.register_event_duration_secs_listener(_note)
        _listening.append(True)


def so_far():
    """{"programs": count, "seconds": of XLA, "tracing_seconds": of what JAX did before it}."""
    return {"programs": len(_compiled), "seconds": sum(_compiled), "tracing_seconds": sum(_traced)}


def _note(event, seconds, **_):
    if event == _COMPILING:
        _compiled.append(seconds)
    elif event in _TRACING:
        _traced.append(seconds)
