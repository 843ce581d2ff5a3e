"""Network of PPO, chosen by the observation space, and its distributions over actions.

Images of cells go through an embedding of each number, images of pixels through the convolutions of the Nature DQN, all
other inputs through a dense layer; a recurrent layer may follow. Policy and value have a hidden layer each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn

from ...errors import InputError
from .observations import CODES

_DEPTH = 8


class ActorCritic(nn.Module):
    """Network that maps encoded observations to a distribution over actions and a value.

    `initialise` draws orthogonal weights with gain sqrt(2), except 0.01 at the policy's output and 1 at the value's
    output, and biases of 0 (Huang et al., "The 37 implementation details of PPO", ICLR blog track 2022, details 2 and
    13).

    Args:
        shapes: shapes of the arrays of `ObservationCode`, by name.
        actions: the action space, Discrete or a Box of one dimension.
        hidden: units per layer.
        memory: units of the recurrent layer; 0: none.

    Raises:
        InputError: ``actions`` is another kind of space.
    """

    def __init__(self, shapes: Mapping[str, tuple[int, ...]], actions: gym.Space, hidden: int = 64, memory: int = 0):
        super().__init__()
        self.encoders = nn.ModuleDict({name.replace("/", "_"): _encoder(name, shapes[name], hidden) for name in shapes})
        width = hidden * len(shapes)
        self.memory = nn.GRUCell(width, memory) if memory else None
        width = memory or width
        if isinstance(actions, gym.spaces.Discrete):
            outputs, self.log_deviation = int(actions.n), None
        elif isinstance(actions, gym.spaces.Box) and len(actions.shape) == 1:
            outputs = actions.shape[0]
            self.log_deviation = nn.Parameter(torch.zeros(outputs))
        else:
            raise InputError(f"PPO chooses Discrete actions or those of a one-dimensional Box, not {actions}.")
        self.policy, self.value = _Head(width, hidden, outputs), _Head(width, hidden, 1)

    def initialise(self, generator: torch.Generator) -> None:
        """Draw all weights from a generator."""
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Conv2d):
                nn.init.orthogonal_(module.weight, math.sqrt(2.0), generator=generator)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, generator=generator)
            elif isinstance(module, nn.GRUCell):
                for name, weight in module.named_parameters():
                    if "weight" in name:
                        nn.init.orthogonal_(weight, generator=generator)
                    else:
                        nn.init.zeros_(weight)
        nn.init.orthogonal_(self.policy.output.weight, 0.01, generator=generator)
        nn.init.orthogonal_(self.value.output.weight, 1.0, generator=generator)

    def begin(self, count: int) -> Tensor:
        """Return the initial states of the recurrent layer, zeros [count, memory]; without such a layer [count, 0]."""
        return torch.zeros(count, self.memory.hidden_size if self.memory else 0, device=self.value.output.weight.device)

    def forward(self, seen: Mapping[str, Tensor], state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Compute policy and value for n observations.

        Args:
            seen: arrays [n, ...] of `ObservationCode.encode`.
            state: state of the recurrent layer, [n, memory].

        Returns:
            Outputs for the distribution [n, outputs] (logits or means), values [n], and the next state [n, memory].
        """
        features = self._encode(seen)
        if self.memory is not None:
            features = state = self.memory(features, state)
        return self.policy(features), self.value(features).squeeze(-1), state

    def unroll(self, seen: Mapping[str, Tensor], state: Tensor, first: Tensor) -> tuple[Tensor, Tensor]:
        """Compute policy and value for m sequences of k observations.

        Args:
            seen: arrays [k, m, ...].
            state: state of the recurrent layer before the first step, [m, memory].
            first: bool[k, m], True where an observation begins an episode.

        Returns:
            Outputs for the distribution [k, m, outputs] and values [k, m].
        """
        steps, count = first.shape
        features = self._encode({name: array.flatten(0, 1) for name, array in seen.items()}).unflatten(
            0, (steps, count)
        )
        if self.memory is not None:
            found = []
            for k in range(steps):
                state = self.memory(features[k], state * ~first[k, :, None])
                found.append(state)
            features = torch.stack(found)
        return self.policy(features), self.value(features).squeeze(-1)

    def _encode(self, seen: Mapping[str, Tensor]) -> Tensor:
        found = [encoder(seen[name]) for name, encoder in zip(seen, self.encoders.values(), strict=True)]
        return found[0] if len(found) == 1 else torch.cat(found, dim=-1)

    # Distributions ----------------------------------------------------------------------------------------------------

    def sample(self, outputs: Tensor, generator: torch.Generator) -> Tensor:
        """Draw actions: int64[n] for a Discrete space, float32[n, outputs] for a Box."""
        if self.log_deviation is None:
            return torch.multinomial(outputs.softmax(-1), 1, generator=generator).squeeze(-1)
        noise = torch.randn(outputs.shape, generator=generator, device=outputs.device)
        return outputs + self.log_deviation.exp() * noise

    def log_probability(self, outputs: Tensor, actions: Tensor) -> Tensor:
        """Return the log-probabilities or log-densities [...] of actions, [...] or [..., outputs]."""
        if self.log_deviation is None:
            return outputs.log_softmax(-1).gather(-1, actions.unsqueeze(-1)).squeeze(-1)
        return torch.distributions.Normal(outputs, self.log_deviation.exp()).log_prob(actions).sum(-1)

    def entropy(self, outputs: Tensor) -> Tensor:
        """Return the entropies [...] in nats of distributions given by ``outputs`` [..., outputs]."""
        if self.log_deviation is None:
            logs = outputs.log_softmax(-1)
            return -(logs.exp() * logs).sum(-1)
        each = 0.5 + 0.5 * math.log(2 * math.pi) + self.log_deviation
        return each.sum().expand(outputs.shape[:-1])


class _Head(nn.Module):
    """Tanh hidden layer and linear output."""

    def __init__(self, width: int, hidden: int, outputs: int):
        super().__init__()
        self.hidden, self.output = nn.Linear(width, hidden), nn.Linear(hidden, outputs)

    def forward(self, features: Tensor) -> Tensor:
        return self.output(self.hidden(features).tanh())


class _Cells(nn.Module):
    """Encoder of images of cells: whole numbers [n, height, width, channels] to features [n, hidden].

    Embeddings of the numbers are summed over the channels of a cell (the bag of words of BabyAI 1.1, arXiv 2007.12770);
    a dense layer over all cells follows. Convolutions in between would take three times as long on a CPU, and the view
    of a gridworld is too small to need them.
    """

    _offsets: Tensor

    def __init__(self, shape: tuple[int, ...], hidden: int):
        super().__init__()
        height, width, channels = shape
        self.codes = nn.Embedding(CODES * channels, _DEPTH)
        self.register_buffer("_offsets", torch.arange(channels) * CODES, persistent=False)
        self.dense = nn.Linear(_DEPTH * height * width, hidden)

    def forward(self, seen: Tensor) -> Tensor:
        codes = seen.long().clamp(max=CODES - 1) + self._offsets
        return self.dense(self.codes(codes).sum(-2).flatten(1)).relu()


class _Pixels(nn.Module):
    """Encoder of images of pixels: bytes [n, height, width, channels] to features [n, hidden], by the convolutions of
    Mnih et al. (Nature 518, 2015)."""

    def __init__(self, shape: tuple[int, ...], hidden: int):
        super().__init__()
        height, width, channels = shape
        layers = []
        for filters, size, stride in ((32, 8, 4), (64, 4, 2), (64, 3, 1)):
            layers += [nn.Conv2d(channels, filters, size, stride), nn.ReLU()]
            height, width, channels = (height - size) // stride + 1, (width - size) // stride + 1, filters
        self.filters = nn.Sequential(*layers, nn.Flatten())
        self.dense = nn.Linear(channels * height * width, hidden)

    def forward(self, seen: Tensor) -> Tensor:
        return self.dense(self.filters(seen.movedim(-1, 1).float() / 255.0)).relu()


def _encoder(name: str, shape: tuple[int, ...], hidden: int) -> nn.Module:
    if name.startswith("cells"):
        return _Cells(shape, hidden)
    if name.startswith("pixels"):
        return _Pixels(shape, hidden)
    return nn.Sequential(nn.Linear(int(np.prod(shape)), hidden), nn.Tanh())
