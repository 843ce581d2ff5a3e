"""A process that hangs, seen by the one that waits for it."""

from __future__ import annotations

import signal
import time

import pytest
from palaestra.agents.grpo.ranks.channel import LostRank, RankChannel

from ....patience import with_more_time  # isort: skip
from .test_leader import follow  # isort: skip


def test_a_process_that_hangs_is_lost_after_the_time_limit():
    def check(seconds: float) -> None:
        with follow() as other:
            channel = RankChannel(minutes=seconds / 60)
            try:
                channel.order(("weights_changed", []))
                other.send_signal(signal.SIGSTOP)
                begun = time.monotonic()
                with pytest.raises(LostRank, match="did not answer in time"):
                    channel.order(("weights_changed", []))
                assert 0.8 * seconds < time.monotonic() - begun < 60
            finally:
                other.kill()
                other.wait()
                channel.leave()

    with_more_time(check, (1.0, 5.0, 25.0))
