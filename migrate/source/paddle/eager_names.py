"""The names of Paddle that `runtime.compat.paddle` has, by module; it needs TensorFlow to be asked itself."""

from __future__ import annotations

#: Module -> its names. A test holds it against the façade.
NAMES: dict[str, frozenset[str]] = {
    module: frozenset(names.split())
    for module, names in {
        "paddle": """
            CPUPlace CUDAPlace DataParallel Model ParamAttr Tensor __version__ abs acos acosh add add_n
            addmm all allclose amax amin any arange argmax argmin argsort asin asinh assign atan atan2 atanh
            bernoulli bfloat16 bilinear bitwise_and bitwise_not bitwise_or bitwise_xor bmm bool
            broadcast_shape broadcast_tensors broadcast_to cast ceil chunk clip clone complex64 concat cos
            cosh count_nonzero create_parameter cumprod cumsum detach diag diagonal diff digamma
            disable_static divide dot einsum embedding empty empty_like enable_grad equal equal_all erf
            erfinv exp expand expand_as expm1 eye flatten flip float16 float32 float64 floor floor_divide
            floor_mod fmax fmin frac full full_like gather gather_nd get_default_dtype get_device grad
            greater_equal greater_than in_dynamic_mode increment index_sample index_select inner int16 int32
            int64 int8 is_compiled_with_cuda is_compiled_with_custom_device is_compiled_with_ipu
            is_compiled_with_mkldnn is_compiled_with_npu is_compiled_with_rocm is_compiled_with_xpu
            is_grad_enabled is_tensor isclose isfinite isinf isnan lerp less_equal less_than lgamma linear
            linspace load log log10 log1p log2 logical_and logical_not logical_or logical_xor logit
            logsumexp masked_select matmul max maximum mean median meshgrid min minimum mm mod moveaxis
            multinomial multiply mv nansum neg no_grad nonzero norm normal not_equal numel one_hot ones
            ones_like outer pow prod put_along_axis rand randint randint_like randn randperm reciprocal
            remainder repeat_interleave reshape roll round rsqrt save scale scatter scatter_nd
            scatter_nd_add seed set_device set_flags set_grad_enabled set_printoptions shape sigmoid sign
            sin sinh slice sort split sqrt square squeeze stack standard_normal stanh std strided_slice
            subtract sum summary t take_along_axis tan tanh tensordot tile to_tensor topk trace transpose
            tril triu trunc uint8 unbind uniform unsqueeze unstack var view where zeros zeros_like
        """,
        "paddle.callbacks": "Callback EarlyStopping LRScheduler ModelCheckpoint ProgBarLogger VisualDL",
        "paddle.device": """
            get_available_device get_device is_compiled_with_cuda is_compiled_with_custom_device
            is_compiled_with_ipu is_compiled_with_mkldnn is_compiled_with_npu is_compiled_with_rocm
            is_compiled_with_xpu set_device
        """,
        "paddle.distributed": "get_rank get_world_size init_parallel_env",
        "paddle.fluid": "",
        "paddle.framework": "ParamAttr random seed",
        "paddle.io": """
            BatchSampler ChainDataset ComposeDataset ConcatDataset DataLoader Dataset
            DistributedBatchSampler IterableDataset RandomSampler Sampler SequenceSampler Subset
            SubsetRandomSampler TensorDataset WeightedRandomSampler get_worker_info random_split
        """,
        "paddle.jit": "not_to_static to_static",
        "paddle.metric": "Accuracy Auc Metric Precision Recall accuracy",
        "paddle.nn": """
            AdaptiveAvgPool1D AdaptiveAvgPool2D AdaptiveMaxPool1D AdaptiveMaxPool2D AvgPool1D AvgPool2D
            BCELoss BCEWithLogitsLoss BatchNorm BatchNorm1D BatchNorm2D BiRNN CELU ClipGradByGlobalNorm
            ClipGradByNorm ClipGradByValue Conv1D Conv2D CosineSimilarity CrossEntropyLoss Dropout Dropout2D
            ELU Embedding Flatten GELU GLU GRU GRUCell Hardshrink Hardsigmoid Hardswish Hardtanh Identity
            InstanceNorm1D InstanceNorm2D KLDivLoss L1Loss LSTM LSTMCell Layer LayerDict LayerList LayerNorm
            LeakyReLU Linear LogSigmoid LogSoftmax MSELoss MarginRankingLoss MaxPool1D MaxPool2D Mish
            MultiHeadAttention NLLLoss PReLU ParamAttr ParameterList RNN RNNCellBase ReLU ReLU6 SELU
            Sequential Sigmoid Silu SimpleRNN SimpleRNNCell SmoothL1Loss Softmax Softplus Softshrink
            Softsign Swish Tanh Tanhshrink ThresholdedReLU TransformerEncoder TransformerEncoderLayer
        """,
        "paddle.nn.functional": """
            abs acos acosh adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool1d adaptive_max_pool2d
            add add_n addmm argsort asin asinh atan atan2 atanh avg_pool1d avg_pool2d batch_norm bilinear
            binary_cross_entropy binary_cross_entropy_with_logits bmm cast ceil celu clip conv1d conv2d cos
            cosh cosine_embedding_loss cosine_similarity cross_entropy digamma divide dot dropout einsum elu
            embedding erf erfinv exp expm1 floor floor_divide floor_mod fmax fmin frac gather gather_nd gelu
            glu hardshrink hardsigmoid hardswish hardtanh hinge_embedding_loss increment index_sample
            index_select inner instance_norm isfinite isinf isnan kl_div l1_loss label_smooth layer_norm
            leaky_relu lerp lgamma linear log log10 log1p log2 log_loss log_sigmoid log_softmax logit
            margin_ranking_loss masked_select matmul max_pool1d max_pool2d maximum maxout minimum mish mm
            mod mse_loss multiply mv neg nll_loss nonzero normalize one_hot outer pad pairwise_distance pow
            prelu put_along_axis reciprocal relu relu6 remainder round rsqrt scatter scatter_nd
            scatter_nd_add selu sequence_mask sigmoid sigmoid_focal_loss sign silu sin sinh smooth_l1_loss
            soft_margin_loss softmax softmax_with_cross_entropy softplus softshrink softsign sort sqrt
            square square_error_cost stanh subtract swish take_along_axis tan tanh tanhshrink tensordot
            thresholded_relu topk trace triplet_margin_loss trunc
        """,
        "paddle.nn.initializer": """
            Any Assign Constant Initializer KaimingNormal KaimingUniform Normal Sequence TruncatedNormal
            Uniform XavierNormal XavierUniform
        """,
        "paddle.nn.layer": """
            AdaptiveAvgPool1D AdaptiveAvgPool2D AdaptiveMaxPool1D AdaptiveMaxPool2D AvgPool1D AvgPool2D
            BCELoss BCEWithLogitsLoss BatchNorm BatchNorm1D BatchNorm2D BiRNN CELU Conv1D Conv2D
            CosineSimilarity CrossEntropyLoss Dropout Dropout2D ELU Embedding Flatten GELU GLU GRU GRUCell
            Hardshrink Hardsigmoid Hardswish Hardtanh Identity InstanceNorm1D InstanceNorm2D KLDivLoss
            L1Loss LSTM LSTMCell Layer LayerDict LayerList LayerNorm LeakyReLU Linear LogSigmoid LogSoftmax
            MSELoss MarginRankingLoss MaxPool1D MaxPool2D Mish MultiHeadAttention NLLLoss PReLU
            ParameterList RNN RNNCellBase ReLU ReLU6 SELU Sequential Sigmoid Silu SimpleRNN SimpleRNNCell
            SmoothL1Loss Softmax Softplus Softshrink Softsign Swish Tanh Tanhshrink ThresholdedReLU
            TransformerEncoder TransformerEncoderLayer
        """,
        "paddle.nn.utils": "clip_grad_norm_ clip_grad_value_",
        "paddle.optimizer": "Adadelta Adagrad Adam AdamW Adamax Lamb Momentum Optimizer RMSProp SGD",
        "paddle.optimizer.lr": """
            CosineAnnealingDecay ExponentialDecay InverseTimeDecay LRScheduler LambdaDecay LinearWarmup
            MultiStepDecay NaturalExpDecay NoamDecay PiecewiseDecay PolynomialDecay ReduceOnPlateau
            StepDecay
        """,
        "paddle.regularizer": "L1Decay L2Decay",
        "paddle.static": "InputSpec",
        "paddle.tensor": """
            abs acos acosh add add_n addmm all allclose amax amin any arange argmax argmin argsort asin
            asinh assign atan atan2 atanh bernoulli bilinear bitwise_and bitwise_not bitwise_or bitwise_xor
            bmm broadcast_shape broadcast_tensors broadcast_to cast ceil chunk clip clone concat cos cosh
            count_nonzero cumprod cumsum detach diag diagonal diff digamma divide dot einsum embedding empty
            empty_like equal equal_all erf erfinv exp expand expand_as expm1 eye flatten flip floor
            floor_divide floor_mod fmax fmin frac full full_like gather gather_nd greater_equal greater_than
            increment index_sample index_select inner isclose isfinite isinf isnan lerp less_equal less_than
            lgamma linear linspace log log10 log1p log2 logical_and logical_not logical_or logical_xor
            logsumexp masked_select matmul max maximum mean median meshgrid min minimum mm mod moveaxis
            multinomial multiply mv nansum neg nonzero norm normal not_equal numel one_hot ones ones_like
            outer pow prod put_along_axis rand randint randint_like randn randperm reciprocal remainder
            repeat_interleave reshape roll round rsqrt scale scatter scatter_nd scatter_nd_add shape sigmoid
            sign sin sinh slice sort split sqrt square squeeze stack standard_normal stanh std strided_slice
            subtract sum t take_along_axis tan tanh tensordot tile to_tensor topk trace transpose tril triu
            trunc unbind uniform unsqueeze unstack var view where zeros zeros_like
        """,
    }.items()
}
