"""A published config becomes one for blood cells at a high resolution, line by line."""

from __future__ import annotations

import shutil

import pytest

import holdfast
from holdfast.config.facts.anchor_counts import anchor_layers, anchors_per_location
from holdfast.config.load import load_config
from holdfast.data.conversion.open_sources import DataOptions
from holdfast.data.input.build_input import open_reader
from holdfast.data.survey.statistics_cache import record_statistics
from holdfast.errors import HoldfastError
from holdfast.models.detectors.build_layout import anchor_coverage
from holdfast.projects.adapting.adapt_config import AdaptWish, adapt
from holdfast.projects.adapting.adapted_data import DataWish
from holdfast.projects.project_data import SplitOptions

ANCHORS = "model.ssd.anchor_generator.ssd_anchor_generator"


def predict(config):
    """Take memory for the pixels of a batch: nothing is traced here."""
    resizer = config.model.ssd.image_resizer.fixed_shape_resizer
    return 100 * config.train_config.batch_size * resizer.height * resizer.width


def wish(place, shared, name="ssd_inception_v2_coco", **more):
    source = place / f"{name}.config"
    if not source.exists():
        shutil.copy(shared / "corpus" / "zoo_configs" / "tf1" / f"{name}.config", source)
    data = DataWish(
        locations=(str(shared / "datasets" / "bccd"),),
        reading=DataOptions(),
        split=SplitOptions(val=0.2, resplit=False, shards=None, seed=0, strict=False),
    )
    given = {"config": source, "out": place / "cells.config", "data": data}
    return AdaptWish(**(given | more))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("adapted")


@pytest.fixture(scope="module")
def adapted(place, shared):
    return adapt(wish(place, shared, resolution=(1024, 1024)), predict)


def test_nearly_all_boxes_and_platelets_have_an_anchor(adapted):
    """Measured anew, on the file that was written and the records that it names."""
    config = load_config(adapted.out)
    records = open_reader(config.train_input_reader, adapted.out.parent, name="train")
    statistics = record_statistics(records.files, records.layout, records.names)
    covered = anchor_coverage(config.model, records, statistics).here
    platelets = covered.classes["Platelets"]
    assert covered.iou_threshold == 0.5
    assert covered.all.covered / covered.all.boxes >= 0.98
    assert platelets.covered / platelets.boxes >= 0.90
    assert adapted.anchors.after.all == pytest.approx(covered.all.covered / covered.all.boxes)
    assert adapted.anchors.before.classes["Platelets"] < 0.6


def test_no_place_has_more_anchors_than_before(adapted, place):
    before = load_config(place / "ssd_inception_v2_coco.config").model.ssd.anchor_generator
    after = load_config(adapted.out).model.ssd.anchor_generator
    assert anchor_layers(after) == anchor_layers(before)
    for layer in range(6):
        assert anchors_per_location(after, layer) <= anchors_per_location(before, layer)


def test_every_change_is_in_the_file_and_has_a_reason(adapted):
    changes = {each.path: each for each in adapted.changes}
    assert changes["model.ssd.image_resizer.fixed_shape_resizer.height"].after == 1024
    assert changes["model.ssd.num_classes"].after == 3
    assert changes[f"{ANCHORS}.min_scale"].after is None
    assert len(changes[f"{ANCHORS}.scales"].after) == 6
    assert changes["train_config.num_steps"].before == 200_000
    assert all(each.why for each in adapted.changes)
    assert load_config(adapted.out) == adapted.config


def test_comments_and_order_of_the_old_file_are_kept(adapted, place):
    old = (place / "ssd_inception_v2_coco.config").read_text()
    new = adapted.out.read_text()
    comments = [line for line in old.splitlines() if "#" in line]
    assert comments == [line for line in new.splitlines() if "#" in line]
    kept = [line for line in old.splitlines() if line in new.splitlines()]
    assert len(kept) > 0.85 * len(old.splitlines())


def test_the_old_file_stays_and_nothing_is_overwritten(adapted, place, shared):
    published = shared / "corpus" / "zoo_configs" / "tf1" / "ssd_inception_v2_coco.config"
    assert (place / "ssd_inception_v2_coco.config").read_bytes() == published.read_bytes()
    with pytest.raises(HoldfastError, match="not overwritten"):
        adapt(wish(place, shared, resolution=(512, 512)), predict)


def test_networks_with_a_pyramid_and_tiles_stand_beside_it(adapted):
    own, *others = adapted.alternatives
    assert own.coco_map == 24.0
    assert own.coverage == adapted.anchors.after
    retinanet = next(each for each in others if "RetinaNet" in each.name)
    assert (retinanet.input, retinanet.coco_map) == ("1024 x 1024", 38.3)
    assert retinanet.predicted_peak_bytes == own.predicted_peak_bytes
    assert retinanet.coverage.all > 0.9
    tiles = others[-1]
    assert "tiles" in tiles.name
    assert "--tile" in tiles.command
    assert tiles.predicted_peak_bytes < own.predicted_peak_bytes / 10
    assert tiles.coverage.all > 0.9


def test_less_memory_is_a_smaller_batch_with_a_smaller_rate(adapted, shared):
    room = 100 * 4 * 1024 * 1024
    again = adapt(
        AdaptWish(config=adapted.out, out=adapted.out.parent / "small.config", room_bytes=room),
        predict,
    )
    before, after = adapted.config.train_config, again.config.train_config
    assert (before.batch_size, after.batch_size) == (24, 4)
    assert after.num_steps == 6 * before.num_steps
    rates = [
        each.optimizer.rms_prop_optimizer.learning_rate.exponential_decay_learning_rate
        for each in (before, after)
    ]
    ratio = rates[1].initial_learning_rate / rates[0].initial_learning_rate
    assert ratio == pytest.approx(6**-0.5, rel=0.01)
    assert again.fits


def test_a_config_moved_to_another_folder_still_finds_its_data(adapted):
    folder = adapted.out.parent / "deeper"
    folder.mkdir()
    again = adapt(AdaptWish(config=adapted.out, out=folder / "moved.config", batch_size=8), predict)
    reader = load_config(again.out).train_input_reader
    assert open_reader(reader, folder, name="train").files
    assert again.anchors.before.all == pytest.approx(adapted.anchors.after.all)


@pytest.mark.slow
def test_it_trains(adapted, tmp_path):
    overrides = {
        "train_config.fine_tune_checkpoint": "",
        "train_config.batch_size": 1,
        "eval_input_reader": None,
    }
    result = holdfast.train(
        load_config(adapted.out, overrides),
        run=tmp_path / "run",
        settings=holdfast.TrainingSettings(steps=1),
    )
    assert result.steps == 1
