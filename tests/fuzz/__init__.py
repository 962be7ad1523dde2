"""The fuzzer: damaged inputs and odd commands given to fmx, and what comes of them held against oracles.

make fuzz SECONDS=60 SEED=1

kinds/     one file a kind of case: makes cases, and says what is wrong with what fmx did
mutate     damage to bytes, lines, JSON and arrays
oracle     what fmx must read from a file, written from the documents alone
rules      what holds for every command: exit codes, messages, files
world      the small references and indexes that cases use
runner     runs command lines in a child that may crash, hang or swell
session    the loop and its findings
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # for naive.py and validate.py, as in the tests
