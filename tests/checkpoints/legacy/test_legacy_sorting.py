from hypothesis import given
from hypothesis import strategies as st

from holdfast.checkpoints.legacy.legacy_sorting import VALUE_SUFFIX, generation_of, sort_names


def keys(*paths):
    return [path + VALUE_SUFFIX for path in paths]


def test_object_based_keys_are_told_from_variable_names():
    assert generation_of(["_CHECKPOINTABLE_OBJECT_GRAPH", *keys("model/kernel")]) == "tf2"
    assert generation_of(["FeatureExtractor/Conv/weights", "global_step"]) == "tf1"
    assert generation_of([]) == "tf1"


def test_slots_of_every_optimizer_are_other():
    slots = ["Momentum", "RMSProp", "RMSProp_1", "Adam", "Adam_1", "ExponentialMovingAverage"]
    names = sort_names(["Conv/weights", *(f"Conv/weights/{slot}" for slot in slots)])
    assert names.model == ("Conv/weights",)
    assert set(names.other) == {f"Conv/weights/{slot}" for slot in slots}


def test_steps_and_powers_are_other():
    steps = ["global_step", "fake_quantization_step", "beta1_power", "beta2_power"]
    assert sort_names(["Conv/weights", *steps]).other == tuple(sorted(steps))


def test_a_quantizer_is_other_at_any_depth():
    quantizer = [
        *(
            "Conv/act_quant/min",
            "Conv/weights_quant/max",
            "Conv/act_quant/Conv/act_quant/max/biased",
        ),
        "Conv/post_activation_bypass_quant/max",
    ]
    assert sort_names(["Conv/weights", *quantizer]).other == tuple(sorted(quantizer))


def test_a_moving_average_is_found_by_the_variable_it_follows():
    name = "Conv/weights/ExponentialMovingAverage"
    assert sort_names(["Conv/weights", name]).averages == {"Conv/weights": name}
    kernel, average = keys("model/kernel", "model/kernel/.OPTIMIZER_SLOT/optimizer/average")
    assert sort_names([kernel, average]).averages == {kernel: average}


def test_a_variable_named_like_a_step_below_a_scope_is_of_the_model():
    assert sort_names(keys("model/step_embedding/kernel")).other == ()


def test_all_but_the_model_is_other_in_an_object_based_checkpoint():
    model = keys("model/_box_predictor/bias")
    others = keys(
        *("save_counter", "step", "optimizer/iter", "optimizer/decay"),
        "model/_box_predictor/bias/.OPTIMIZER_SLOT/optimizer/momentum",
    )
    others.append("_CHECKPOINTABLE_OBJECT_GRAPH")
    names = sort_names(model + others)
    assert names.model == tuple(model)
    assert set(names.other) == set(others)


@given(st.sets(st.text("ab/", min_size=1, max_size=6)))
def test_every_name_is_sorted_once(names):
    found = sort_names(names)
    assert sorted(found.model + found.other) == sorted(names)
