"""The studies' words for operators."""

import pytest

from runner.study import operators


@pytest.mark.parametrize("framework", ["pytorch", "tensorflow", "mxnet", "jax"])
def test_words_are_known_and_no_name_stands_under_two(framework: str) -> None:
    words = operators.NAMES[framework]
    names = [name for groups in words.values() for group in groups for name in group]
    assert set(words) <= set(operators.WORDS) and len(names) == len(set(names)) and names


INSIDE = {"aten::log_softmax": 1.0, "aten::nll_loss": 2.0}


@pytest.mark.parametrize(("framework", "own", "words"), [
    ("pytorch", {"aten::avg_pool2d": 1.0, "aten::max_pool2d": 2.0, "aten::conv2d": 4.0, "aten::t": 8.0},
     {"pooling": 3.0, "convolution": 4.0}),
    ("pytorch", INSIDE, {"loss": 3.0}), ("pytorch", {**INSIDE, "aten::cross_entropy_loss": 4.0}, {"loss": 4.0}),
    ("caffe", {"conv": 1.0}, {}),
    ("tensorflow", {"optimizer/Mul": 1.0, "optimizer/Sub": 2.0}, {"weights_update": 3.0})])
def test_names_of_a_word_add_up_once_and_the_rest_has_none(
        framework: str, own: dict[str, float], words: dict[str, float]) -> None:
    assert words == operators.seconds(framework, own)
    assert "aten::t" not in own or {"aten::t": 8.0} == operators.named(framework, own)[""]
