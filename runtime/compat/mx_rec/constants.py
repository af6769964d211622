"""Names that programs import from `mx_rec.constants.constants`."""

from __future__ import annotations

import enum
from typing import Any, TypeVar

from runtime.policy.admission import TIMESTAMP_COLLECTION
from runtime.table.addresses import ID_OFFSET, LOCAL_EMB
from runtime.table.anchor import HASHTABLE_COLLECTION

__all__ = [
    "ASCEND_CUTTING_POINT_INITIALIZER",
    "ASCEND_GLOBAL_HASHTABLE_COLLECTION",
    "ASCEND_SPARSE_LOOKUP_ENTRANCE",
    "ASCEND_SPARSE_LOOKUP_ID_OFFSET",
    "ASCEND_SPARSE_LOOKUP_LOCAL_EMB",
    "ASCEND_SPARSE_LOOKUP_UNIQUE_KEYS",
    "ASCEND_TIMESTAMP",
    "EVAL_CHANNEL_ID",
    "LIBASC_OPS_SO",
    "LIBREC_CPU_SO",
    "LIBREC_EOS_OPS_SO",
    "LIBREC_TF_REC_V1_CPU_SO",
    "MAX_INT32",
    "TRAIN_CHANNEL_ID",
    "ASCAnchorAttr",
    "All2allGradientsOp",
    "ApplyGradientsStrategy",
    "BaseEnum",
    "CacheModeEnum",
]

#: Collections: of table variables, of the ids of lookups, of rows and addresses under dynamic expansion, …
ASCEND_GLOBAL_HASHTABLE_COLLECTION = HASHTABLE_COLLECTION
ASCEND_SPARSE_LOOKUP_ENTRANCE = "ASCEND_SPARSE_LOOKUP_ENTRANCE"
ASCEND_SPARSE_LOOKUP_LOCAL_EMB = LOCAL_EMB
ASCEND_SPARSE_LOOKUP_ID_OFFSET = ID_OFFSET
ASCEND_SPARSE_LOOKUP_UNIQUE_KEYS = "ASCEND_SPARSE_LOOKUP_UNIQUE_KEYS"
ASCEND_CUTTING_POINT_INITIALIZER = "ASCEND_CUTTING_POINT_INITIALIZER"
ASCEND_TIMESTAMP = TIMESTAMP_COLLECTION
#: Library names for `import_host_pipeline_ops` and `eos_map`, which do not load them.
LIBREC_EOS_OPS_SO = "libeos_ops.so"
LIBASC_OPS_SO = "libasc_ops.so"
LIBREC_TF_REC_V1_CPU_SO = "libtf_rec_v1_cpu.so"
LIBREC_CPU_SO = "librec_cpu.so"
MAX_INT32 = 2**31 - 1
TRAIN_CHANNEL_ID, EVAL_CHANNEL_ID = 0, 1
#: The key that Rec SDK reserves.
INVALID = -1

_Member = TypeVar("_Member", bound="BaseEnum")


class BaseEnum(enum.Enum):
    """An enumeration whose members can be looked up by value."""

    @classmethod
    def mapping(cls: type[_Member], key: Any) -> _Member:
        """Return the member with this value.

        Raises:
            KeyError: there is none.
        """
        for member in cls:
            if member.value == key:
                return member
        raise KeyError(f"{key!r} is not a {cls.__name__}: give one of {[member.value for member in cls]}")


class All2allGradientsOp(BaseEnum):
    """How the gradients of several ranks are combined."""

    SUM_GRADIENTS = "sum_gradients"
    SUM_GRADIENTS_AND_DIV_BY_RANKSIZE = "sum_gradients_and_div_by_ranksize"


class ApplyGradientsStrategy(BaseEnum):
    """How older releases combined the gradients of one id."""

    DIRECT_APPLY = "direct_apply"
    SUM_SAME_ID_GRADIENTS_AND_APPLY = "sum_same_id_gradients_and_apply"


class CacheModeEnum(BaseEnum):
    """The storage of rows."""

    HBM = "HBM"
    DDR = "DDR"
    SSD = "SSD"


class ASCAnchorAttr(enum.Enum):
    """Attributes of the ids of a lookup; see `get_anchor_attribute`."""

    TABLE_INSTANCE = "table_instance"
    IS_TRAINING = "is_training"
    FEATURE_SPEC = "feature_spec"
    IS_GRAD = "is_grad"
    MOCK_LOOKUP_RESULT = "mock_lookup_result"
    RESTORE_VECTOR = "restore_vector"
    RESTORE_VECTOR_SECOND = "restore_vector_second"
    UNIQUE_KEYS = "unique_keys"
    ID_OFFSETS = "id_offsets"
    ALL2ALL_MATRIX = "all2all_matrix"
    HOT_POS = "hot_pos"
