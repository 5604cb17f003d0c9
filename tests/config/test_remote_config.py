from holdfast.config.load import load_config
from holdfast.config.paths import PLACEHOLDER
from holdfast.config.remote_config import with_urls
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode

TEXT = """
train_config { batch_size: 1 fine_tune_checkpoint: "zoo/ckpt-0" }
train_input_reader { label_map_path: "map.pbtxt"
  tf_record_input_reader { input_path: "train.record" input_path: "gs://other/more.record" } }
eval_input_reader { label_map_path: "/data/map.pbtxt"
  tf_record_input_reader { input_path: "PATH_TO_BE_CONFIGURED" } }
"""


def test_what_lies_beside_a_config_of_the_store_is_named_by_its_url(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = with_urls(decode(TEXT, TrainEvalPipelineConfig).message, "gs://cells/data")
    reader, evaluation = config.train_input_reader, config.eval_input_reader[0]
    assert reader.label_map_path == "gs://cells/data/map.pbtxt"
    assert reader.tf_record_input_reader.input_path == (
        "gs://cells/data/train.record",
        "gs://other/more.record",
    )
    assert config.train_config.fine_tune_checkpoint == "gs://cells/data/zoo/ckpt-0"
    assert evaluation.label_map_path == "/data/map.pbtxt"
    assert evaluation.tf_record_input_reader.input_path == (PLACEHOLDER,)


def test_what_the_working_directory_has_stays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "map.pbtxt").write_text("")
    config = with_urls(decode(TEXT, TrainEvalPipelineConfig).message, "gs://cells/data")
    assert config.train_input_reader.label_map_path == "map.pbtxt"


def test_a_config_is_read_from_the_store(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store.put("cells", "data/pipeline.config", TEXT.encode())
    config = load_config("gs://cells/data/pipeline.config", {"train_config.batch_size": 8})
    assert config.train_config.batch_size == 8
    assert config.train_input_reader.label_map_path == "gs://cells/data/map.pbtxt"
