"""Names of models for people: short, and unlike each other."""

from hypothesis import given
from hypothesis import strategies as st

from facevalue.runs.joined_runs import short_names

PARTS = st.text(st.sampled_from("abg-."), min_size=1, max_size=3)
MODELS = st.one_of(
    st.builds("http://{}:8000/v1#{}/{}".format, PARTS, PARTS, PARTS),
    st.builds("http://{}:8000/v1#{}".format, PARTS, PARTS),
    st.builds("{}/{}".format, st.sampled_from(("hf", "openai", "vllm", "replay", "sim", "acme")), PARTS),
    st.builds("hf/{}/{}".format, PARTS, PARTS),
)


def test_servers_and_owners_are_told_apart_where_the_name_is_the_same() -> None:
    models = ["http://127.0.0.1:8000/v1#qwen", "http://127.0.0.1:8001/v1#qwen", "http://h/v1#a/gemma", "hf/b/gemma"]
    assert list(short_names(models).values()) == [
        "qwen (127.0.0.1:8000)",
        "qwen (127.0.0.1:8001)",
        "a/gemma",
        "b/gemma",
    ]


@given(st.lists(MODELS, max_size=6), st.lists(PARTS, max_size=2))
def test_no_two_models_are_called_alike(models: list[str], taken: list[str]) -> None:
    names = short_names(models, taken)
    assert list(names) == list(dict.fromkeys(models))
    assert len(set(names.values())) == len(names)
