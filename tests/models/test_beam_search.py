"""fairseq's beam search with each position method: caches follow hypotheses, and scores are those of whole texts."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from fairseq.data.data_utils import collate_tokens
from fairseq.sequence_generator import SequenceGenerator

from fairseq_rope.models._positions import POSITION_METHODS
from tests.support.encoders import draw
from tests.support.near import SCORES, near
from tests.support.small import EOS, PAD, TASK, sample, small

OPTIONS = {method: dict(position_method=method) for method in POSITION_METHODS}
OPTIONS["rope, anew after a token"] = dict(rope_restart_after="w0")


@pytest.mark.parametrize("left_pad", [True, False], ids=["padding on the left", "on the right"])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@torch.no_grad()
def test_all_hypotheses_have_the_scores_of_their_whole_texts(options: dict, left_pad: bool):
    model = small(**options)
    draw(model)  # sharp, so that hypotheses change places
    generator = SequenceGenerator([model], TASK.target_dictionary, beam_size=4, max_len_b=11, normalize_scores=False)
    inputs = sample(left_pad)["net_input"]
    found = generator.generate([model], {"net_input": inputs})
    assert all(len(hypotheses) == 4 for hypotheses in found)
    sources = inputs["src_tokens"]
    for source, hypotheses in zip(sources, found, strict=True):
        targets = [hypothesis["tokens"] for hypothesis in hypotheses]
        inputs = collate_tokens([target.roll(1) for target in targets], PAD)
        assert inputs[:, 0].eq(EOS).all()
        rows = source[source.ne(PAD)].expand(len(targets), -1)
        scores = model.get_normalized_probs(model(rows, None, inputs), log_probs=True)
        for row, target, hypothesis in zip(scores, targets, hypotheses, strict=True):
            expected = row[torch.arange(len(target)), target]
            near(hypothesis["positional_scores"], expected, SCORES["tokens"])


@torch.no_grad()
def test_threads_may_search_with_one_model():
    model = small(rope_restart_after="w0")

    def translations(beam: int) -> list[list[int]]:
        generator = SequenceGenerator([model], TASK.target_dictionary, beam_size=beam, max_len_b=11)
        return [hypotheses[0]["tokens"].tolist() for hypotheses in generator.generate([model], sample())]

    beams = list(range(1, 9))
    expected = [translations(beam) for beam in beams]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(translations, beams * 10)) == expected * 10
