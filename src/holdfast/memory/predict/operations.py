"""What TensorFlow's kernels do with memory: which hand an input on, and which write over one."""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# The result is the input's memory under another shape or name.
ALIASES = _names("""
    Identity IdentityN StopGradient PreventGradient CheckNumerics Reshape Squeeze ExpandDims
    EnsureShape Bitcast Enter RefEnter Exit RefExit NextIteration RefNextIteration Merge RefMerge
    Switch RefSwitch LoopCond ReadVariableOp PlaceholderWithDefault Snapshot
    """)

# The result is a list of tensors, to which the last input is added: it lives as long as the list.
LIST_FILLERS = _names("TensorListSetItem TensorListPushBack")

# The result is an element of a list, or the list without it.
LIST_READERS = _names("TensorListGetItem TensorListPopBack TensorListResize")

# The result takes the place of an input of the same size that nobody else needs any more.
WRITES_OVER_INPUT = _names("""
    Abs Add AddN AddV2 BiasAdd Ceil ClipByValue Cos Div DivNoNan Elu EluGrad Erf Exp Expm1 FloorDiv
    Floor FloorMod Inv InvGrad LeakyRelu LeakyReluGrad Log Log1p LogicalAnd LogicalNot LogicalOr
    Maximum Minimum Mod Mul MulNoNan Neg Pow RealDiv Reciprocal ReciprocalGrad Relu Relu6 Relu6Grad
    ReluGrad Rint Round Rsqrt RsqrtGrad Selu SeluGrad Sigmoid SigmoidGrad Sign Sin Softplus
    SoftplusGrad Softsign SoftsignGrad Sqrt SqrtGrad Square SquaredDifference Sub Tanh TanhGrad
    Select SelectV2 Xdivy Xlogy ZerosLike _UnaryOpsComposition Softmax LogSoftmax
    """)

# The result is no memory of its own: variables, handles, and what only changes variables.
NO_MEMORY = _names("""
    NoOp VarHandleOp ImmutableConst AssignVariableOp AssignAddVariableOp AssignSubVariableOp
    ResourceApplyKerasMomentum ResourceApplyMomentum ResourceApplyRMSProp ResourceApplyAdam
    ResourceApplyGradientDescent Assert ControlTrigger
    """)

# TensorFlow's executor runs these at once, on the thread that made them ready.
CHEAP = _names("""
    Const Identity IdentityN StopGradient PreventGradient Reshape Squeeze ExpandDims EnsureShape
    Shape ShapeN Rank Size NoOp VarHandleOp ImmutableConst ControlTrigger Enter RefEnter Exit
    RefExit NextIteration RefNextIteration Merge RefMerge Switch RefSwitch LoopCond
    """)

# TensorFlow tries these out beforehand when all their inputs are constants. A large result is not
# put into the graph, but a copy of it stays.
TRIED_BEFOREHAND = _names("BroadcastTo Cast Fill Mul OnesLike Pack Range Reshape Tile ZerosLike")
