"""The 42 columns of the original files and the order in which the model reads them.

Source: `census-income.names`, distributed with the data; the model's order is the one of PaddleRec's prepared files.
"""

from __future__ import annotations

COLUMNS = [
    "age",
    "class_worker",
    "det_ind_code",
    "det_occ_code",
    "education",
    "wage_per_hour",
    "hs_college",
    "marital_stat",
    "major_ind_code",
    "major_occ_code",
    "race",
    "hisp_origin",
    "sex",
    "union_member",
    "unemp_reason",
    "full_or_part_emp",
    "capital_gains",
    "capital_losses",
    "stock_dividends",
    "tax_filer_stat",
    "region_prev_res",
    "state_prev_res",
    "det_hh_fam_stat",
    "det_hh_summ",
    "instance_weight",
    "mig_chg_msa",
    "mig_chg_reg",
    "mig_move_reg",
    "mig_same",
    "mig_prev_sunbelt",
    "num_emp",
    "fam_under_18",
    "country_father",
    "country_mother",
    "country_self",
    "citizenship",
    "own_or_self",
    "vet_question",
    "vet_benefits",
    "weeks_worked",
    "year",
    "income_50k",
]

#: The numeric model inputs, in model order: I1 … I11.
DENSE = [
    "age",
    "wage_per_hour",
    "capital_gains",
    "capital_losses",
    "stock_dividends",
    "instance_weight",
    "num_emp",
    "own_or_self",
    "vet_benefits",
    "weeks_worked",
    "year",
]

#: The categorical model inputs, in model order, with the number of categories in the original data: C1 … C29.
SPARSE = {
    "class_worker": 9,
    "det_ind_code": 52,
    "det_occ_code": 47,
    "education": 17,
    "hs_college": 3,
    "major_ind_code": 24,
    "major_occ_code": 15,
    "race": 5,
    "hisp_origin": 10,
    "sex": 2,
    "union_member": 3,
    "unemp_reason": 6,
    "full_or_part_emp": 8,
    "tax_filer_stat": 6,
    "region_prev_res": 6,
    "state_prev_res": 51,
    "det_hh_fam_stat": 38,
    "det_hh_summ": 8,
    "mig_chg_msa": 10,
    "mig_chg_reg": 9,
    "mig_move_reg": 10,
    "mig_same": 3,
    "mig_prev_sunbelt": 4,
    "fam_under_18": 5,
    "country_father": 43,
    "country_mother": 43,
    "country_self": 43,
    "citizenship": 5,
    "vet_question": 3,
}

#: The labels, in the order of the TFRecord's `label`.
LABELS = ("income", "marital")

INCOME_HIGH = "50000+."
INCOME_LOW = "- 50000."
NEVER_MARRIED = "Never married"

TRAIN_NAME = "census-income.data"
TEST_NAME = "census-income.test"

#: Beside synthetic files: the probabilities that the labels were drawn from, then the labels, row by row.
TRAIN_TRUTH = "truth-train.csv"
TEST_TRUTH = "truth-test.csv"
