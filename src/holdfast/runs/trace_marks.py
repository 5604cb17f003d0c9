"""What a training writes into a trace of TensorFlow's profiler, and where a run keeps traces."""

STEP_MARK = "train"  # around a step; TensorBoard knows steps by it, too
WAITING_MARK = "waiting for input"  # inside of it
OPTIMIZER_SCOPE = "optimizer"  # in the names of what moves the weights
TRACES_NAME = "profile"  # the folder in a run
