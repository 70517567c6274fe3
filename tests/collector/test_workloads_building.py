"""Weights and inputs are prepared so that outputs mean something and training really learns."""

import gc
import weakref
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn
from transformers import DynamicCache

from metalmark_collector import devices
from metalmark_collector.workloads import WORKLOADS
from metalmark_collector.workloads.base import Job, Network
from metalmark_collector.workloads.bert import NETWORK as BERT
from metalmark_collector.workloads.building import steps, weights
from metalmark_collector.workloads.gpt import NETWORK as GPT
from metalmark_collector.workloads.llama import READING, WRITING
from metalmark_collector.workloads.resnet import RESNET18, RESNET50
from metalmark_db.words import Precision, Task

# One workload of each network.
DISTINCT = list({entry.network: name for name, entry in WORKLOADS.items() if entry.network}.values())
TRAINED = list({entry.network: name for name, entry in WORKLOADS.items() if entry.facts.task is Task.TRAIN}.values())


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Tests run beside each other: more threads than cores wait for one another, four times as long."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def _job() -> Job:
    return Job(device=devices.make("cpu"), precision=Precision.FP32, seed=1, size="tiny", batch=2)


@pytest.mark.parametrize("name", TRAINED)
def test_five_steps_on_one_batch_lower_the_loss(name: str) -> None:
    """With dropout off, at the learning rate of the suite."""
    entry = WORKLOADS[name]
    work = entry.prepare(replace(entry.job(devices.make("cpu"), Precision.FP32, 1, "tiny"), dropout=False))
    losses = [float(work.step()) for _ in range(5)]
    assert losses[4] < losses[0]


@pytest.mark.parametrize("network", [RESNET18, RESNET50])
def test_batch_norm_starts_from_the_statistics_of_real_input(network: object) -> None:
    """Fresh statistics (mean 0, variance 1) would shrink the signal from block to block."""
    assert isinstance(network, type(RESNET18))
    model, _ = weights.drawn(_job(), network)
    norms = [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]
    assert len(norms) >= 5
    for norm in norms:
        assert norm.running_mean is not None
        assert not torch.equal(norm.running_mean, torch.zeros_like(norm.running_mean))
        assert norm.momentum == 0.1


@pytest.mark.parametrize("network", [RESNET18, RESNET50])
def test_biases_of_a_residual_branch_keep_its_signal_above_zero(network: object) -> None:
    """ReLU cuts half of a signal around zero, and doubles small errors in doing so."""
    assert isinstance(network, type(RESNET18))
    biases = [module.bias for module in network.model("tiny").modules() if isinstance(module, nn.BatchNorm2d)]
    assert sum(bool(torch.all(bias == 2)) for bias in biases) == (2 if network is RESNET18 else 4)


@pytest.mark.parametrize("name", DISTINCT)
def test_weights_and_inputs_have_short_numbers(name: str) -> None:
    """bfloat16 has every one of them, so that converting them loses nothing."""
    network = WORKLOADS[name].network
    assert network is not None
    model, inputs = weights.drawn(_job(), network)
    for tensor in (inputs, *model.parameters(), *model.buffers()):
        assert torch.equal(tensor, tensor.to(torch.bfloat16).to(tensor.dtype)) or not tensor.is_floating_point()


def test_attention_depends_on_queries_and_keys() -> None:
    """Without queries every token would attend to all alike; that changes the output by far more than rounding."""
    model, tokens = weights.drawn(_job(), BERT)
    with torch.inference_mode():
        right = model.eval()(tokens)
    for name, parameter in model.named_parameters():
        if "query" in name:
            nn.init.zeros_(parameter)
    with torch.inference_mode():
        assert float((model(tokens) - right).norm() / right.norm()) > 1e-3


def test_a_model_without_batch_norm_is_left_alone() -> None:
    model = nn.Linear(2, 2)
    before = model.weight.clone()
    weights.take_statistics(model, torch.ones(1, 2))
    assert torch.equal(model.weight, before)
    assert model.training


def test_weights_and_inputs_come_from_different_streams() -> None:
    drawn = torch.randn(4, generator=weights.generator(1))
    assert not torch.equal(drawn, weights.normal((4,), weights.generator(2)))


def test_bert_computes_what_the_library_computes() -> None:
    """The parts called one by one give what the library's own forward gives."""
    drawn, tokens = weights.drawn(_job(), BERT)
    model: Any = drawn.eval()
    with torch.inference_mode():
        ours = model(tokens)
        theirs = model.whole(input_ids=tokens).logits
    torch.testing.assert_close(ours, theirs)


def test_gpt_computes_what_the_library_computes() -> None:
    drawn, tokens = weights.drawn(_job(), GPT)
    model: Any = drawn.eval()
    with torch.inference_mode():
        torch.testing.assert_close(model(tokens), model.whole(input_ids=tokens).logits)


def test_llama_reads_a_prompt_as_the_library_does() -> None:
    drawn, tokens = weights.drawn(_job(), READING)
    model: Any = drawn.eval()
    with torch.inference_mode():
        theirs = model.whole(input_ids=tokens, logits_to_keep=1).logits
        torch.testing.assert_close(model(tokens), theirs.squeeze(1))


def test_llama_writes_a_token_as_the_library_does_with_a_cache_of_its_own() -> None:
    """And every iteration writes the same token at the same place."""
    drawn, tokens = weights.drawn(_job(), WRITING)
    model: Any = drawn.eval()
    cache = DynamicCache()
    for layer, (keys, values) in enumerate(model.cache.kept.clone()):
        cache.update(keys[:, :, :-1], values[:, :, :-1], layer)
    with torch.inference_mode():
        ours = model(tokens)
        assert torch.equal(model(tokens), ours)
        theirs = model.whole(input_ids=tokens, cache=cache, position_ids=torch.tensor([[model.before]]))
    torch.testing.assert_close(ours, theirs.logits.squeeze(1))


@pytest.mark.parametrize("network", [BERT, GPT, READING])
def test_transformers_attend_through_sdpa(network: Network) -> None:
    model: Any = network.model("tiny")
    assert model.whole.config._attn_implementation == "sdpa"


def test_a_large_model_is_counted_without_its_memory() -> None:
    """On the meta device nothing is allocated and nothing is drawn."""
    with torch.device("meta"):
        model = READING.model("real")
    assert {tensor.device.type for tensor in [*model.parameters(), *model.buffers()]} == {"meta"}


def test_weights_from_a_pool_have_no_two_layers_alike() -> None:
    model, _ = weights.drawn(_job(), READING)
    matrices = [weight for weight in model.parameters() if weight.dim() > 1]
    starts = {tuple((weight.detach() / weight.detach().std()).flatten()[:4].tolist()) for weight in matrices}
    assert len(starts) == len(matrices)
    assert all(0.01 < float(weight.detach().std()) <= 1.5 for weight in matrices)


def test_closing_lets_the_model_go() -> None:
    model, inputs = weights.drawn(_job(), RESNET18)
    gone = weakref.ref(model)
    prepared = steps.Inference(_job(), model, inputs).prepared()
    del model
    prepared.close()
    gc.collect()
    assert gone() is None


def test_work_without_a_step_cannot_be_measured() -> None:
    with pytest.raises(NotImplementedError):
        steps.Held().step()


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.parametrize("kind", ["cpu", "fake"])
def test_a_training_that_was_measured_begins_again_as_if_it_were_fresh(name: str, kind: str) -> None:
    """After any number of steps: the same first steps as of a new build without dropout, on part of the batch too."""
    entry = WORKLOADS[name]
    job = entry.job(devices.make(kind), Precision.FP32, 1, "tiny")
    measured, fresh = entry.prepare(job), entry.prepare(replace(job, dropout=False))
    for _ in range(3):
        measured.step()
    assert measured.restart is not None
    measured.restart(None)
    assert torch.equal(measured.output(), fresh.output())
    assert [float(measured.step()) for _ in range(3)] == [float(fresh.step()) for _ in range(3)]
    measured.restart(1)
    assert measured.output().shape[0] == 1


def test_the_numbers_of_an_operation_are_drawn_once_for_the_device_and_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    draws: list[tuple[int, ...]] = []
    real = weights.normal

    def normal(shape: tuple[int, ...], numbers: torch.Generator) -> torch.Tensor:
        draws.append(shape)
        return real(shape, numbers)

    monkeypatch.setattr(weights, "normal", normal)
    weights.forget()
    one = weights.drawn_once((2, 64), 1)
    assert torch.equal(weights.drawn_once((2, 64), 1), one)
    assert draws == [(2, 64)]
    assert not torch.equal(weights.drawn_once((2, 64), 2), one)
    weights.drawn(_job(), BERT)  # of two things drawn the last alone is kept
    weights.drawn_once((2, 64), 2)
    assert draws == [(2, 64)] * 3
