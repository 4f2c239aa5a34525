"""What goes into Llama: as into GPT-2, with as many tokens as the model knows."""
from workloads.inputs.models.gpt2 import collate, samples, tokens  # noqa: F401  the same
