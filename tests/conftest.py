import os
import sys
from pathlib import Path

# Shared helpers are importable from every test folder.
sys.path.insert(0, str(Path(__file__).parent))
# The problems of the robustness table are the benchmark's.
sys.path.insert(1, str(Path(__file__).parents[1] / "benchmarks"))

# A mirror beside the checkout is used when the user names none.
_beside = Path(__file__).resolve().parents[2] / "shared" / "datasets"
if _beside.is_dir():
    os.environ.setdefault("KDRBENCH_MIRROR", str(_beside))
