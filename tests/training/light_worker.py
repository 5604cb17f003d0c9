"""A process that only sums with others, as a step does: python light_worker.py STEPS [HOW]

HOW it is disturbed after three steps: killed, frozen, stuck, stopped.
"""

from __future__ import annotations

import os
import signal
import sys
import time


def disturb(how: str) -> None:
    match how:
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "frozen":
            os.kill(os.getpid(), signal.SIGSTOP)
        case "stopped":
            os.kill(os.getpid(), signal.SIGTERM)
        case "stuck":
            time.sleep(1000)


def main(steps: int, how: str) -> None:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    from holdfast.errors import HoldfastError
    from holdfast.training.agreement import Agreement, lost_workers_told
    from holdfast.training.distribution import choose_strategy
    from holdfast.training.peers.peers import COMPUTING
    from holdfast.training.peers.present_peers import doing
    from holdfast.training.surviving.interruption import interruptions

    def sums() -> tf.Tensor:
        context = tf.distribute.get_replica_context()
        return context.all_reduce("SUM", tf.ones([1000]))

    try:
        strategy = choose_strategy(peer_seconds=8.0)
        step = tf.function(lambda: strategy.run(sums))
        with lost_workers_told(), interruptions() as interruption:
            agreement = Agreement(strategy)
            for number in range(1, steps + 1):
                doing(f"reads the batch of step {number}")
                if number == 4:
                    disturb(how)
                doing(f"{COMPUTING} {number}")
                step()
                if agreement.any(interruption.signal_name is not None):
                    print(f"stopped after step {number}", file=sys.stderr, flush=True)
                    return
    except HoldfastError as error:
        print(error, file=sys.stderr, flush=True)
        os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "")
