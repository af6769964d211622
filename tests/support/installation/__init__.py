"""Small v1 programs that know nothing of tables, each a function: `setting.Setting` -> what the program computes."""
