"""The studies' words for operators."""

import pytest

from runner.study import operators


@pytest.mark.parametrize("framework", ["pytorch", "tensorflow", "mxnet", "jax"])
def test_words_are_known_and_no_name_stands_under_two(framework: str) -> None:
    words = operators.NAMES[framework]
    names = [name for groups in words.values() for group in groups for name in group]
    assert set(words) <= set(operators.WORDS) and len(names) == len(set(names)) and names


def test_names_of_a_word_add_up_and_the_rest_has_none() -> None:
    own = {"aten::avg_pool2d": 1.0, "aten::max_pool2d": 2.0, "aten::conv2d": 4.0, "aten::t": 8.0}
    assert {"pooling": 3.0, "convolution": 4.0} == operators.seconds("pytorch", own)
    assert {"aten::t": 8.0} == operators.named("pytorch", own)[""]


def test_a_name_inside_another_is_not_counted_twice() -> None:
    inside = {"aten::log_softmax": 1.0, "aten::nll_loss": 2.0}
    assert {"loss": 3.0} == operators.seconds("pytorch", inside)
    assert {"loss": 4.0} == operators.seconds("pytorch", {**inside, "aten::cross_entropy_loss": 4.0})


def test_an_unknown_framework_s_names_have_no_word() -> None:
    assert {} == operators.seconds("caffe", {"conv": 1.0})


def test_what_lies_below_a_star_counts() -> None:
    assert {"weights_update": 3.0} == operators.seconds("tensorflow", {"optimizer/Mul": 1.0, "optimizer/Sub": 2.0})
